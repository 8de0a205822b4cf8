import KoineSignaling

/// What keeps one client, or all of one address, or one room, from using up the server.
public struct ServerLimits: Hashable, Sendable {
  /// Rooms of the server.
  public var rooms = 1_000
  /// Participants in one room.
  public var participants = 1_000
  /// Participants that wait in the lobby of one room.
  public var lobby = 64
  /// Tracks that one participant publishes.
  public var tracks = 16
  /// Tracks that one participant receives.
  public var subscriptions = 256
  /// Audio tracks of a room that are forwarded when more participants speak: the loudest.
  public var voices = 5
  /// Recordings and playlists of all rooms at a time: each is a room decoded, and a picture and a sound of it coded.
  public var recordings = 4
  /// Connections of the server.
  public var connections = 10_000
  /// Connections of one address, with those that are lost and may return. All limits of an address hold for an IPv4 address,
  /// for a /64 of IPv6, and four times as much for a /48.
  public var connectionsPerAddress = 250
  /// Connections of one address that are lost and may return. Beyond it the oldest is given up.
  public var lostPerAddress = 50
  /// Rooms that clients of one address have opened and that still exist.
  public var roomsPerAddress = 100
  /// Joins, registrations and resumptions of one address, accepted or not: a burst, then so many per second. Others are refused.
  /// Half as many credentials of the address may be refused; then the others are not checked.
  public var addressJoinBurst = 100.0
  /// Joins, registrations and resumptions of an address per second, after `addressJoinBurst`.
  public var addressJoinsPerSecond = 10.0
  /// Size of one signalling message, in bytes.
  public var messageBytes = 1 << 20
  /// Signalling messages of one connection: a burst, then so many a second. One that sends more is closed.
  public var messageBurst = 1_000.0
  /// Messages of a connection per second, after `messageBurst`.
  public var messagesPerSecond = 300.0
  /// Signalling messages of all connections of one IP address together.
  public var addressBurst = 10_000.0
  /// Messages of an address per second, after `addressBurst`.
  public var addressMessagesPerSecond = 3_000.0
  /// Bytes that the server reads from one connection, and from all connections of one address: a burst, then so many per second.
  /// More waits at the sender.
  public var byteBurst = 4.0 * 1_048_576
  /// Bytes read from a connection per second, after `byteBurst`.
  public var bytesPerSecond = 1_048_576.0
  /// Bytes read from an address at once.
  public var addressByteBurst = 40.0 * 1_048_576
  /// Bytes read from an address per second, after `addressByteBurst`.
  public var addressBytesPerSecond = 10.0 * 1_048_576
  /// What may wait to be read by one connection, in bytes. One that reads too slowly is closed. A participant that joins is sent
  /// all names, attributes and tracks of the room in one message (its history follows in pages): the limit holds the largest
  /// message and 4 MiB of later messages.
  public var unreadBytes = SignalingLimits.serverMessage + (4 << 20)

  /// Creates the default limits.
  public init() {}
}

// MARK: By name

extension ServerLimits {
  private enum Figure: Sendable {
    case count(any WritableKeyPath<ServerLimits, Int> & Sendable, most: Int = Self.usualMost)
    case rate(any WritableKeyPath<ServerLimits, Double> & Sendable)

    static let usualMost = 1 << 40
    var most: Int { if case .count(_, let most) = self { most } else { Self.usualMost } }
  }

  private static let figures: [(name: String, figure: Figure)] = [
    ("rooms", .count(\.rooms)), ("participants", .count(\.participants)), ("lobby", .count(\.lobby)),
    ("tracks", .count(\.tracks)), ("subscriptions", .count(\.subscriptions)), ("voices", .count(\.voices)),
    ("recordings", .count(\.recordings)),
    ("connections", .count(\.connections)), ("connections-per-address", .count(\.connectionsPerAddress)),
    ("lost-per-address", .count(\.lostPerAddress)), ("rooms-per-address", .count(\.roomsPerAddress)),
    ("address-join-burst", .rate(\.addressJoinBurst)), ("address-joins-per-second", .rate(\.addressJoinsPerSecond)),
    // WebSocket frames of more than 32 bits are not read.
    ("message-bytes", .count(\.messageBytes, most: 1 << 30)), ("message-burst", .rate(\.messageBurst)),
    ("messages-per-second", .rate(\.messagesPerSecond)), ("address-burst", .rate(\.addressBurst)),
    ("address-messages-per-second", .rate(\.addressMessagesPerSecond)), ("unread-bytes", .count(\.unreadBytes)),
    ("byte-burst", .rate(\.byteBurst)), ("bytes-per-second", .rate(\.bytesPerSecond)),
    ("address-byte-burst", .rate(\.addressByteBurst)), ("address-bytes-per-second", .rate(\.addressBytesPerSecond)),
  ]

  /// In the order in which they are told.
  public static var names: [String] { figures.map(\.name) }

  /// Takes one or more, as `participants=50,rooms=10`.
  mutating func set(_ text: String) throws(ServerError) {
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let equals = word.firstIndex(of: "=") else { throw ServerError(description: "NAME=NUMBER is wanted") }
      let (name, number) = (word[..<equals], word[word.index(after: equals)...])
      guard let figure = Self.figures.first(where: { $0.name == name })?.figure else {
        throw ServerError(
          description: "there is no limit '\(name)'; there are \(Self.names.joined(separator: ", "))")
      }
      guard let value = Int(number), 1...figure.most ~= value else {
        throw ServerError(description: "'\(name)' takes a whole number from 1 to \(figure.most)")
      }
      switch figure {
      case .count(let path, _): self[keyPath: path] = value
      case .rate(let path): self[keyPath: path] = Double(value)
      }
    }
  }
}
