/// Data messages by which one participant makes another's program do something. Programs obey them without asking, so the
/// router forwards them only from moderators (and from any participant if only services are addressed).
public enum DataOrder {
  /// The prefix of the topics of all orders.
  public static let prefix = "koine.order."

  /// To a service: ends its job. The payload is the service's name for the job.
  public static let stop = prefix + "stop"

  public static func isOrder(_ topic: String) -> Bool { topic.hasPrefix(prefix) }
}
