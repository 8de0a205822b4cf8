/// A camera that is given its pictures: by an app's own capture, a decoder, a drawing.
///
///     let feed = VideoFeed(format: VideoFormat(width: 640, height: 360, framesPerSecond: 15))
///     try session.publish(camera: feed, as: .screen)
///     feed.push(bytes, .bgra, width: 640, height: 360)
///
/// Any thread may push. The feed buffers up to `capacity` frames. When the buffer is full, `push` replaces the oldest frame
/// and returns `.replaced`. To wait for a free place instead, call `room` first.
public final class VideoFeed: VideoSource, Sendable {
  /// The result of a push.
  public enum Outcome: Sendable, Hashable {
    /// The frame is in the buffer.
    case taken
    /// Taken, and an older picture, which the call had not got to, is gone.
    case replaced
    /// No consumer wants frames now. The feed keeps the last frame and delivers it first to the next consumer.
    case unwanted
    /// Not captured later than the one before, or of a size or format that cannot be: ignored.
    case refused
  }

  /// Counters of a feed.
  public struct Statistics: Sendable, Hashable {
    /// Frames pushed by the app.
    public var pushed = 0
    /// Frames delivered to the consumer.
    public var delivered = 0
    /// Frames replaced by a newer one before they were delivered.
    public var replaced = 0
    /// Frames refused because of their time, size or format.
    public var refused = 0
    /// Delivered again because there was no newer one.
    public var repeated = 0
  }

  fileprivate struct State {
    var output: (lane: Lane, deliver: @Sendable (VideoFrame) -> Void)?
    var run = 0
    var waiting: [VideoFrame] = []
    var isPosted = false
    var last: VideoFrame?
    /// When something was delivered, and the time of capture it was delivered with.
    var lastDelivered = Tick.zero
    var lastCaptured = Tick.zero
    var statistics = Statistics()
    var demand: (@Sendable (Bool) -> Void)?
    var waiters = Waiters()
  }

  private let stated: VideoFormat
  private let capacity: Int
  private let repetition: Duration?
  private let pool = FramePool(limit: 4)
  private let state = Lock(State())

  /// Creates a feed.
  /// - Parameters:
  ///   - format: the expected format of the pushed frames. A frame may differ; its own format then applies.
  ///   - capacity: 1...60.
  ///   - repetition: the feed delivers the last frame again after this time without a newer frame, so that participants that
  ///     join later see it soon; at least 5 ms; nil: never. For screens and slides.
  public init(format: VideoFormat = VideoFormat(), capacity: Int = 1, repeatingAfter repetition: Duration? = nil) {
    stated = format
    self.capacity = min(max(capacity, 1), 60)
    self.repetition = repetition.map { max($0, .milliseconds(5)) }
  }

  /// The last picture's, once there is one.
  public var format: VideoFormat {
    guard let last = state.withLock({ $0.last }) else { return stated }
    return VideoFormat(width: last.width, height: last.height, framesPerSecond: stated.framesPerSecond)
  }

  /// The counters so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }

  // MARK: Pushing

  /// Pushes a frame. Its capture time must be later than that of the frame before.
  @discardableResult
  public func push(_ frame: VideoFrame) -> Outcome {
    let (outcome, lane, run) = state.withLock { state in
      let (outcome, lane) = state.enqueue(frame, capacity)
      return (outcome, lane, state.run)
    }
    if let lane { lane.post { [weak self] in self?.drain(run) } }
    return outcome
  }

  /// Pushes a frame of raw pixels.
  /// - Parameters:
  ///   - bytes: rows without gaps; copied.
  ///   - captured: nil: now.
  @discardableResult
  public func push(
    _ bytes: UnsafeRawBufferPointer, _ format: PixelFormat, width: Int, height: Int, captured: Tick? = nil
  ) -> Outcome {
    let time =
      captured
      ?? state.withLock { state in
        let now = state.output?.lane.scheduler.now ?? .zero  // without a call there is no clock, only an order
        return max(now, (state.last?.captured ?? .zero) + .nanoseconds(1))
      }
    guard let frame = VideoFrame.from(format, bytes, width: width, height: height, captured: time, pool: pool) else {
      state.withLock { state in
        state.statistics.pushed += 1
        state.statistics.refused += 1
      }
      return .refused
    }
    return push(frame)
  }

  /// Pushes a frame of raw pixels; the capture time is now unless `captured` is given.
  @discardableResult
  public func push(_ bytes: [UInt8], _ format: PixelFormat, width: Int, height: Int, captured: Tick? = nil) -> Outcome {
    bytes.withUnsafeBytes { push($0, format, width: width, height: height, captured: captured) }
  }

  // MARK: Demand

  /// Whether a consumer receives the feed's frames now.
  public var isWanted: Bool { state.withLock { $0.output != nil } }

  /// Sets a handler that is called when a consumer starts or stops the feed, on the thread of that call.
  public func onDemand(_ handler: (@Sendable (_ isWanted: Bool) -> Void)?) { state.withLock { $0.demand = handler } }

