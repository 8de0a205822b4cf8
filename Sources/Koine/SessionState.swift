/// A session's life: idle → connecting → connected ⇄ reconnecting → ended.
public enum SessionState: Sendable, Hashable {
  case idle, connecting, connected, reconnecting
  case ended(EndReason)

  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// Why a session is over.
public enum EndReason: Sendable, Hashable {
  /// `leave()` was called.
  case left
  /// The room did not let us in.
  case refused(SessionError)
  /// The connection was lost for longer than it may be.
  case lost
  /// Sent out by somebody allowed to.
  case removed
  /// Somebody else came in with the same participant id.
  case duplicate
  /// The room was closed for everybody.
  case roomClosed
  /// What let us in has ended.
  case expired
}

/// What went wrong, in the common layer's words; adapters translate it into their vendor's.
public struct SessionError: Error, Hashable, Sendable, CustomStringConvertible {
  public struct Code: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let invalidRoom = Code(rawValue: "invalid-room")
    public static let invalidParticipantID = Code(rawValue: "invalid-participant-id")
    public static let invalidCredential = Code(rawValue: "invalid-credential")
    public static let notPermitted = Code(rawValue: "not-permitted")
    /// Somebody in the room did not let us in.
    public static let denied = Code(rawValue: "denied")
    public static let roomFull = Code(rawValue: "room-full")
    public static let notConnected = Code(rawValue: "not-connected")
    public static let alreadyJoined = Code(rawValue: "already-joined")
    public static let ended = Code(rawValue: "ended")
    public static let device = Code(rawValue: "device")
    /// What was asked for cannot be: a picture of no size, a rate of nothing.
    public static let invalidOptions = Code(rawValue: "invalid-options")
    public static let tooLarge = Code(rawValue: "too-large")
    /// More in a time than the room takes from one participant.
    public static let tooMany = Code(rawValue: "too-many")
    public static let unreachable = Code(rawValue: "unreachable")
  }

  public let code: Code
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code.rawValue))" }
}

/// What a session tells, in order. Whatever an event says, the session's properties already agree with it.
public enum SessionEvent: Sendable {
  case stateChanged(SessionState)
  /// Somebody in the room has to let us in; the session stays `connecting` until then.
  case waitingForAdmission
  /// Somebody waits to be let in: `admit` or `deny`.
  case entryRequested(Participant)
  /// Somebody waits no longer: let in, not let in, or, where `admitted` is nil, gone.
  case entryRequestEnded(Participant, admitted: Bool?)
  case participantJoined(Participant)
  case participantLeft(Participant, DepartureReason)
  /// Own streams come too, with the local participant.
  case streamAdded(Stream, Participant)
  case streamRemoved(Stream, Participant)
  /// Own streams too, by oneself or by somebody who may.
  case streamMuted(Stream, Participant)
  /// The room has taken a stream of one's own. Comes once, after `streamAdded`, which comes at once.
  case streamPublished(Stream)
  /// The room has refused a stream of one's own, or what it was to be made of did not start. If it had been told of,
  /// `streamRemoved` follows; publishing again is trying again.
  case publishFailed(Stream, SessionError)
  case attributesChanged(Participant)
  case messageReceived(ReceivedMessage)
  case levelsChanged([Participant.ID: Int])
  case dominantSpeakerChanged(Participant.ID?)
  /// Whose path has become better or worse, one's own too; the worse of its two ways. `Session.pathQuality(of:)` has both.
  case qualityChanged([Participant.ID: SignalQuality])
  case tileAdded(Tile)
  /// The size of what it shows, or whether it is paused, has changed.
  case tileChanged(Tile)
  case tileRemoved(Tile)
  /// Something the app asked for could not be done; the session goes on.
  case failed(SessionError)
}
