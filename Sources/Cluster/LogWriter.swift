import KoineBase
import KoineLedger

/// Brings a room's entries into its log, in order, and knows which are stored: the home's part of `Tests/Cluster/RoomLog.pml`.
///
/// Each request names the order before its entries. After a break or a failover the ledger may lack entries that it had confirmed: it
/// says where its log ends (`behind`), and the writer sends all later entries again. So that they need not be kept twice, it asks
/// the room for those that had been confirmed (`gap`, `supply`).
struct LogWriter: Sendable {
  private struct Waiting {
    let entry: LogEntry
    /// When its receipt is late.
    let isLateAt: Tick
  }

  private struct Flying {
    let last: UInt64
    let removing: [UInt64]
  }

  let room: String
  let term: RoomTerm
  private let limits: ClusterLimits
  /// Not confirmed, in order.
  private var waiting: [Waiting] = []
  /// How many of `waiting`, the first ones, need no note that their receipts are late.
  private var settled = 0
  /// How many of `waiting` are on the present connection.
  private var sent = 0
  private(set) var waitingBytes = 0
  /// The ledger has confirmed all entries up to here.
  private(set) var confirmed: UInt64
  /// The highest order of an entry, or where the term's numbers begin.
  private(set) var top: UInt64
  /// The ledger has answered on the present connection.
  private var isChecked = true
  private var flying: [Flying] = []
  private var isConnected: Bool
  private var retry: Tick?
  private var backoff = Backoff()
  /// During a hand-over: the order of the last entry that is still sent.
  private var last: UInt64?
  /// Where the ledger's log ends, if entries are missing that it had confirmed.
  private var missing: UInt64?
  /// Of entries that the room does not need any more, the soonest first.
  private var removals: [(order: UInt64, due: Tick)] = []
  private var renewal: Tick
  private var late: [UInt64] = []

  init(room: String, term: RoomTerm, base: UInt64, limits: ClusterLimits, isConnected: Bool, at now: Tick) {
    (self.room, self.term, self.limits, self.isConnected) = (room, term, limits, isConnected)
    (confirmed, top) = (base, base)
    renewal = now + limits.renewal
  }

  // MARK: Handing over

  /// Holds later entries back. If the room stays, `release` sends them. If the room moves, their senders repeat them at the new home.
  mutating func hold() { last = top }

  /// The room stays: entries that were held back are sent.
  mutating func release() { last = nil }

  /// Whether the ledger has confirmed all entries that are not held back.
  var isDone: Bool { missing == nil && waiting.first.map { $0.entry.order > last ?? .max } ?? true }

  // MARK: Entries

  /// - Parameter entry: with an order above `top`.
  mutating func append(_ entry: LogEntry, at now: Tick) {
    precondition(entry.order > top)
    top = entry.order
    waiting.append(Waiting(entry: entry, isLateAt: now + limits.receiptPatience))
    waitingBytes += entry.content.count
  }

  mutating func remove(_ orders: [UInt64], at now: Tick) {
    for order in orders { removals.append((order, now + limits.removalDelay)) }
  }

  /// The orders of the missing entries are above `after`, and at most `through`. Nil while requests are on their way.
  var gap: (after: UInt64, through: UInt64)? {
    guard let missing, flying.isEmpty else { return nil }
    return (missing, waiting.first.map { $0.entry.order - 1 } ?? top)
  }

  /// - Parameter entries: those of the gap that the room still needs, in order.
  mutating func supply(_ entries: [LogEntry]) {
    guard let gap else { return }
    let again = entries.filter { $0.order > gap.after && $0.order <= gap.through }
    waiting = again.map { Waiting(entry: $0, isLateAt: .zero) } + waiting
    settled += again.count
    waitingBytes += again.reduce(0) { $0 + $1.content.count }
    (confirmed, sent, missing, isChecked) = (gap.after, 0, nil, false)
  }

  /// Orders with late receipts, each once.
  mutating func takeLate() -> [UInt64] {
    defer { late = [] }
    return late
  }

  // MARK: The connection