  /// Returns once a picture can be pushed that is wanted and replaces none; or when the task is cancelled.
  public func room() async {
    await Waiters.wait { id, continuation in
      state.withLock { state in
        if state.hasRoom(self.capacity) { return false }
        return state.waiters.add(id, continuation)
      }
    } cancel: { [state] id in
      state.withLock { $0.waiters.remove(id) }
    }
  }

  // MARK: As a camera

  public func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let (run, demand, waiters) = state.withLock { state in
      state.output = (lane, deliver)
      state.run += 1
      state.isPosted = true
      if state.waiting.isEmpty, let last = state.last {
        state.waiting = [last.with(captured: max(lane.scheduler.now, last.captured))]
      }
      return (state.run, state.demand, state.waiters.takeWaiters(if: state.hasRoom(capacity)))
    }
    for waiter in waiters { waiter.resume() }
    demand?(true)
    lane.post { [weak self] in
      self?.drain(run)
      self?.again(run)
    }
  }

  public func stop() {
    let demand = state.withLock { state in
      let wasWanted = state.output != nil
      state.output = nil
      state.run += 1
      state.waiting = []
      return wasWanted ? state.demand : nil
    }
    demand?(false)
  }

  /// On the lane.
  private func drain(_ run: Int) {
    while true {
      let (frame, deliver, waiters) = state.withLock { state in
        guard state.run == run, let output = state.output, !state.waiting.isEmpty else {
          if state.run == run { state.isPosted = false }
          return (VideoFrame?.none, (@Sendable (VideoFrame) -> Void)?.none, state.waiters.takeWaiters(if: false))
        }
        let frame = state.inOrder(state.waiting.removeFirst())
        state.statistics.delivered += 1
        state.lastDelivered = output.lane.scheduler.now
        return (frame, output.deliver, state.waiters.takeWaiters(if: true))
      }
      for waiter in waiters { waiter.resume() }
      guard let frame, let deliver else { return }
      deliver(frame)
    }
  }

  private func again(_ run: Int) {
    guard let repetition, let (lane, deliver) = state.withLock({ $0.run == run ? $0.output : nil }) else { return }
    let now = lane.scheduler.now
    let still = state.withLock { state -> VideoFrame? in
      guard let last = state.last, state.waiting.isEmpty, now - state.lastDelivered >= repetition else { return nil }
      state.statistics.repeated += 1
      state.lastDelivered = now
      return state.inOrder(last.with(captured: now))
    }
    if let still { deliver(still) }
    lane.post(at: now + repetition) { [weak self] in self?.again(run) }
  }
}

extension VideoFeed.State {
  func hasRoom(_ capacity: Int) -> Bool { output != nil && waiting.count < capacity }

  /// A picture that was captured before one that had to be repeated meanwhile comes a millisecond after that.
  mutating func inOrder(_ frame: VideoFrame) -> VideoFrame {
    let time = max(frame.captured, lastCaptured + .milliseconds(1))
    lastCaptured = time
    return time == frame.captured ? frame : frame.with(captured: time)
  }

  /// - Returns: the lane, if it has to be told.
  mutating func enqueue(_ frame: VideoFrame, _ capacity: Int) -> (VideoFeed.Outcome, Lane?) {
    statistics.pushed += 1
    if let last, frame.captured <= last.captured {
      statistics.refused += 1
      return (.refused, nil)
    }
    last = frame
    guard let output else { return (.unwanted, nil) }
    let isFull = waiting.count >= capacity
    if isFull {
      waiting.removeFirst()
      statistics.replaced += 1
    }
    waiting.append(frame)
    defer { isPosted = true }
    return (isFull ? .replaced : .taken, isPosted ? nil : output.lane)
  }
}

/// Tasks that wait for room.
struct Waiters {
  private var entries: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
  private static let numbers = Lock(0)

  /// - Returns: true.
  mutating func add(_ id: Int, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
    entries.append((id, continuation))
    return true
  }

  mutating func remove(_ id: Int) -> CheckedContinuation<Void, Never>? {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    return entries.remove(at: index).continuation
  }

  mutating func takeWaiters(if hasRoom: Bool) -> [CheckedContinuation<Void, Never>] {
    guard hasRoom else { return [] }
    defer { entries = [] }
    return entries.map(\.continuation)
  }

  /// - Parameters:
  ///   - add: false: there is nothing to wait for.
  ///   - cancel: takes the waiting task out again.
  static func wait(
    add: @Sendable (Int, CheckedContinuation<Void, Never>) -> Bool,
    cancel: @escaping @Sendable (Int) -> CheckedContinuation<Void, Never>?
  ) async {
    let id = numbers.withLock { number in
      number += 1
      return number
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if !add(id, continuation) { return continuation.resume() }
        if Task.isCancelled { cancel(id)?.resume() }
      }
    } onCancel: {
      cancel(id)?.resume()
    }
  }
}
