/// How well both directions of a participant's media path carry, as the room measures it.
public struct ConnectionQuality: Sendable, Hashable, Codable {
  /// A worse level is the smaller one.
  public enum Level: Int, Sendable, Hashable, Codable, Comparable {
    /// More than a fifth of the packets is lost, or a round trip takes more than a second.
    case none
    /// More than a twentieth of the packets is lost, or a round trip takes more than 400 ms.
    case low
    /// A good connection.
    case high

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// From the participant to the room. A round trip counts for both directions.
  public var sending: Level
  /// From the room to the participant.
  public var receiving: Level

  /// The level of the worse direction.
  public var worse: Level { min(sending, receiving) }

  /// Creates a quality; high in both directions by default.
  public init(sending: Level = .high, receiving: Level = .high) {
    (self.sending, self.receiving) = (sending, receiving)
  }
}
