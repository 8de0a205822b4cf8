/// How loudly participants speak, and which of them leads. The room sends it when it changes, at most five times a second.
public struct Speakers: Sendable, Hashable, Codable {
  /// Levels by participant in dBov, −127...0, where 0 is the loudest (RFC 6464). A message of the room holds those that changed.
  public var levels: [Participant.ID: Int]
  /// The participant that leads the conversation; nil while none does.
  public var dominant: Participant.ID?

  /// Creates levels in dBov, with the dominant speaker; nil while the room is quiet.
  public init(levels: [Participant.ID: Int], dominant: Participant.ID? = nil) {
    self.levels = levels
    self.dominant = dominant
  }
}
