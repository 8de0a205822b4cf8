import KoineBase

/// A data message of an app to the other participants of a room.
public struct DataMessage: Sendable, Hashable {
  /// The subject, at most 256 bytes of UTF-8. Receivers choose by it.
  public var topic: String
  /// At most 64 KiB.
  public var payload: [UInt8]
  /// The participants that receive the message, at most 256; nil: all others in the room.
  public var recipients: [Participant.ID]?
  /// How long participants that join later still receive the message, at most an hour; nil: not at all.
  public var lifetime: Duration?
  /// Whether later participants receive the message as long as the room exists, without regard to `lifetime`: the newest 16,384, 8 MiB
  /// of JSON in all.
  public var isPersistent: Bool
  /// Whether the room keeps this message in place of the earlier retained message of the same topic, and sends it to participants
  /// that join later, as long as the room exists: 1,024 topics, 1 MiB of JSON in all. Above that, the room drops messages without a
  /// payload first, then the oldest. For state that participants share, as retained messages in MQTT 5.0 (section 3.3.1.3). No
  /// effect on a message with `recipients`.
  public var isRetained = false
  /// Whether the sender receives the message, too, in the same order as all other participants.
  public var returnsToSender = false

  /// Creates a message. Without `recipients` all participants receive it.
  public init(
    topic: String, payload: [UInt8], to recipients: [Participant.ID]? = nil, lifetime: Duration? = nil,
    isPersistent: Bool = false
  ) {
    self.topic = topic
    self.payload = payload
    self.recipients = recipients
    self.lifetime = lifetime
    self.isPersistent = isPersistent
  }
}

extension DataMessage: Codable {
  private enum CodingKeys: String, CodingKey {
    case topic, payload, isPersistent, isRetained
    case recipients = "to"
    case lifetime = "lifetimeSeconds"
    case returnsToSender = "echo"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      topic: try fields.decode(String.self, forKey: .topic), payload: try fields.base64(.payload),
      to: try fields.decodeIfPresent([Participant.ID].self, forKey: .recipients),
      lifetime: try fields.secondsIfPresent(.lifetime),
      isPersistent: try fields.decodeIfPresent(Bool.self, forKey: .isPersistent) ?? false)
    isRetained = try fields.decodeIfPresent(Bool.self, forKey: .isRetained) ?? false
    returnsToSender = try fields.decodeIfPresent(Bool.self, forKey: .returnsToSender) ?? false
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(topic, forKey: .topic)
    try fields.encode(Base64.encode(payload), forKey: .payload)
    try fields.encodeIfPresent(recipients, forKey: .recipients)
    try fields.encodeIfPresent(lifetime?.inSeconds, forKey: .lifetime)
    if isPersistent { try fields.encode(isPersistent, forKey: .isPersistent) }
    if isRetained { try fields.encode(isRetained, forKey: .isRetained) }
    if returnsToSender { try fields.encode(returnsToSender, forKey: .returnsToSender) }
  }
}

/// A data message as a receiver gets it.
public struct ReceivedMessage: Sendable, Hashable {
  /// The sender, which may have left since.
  public let sender: Participant.ID
  /// The topic that the sender chose.
  public let topic: String
  /// The content, at most 64 KiB.
  public let payload: [UInt8]
  /// The sender's id of the message: the same for every receiver. Empty where the sender gave none.
  public let id: String
  /// The message's number in the room. Every receiver sees rising numbers, with gaps where a message was for others.
  public package(set) var order: UInt64
  /// How long the room has kept the message, in milliseconds; zero where it was passed on at once.
  public package(set) var age: Duration
  /// Whether the message named its recipients.
  public let isDirected: Bool
  /// Whether it was sent before the receiver joined. Never written: the receiver knows by the way in which the message arrives.
  public package(set) var isHistory: Bool

  /// Creates a received message.
  public init(
    sender: Participant.ID, topic: String, payload: [UInt8], id: String = "", order: UInt64 = 0, age: Duration = .zero,
    isDirected: Bool = false, isHistory: Bool = false
  ) {
    self.sender = sender
    self.topic = topic
    self.payload = payload
    self.id = id
    self.order = order
    self.age = age
    self.isDirected = isDirected
    self.isHistory = isHistory
  }
}

extension ReceivedMessage: Codable {
  private enum CodingKeys: String, CodingKey {
    case topic, payload, id, order, isDirected
    case sender = "from"
    case age = "ageMilliseconds"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      sender: try fields.decode(String.self, forKey: .sender), topic: try fields.decode(String.self, forKey: .topic),
      payload: try fields.base64(.payload), id: try fields.decode(String.self, forKey: .id),
      order: try fields.decodeIfPresent(UInt64.self, forKey: .order) ?? 0,
      age: .milliseconds(try fields.decodeIfPresent(Int64.self, forKey: .age) ?? 0),
      isDirected: try fields.decodeIfPresent(Bool.self, forKey: .isDirected) ?? false)
  }

  public func encode(to encoder: any Encoder) throws {
    try encodeWithoutAge(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(Int64(age.inWholeMilliseconds), forKey: .age)
  }

  /// The part that is the same for every receiver.
  package func encodeWithoutAge(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(sender, forKey: .sender)
    try fields.encode(topic, forKey: .topic)
    try fields.encode(Base64.encode(payload), forKey: .payload)
    try fields.encode(id, forKey: .id)
    try fields.encode(order, forKey: .order)
    if isDirected { try fields.encode(isDirected, forKey: .isDirected) }
  }
}

extension KeyedDecodingContainer {
  /// Bytes written as base64 text (RFC 4648 section 4).
  fileprivate func base64(_ key: Key) throws -> [UInt8] {
    guard let bytes = Base64.decode(try decode(String.self, forKey: key).utf8) else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not base64")
    }
    return bytes
  }

  /// A duration in seconds. One that cannot be represented is an error and not a trap.
  fileprivate func secondsIfPresent(_ key: Key) throws -> Duration? {
    guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    guard seconds.isFinite, abs(seconds) < 1e15 else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "no time span")
    }
    // Rounded to the nanosecond, the precision in which durations are written. Values beyond ±9e9 s (285 years) are clamped.
    return .nanoseconds(Int64((min(max(seconds, -9e9), 9e9) * 1e9).rounded()))
  }
}
