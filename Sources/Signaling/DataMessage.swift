/// A data message on its way from a participant to the room. The router answers with a `dataReceipt`.
public struct DataMessage: Hashable, Sendable {
  public var topic: String
  public var payload: [UInt8]
  /// Participants it is for; nil is everyone else in the room.
  public var to: [String]?
  /// How long the router keeps it for those it is for who join later; nil: not at all.
  public var lifetimeSeconds: Double?
  /// The router keeps it as long as there is the room.
  public var isPersistent: Bool
  /// Chosen by the sender; the receipt and the receivers' copies repeat it.
  public var id: String
  /// Whether the sender gets a copy too, in the room's order.
  public var echo: Bool

  public init(
    topic: String, payload: [UInt8], to: [String]? = nil, lifetimeSeconds: Double? = nil, isPersistent: Bool = false,
    id: String,
    echo: Bool = false
  ) {
    (self.topic, self.payload, self.to) = (topic, payload, to)
    (self.lifetimeSeconds, self.isPersistent, self.id, self.echo) = (lifetimeSeconds, isPersistent, id, echo)
  }
}

extension DataMessage: Codable {
  private enum CodingKeys: String, CodingKey { case topic, payload, to, lifetimeSeconds, isPersistent, id, echo }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let directed = try fields.contains(.to) && !fields.decodeNil(forKey: .to)
    self.init(
      topic: try fields.text(.topic, limit: SignalingLimits.topic),
      payload: try fields.bytes(.payload, limit: SignalingLimits.payload),
      to: directed ? try fields.names(.to, limit: SignalingLimits.recipients) : nil,
      lifetimeSeconds: try fields.decodeIfPresent(Double.self, forKey: .lifetimeSeconds),
      isPersistent: try fields.decodeIfPresent(Bool.self, forKey: .isPersistent) ?? false,
      id: try fields.text(.id), echo: try fields.decodeIfPresent(Bool.self, forKey: .echo) ?? false)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(topic, forKey: .topic)
    try fields.encode(Base64.encode(payload), forKey: .payload)
    try fields.encodeIfPresent(to, forKey: .to)
    try fields.encodeIfPresent(lifetimeSeconds, forKey: .lifetimeSeconds)
    if isPersistent { try fields.encode(isPersistent, forKey: .isPersistent) }
    try fields.encode(id, forKey: .id)
    if echo { try fields.encode(echo, forKey: .echo) }
  }
}

/// A data message as a receiver gets it.
public struct ReceivedData: Hashable, Sendable {
  /// The sender, who may have left since.
  public var from: String
  public var topic: String
  public var payload: [UInt8]
  public var id: String
  /// Counts the room's data messages: every receiver sees rising numbers (with gaps where a message was not for it).
  public var order: UInt64
  /// How long the router has kept it, in milliseconds; 0 for one that is passed on at once.
  public var ageMilliseconds: Int64
  /// Whether it was for named participants only.
  public var isDirected: Bool

  public init(
    from: String, topic: String, payload: [UInt8], id: String, order: UInt64 = 0, ageMilliseconds: Int64 = 0,
    isDirected: Bool = false
  ) {
    (self.from, self.topic, self.payload, self.id) = (from, topic, payload, id)
    (self.order, self.ageMilliseconds, self.isDirected) = (order, ageMilliseconds, isDirected)
  }
}

extension ReceivedData: Codable {
  private enum CodingKeys: String, CodingKey { case from, topic, payload, id, order, ageMilliseconds, isDirected }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      from: try fields.text(.from), topic: try fields.text(.topic, limit: SignalingLimits.topic),
      payload: try fields.bytes(.payload, limit: SignalingLimits.payload), id: try fields.text(.id),
      order: try fields.decodeIfPresent(UInt64.self, forKey: .order) ?? 0,
      ageMilliseconds: try fields.decodeIfPresent(Int64.self, forKey: .ageMilliseconds) ?? 0,
      isDirected: try fields.decodeIfPresent(Bool.self, forKey: .isDirected) ?? false)
  }

  /// Everything but its age.
  struct Ageless: Encodable {
    let data: ReceivedData

    func encode(to encoder: any Encoder) throws { try data.encodeAgeless(to: encoder) }
  }

  public func encode(to encoder: any Encoder) throws {
    try encodeAgeless(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(ageMilliseconds, forKey: .ageMilliseconds)
  }

  private func encodeAgeless(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(from, forKey: .from)
    try fields.encode(topic, forKey: .topic)
    try fields.encode(Base64.encode(payload), forKey: .payload)
    try fields.encode(id, forKey: .id)
    try fields.encode(order, forKey: .order)
    if isDirected { try fields.encode(isDirected, forKey: .isDirected) }
  }
}

/// Tells the sender of a data message what became of it.
public struct DataReceipt: Hashable, Sendable, Codable {
  /// The message's.
  public var id: String
  /// The message's place in the room's order; nil if it was not passed on.
  public var order: UInt64?
  public var failure: Failure?

  public init(id: String, order: UInt64? = nil, failure: Failure? = nil) {
    (self.id, self.order, self.failure) = (id, order, failure)
  }
}

/// Who speaks how loudly. Sent when it changes, at most five times a second.
public struct Speakers: Hashable, Sendable, Codable {
  /// Per participant its level since the last message, -127...0 dBov (RFC 6464), 0 the loudest. Only those who changed.
  public var levels: [String: Int8]
  /// Who leads the conversation; nil while nobody does.
  public var dominant: String?

  public init(levels: [String: Int8], dominant: String? = nil) {
    (self.levels, self.dominant) = (levels, dominant)
  }
}
