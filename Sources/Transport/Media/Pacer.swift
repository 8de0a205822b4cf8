import KoineBase

/// Spreads packets over time, so that a key frame does not overrun the path: sound at once, then retransmissions, then
/// pictures at 2.5 times the target rate. A budget of at most 5 ms' worth of bits is carried over.
struct Pacer {
  enum Priority: Int { case sound, retransmission, pictures }

  struct Item {
    var sender: Int
    var layer: Int
    var sequence: UInt16
    var size: Int
    var queuedAt: Tick
  }

  private var queues: [Queue] = [Queue(), Queue(), Queue()]
  /// In bits; may be overdrawn by one packet.
  private var budget = 0.0
  private var lastRefill: Tick
  /// In bit/s.
  private var rate: Double
  private static let burst = Duration.milliseconds(5)
  private static let factor = 2.5
  /// Pictures older than this leave at once: better a burst than a queue that grows.
  private static let longestWait = Duration.milliseconds(250)

  init(targetBitrate: Int, now: Tick) {
    rate = Double(targetBitrate) * Self.factor
    lastRefill = now
  }

  mutating func setTarget(_ bitrate: Int) { rate = Double(max(bitrate, 50_000)) * Self.factor }

  mutating func enqueue(_ item: Item, _ priority: Priority) { queues[priority.rawValue].append(item) }

  mutating func next(at now: Tick) -> (Item, isRetransmission: Bool)? {
    refill(at: now)
    if let item = queues[Priority.sound.rawValue].popFirst() { return (item, false) }
    for priority in [Priority.retransmission, .pictures] {
      guard let first = queues[priority.rawValue].first else { continue }
      guard budget > 0 || now - first.queuedAt > Self.longestWait else { return nil }
      budget -= Double(first.size * 8)
      _ = queues[priority.rawValue].popFirst()
      return (first, priority == .retransmission)
    }
    return nil
  }

  /// When the next packet may leave.
  var deadline: Tick? {
    if queues[0].first != nil { return lastRefill }
    guard let first = queues[1].first ?? queues[2].first else { return nil }
    if budget > 0 { return lastRefill }
    let wait = Duration.nanoseconds(Int64((1 - budget) / rate * 1e9) + 1_000)
    return min(lastRefill + wait, first.queuedAt + Self.longestWait + .milliseconds(1))
  }

  private mutating func refill(at now: Tick) {
    guard now > lastRefill else { return }
    budget = min(budget + rate * (now - lastRefill).inSeconds, rate * Self.burst.inSeconds)
    lastRefill = now
  }

  /// A queue whose memory is kept.
  private struct Queue {
    private var items: [Item] = []
    private var head = 0

    var first: Item? { head < items.count ? items[head] : nil }

    mutating func append(_ item: Item) { items.append(item) }

    mutating func popFirst() -> Item? {
      guard head < items.count else { return nil }
      defer {
        head += 1
        if head == items.count {
          items.removeAll(keepingCapacity: true)
          head = 0
        } else if head > 256 {
          items.removeFirst(head)
          head = 0
        }
      }
      return items[head]
    }
  }
}
