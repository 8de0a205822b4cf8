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
    public static let roomFull = Code(rawValue: "roomFull")
    public static let invalidRoom = Code(rawValue: "invalidRoom")
    public static let invalidParticipantID = Code(rawValue: "invalidParticipantID")
    /// No server answers.
    public static let unreachable = Code(rawValue: "unreachable")

    // In the room
    /// The credential does not grant it.
    public static let forbidden = Code(rawValue: "forbidden")
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

    // In the program
    public static let notConnected = Code(rawValue: "notConnected")
    public static let alreadyJoined = Code(rawValue: "alreadyJoined")
    public static let ended = Code(rawValue: "ended")
    /// A camera, microphone, screen or loudspeaker could not be opened.
    public static let device = Code(rawValue: "device")
    /// Options that nothing can satisfy: a video frame without size, a rate of zero.
    public static let invalidOptions = Code(rawValue: "invalidOptions")

    // Of signalling messages
    public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")
    public static let unknownType = Code(rawValue: "unknownType")
    public static let malformed = Code(rawValue: "malformed")
    /// A conversation that cannot be resumed (any more).
    public static let unknownConversation = Code(rawValue: "unknownConversation")
    public static let `internal` = Code(rawValue: "internal")
  }

  public let code: Code
  /// For people.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code.rawValue))" }
}
