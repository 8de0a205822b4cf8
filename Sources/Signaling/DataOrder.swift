/// Data messages by which one participant makes another's program do something. Programs obey them without asking, so the
/// router passes them on only from those who may moderate.
public enum DataOrder {
  /// What the topics of all of them begin with.
  public static let prefix = "koine.order."

  public static func isOrder(_ topic: String) -> Bool { topic.hasPrefix(prefix) }
}
