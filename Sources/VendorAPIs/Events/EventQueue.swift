import KoineBase
package import KoineMedia

/// Events on their way to back ends: which is sent next, to which receiver, and which is given up.
///
/// Sans-IO: the owner takes attempts (`next`), makes each within `attemptTime`, reports how it ended (`finish`), and asks again at
/// `deadline`. A receiver gets the events of one room one after the other, in their order: the next one follows when the former has
/// been delivered or dropped. An event whose attempt fails is tried again, with growing pauses, until it is an hour old.
///
///     lane of a receiver and a room:  ready ── next ─→ sending ── delivered, dropped ─→ ready, or gone when it is empty
///                                       ↑                 └── failed ─→ waiting ─┐
///                                       └────────────── pause is over ───────────┘
package struct EventQueue: Sendable {
  package struct Limits: Sendable {
    /// Events that wait, of all rooms. Beyond, the oldest is dropped.
    package var events = 10_000
    /// Bytes of their bodies. Beyond, the oldest is dropped.
    package var bytes = 16 * 1024 * 1024
    /// Events that wait in one room for one receiver, so that a room does not push out the events of others.
    package var eventsPerLane = 1_000
    /// Bytes of a body. A larger event is dropped.
    package var body = 64 * 1024
    /// How long an event is tried.
    package var age = Duration.seconds(3_600)
    /// The longest pause between two attempts. The first pause is 1 s, and each further one is twice as long.
    package var pause = Duration.seconds(60)
    /// Attempts at a time, of all and to one host.
    package var attempts = 64
    package var attemptsPerHost = 4

    package init() {}
  }

  /// The longest time from the begin of an attempt until the receiver's answer has come.
  package static let attemptTime = Duration.seconds(5)

  /// One request to a receiver.
  package struct Attempt: Sendable {
    package let id: UInt64
    package let event: BackEndEvent
    package let url: EventURL
  }

  package enum Outcome: Hashable, Sendable {
    case answered(status: Int)
    /// No answer has come, for a reason in words.
    case failed(String)
    /// The receiver must not be reached, for a reason in words.
    case refused(String)
  }

  package enum DropReason: String, Sendable, CaseIterable {
    /// It was tried for an hour.
    case expired
    /// Too many events wait.
    case full
    /// The receiver has refused it.
    case rejected
    /// The receiver is not among the hosts that are allowed, or is not an address.
    case refused
    /// The body is too large.
    case tooLarge = "too_large"
    /// The server stops.
    case stopped

    fileprivate var text: String {
      switch self {
      case .expired: "it could not be delivered in time"
      case .full: "too many events wait"
      case .rejected: "the receiver refuses it"
      case .refused: "the receiver is not in --webhook-hosts"
      case .tooLarge: "it is too large"
      case .stopped: "the server stops"
      }
    }
  }

  package struct Statistics: Hashable, Sendable {
    package var delivered = 0
    /// Attempts after which the event was tried again or given up for its age.
    package var failedAttempts = 0
    package var dropped: [DropReason: Int] = [:]
    /// Events that wait or are being sent.
    package var waiting = 0

    package init(delivered: Int = 0, failedAttempts: Int = 0, dropped: [DropReason: Int] = [:], waiting: Int = 0) {
      (self.delivered, self.failedAttempts, self.dropped, self.waiting) = (delivered, failedAttempts, dropped, waiting)
    }
  }

  private struct Key: Hashable {
    var url: EventURL
    var room: String
  }

  private struct Item {
    var id: UInt64
    var event: BackEndEvent
    var added: Tick
  }

  private struct Lane {
    enum State: Equatable { case ready, sending, waiting(until: Tick) }

    let key: Key
    var state = State.ready
    /// At least one; the first is the one that is sent or waits to be tried again.
    var items = FIFO<Item>()
    /// Failed attempts since the receiver's last answer.
    var failures = 0
  }

  private struct Host {
    var sending = 0
    /// Lanes in the state `ready`.
    var ready = FIFO<Int>()
  }

  private let limits: Limits
  private var lanes: [Int: Lane] = [:]
  private var numbers: [Key: Int] = [:]
  private var hosts: [String: Host] = [:]
  /// Hosts with lanes that are ready, each once. The first is served next.
  private var readyHosts: [String] = []
  /// The lanes of the attempts that have begun.
  private var sending: [UInt64: Int] = [:]
  private var timers = TimerHeap()
  /// All events by age, with some that are gone.
  private var order = FIFO<(id: UInt64, lane: Int)>()
  private var present: Set<UInt64> = []
  private var bytes = 0
  private var nextID: UInt64 = 0
  private var nextLane = 0
  private var counters = Statistics()
  private var notices: [String] = []
  private var dropLogs: [DropReason: LogThrottle] = [:]
  private var failureLog = LogThrottle()

  package init(limits: Limits = Limits()) { self.limits = limits }

  package var statistics: Statistics {
    var statistics = counters
    statistics.waiting = present.count
    return statistics
  }

  package var isEmpty: Bool { present.isEmpty }

  /// When `next` may have something that it does not have now; nil: not before another event or the end of an attempt.
  package var deadline: Tick? { timers.soonest }

  /// Lines for the server's log since the last call. They contain neither paths, queries nor bodies.
  package mutating func takeNotices() -> [String] {
    defer { notices = [] }
    return notices
  }

  // MARK: In

  package mutating func add(_ event: BackEndEvent, to url: EventURL, at now: Tick) {
    guard event.body.count <= limits.body else { return drop(event, to: url.origin, .tooLarge, at: now) }
    let key = Key(url: url, room: event.room)
    nextID += 1
    let number: Int
    if let known = numbers[key] {
      number = known
      if lanes[known, default: Lane(key: key)].items.count >= limits.eventsPerLane {
        dropOldest(ofLane: known, at: now)
      }
    } else {
      nextLane += 1
      number = nextLane
      numbers[key] = number
      lanes[number] = Lane(key: key)
      makeReady(number)
    }
    lanes[number]?.items.append(Item(id: nextID, event: event, added: now))
    present.insert(nextID)
    order.append((nextID, number))
    bytes += event.body.count
    while present.count > limits.events || bytes > limits.bytes { guard dropOldest(at: now) else { break } }
    trimOrder()
  }

  /// Counts an event whose receiver must not be reached.
  /// - Parameter host: for the log.
  package mutating func refuse(_ event: BackEndEvent, to host: String, at now: Tick) {
    drop(event, to: host, .refused, at: now)
  }

  // MARK: Out

  /// Begins an attempt.
  /// - Returns: nil if nothing is to be sent now.
  package mutating func next(at now: Tick) -> Attempt? {
    while let entry = timers.popDue(at: now) {
      guard lanes[entry.owner]?.state == .waiting(until: entry.at) else { continue }
      makeReady(entry.owner)
    }
    while sending.count < limits.attempts, let number = takeReadyLane() {
      while let item = lanes[number]?.items.first, now - item.added > limits.age {
        removeFirst(of: number)
        drop(item.event, to: lanes[number]?.key.url.origin ?? "", .expired, at: now)
      }
      guard let lane = lanes[number], let item = lane.items.first else {
        removeLane(number)
        continue
      }
      lanes[number]?.state = .sending
      sending[item.id] = number
      hosts[lane.key.url.host, default: Host()].sending += 1
      return Attempt(id: item.id, event: item.event, url: lane.key.url)
    }
    return nil
  }

  /// Reports how an attempt ended. An attempt that is not known any more is ignored.
  package mutating func finish(_ id: UInt64, _ outcome: Outcome, at now: Tick) {
    guard let number = sending.removeValue(forKey: id), let lane = lanes[number], let item = lane.items.first else {
      return
    }
    let url = lane.key.url
    hosts[url.host]?.sending -= 1
    switch outcome {
    case .answered(let status) where (200...299).contains(status):
      counters.delivered += 1
      proceed(number)
    case .answered(let status) where !Self.isTemporary(status):
      proceed(number)
      drop(item.event, to: url.origin, .rejected, detail: " with status \(status)", at: now)
    case .refused(let reason):
      proceed(number)
      drop(item.event, to: url.origin, .refused, detail: ": \(reason)", at: now)
    case .answered(let status): retry(number, item, "status \(status)", at: now)
    case .failed(let reason): retry(number, item, reason, at: now)
    }
    if hosts[url.host].map({ $0.sending == 0 && $0.ready.isEmpty }) ?? false { hosts[url.host] = nil }
    trimOrder()
  }

  /// Drops everything, also what is being sent.
  package mutating func stop(at now: Tick) {
    while let (id, number) = order.popFirst() {
      guard present.contains(id), let lane = lanes[number],
        let index = lane.items.firstIndex(where: { $0.id == id })
      else { continue }
      present.remove(id)
      drop(lane.items[index].event, to: lane.key.url.origin, .stopped, at: now)
    }
    (lanes, numbers, hosts, readyHosts, sending, timers, bytes) = ([:], [:], [:], [], [:], TimerHeap(), 0)
    present = []
  }

  /// Statuses after which EventBridge tries again, too ("API destinations" of its user guide), and those of RFC 9110 and RFC 8470
  /// that ask for another attempt. All others, redirections among them, will not change.
  private static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 401, 407, 408, 409, 425, 429, 500...599: true
    default: false
    }
  }

  // MARK: Lanes

  private mutating func makeReady(_ number: Int) {
    guard let host = lanes[number]?.key.url.host else { return }
    lanes[number]?.state = .ready
    if hosts[host, default: Host()].ready.isEmpty { readyHosts.append(host) }
    hosts[host, default: Host()].ready.append(number)
  }

  /// Takes a lane of the next host that may have another attempt. Hosts take turns.
  private mutating func takeReadyLane() -> Int? {
    // At most attempts / attemptsPerHost hosts are passed over.
    while let index = readyHosts.firstIndex(where: { (hosts[$0]?.sending ?? 0) < limits.attemptsPerHost }) {
      let host = readyHosts.remove(at: index)
      let number = hosts[host]?.ready.popFirst()
      if hosts[host]?.ready.isEmpty == false {
        readyHosts.append(host)
      } else if hosts[host]?.sending == 0 {
        hosts[host] = nil
      }
      // A lane may have lost its events while it was ready.
      if let number, lanes[number] != nil { return number }
    }
    return nil
  }

  /// The first event of a lane is done.
  private mutating func proceed(_ number: Int) {
    lanes[number]?.failures = 0
    removeFirst(of: number)
    if lanes[number]?.items.isEmpty == false { makeReady(number) } else { removeLane(number) }
  }

  private mutating func retry(_ number: Int, _ item: Item, _ reason: String, at now: Tick) {
    counters.failedAttempts += 1
    let failures = (lanes[number]?.failures ?? 0) + 1
    lanes[number]?.failures = failures
    let url = lanes[number]?.key.url.origin ?? ""
    if failures == 1, let count = failureLog.countEvent(at: now) {
      notices.append(
        "events are not taken by \(url), and are tried again: \(LogText.line(reason, limit: 120))\(Self.like(count))")
    }
    let until = now + min(.seconds(1 << min(failures - 1, 16)), limits.pause)
    if until - item.added > limits.age {
      removeFirst(of: number)
      drop(item.event, to: url, .expired, detail: ": \(LogText.line(reason, limit: 120))", at: now)
    }
    guard lanes[number]?.items.isEmpty == false else { return removeLane(number) }
    // Also for the next event: the receiver does not answer.
    lanes[number]?.state = .waiting(until: until)
    timers.push(number, at: until)
  }

  private mutating func removeLane(_ number: Int) {
    guard let lane = lanes.removeValue(forKey: number) else { return }
    numbers[lane.key] = nil
  }

  private mutating func removeFirst(of number: Int) {
    guard let item = lanes[number]?.items.popFirst() else { return }
    present.remove(item.id)
    bytes -= item.event.body.count
  }

  // MARK: Bounds

  /// - Returns: whether there was an event that is not being sent.
  @discardableResult
  private mutating func dropOldest(at now: Tick) -> Bool {
    for (id, number) in order where present.contains(id) && sending[id] == nil {
      remove(id, of: number, at: now)
      return true
    }
    return false
  }

  private mutating func dropOldest(ofLane number: Int, at now: Tick) {
    guard let item = lanes[number]?.items.first(where: { sending[$0.id] == nil }) else { return }
    remove(item.id, of: number, at: now)
  }

  private mutating func remove(_ id: UInt64, of number: Int, at now: Tick) {
    guard let lane = lanes[number], let index = lane.items.firstIndex(where: { $0.id == id }) else { return }
    let event = lane.items[index].event
    lanes[number]?.items.remove(at: index)
    present.remove(id)
    bytes -= event.body.count
    // An empty lane is removed when its turn comes, or by the next event's.
    drop(event, to: lane.key.url.origin, .full, at: now)
    if lanes[number]?.items.isEmpty == true, lane.state != .ready { removeLane(number) }
  }

  private mutating func trimOrder() {
    while let first = order.first, !present.contains(first.id) { _ = order.popFirst() }
    if order.count > 2 * present.count + 64 { order.keep { present.contains($0.id) } }
  }

  private mutating func drop(
    _ event: BackEndEvent, to receiver: String, _ reason: DropReason, detail: String = "", at now: Tick
  ) {
    counters.dropped[reason, default: 0] += 1
    guard let count = dropLogs[reason, default: LogThrottle()].countEvent(at: now) else { return }
    notices.append(
      "the event \(event.name) of the room \(LogText(event.room)) for \(LogText.line(receiver, limit: 120)) is dropped: "
        + reason.text + detail + Self.like(count))
  }

  private static func like(_ count: Int) -> String { count > 1 ? " (\(count) within a minute)" : "" }
}

/// A queue over an array, whose front is freed from time to time.
private struct FIFO<Element>: Sequence {
  private var elements: [Element] = []
  private var start = 0

  var count: Int { elements.count - start }
  var isEmpty: Bool { count == 0 }
  var first: Element? { start < elements.count ? elements[start] : nil }

  subscript(index: Int) -> Element { elements[start + index] }

  func makeIterator() -> ArraySlice<Element>.Iterator { elements[start...].makeIterator() }

  func firstIndex(where condition: (Element) -> Bool) -> Int? {
    elements[start...].firstIndex(where: condition).map { $0 - start }
  }

  mutating func append(_ element: Element) { elements.append(element) }
  mutating func remove(at index: Int) { elements.remove(at: start + index) }
  mutating func keep(_ condition: (Element) -> Bool) { (elements, start) = (elements[start...].filter(condition), 0) }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    start += 1
    // The elements that are gone would keep their memory.
    if start > elements.count / 2 { (elements, start) = (Array(elements[start...]), 0) }
    return first
  }
}

extension FIFO: Sendable where Element: Sendable {}
