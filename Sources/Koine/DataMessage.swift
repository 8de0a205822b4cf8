/// A message of an app to the others in the room.
public struct DataMessage: Sendable, Hashable {
  /// What it is about; receivers choose by it.
  public var topic: String
  public var payload: [UInt8]
  /// Only these participants get it; nil means everybody else.
  public var recipients: [Participant.ID]?
  /// How long those who come later still get it, at most an hour; nil means not at all.
  public var lifetime: Duration?
  /// Those who come later get it as long as there is the room, whatever its lifetime says: the newest 16,384, 8 MiB in
  /// all as they are written.
  public var isPersistent: Bool

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

/// A message as it arrives.
public struct ReceivedMessage: Sendable, Hashable {
  public let sender: Participant.ID
  public let topic: String
  public let payload: [UInt8]
  /// Counts the room's messages: every receiver sees rising numbers.
  public package(set) var order: UInt64
  /// How long the room has kept it; zero for one that was passed on at once.
  public let age: Duration
  /// It was sent before this participant came.
  public let isHistory: Bool

  public init(
    sender: Participant.ID, topic: String, payload: [UInt8], order: UInt64, age: Duration, isHistory: Bool
  ) {
    self.sender = sender
    self.topic = topic
    self.payload = payload
    self.order = order
    self.age = age
    self.isHistory = isHistory
  }
}
