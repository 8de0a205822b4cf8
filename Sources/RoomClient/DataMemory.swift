import KoineBase
import KoineSignaling

/// The data messages that a participant remembers, so that no acknowledged message is lost and none arrives twice, even after a
/// router restart.
///
/// A router acknowledges a message once it has received it, or has stored it in its ledger. If the router goes down before the last
/// receiver has the message, or if the ledger loses its newest part, the sender sends the message again. So a sender keeps each message
/// for 10 s after its acknowledgement. The 10 s end when the sender leaves its router: a message that was acknowledged less than 10 s
/// before is kept until another router has acknowledged it. If that one gives the message the number that it had, it has read the message
/// in the ledger, and the 10 s count from the first acknowledgement: where routers go down one after the other, no message is repeated
/// for longer than they recognize it. A receiver recognizes a repeated message by its sender and id.
struct DataMemory {
  private struct Sent {
    /// Counts the messages, so that they are repeated in their order.
    let number: Int
    let message: SendData
    var acknowledgedAt: Tick?
    /// In the room's order, as the last receipt says.
    var order: UInt64?
    /// The receipt of the router before.
    var former: (order: UInt64, at: Tick)?

    mutating func acknowledge(as order: UInt64?, at now: Tick) {
      self.order = order
      acknowledgedAt = if let former, former.order == order { former.at } else { now }
    }

    /// Another router may not know the message.
    /// - Parameter continues: whether its room is restored from the ledger. Orders of other rooms prove nothing.
    mutating func reopen(continues: Bool) {
      if let order, let acknowledgedAt { former = (order, acknowledgedAt) }
      if !continues { former = nil }
      (acknowledgedAt, order) = (nil, nil)
    }
  }

  /// How long a message is kept after its acknowledgement: the time that a router had to forward it before it went down, and that the
  /// ledger's copy had to follow.
  private static let keepsAcknowledged = Duration.seconds(10)
  /// More than a sender's budget allows in `keepsAcknowledged`: 200 messages a second, and 400 at once (Docs/protocol.md). Where a router
  /// allows more, the oldest is kept for less time.
  private static let acknowledgedLimit = 2_400
  /// Beyond this number of messages that are stored later, the oldest is kept by the router alone.
  private static let deferredLimit = 16_384
  private static let heardLimit = 16_384

  /// The oldest first. Messages before `firstOpen` are acknowledged.
  private var sent: [Sent] = []
  private var firstOpen = 0
  private var acknowledged = 0
  /// Messages that the router has, and has not stored because its ledger is away (`Failure.Code.unavailable`). The oldest first.
  private var deferred: [Sent] = []
  private var lastNumber = 0
  private var heard: Set<String> = []
  /// The oldest first, in two halves of which the older is dropped as a whole.
  private var older: Set<String> = []

  mutating func remember(_ message: SendData) {
    lastNumber += 1
    sent.append(Sent(number: lastNumber, message: message))
  }

  mutating func acknowledge(_ receipt: DataReceipt, at now: Tick) {
    // Receipts come in the order of the messages, so both searches are short.
    let isSame = { (sent: Sent) in sent.message.id == receipt.id && sent.acknowledgedAt == nil }
    if let index = sent[firstOpen...].firstIndex(where: isSame) {
      acknowledge(receipt, of: index, at: now)
    } else if let index = deferred.firstIndex(where: isSame), receipt.failure?.code != .unavailable {
      var message = deferred.remove(at: index)
      message.order = receipt.order
      if receipt.failure == nil { restore([message], at: now) }
    }
    while firstOpen < sent.count, sent[firstOpen].acknowledgedAt != nil { firstOpen += 1 }
    dropOldest(at: now)
  }

  private mutating func acknowledge(_ receipt: DataReceipt, of index: Int, at now: Tick) {
    switch receipt.failure?.code {
    case nil:
      sent[index].acknowledge(as: receipt.order, at: now)
      acknowledged += 1
      // The ledger stores the messages of a room in their order.
      guard let order = receipt.order, !deferred.isEmpty, sent[index].message.message.isStored else { return }
      let stored = deferred.filter { $0.order.map { $0 < order } ?? false }
      deferred.removeAll { message in stored.contains { $0.number == message.number } }
      restore(stored, at: now)
    case .unavailable?:
      var message = sent.remove(at: index)
      message.order = receipt.order
      deferred.append(message)
      if deferred.count > Self.deferredLimit { deferred.removeFirst() }
    case _?: sent.remove(at: index)
    }
  }

  /// The ledger has stored these messages after all.
  private mutating func restore(_ messages: [Sent], at now: Tick) {
    guard !messages.isEmpty else { return }
    var messages = messages
    for index in messages.indices { messages[index].acknowledge(as: messages[index].order, at: now) }
    acknowledged += messages.count
    sent = (messages + sent).sorted { $0.number < $1.number }
    firstOpen = 0
  }

  private mutating func dropOldest(at now: Tick) {
    var count = 0
    while count < firstOpen, let at = sent[count].acknowledgedAt,
      acknowledged > Self.acknowledgedLimit || now - at > Self.keepsAcknowledged
    {
      count += 1
      acknowledged -= 1
    }
    // Many at once: each removal moves all others.
    guard count >= 64 || count == firstOpen else { return acknowledged += count }
    sent.removeFirst(count)
    firstOpen -= count
  }

  /// The messages that the router may not have received, or may have forgotten, in order. They wait for a receipt again.
  /// - Parameters:
  ///   - isRouterNew: whether it is another router than the one that has acknowledged messages.
  ///   - leftAt: when the sender left that one; nil: all messages are kept.
  ///   - continues: whether the new router has restored the room from the ledger.
  mutating func unheard(isRouterNew: Bool, since leftAt: Tick?, continues: Bool = false) -> [SendData] {
    if isRouterNew {
      sent = (deferred + sent).sorted { $0.number < $1.number }
      deferred = []
      sent.removeAll { message in
        guard let leftAt, let at = message.acknowledgedAt else { return false }
        return leftAt - at >= Self.keepsAcknowledged
      }
    } else {
      sent.removeAll { $0.acknowledgedAt != nil }
    }
    for index in sent.indices { sent[index].reopen(continues: continues) }
    (firstOpen, acknowledged) = (0, 0)
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

extension DataMessage {
  /// Whether a room with a ledger stores the message before it acknowledges it.
  fileprivate var isStored: Bool { (lifetime ?? .zero) > .zero || isPersistent || isRetained }
}
