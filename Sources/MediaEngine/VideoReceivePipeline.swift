package import KoineBase
import KoineCodecs

/// From received frames to pictures on screens.
///
/// Frames come in from the network loop, are decoded on a lane, and shown on time: as soon as most frames of the last
/// seconds have been ready, each once, in order. While `sync` has a minimum delay, they wait for it before they are
/// decoded. `@unchecked Sendable`: `shared` is a lock, the rest is touched on the lane only.
package final class VideoReceivePipeline: @unchecked Sendable {
  private struct Shared {
    var waiting: [EncodedFrame] = []
    /// Frames that wait the minimum delay.
    var hold = FrameHold()
    var isScheduled = false
    var isStopped = false
    var sinks: [any VideoSink] = []
    var statistics = VideoReceiveStatistics()
    var latency = LatencyHistogram()
    var rate = FrameRate()
  }

  /// Frames that may wait for the decoder: more, and the decoder is too slow to ever catch up one by one.
  private static let queueLimit = 60

  /// The largest video frame, in pixels: 4K in either orientation. Larger frames are rejected before the decoder allocates.
  package static let pixelLimit = 4_096 * 2_304
  /// A longer time without a new picture is a pause (W3C webrtc-stats, `pauseCount`).
  private static let pauseLength = Duration.seconds(5)
  /// Of pictures that are decoded and wait for their time; more are not shown.
  private static let waitingPixelLimit = 64_000_000

  private let lane: Lane
  private let sync: StreamSync?
  /// Nil: frames are decoded.
  private let stamps: StampedMedia?
  private let requestKeyFrame: @Sendable () -> Void
  private let pool = FramePool(limit: 16)
  private let shared = Lock(Shared())
  private var decoder: VideoDecoderBox?
  /// Jobs of the lane, made once, so that no frame allocates one.
  private var decodeJob: @Sendable () -> Void = {}
  private var renderJob: @Sendable () -> Void = {}
  /// The frames that are being decoded. Keeps its memory.
  private var frames: [EncodedFrame] = []
  /// Decoded pictures that wait for their time, in order.
  private var waitingPictures: [VideoFrame] = []
  private var waitingPixels = 0
  private var needsKey = false
  /// When the oldest held frame is due.
  private var nextWake: Tick?
  /// The minimum delay when frames were last decoded.
  private var lastMinimum = Duration.zero
  private var decodeTime = Duration.zero
  private var decodeCPU = Duration.zero
  private var timing = RenderTiming()
  private var lastRendered: Tick?
  private var lastCaptured: Tick?
  private var usualInterval = Duration.milliseconds(33)

  package init(
    scheduler: Scheduler, sync: StreamSync? = nil, stamps: StampedMedia? = nil,
    requestKeyFrame: @escaping @Sendable () -> Void
  ) {
    self.sync = sync
    self.stamps = stamps
    self.requestKeyFrame = requestKeyFrame
    lane = scheduler.lane("video decoder")
    decodeJob = { [weak self] in self?.decodeWaiting() }
    renderJob = { [weak self] in self?.renderNext() }
  }

  /// On the network loop: takes the frame and returns.
  package func push(_ frame: EncodedFrame) {
    let isFirst = shared.withLock { shared in
      guard !shared.isStopped else { return false }
      shared.statistics.received += 1
      // Frames that came after held ones wait behind them.
      let minimum = sync?.minimumDelay ?? .zero
      if minimum > .zero || !shared.hold.isEmpty {
        shared.hold.insert(frame, minimum: minimum)
      } else {
        shared.waiting.append(frame)
      }
      defer { shared.isScheduled = true }
      return !shared.isScheduled
    }
    if isFirst { lane.post(decodeJob) }
  }

  package func addSink(_ sink: any VideoSink) {
    shared.withLock { shared in
      if !shared.isStopped, !shared.sinks.contains(where: { $0 === sink }) { shared.sinks.append(sink) }
    }
  }

  package func removeSink(_ sink: any VideoSink) {
    // The caller holds it: it is not let go of in here.
    shared.withLock { $0.sinks.removeAll { $0 === sink } }
  }

  /// Nothing is shown any more.
  package func stop() {
    let released = shared.withLock { shared in
      defer { (shared.isStopped, shared.waiting, shared.sinks) = (true, [], []) }
      shared.hold.removeAll()
      return (shared.waiting, shared.sinks)
    }
    withExtendedLifetime(released) {}  // what apps made is let go of outside the lock
    lane.post { [self] in decoder = nil }
  }

  package var statistics: VideoReceiveStatistics {
    let now = lane.scheduler.now
    return shared.withLock { shared in
      var result = shared.statistics
      result.latencyMedian = shared.latency.quantile(0.5)
      result.latency95 = shared.latency.quantile(0.95)
      result.framesPerSecond = shared.rate.framesPerSecond(at: now)
      return result
    }
  }

  // MARK: On the lane

  private func decodeWaiting() {
    let minimum = sync?.minimumDelay ?? .zero
    let now = lane.scheduler.now
    let next = shared.withLock { shared in
      if !shared.hold.isEmpty { frames += shared.hold.takeDue(at: now, minimum: minimum) }
      frames += shared.waiting
      shared.waiting.removeAll(keepingCapacity: true)
      shared.isScheduled = false
      return shared.hold.nextDue(minimum: minimum)
    }
    if let next, nextWake != next {
      nextWake = next
      lane.post(at: next, decodeJob)
    }
    for index in (frames.count > Self.queueLimit ? skip(frames) : 0)..<frames.count { decode(frames[index]) }
    frames.removeAll(keepingCapacity: true)
    // The frames above waited as the former minimum demanded: they say nothing of later ones.
    if minimum != lastMinimum { timing.restart() }
    lastMinimum = minimum
  }

  /// Too many wait: go on from the newest key frame, or ask for one. Never single frames, others refer to them.
  /// - Returns: the index of the frame to go on from.
  private func skip(_ frames: [EncodedFrame]) -> Int {
    let start = frames.lastIndex { $0.isKey } ?? frames.endIndex
    shared.withLock { $0.statistics.dropped += start }
    if start == frames.endIndex {
      needsKey = true
      requestKeyFrame()
    }
    return start
  }

  private func decode(_ frame: EncodedFrame) {
    if needsKey && !frame.isKey { return shared.withLock { $0.statistics.dropped += 1 } }
    let buffered = lane.scheduler.now - frame.arrived
    do {
      guard let picture = try picture(in: frame) else { return }
      needsKey = false
      shared.withLock { shared in
        shared.statistics.decoded += 1
        shared.statistics.bufferTime += buffered.inSeconds
        (shared.statistics.decodeTime, shared.statistics.decodeCPU) = (decodeTime.inSeconds, decodeCPU.inSeconds)
        if frame.isKey { shared.statistics.decodedKeyFrames += 1 }
      }
      schedule(picture, frame)
    } catch {
      needsKey = true
      shared.withLock { $0.statistics.dropped += 1 }
      requestKeyFrame()
    }
  }

  private func picture(in frame: EncodedFrame) throws(CodecError) -> VideoFrame? {
    if let stamps {
      guard let picture = stamps.picture(frame.data.readable) else {
        throw CodecError(.corruptInput, "the stamp's picture is gone")
      }
      return picture.with(captured: frame.captured, quarterTurns: frame.quarterTurns)
    }
    if decoder?.codec != frame.codec { decoder = try VideoDecoderBox(frame.codec) }
    let (begun, used) = (ContinuousClock.now, CPUTime.ofThread)
    defer {
      decodeTime += ContinuousClock.now - begun
      decodeCPU += CPUTime.ofThread - used
    }
    return try decoder?.decode(frame, pool: pool)
  }

  private func schedule(_ picture: VideoFrame, _ frame: EncodedFrame) {
    let now = lane.scheduler.now
    let (hold, minimum) = (sync?.pictureHold ?? .zero, sync?.minimumDelay ?? .zero)
    let due = timing.dueTime(captured: frame.captured, ready: now, hold: hold, minimum: minimum)
    let pixels = picture.width * picture.height
    if due <= now {
      render(picture)
    } else if waitingPixels + pixels <= Self.waitingPixelLimit {
      waitingPixels += pixels
      waitingPictures.append(picture)  // `due` never goes back
      lane.post(at: due, renderJob)
    } else {
      shared.withLock { $0.statistics.dropped += 1 }
    }
  }

  private func renderNext() {
    guard !waitingPictures.isEmpty else { return }
    let picture = waitingPictures.removeFirst()
    waitingPixels -= picture.width * picture.height
    render(picture)
  }

  private func render(_ picture: VideoFrame) {
    let now = lane.scheduler.now
    let latency = now - picture.captured
    let whole = lastRendered.map { now - $0 } ?? .zero
    let (gap, interval) = gaps(of: picture, at: now)
    let sinks = shared.withLock { shared -> [any VideoSink] in
      guard !shared.isStopped else { return [] }
      shared.statistics.rendered += 1
      (shared.statistics.width, shared.statistics.height) = (picture.width, picture.height)
      shared.latency.add(milliseconds: latency.inMilliseconds)
      if whole > Self.pauseLength {
        shared.statistics.pauses += 1
        shared.statistics.paused += whole.inMilliseconds
      }
      if let gap {
        shared.statistics.longestGap = max(shared.statistics.longestGap, gap.inMilliseconds)
        if gap > max(interval * 3, interval + .milliseconds(150)) {
          shared.statistics.freezes += 1
          shared.statistics.frozen += gap.inMilliseconds
        }
      }
      shared.rate.countFrame(at: now)
      return shared.sinks
    }
    for sink in sinks { sink.render(picture) }
    sync?.pictureShown(after: latency, at: now)
  }

  /// The time since the last picture; nil where the sender itself paused. And the usual time between pictures.
  private func gaps(of picture: VideoFrame, at now: Tick) -> (Duration?, Duration) {
    defer { (lastRendered, lastCaptured) = (now, picture.captured) }
    guard let lastRendered, let lastCaptured else { return (nil, usualInterval) }
    let captureGap = picture.captured - lastCaptured
    if captureGap > .zero, captureGap < .seconds(1) { usualInterval = (usualInterval * 15 + captureGap) / 16 }
    let gap = now - lastRendered
    // Frames between may have been lost: only a sender that was silent for long counts as paused.
    return (captureGap > .seconds(3) && gap < captureGap + .seconds(1) ? nil : gap, usualInterval)
  }
}

