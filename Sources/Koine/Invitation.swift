/// A call that rings: one's own, or somebody else's. A value as known at one moment.
public struct Invitation: Sendable, Hashable, Identifiable {
  public typealias ID = String

  /// What has become of it, for one who is rung.
  public enum Answer: String, Sendable, Hashable, Codable {
    case ringing
    case accepted
    case declined
    /// Declined, because of another call.
    case busy
    /// Nobody answered in time.
    case unanswered
    /// The identity is registered nowhere.
    case unreachable
    /// The caller gave up, or was lost.
    case cancelled
    /// Another device of the identity accepted or declined it.
    case handledElsewhere

    public var isOver: Bool { self != .ringing }
  }

  public let id: ID
  /// Where those who accept meet; each enters it with a session of its own.
  public let room: String
  public let caller: String
  public let callerName: String
  /// Identities, in the order in which they were given.
  public let callees: [String]
  /// Whether the caller means to send pictures.
  public let hasVideo: Bool
  public let isIncoming: Bool
  /// Own invitations: by callee, of whom something is known. Incoming ones: only the own identity's.
  public var answers: [String: Answer]

  public init(
    id: ID, room: String, caller: String, callerName: String, callees: [String], hasVideo: Bool, isIncoming: Bool,
    answers: [String: Answer] = [:]
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

/// What somebody says who answers a call.
public enum InvitationReply: Sendable, Hashable {
  case accept
  case decline
  /// As `decline`, because of another call.
  case busy
}

/// A signed-in identity's state: idle → registering → registered → ended.
public enum EndpointState: Sendable, Hashable {
  case idle, registering, registered
  case ended(EndReason)

  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// What an endpoint tells, in order.
public enum EndpointEvent: Sendable {
  case stateChanged(EndpointState)
  /// Somebody rings.
  case invited(Invitation)
  /// One's own call has got on with this callee, or somebody else's is over for this endpoint.
  case answered(Invitation, callee: String, Invitation.Answer)
  case failed(SessionError)
}
