/// A call that rings: an own one, or another caller's. A value as known at one moment.
public struct Ring: Sendable, Hashable, Identifiable {
  public typealias ID = String

  /// How far a ring has got, for one callee.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    /// At least one of the callee's devices rings.
    case ringing
    /// The callee has accepted.
    case accepted
    /// The callee has declined.
    case declined
    /// Declined, because of another call.
    case busy
    /// The callee did not answer in time.
    case unanswered
    /// The identity is registered nowhere.
    case unreachable
    /// The caller gave up, or was lost.
    case cancelled
    /// Another device of the identity accepted or declined it.
    case handledElsewhere

    /// Whether the ring has ended for the callee.
    public var isOver: Bool { self != .ringing }
  }

  public let id: ID
  /// The room where those that accept meet. Each enters it with a session of its own.
  public let room: String
  /// The caller's identity.
  public let caller: String
  /// The caller's display name.
  public let callerName: String
  /// Identities, in the order in which they were given.
  public let callees: [String]
  /// Whether the caller intends to send video.
  public let hasVideo: Bool
  /// Whether it rings here. Never written.
  public let isIncoming: Bool
  /// Own rings: by callee, where a state is known. Incoming rings: the own identity's alone. Never written.
  public var answers: [String: State]

  /// Creates a ring.
  public init(
    id: ID, room: String, caller: String, callerName: String, callees: [String], hasVideo: Bool, isIncoming: Bool,
    answers: [String: State] = [:]
  ) {
    self.id = id
    self.room = room
    self.caller = caller
    self.callerName = callerName
    self.callees = callees
    self.hasVideo = hasVideo
    self.isIncoming = isIncoming
    self.answers = answers
  }
}

/// Written is what the router tells a callee, so a ring that is read is an incoming one.
extension Ring: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, room, hasVideo
    case caller = "from"
    case callerName = "fromName"
    case callees = "to"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try fields.decode(String.self, forKey: .id), room: try fields.decode(String.self, forKey: .room),
      caller: try fields.decode(String.self, forKey: .caller),
      callerName: try fields.decode(String.self, forKey: .callerName),
      callees: try fields.decode([String].self, forKey: .callees),
      hasVideo: try fields.decode(Bool.self, forKey: .hasVideo), isIncoming: true)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(id, forKey: .id)
    try fields.encode(room, forKey: .room)
    try fields.encode(caller, forKey: .caller)
    try fields.encode(callerName, forKey: .callerName)
    try fields.encode(callees, forKey: .callees)
    try fields.encode(hasVideo, forKey: .hasVideo)
  }
}
