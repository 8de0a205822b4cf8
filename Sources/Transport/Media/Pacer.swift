import KoineBase

/// Spreads packets over time, so that a key frame does not overrun the path. Audio leaves at once; then come late packets and
/// retransmissions, then video at 2.5 times the target rate. A budget of at most 5 ms' worth of bits is carried over.
struct Pacer: ~Copyable {
  enum Priority: Int { case sound, late, retransmission, pictures }

  /// In 24 bytes: on a path that carries less than its receiver wants, hundreds wait.
  struct Item {
    let queuedAt: Tick
    let sender: Int
    let sequence: UInt16
    private let storedSize: UInt16
    private let storedLayer: UInt8

    /// - Parameters:
    ///   - layer: 0...255.
    ///   - size: of a payload, which is no larger than a datagram.
    init(sender: Int, layer: Int, sequence: UInt16, size: Int, queuedAt: Tick) {
      (self.sender, self.sequence, self.queuedAt) = (sender, sequence, queuedAt)
      (storedSize, storedLayer) = (UInt16(clamping: size), UInt8(clamping: layer))
    }

    var layer: Int { Int(storedLayer) }
    var size: Int { Int(storedSize) }
  }

  private var sound = Queue(), late = Queue(), retransmissions = Queue(), pictures = Queue()
  /// In bits; may be overdrawn by one packet.
  private var budget = 0.0
  private var lastRefill: Tick
  /// In bit/s.
  private var rate: Double
  /// In seconds.
  private static let burst = 0.005
  private static let factor = 2.5
  /// Pictures older than this leave at once: better a burst than a queue that grows.
  static let longestWait = Duration.milliseconds(250)
  private var longestWait = Self.longestWait
  /// The most retransmissions that may wait. A receiver that misses more packets requests them again.
  private static let retransmissionLimit = 512
  private static let fewRetransmissions = 4
  private static let retransmissionWait = Duration.milliseconds(300)

  private static let copyLimit = Duration.milliseconds(50)

  init(targetBitrate: Int, now: Tick) {
    rate = Double(targetBitrate) * Self.factor
    lastRefill = now
  }

  /// - Parameter isDraining: the path's queue is too long already: nothing beyond the target, and what waits waits here.
  mutating func setTarget(_ bitrate: Int, isDraining: Bool = false) {
    rate = Double(max(bitrate, 50_000)) * (isDraining ? 1.1 : Self.factor)
    longestWait = isDraining ? Self.longestWait * 4 : Self.longestWait
  }

  private var isEmpty: Bool {
    sound.isEmpty && late.isEmpty && retransmissions.isEmpty && pictures.isEmpty
  }

  mutating func enqueue(_ item: Item, _ priority: Priority) {
    if isEmpty { refill(at: item.queuedAt) }  // at the rate of an empty queue
    switch priority {
    case .sound: sound.append(item)
    case .late: late.append(item)
    case .retransmission: if hasRoomForRetransmissions { retransmissions.append(item) }
    case .pictures: pictures.append(item)
    }
  }

  /// Whether a further retransmission could leave soon. Otherwise the receiver requests the packet again if it still needs it.
  private var hasRoomForRetransmissions: Bool {
    retransmissions.count < Self.fewRetransmissions
      || retransmissions.count < Self.retransmissionLimit
        && Double(retransmissions.bytes * 8) < rate * Self.retransmissionWait.inSeconds
  }

  /// Forgets what waits of this stream, sound aside: something newer makes it useless.
  mutating func drop(sender: Int) {
    late.removeAll { $0.sender == sender }
    retransmissions.removeAll { $0.sender == sender }
    pictures.removeAll { $0.sender == sender }
  }

  /// Whether the retransmissions that wait take so little time that each may go twice.
  var hasRoomForCopies: Bool { Double(retransmissions.bytes * 8) < rate * Self.copyLimit.inSeconds }

  /// In bytes, not counting sound.
  var queued: Int { late.bytes + retransmissions.bytes + pictures.bytes }

  /// - Parameter isFree: the budget does not matter, because something else sets the pace.
  mutating func next(isFree: Bool = false, at now: Tick) -> (Item, isRetransmission: Bool)? {
    if isEmpty { return nil }
    refill(at: now)
    if let item = sound.popFirst() { return (item, false) }
    // Overdue pictures do not wait behind retransmissions.
    if let first = pictures.first, now - first.queuedAt >= longestWait, let item = pictures.popFirst() {
      return spend(item, false)
    }
    guard budget > 0 || isFree else { return nil }
    if let item = late.popFirst() { return spend(item, false) }
    if let item = retransmissions.popFirst() { return spend(item, true) }
    if let item = pictures.popFirst() { return spend(item, false) }
    return nil
  }

  private mutating func spend(_ item: Item, _ isRetransmission: Bool) -> (Item, isRetransmission: Bool) {
    budget = max(budget - Double(item.size * 8), -rate * Self.burst - 12_000)
    return (item, isRetransmission)
  }

  /// When the next packet may leave.
  var deadline: Tick? {
    if sound.first != nil { return lastRefill }
    guard late.first != nil || retransmissions.first != nil || pictures.first != nil else { return nil }
    if budget > 0 { return lastRefill }
    let due = lastRefill + .nanoseconds(Int64((1 - budget) / drainRate * 1e9) + 1_000)
    return pictures.first.map { min(due, $0.queuedAt + longestWait) } ?? due
  }

  /// What waits is gone within `longestWait`, also when the target is too low for what the encoder makes.
  private var drainRate: Double { max(rate, Double(queued * 8) / longestWait.inSeconds) }

  private mutating func refill(at now: Tick) {
    guard now > lastRefill else { return }
    let rate = drainRate
    budget = min(budget + rate * (now - lastRefill).inSeconds, rate * Self.burst)
    lastRefill = now
  }

  /// A queue that keeps its memory when it is empty, unless it has been very long.
  private struct Queue {
    private static let keptCapacity = 512
    private var items: [Item] = []
    private var head = 0
    private(set) var bytes = 0

    var first: Item? { head < items.count ? items[head] : nil }
    var count: Int { items.count - head }
    var isEmpty: Bool { head == items.count }

    mutating func append(_ item: Item) {
      items.append(item)
      bytes += item.size
    }

    mutating func removeAll(where isUseless: (Item) -> Bool) {
      items.removeFirst(head)
      head = 0
      items.removeAll(where: isUseless)
      bytes = items.reduce(0) { $0 + $1.size }
    }

    mutating func popFirst() -> Item? {
      guard head < items.count else { return nil }
      let item = items[head]
      bytes -= item.size
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: items.capacity <= Self.keptCapacity)
        head = 0
      } else if head > 256 {
        items.removeFirst(head)
        head = 0
      }
      return item
    }
  }
}
