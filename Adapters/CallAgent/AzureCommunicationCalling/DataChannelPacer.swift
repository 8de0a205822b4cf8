import Koine

/// Decides when the messages of a call's data channels are sent. Each sender may have a bitrate of its own, and all senders together stay
/// below what a room takes from a participant. Of the messages that may be sent, those of a sender with high priority go first, then the
/// oldest. The messages of one sender keep their order. Any thread may call it.
final class DataChannelPacer: Sendable {
  /// One sender, with its settings.
  final class Channel: Sendable {
    /// In bit/s; nil: the sender has no limit of its own.
    let bitrate: Int?
    let isHigh: Bool
    let isLossy: Bool

    init(bitrate: Int?, isHigh: Bool, isLossy: Bool) {
      (self.bitrate, self.isHigh, self.isLossy) = (bitrate, isHigh, isLossy)
    }
  }

  fileprivate struct Message {
    let arrival: Tick
    let size: Int
    let isLossy: Bool
    let send: @Sendable () -> Void
  }

  fileprivate struct Queue {
    let channel: Channel
    /// When the sender's own bitrate allows the next message.
    var free: Tick
    var waiting: [Message] = []
  }

  /// The generic cell rate algorithm (ITU-T I.371, A.2).
  fileprivate struct Allowance {
    let perSecond: Double
    let burst: Double
    /// When everything allowed so far would have been sent at the steady rate.
    private var paid: Tick

    init(perSecond: Double, burst: Double, now: Tick) {
      (self.perSecond, self.burst, paid) = (perSecond, burst, now)
    }

    func time(for amount: Double) -> Tick { paid - .seconds(max(0, burst - amount) / perSecond) }
    mutating func take(_ amount: Double, at now: Tick) { paid = max(paid, now) + .seconds(amount / perSecond) }
  }

  fileprivate struct State {
    var queues: [ObjectIdentifier: Queue] = [:]
    var messages: Allowance
    var bytes: Allowance
    var waitingCount = 0
    var waitingBytes = 0
    var isSending = false
    var isClosed = false
    var alarm: Alarm?
  }

  /// How long a message of a lossy sender waits at most.
  static let patience = Duration.seconds(1)
  /// Most messages that wait, of all senders.
  static let countLimit = 4_096
  /// Most bytes that wait, of all senders.
  static let byteLimit = 16 << 20

  private let lane: Lane
  private let state: Lock<State>

  init(on scheduler: Koine.Scheduler) {
    lane = scheduler.lane("data channels")
    let now = scheduler.now
    // Less than a room takes from a participant (`Session.send`), because a call sends other messages, too.
    state = Lock(
      State(
        messages: Allowance(perSecond: 180, burst: 300, now: now),
        bytes: Allowance(perSecond: 900 * 1_024, burst: 3 * 1_024 * 1_024, now: now)))
  }

  /// - Parameter send: called once, outside of locks, when the message's turn has come; on the caller's thread if that is now.
  /// - Returns: false if too many messages wait, or the call has ended.
  func add(
    _ size: Int, on channel: Channel, isLossy: Bool, send: @escaping @Sendable () -> Void
  ) -> Bool {
    let now = lane.scheduler.now
    let isAccepted = state.withLock { state in
      guard !state.isClosed, state.waitingCount < Self.countLimit, state.waitingBytes + size <= Self.byteLimit else {
        return false
      }
      state.queues[ObjectIdentifier(channel), default: Queue(channel: channel, free: now)].waiting.append(
        Message(arrival: now, size: size, isLossy: isLossy, send: send))
      state.waitingCount += 1
      state.waitingBytes += size
      return true
    }
    if isAccepted { sendDue() }
    return isAccepted
  }

  /// Drops all messages: the call has ended.
  func close() {
    let (old, alarm) = state.withLock { state in
      defer { (state.queues, state.alarm, state.waitingCount, state.waitingBytes) = ([:], nil, 0, 0) }
      state.isClosed = true
      return (state.queues, state.alarm)
    }
    alarm?.cancel()
    withExtendedLifetime(old) {}  // closures are released outside the lock
  }

  /// One thread at a time sends, so that messages keep their order.
  private func sendDue() {
    let mayStart = state.withLock { state in
      defer { state.isSending = true }
      return !state.isSending
    }
    guard mayStart else { return }
    while let message = next() { message.send() }
  }

  /// - Returns: nil if nothing can be sent now; the alarm is set then.
  private func next() -> Message? {
    let now = lane.scheduler.now
    return state.withLock { state in
      state.dropLate(at: now)
      guard let (id, time) = state.candidate(at: now) else {
        state.isSending = false
        return nil
      }
      guard time <= now else {
        state.isSending = false
        state.alarm?.cancel()
        state.alarm = lane.post(at: time) { [weak self] in self?.sendDue() }
        return nil
      }
      return state.take(id, at: now)
    }
  }
}

extension DataChannelPacer.State {
  fileprivate mutating func dropLate(at now: Tick) {
    for id in queues.keys {
      while let first = queues[id]?.waiting.first, first.isLossy, now - first.arrival > DataChannelPacer.patience {
        queues[id]?.waiting.removeFirst()
        count(out: first)
      }
      // A sender that is idle and may send at once needs no memory.
      if let queue = queues[id], queue.waiting.isEmpty, queue.free <= now { queues[id] = nil }
    }
  }

  /// The sender whose message is next, and when it can be sent.
  fileprivate func candidate(at now: Tick) -> (ObjectIdentifier, Tick)? {
    let heads = queues.compactMap { id, queue in queue.waiting.first.map { (id: id, queue: queue, message: $0) } }
    let ready = heads.filter { $0.queue.free <= now }
    if let best = ready.min(by: { ($0.queue.rank, $0.message.arrival) < ($1.queue.rank, $1.message.arrival) }) {
      return (best.id, max(messages.time(for: 1), bytes.time(for: Double(best.message.size))))
    }
    return heads.min { $0.queue.free < $1.queue.free }.map { ($0.id, $0.queue.free) }
  }

  fileprivate mutating func take(_ id: ObjectIdentifier, at now: Tick) -> DataChannelPacer.Message? {
    guard var queue = queues[id], !queue.waiting.isEmpty else { return nil }
    let message = queue.waiting.removeFirst()
    if let bitrate = queue.channel.bitrate {
      queue.free = max(queue.free, now) + .seconds(Double(message.size) * 8 / Double(bitrate))
    }
    queues[id] = queue
    messages.take(1, at: now)
    bytes.take(Double(message.size), at: now)
    count(out: message)
    return message
  }

  private mutating func count(out message: DataChannelPacer.Message) {
    waitingCount -= 1
    waitingBytes -= message.size
  }
}

extension DataChannelPacer.Queue {
  fileprivate var rank: Int { channel.isHigh ? 0 : 1 }
}
