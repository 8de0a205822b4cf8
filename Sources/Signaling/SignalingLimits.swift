/// Limits on the size of a message and its fields. They are checked while a message is decoded, so that no message can make the
/// router keep unbounded data for a participant.
public enum SignalingLimits {
  /// Names and ids of rooms, participants, tracks and messages, in UTF-8 bytes.
  public static let name = 256
  /// What an app says about itself, in UTF-8 bytes.
  public static let client = 1_024
  /// A data message's topic, in UTF-8 bytes.
  public static let topic = 256
  /// A data message's payload, in bytes before base64.
  public static let payload = 64 * 1024
  /// A credential, in UTF-8 bytes: a JSON web token, or a vendor's JSON document.
  public static let credential = 16 * 1024
  /// Tracks of one participant, and tracks named in one message.
  public static let tracks = 32
  /// Tracks named in one subscription message.
  public static let references = 256
  /// Simulcast layers of one track.
  public static let encodings = 4
  /// The highest bitrate that a client may announce for one encoding, in bit/s.
  public static let bitrate = 1_000_000_000
  /// The largest frame height, and width, that a client may announce for one encoding, in pixels.
  public static let rows = 16_384
  /// The highest frame rate that a client may announce for one encoding, in frames per second.
  public static let frameRate = 1_000.0
  public static let candidates = 32
  /// Addresses of servers in one message, each at most `name` bytes long.
  public static let places = 8
  /// Co-located services.
  public static let attendants = 16
  /// More than this version knows: a later version may have further permissions.
  public static let permissions = 64
  /// Entries of a participant's attributes.
  public static let attributes = 64
  /// One attribute's value, in UTF-8 bytes.
  public static let attributeValue = 4096
  /// Addressees of one data message.
  public static let recipients = 256
  /// Participants and kept data messages in one message of the router.
  public static let participants = 4096
  public static let history = 20_480
  /// Values in a client's whole message, in fields that are known or not.
  public static let clientValues = 8_192
  /// A part of the kept data messages that is sent at a time, in bytes of JSON; more only where one message is larger.
  public static let historyPage = 256 * 1024
  /// Whole messages, in bytes of JSON.
  public static let clientMessage = 1024 * 1024
  public static let serverMessage = 16 * 1024 * 1024
}

/// The version of the room protocol this module speaks.
public enum SignalingVersion {
  public static let current = 1
}

/// Why bytes are not a message.
public enum SignalingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Not JSON, or not of a message's shape.
  case malformed(String)
  /// A message of a kind this version does not know. The receiver ignores it: a newer program may send more kinds.
  case unknownType(String)
  /// A join, or its answer, of a version this program does not speak.
  case unknownVersion(Int)
  /// A field is larger than `SignalingLimits` allows.
  case tooLarge(field: String, limit: Int)

  public var description: String {
    switch self {
    case .malformed(let reason): "malformed message: \(reason)"
    case .unknownType(let type): "unknown message type “\(type)”"
    case .unknownVersion(let version):
      "protocol version \(version) is not spoken here, only version \(SignalingVersion.current)"
    case .tooLarge(let field, let limit): "“\(field)” is larger than \(limit)"
    }
  }

  /// The same as the router tells a client.
  public var failure: Failure {
    switch self {
    case .malformed: Failure(.malformed, description)
    case .unknownType: Failure(.unknownType, description)
    case .unknownVersion: Failure(.unsupportedVersion, description)
    case .tooLarge: Failure(.tooLarge, description)
    }
  }
}
