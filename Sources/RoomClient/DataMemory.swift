import KoineBase
import KoineSignaling

/// The data messages that a participant remembers, so that no acknowledged message is lost and none arrives twice, even after a
/// router restart.
///
/// A router acknowledges a message once it has received it. If the router goes down before the last receiver has the message, the
/// sender sends it again. So a sender keeps each message for up to 10 s after its acknowledgement, and a receiver recognizes a
/// repeated message by its sender and id.
struct DataMemory {
  private struct Sent {
    let message: SendData
    var acknowledgedAt: Tick?
  }

  /// How long a message is kept after its acknowledgement: the time that a router had to forward it before it went down.
  private static let keepsAcknowledged = Duration.seconds(10)
  private static let acknowledgedLimit = 256
  private static let heardLimit = 16_384

  private var sent: [Sent] = []
  private var acknowledged = 0
  private var heard: Set<String> = []
  /// The oldest first, in two halves of which the older is dropped as a whole.
  private var older: Set<String> = []

  mutating func remember(_ message: SendData) { sent.append(Sent(message: message)) }

  mutating func acknowledge(_ receipt: DataReceipt, at now: Tick) {
    guard let index = sent.firstIndex(where: { $0.message.id == receipt.id && $0.acknowledgedAt == nil }) else {
      return
    }
    if receipt.failure == nil {
      sent[index].acknowledgedAt = now
      acknowledged += 1
    } else {
      sent.remove(at: index)
    }
    while let first = sent.first, let at = first.acknowledgedAt,
      acknowledged > Self.acknowledgedLimit || now - at > Self.keepsAcknowledged
    {
      sent.removeFirst()
      acknowledged -= 1
    }
  }

  /// The messages that the router may not have received, or may have forgotten, in order.
  mutating func unheard(isRouterNew: Bool) -> [SendData] {
    if !isRouterNew { sent.removeAll { $0.acknowledgedAt != nil } }
    for index in sent.indices { sent[index].acknowledgedAt = nil }
    acknowledged = 0
    return sent.map(\.message)
  }

  /// - Returns: whether it is the first time.
  mutating func insert(_ data: ReceivedMessage) -> Bool {
    let name = "\(data.sender)\n\(data.id)"
    guard !heard.contains(name), !older.contains(name) else { return false }
    heard.insert(name)
    if heard.count >= Self.heardLimit / 2 { (older, heard) = (heard, []) }
    return true
  }
}