/// The one owner of a decoder.
private final class VideoDecoderBox {
  let codec: Codec
  private var decoder: VideoDecoder

  init(_ codec: Codec) throws(CodecError) {
    self.codec = codec
    decoder = try VideoDecoder(codec, pixelLimit: VideoReceivePipeline.pixelLimit)
  }

  func decode(_ frame: EncodedFrame, pool: FramePool) throws(CodecError) -> VideoFrame? {
    try decoder.decode(frame.data.readable, captured: frame.captured, quarterTurns: frame.quarterTurns, pool: pool)
  }
}

/// When to show a picture: at a constant delay after its capture, long enough that nine in ten are ready by then.
/// Late ones are shown at once.
private struct RenderTiming {
  private var delays: [Duration] = []
  /// The same delays in rising order.
  private var sorted: [Duration] = []
  private var next = 0
  private var target: Duration?
  private var last = Tick(nanoseconds: .min)
  private static let window = 90
  private static let limit = Duration.milliseconds(500)

  /// - Parameter minimum: what frames have waited before they were decoded.
  mutating func dueTime(captured: Tick, ready: Tick, hold: Duration, minimum: Duration) -> Tick {
    addDelay(ready - captured)
    let wish = captured + min(target ?? .zero, Self.limit + minimum) + hold
    let due = max(min(wish, ready + Self.limit), last)
    last = max(last, min(due, ready + Self.limit))
    return due
  }

  /// Forgets the delays of earlier frames.
  mutating func restart() { (delays, sorted, next, target) = ([], [], 0, nil) }

  private mutating func addDelay(_ delay: Duration) {
    if delays.count < Self.window {
      delays.append(delay)
    } else {
      sorted.remove(at: position(of: delays[next % Self.window]))
      delays[next % Self.window] = delay
    }
    sorted.insert(delay, at: position(of: delay))
    next += 1
    guard target == nil || next % 10 == 0 else { return }
    let goal = sorted[min(sorted.count * 9 / 10, sorted.count - 1)]
    guard let current = target else {
      target = sorted.count >= 10 ? goal : nil
      return
    }
    // Up quickly, down slowly: a moving delay is seen as judder.
    target = goal > current ? current + (goal - current) / 2 : current - (current - goal) / 8
  }

  /// Of the first delay that is not shorter.
  private func position(of delay: Duration) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < delay { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
