/// Why something that was asked for was not done. The same on the wire and in the API; adapters translate it into their vendor's
/// errors.
public struct Failure: Error, Hashable, Sendable, Codable, CustomStringConvertible {
  /// The kind of failure, for programs. Open: a newer server may send codes that this version does not know.
  public struct Code: Hashable, Sendable, RawRepresentable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    // Joining
    /// The credential is missing, wrong or expired.
    public static let unauthorized = Code(rawValue: "unauthorized")
    /// A participant with that permission has decided against it.
    public static let denied = Code(rawValue: "denied")
    /// The room has its limit of participants, or the server its limit of rooms.
    public static let roomFull = Code(rawValue: "roomFull")
    /// The name of the room is invalid.
    public static let invalidRoom = Code(rawValue: "invalidRoom")
    /// The id of the participant is invalid.
    public static let invalidParticipantID = Code(rawValue: "invalidParticipantID")
    /// No server answers.
    public static let unreachable = Code(rawValue: "unreachable")
    /// The room, or the registration, is at another server of the cluster. The answer names that server's addresses.
    public static let moved = Code(rawValue: "moved")

    // In the room
    /// The credential does not grant it.
    public static let forbidden = Code(rawValue: "forbidden")
    /// A message or value exceeds its limit.
    public static let tooLarge = Code(rawValue: "tooLarge")
    /// More messages or bytes in a time than one participant may send.
    public static let tooMany = Code(rawValue: "tooMany")
    /// Asked for before the join, or a second join.
    public static let wrongState = Code(rawValue: "wrongState")
    /// There is no track of this id.
    public static let unknownTrack = Code(rawValue: "unknownTrack")
    /// A track of this id is published already.
    public static let duplicateTrack = Code(rawValue: "duplicateTrack")
    /// The media parameters cannot be used.
    public static let badMedia = Code(rawValue: "badMedia")
    /// There is no participant of this id.
    public static let unknownParticipant = Code(rawValue: "unknownParticipant")
    /// The server cannot reach the cluster's ledger. In the receipt of a data message: the room has the message and stores it later,
    /// so the message must not be sent again for this failure.
    public static let unavailable = Code(rawValue: "unavailable")
    /// The router's end of the media path is gone: `restartMedia` makes another.
    public static let mediaLost = Code(rawValue: "mediaLost")

    // In the program
    /// The session is not in the room.
    public static let notConnected = Code(rawValue: "notConnected")
    /// The session has joined already, or is joining.
    public static let alreadyJoined = Code(rawValue: "alreadyJoined")
    /// The session has ended.
    public static let ended = Code(rawValue: "ended")
    /// A camera, microphone, screen or loudspeaker could not be opened.
    public static let device = Code(rawValue: "device")
    /// Options that nothing can satisfy: a video frame without size, a rate of zero.
    public static let invalidOptions = Code(rawValue: "invalidOptions")

    // Transcription
    /// No transcriber is registered in the program with the room's router.
    public static let noTranscriber = Code(rawValue: "noTranscriber")
    /// The transcriber does not know the language.
    public static let unknownLanguage = Code(rawValue: "unknownLanguage")

    // Of signalling messages
    /// The server does not support this version of the room protocol.
    public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")
    /// The type of the message is unknown.
    public static let unknownType = Code(rawValue: "unknownType")
    /// The message cannot be parsed.
    public static let malformed = Code(rawValue: "malformed")
    /// A conversation that cannot be resumed (any more).
    public static let unknownConversation = Code(rawValue: "unknownConversation")
    /// The server failed by itself.
    public static let `internal` = Code(rawValue: "internal")
  }

  /// The code of the failure.
  public let code: Code
  /// For people.
  public let message: String

  /// Creates a failure.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code.rawValue))" }
}
