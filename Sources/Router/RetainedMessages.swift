import KoineBase
import KoineSignaling

/// The newest retained message of each topic, which later participants receive (`DataMessage.isRetained`).
struct RetainedMessages {
  /// Most topics of a room.
  static let countLimit = 1_024
  /// Limit on all messages as written to late joiners, in bytes.
  static let byteLimit = 1 << 20

  private var kept: [String: DataHistory.Kept] = [:]
  /// Numbers of messages that were dropped or replaced.
  var dropped: [UInt64] = []
  /// Of `kept`, in bytes as written.
  private var size = 0

  /// In the room's order.
  func messages(after order: UInt64) -> [DataHistory.Kept] {
    kept.values.filter { $0.order > order }.sorted { $0.order < $1.order }
  }

  func contains(_ order: UInt64) -> Bool { kept.values.contains { $0.order == order } }

  /// Replaces the message of the same topic. Above the limits, messages without a payload are dropped first, then the oldest.
  mutating func keep(_ message: ReceivedMessage, at now: Tick) {
    let item = DataHistory.Kept(message, received: now)
    guard item.size <= Self.byteLimit else { return }
    insert(item)
    while kept.count > Self.countLimit || size > Self.byteLimit, let topic = leastNeeded(besides: message.topic) {
      remove(topic)
    }
  }

  mutating func shiftTimes(by difference: Duration) {
    kept = kept.mapValues { DataHistory.shifted($0, by: difference) }
  }

  private mutating func insert(_ item: DataHistory.Kept) {
    remove(item.data.message.topic)
    kept[item.data.message.topic] = item
    size += item.size
  }

  private mutating func remove(_ topic: String) {
    guard let item = kept.removeValue(forKey: topic) else { return }
    size -= item.size
    dropped.append(item.order)
  }

  private func leastNeeded(besides newest: String) -> String? {
    func rank(_ item: DataHistory.Kept) -> (Int, UInt64) { (item.data.message.payload.isEmpty ? 0 : 1, item.order) }
    return kept.filter { $0.key != newest }.min { rank($0.value) < rank($1.value) }?.key
  }
}

extension RetainedMessages: Codable {
  init(from decoder: any Decoder) throws {
    self.init()
    for item in try decoder.singleValueContainer().decode([DataHistory.Kept].self) { insert(item) }
  }

  func encode(to encoder: any Encoder) throws {
    var list = encoder.singleValueContainer()
    try list.encode(messages(after: 0))
  }
}
