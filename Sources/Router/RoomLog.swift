import KoineBase
import KoineLedger
import KoineSignaling

/// What a room of a cluster has recorded and acknowledged: receipts wait here until the ledger has stored their messages.
///
/// A sender that has no receipt sends its message again, to this home of the room or to the next one. So the log knows the messages
/// of the last two minutes by their senders and ids, and gives a repeated one the number that it has.
struct RoomLog {
  /// How long a repeated message is recognised: longer than a sender repeats one, which is for 10 s after its receipt, until the lost
  /// home's silence is noticed, and while a home is looked for and joined (60 s and 15 s).
  static let memory = Duration.seconds(120)
  static let knownLimit = 32_768

  private struct Name: Hashable {
    let sender: Participant.ID
    let id: String
  }

  private struct Receipt {
    let order: UInt64
    let id: String
    let member: Member
  }

  private var receipts: [Receipt] = []
  private var orders: [Name: UInt64] = [:]
  /// Of `orders`, the oldest first.
  private var names: [(name: Name, ends: Tick)] = []
  /// Messages up to this number are stored.
  private var stored: UInt64
  private var outgoing: [LogEntry] = []

  /// - Parameter base: messages up to this number are in the log.
  init(base: UInt64) { stored = base }

  /// For `koine_receipts_waiting`.
  var waiting: Int { receipts.count }

  /// The number of a message that its sender has sent before.
  mutating func order(of id: String, from sender: Participant.ID, at now: Tick) -> UInt64? {
    // One that waits for the ledger is recognised for as long as it waits.
    let expired = names.prefix { $0.ends <= now && orders[$0.name] ?? 0 <= stored }
    for entry in expired { orders[entry.name] = nil }
    names.removeFirst(expired.count)
    return orders[Name(sender: sender, id: id)]
  }

  /// Recognises the message if it is sent again.
  mutating func remember(_ message: ReceivedMessage, age: Duration = .zero, at now: Tick) {
    let name = Name(sender: message.sender, id: message.id)
    guard !message.id.isEmpty, age < Self.memory, orders.updateValue(message.order, forKey: name) == nil else { return }
    names.append((name, now + Self.memory - age))
    if names.count > Self.knownLimit { orders[names.removeFirst().name] = nil }
  }

  mutating func record(_ entry: LogEntry) { outgoing.append(entry) }

  mutating func takeOutgoing() -> [LogEntry] {
    defer { outgoing = [] }
    return outgoing
  }

  /// - Returns: whether the message is stored: its receipt may go out at once. Else it waits.
  mutating func isStored(_ order: UInt64, id: String, of member: Member) -> Bool {
    guard order > stored else { return true }
    receipts.append(Receipt(order: order, id: id, member: member))
    return false
  }

  /// Whether a receipt for this message already waits for the ledger. A sender may repeat its message in the meantime.
  func isWaiting(_ order: UInt64, of member: Member) -> Bool {
    receipts.contains { $0.order == order && $0.member === member }
  }

  /// All messages up to a number are stored.
  /// - Returns: the receipts that may go out, in order.
  mutating func store(through order: UInt64) -> [(receipt: DataReceipt, member: Member)] {
    stored = max(stored, order)
    let ready = receipts.filter { $0.order <= stored }
    guard !ready.isEmpty else { return [] }
    receipts.removeAll { $0.order <= stored }
    return ready.map { (DataReceipt(id: $0.id, order: $0.order), $0.member) }
  }

  /// The receipts that say that a message is not stored, or not in time. They wait for a better one nevertheless.
  func failure(of order: UInt64, _ failure: Failure) -> [(receipt: DataReceipt, member: Member)] {
    receipts.filter { $0.order == order }.map { (DataReceipt(id: $0.id, failure: failure), $0.member) }
  }

  /// The message will not be stored: it is not recognised if it is sent again.
  mutating func forget(_ order: UInt64) {
    receipts.removeAll { $0.order == order }
    // It is among the newest.
    guard let index = names.lastIndex(where: { orders[$0.name] == order }) else { return }
    orders[names.remove(at: index).name] = nil
  }
}