  mutating func connected() {
    (isConnected, isChecked, retry, sent) = (true, false, nil, 0)
    backoff.reset()
  }

  mutating func disconnected() { (isConnected, isChecked, sent) = (false, false, 0) }

  /// The node's lease had ended: the next answer says whether the room is still its own.
  mutating func check() { isChecked = false }

  /// The next request, if one may go out.
  mutating func nextRequest(at now: Tick) -> AppendRequest? {
    guard isConnected, missing == nil, retry.map({ $0 <= now }) ?? true, flying.count < limits.requests else {
      return nil
    }
    retry = nil
    let previous = sent == 0 ? confirmed : waiting[sent - 1].entry.order
    var (entries, bytes) = ([LogEntry](), 0)
    for item in waiting[sent...].prefix(limits.entriesOfRequest) where item.entry.order <= last ?? .max {
      guard entries.isEmpty || bytes + item.entry.content.count <= limits.bytesOfRequest else { break }
      entries.append(item.entry)
      bytes += item.entry.content.count
    }
    let removing = takeRemovals(at: now)
    guard !entries.isEmpty || !removing.isEmpty || (flying.isEmpty && (!isChecked || renewal <= now)) else {
      return nil
    }
    if entries.isEmpty { renewal = now + limits.renewal }
    sent += entries.count
    let request = AppendRequest(room: room, term: term, previous: previous, entries: entries, removing: removing)
    flying.append(Flying(last: request.last, removing: removing))
    return request
  }

  private mutating func takeRemovals(at now: Tick) -> [UInt64] {
    guard let first = removals.first, first.due <= now, first.order <= confirmed else { return [] }
    let ready = removals.prefix { $0.due <= now && $0.order <= confirmed }.prefix(512).map(\.order)
    removals.removeFirst(ready.count)
    return ready
  }

  /// - Returns: whether more entries are confirmed than before. Answers come in the order of the requests.
  mutating func handle(_ answer: LedgerAnswer, at now: Tick, _ random: inout SeededRandom) -> Bool {
    guard !flying.isEmpty else { return false }
    let request = flying.removeFirst()
    switch answer {
    case .appended:
      backoff.reset()
      isChecked = true
      return confirm(request.last)
    case .behind(let last):
      requeue(request, at: now)
      missing = min(missing ?? last, last)
      sent = 0
    default:
      requeue(request, at: now)
      sent = 0
      isChecked = false
      if isConnected, retry.map({ $0 <= now }) ?? true { retry = now + backoff.next(&random) }
    }
    return false
  }

  private mutating func requeue(_ request: Flying, at now: Tick) {
    removals.insert(contentsOf: request.removing.map { ($0, now) }, at: 0)
  }

  private mutating func confirm(_ last: UInt64) -> Bool {
    // The log has this entry, so it has those before, even if it lacked some of them a moment ago.
    if let missing, missing < last { self.missing = nil }
    guard last > confirmed else { return false }
    confirmed = last
    let count = waiting.prefix { $0.entry.order <= last }.count
    waitingBytes -= waiting[..<count].reduce(0) { $0 + $1.entry.content.count }
    waiting.removeFirst(count)
    sent = max(0, sent - count)
    settled = max(0, settled - count)
    return true
  }

  // MARK: Time

  /// When the next receipt is late.
  var lateDeadline: Tick? { settled < waiting.count ? waiting[settled].isLateAt : nil }

  /// Does not count requests that can go out at once, which `nextRequest` gives.
  var deadline: Tick? {
    var soonest = lateDeadline
    guard isConnected, missing == nil, flying.count < limits.requests else { return soonest }
    if let retry { return soonest.sooner(retry) }
    if flying.isEmpty { soonest = soonest.sooner(renewal) }
    if let first = removals.first, first.order <= confirmed { soonest = soonest.sooner(first.due) }
    return soonest
  }

  mutating func handleTimeout(at now: Tick) {
    while settled < waiting.count, waiting[settled].isLateAt <= now {
      late.append(waiting[settled].entry.order)
      settled += 1
    }
  }
}
