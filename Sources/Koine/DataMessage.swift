/// A message of an app to the others in the room.
public struct DataMessage: Sendable, Hashable {
  /// What it is about; receivers choose by it.
  public var topic: String
  public var payload: [UInt8]
  /// Only these participants get it; nil means everybody else.
  public var recipients: [Participant.ID]?
  /// How long those who come later still get it; nil means not at all.
  public var lifetime: Duration?

  public init(topic: String, payload: [UInt8], to recipients: [Participant.ID]? = nil, lifetime: Duration? = nil) {
    self.topic = topic
    self.payload = payload
    self.recipients = recipients
    self.lifetime = lifetime
  }
}

/// A message as it arrives.
public struct ReceivedMessage: Sendable, Hashable {
  public let sender: Participant.ID
  public let topic: String
  public let payload: [UInt8]
  /// When the room took it, in milliseconds since 1970 on the room's clock.
  public let sentAt: Int64
  /// It was sent before this participant came.
  public let isHistory: Bool

  public init(sender: Participant.ID, topic: String, payload: [UInt8], sentAt: Int64, isHistory: Bool) {
    self.sender = sender
    self.topic = topic
    self.payload = payload
    self.sentAt = sentAt
    self.isHistory = isHistory
  }
}
