/// A data message on its way from a participant to the room. The router answers with a `dataReceipt`.
public struct SendData: Hashable, Sendable {
  public var message: DataMessage
  /// Chosen by the sender; the receipt and the receivers' copies repeat it.
  public var id: String
  /// Whether the sender receives a copy, too, in the room's order.
  public var echo: Bool {
    get { message.returnsToSender }
    set { message.returnsToSender = newValue }
  }

  public init(_ message: DataMessage, id: String, echo: Bool = false) {
    (self.message, self.id) = (message, id)
    if echo { self.echo = true }
  }
}

extension SendData: Codable {
  private enum CodingKeys: String, CodingKey { case id }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try DataMessage(from: decoder), id: try fields.text(.id))
    try message.checkSize("message")
  }

  public func encode(to encoder: any Encoder) throws {
    try message.encode(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(id, forKey: .id)
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
