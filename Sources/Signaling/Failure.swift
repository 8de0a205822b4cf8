/// Why the router did not do what it was asked.
public struct Failure: Error, Hashable, Sendable, Codable {
  /// What programs look at. Open: a newer router may say more.
  public struct Code: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The credential is missing, wrong or expired.
    public static let unauthorized = Code(rawValue: "unauthorized")
    /// The credential does not grant what was asked.
    public static let forbidden = Code(rawValue: "forbidden")
    /// Somebody in the room has decided against it.
    public static let denied = Code(rawValue: "denied")
    public static let roomFull = Code(rawValue: "roomFull")
    public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")
    public static let unknownType = Code(rawValue: "unknownType")
    public static let malformed = Code(rawValue: "malformed")
    public static let tooLarge = Code(rawValue: "tooLarge")
    /// More messages or bytes in a time than one participant may send.
    public static let tooMany = Code(rawValue: "tooMany")
    /// Asked for before the join, or a second join.
    public static let wrongState = Code(rawValue: "wrongState")
    public static let unknownTrack = Code(rawValue: "unknownTrack")
    public static let duplicateTrack = Code(rawValue: "duplicateTrack")
    /// The media parameters cannot be used.
    public static let badMedia = Code(rawValue: "badMedia")
    public static let unknownParticipant = Code(rawValue: "unknownParticipant")
    /// The router's end of the media path is gone: `restartMedia` makes another.
    public static let mediaLost = Code(rawValue: "mediaLost")
    /// A conversation that cannot be taken up (any more).
    public static let unknownConversation = Code(rawValue: "unknownConversation")
    public static let `internal` = Code(rawValue: "internal")
  }

  public var code: Code
  /// For people.
  public var message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// Why a participant is no longer in the room, as the others are told.
public enum LeaveReason: String, Hashable, Sendable, Codable, CaseIterable {
  /// It said so.
  case left
  /// Its signalling or its media path broke and did not come back.
  case dropped
  /// The room, or a newer participant of the same id, put it out.
  case removed
}

/// Why the router ends a participant's stay, as that participant is told. Open: a newer router may say more.
public struct EndReason: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The answer to `leave`.
  public static let left = EndReason(rawValue: "left")
  /// A newer participant joined under the same id.
  public static let duplicate = EndReason(rawValue: "duplicate")
  /// The media path broke and did not come back.
  public static let dropped = EndReason(rawValue: "dropped")
  public static let removed = EndReason(rawValue: "removed")
  /// What let it in has ended.
  public static let expired = EndReason(rawValue: "expired")
  /// The room or the router closes.
  public static let closed = EndReason(rawValue: "closed")
}
