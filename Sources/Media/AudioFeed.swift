/// A microphone that is given its sound: by an app's own capture, a synthesiser, a player.
///
///     let feed = AudioFeed(sampleRate: 24_000)
///     try session.publish(microphone: feed)
///     await feed.pushAll(spoken)
///
/// The feed delivers audio at the pace of the call, 10 ms at a time, regardless of the pace of `push`. It buffers up to
/// `capacity`. `push` takes the samples that fit into the buffer and returns their number. `pushAll` waits until the feed has
/// taken all samples. If the app does not push in time, the feed delivers silence. Any thread may push, but only one at a
/// time: otherwise the samples of the threads interleave.
public final class AudioFeed: AudioSource, Sendable {
  /// Counters of a feed.
  public struct Statistics: Sendable, Hashable {
    /// Blocks of 10 ms.
    public var delivered = 0
    /// Delivered blocks that were silent because the app had pushed too little.
    public var starved = 0
  }

  private struct State {
    /// At 48 kHz, interleaved.
    var waiting: [Int16] = []
    var resampler: ResamplerBox?
    var isWanted = false
    /// After it ran dry: 20 ms are gathered first, so that a tight pusher does not stutter.
    var isGathering = true
    var statistics = Statistics()
    var waiters = Waiters()
  }

  public let channels: Int
  /// Sample rate of the pushed audio, in Hz.
  public let sampleRate: Int
  private let capacity: Int
  private let ticks = SteadyTicks()
  private let state: Lock<State>

  /// Creates a feed.
  /// - Parameters:
  ///   - channels: the number of channels of the pushed and of the sent audio, 1 or 2.
  ///   - sampleRate: the sample rate of the pushed audio in Hz, 8,000...192,000.
  ///   - capacity: at least 40 ms.
  public init(channels: Int = 1, sampleRate: Int = 48_000, capacity: Duration = .milliseconds(200)) {
    self.channels = min(max(channels, 1), 2)
    self.sampleRate = min(max(sampleRate, 8_000), 192_000)
    let milliseconds = Int(min(max(capacity, .milliseconds(40)), .seconds(60)) / .milliseconds(1))
    self.capacity = milliseconds * 48 * self.channels
    let rate = self.sampleRate
    let resampler =
      rate == AudioBlock.sampleRate ? nil : try? ResamplerBox(from: rate, channels: self.channels)  // both are in range
    state = Lock(State(resampler: resampler))
  }

  /// The counters so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }
  /// What waits to be sent.
  public var buffered: Duration {
    .microseconds(Int64(state.withLock { $0.waiting.count } / channels * 1_000 / 48))
  }
  /// Whether a consumer receives the feed's audio now.
  public var isWanted: Bool { state.withLock { $0.isWanted } }

  // MARK: Pushing

  /// Pushes audio. Samples beyond the capacity are not taken.
  /// - Parameter samples: interleaved.
  /// - Returns: how many of them were taken; a whole number for each channel.
  @discardableResult
  public func push(_ samples: UnsafeBufferPointer<Int16>) -> Int { state.withLock { consume(samples, &$0) } }

  /// Pushes interleaved samples and returns how many were taken.
  @discardableResult
  public func push(_ samples: [Int16]) -> Int { samples.withUnsafeBufferPointer { push($0) } }

  /// Pushes audio of floating-point samples and returns how many were taken.
  /// - Parameter samples: interleaved, −1...1. Samples outside of this range are clipped.
  @discardableResult
  public func push(_ samples: [Float]) -> Int {
    push(samples.map { $0.isNaN ? 0 : Int16(min(max($0, -1), 1) * 32_767) })
  }

  /// Waits until all is taken, or the task is cancelled.
  /// - Returns: how many were taken.
  @discardableResult
  public func pushAll(_ samples: [Int16]) async -> Int {
    var taken = 0
    while taken < samples.count, !Task.isCancelled {
      let count = samples.withUnsafeBufferPointer { push(UnsafeBufferPointer(rebasing: $0[taken...])) }
      taken += count
      if samples.count - taken < channels { break }  // no whole sample is left
      if count == 0 { await room() }
    }
    return taken
  }

  /// Returns once there is room for 10 ms at least, or the task is cancelled.
  public func room() async {
    await Waiters.wait { id, continuation in
      state.withLock { state in
        if self.hasRoom(state) { return false }
        return state.waiters.add(id, continuation)
      }
    } cancel: { [state] id in
      state.withLock { $0.waiters.remove(id) }
    }
  }

  private func hasRoom(_ state: State) -> Bool { capacity - state.waiting.count >= AudioBlock.length * channels }

  private func consume(_ samples: UnsafeBufferPointer<Int16>, _ state: inout State) -> Int {
    let room = max(capacity - state.waiting.count, 0) / channels
    guard let resampler = state.resampler else {
      let count = min(room, samples.count / channels) * channels
      state.waiting += samples.prefix(count)
      return count
    }
    return resampler.process(samples, room: room * channels, into: &state.waiting)
  }

  // MARK: As a microphone

  public func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    state.withLock { $0.isWanted = true }
    ticks.start(every: AudioBlock.duration, on: lane) { [weak self] _, due in
      guard let self else { return }
      var block = AudioBlock(channels: channels, captured: due)
      let waiters = state.withLock { state in
        fill(&block, &state)
        return state.waiters.takeWaiters(if: hasRoom(state))
      }
      for waiter in waiters { waiter.resume() }
      deliver(block)
    }
  }

  public func stop() {
    ticks.stop()
    state.withLock { $0.isWanted = false }
  }

  private func fill(_ block: inout AudioBlock, _ state: inout State) {
    let needed = AudioBlock.length * channels
    state.statistics.delivered += 1
    if state.waiting.count < needed * (state.isGathering ? 2 : 1) {
      // An incomplete block stays in the buffer until its remaining samples have been pushed.
      state.isGathering = true
      state.statistics.starved += 1
      return
    }
    state.isGathering = false
    block.samples = Array(state.waiting[..<needed])
    state.waiting.removeFirst(needed)
  }
}

/// The one owner of a resampler to 48 kHz. `@unchecked Sendable`: used under its owner's lock only.
final class ResamplerBox: @unchecked Sendable {
  private var resampler: Resampler
  private let ratio: Double
  private var output: [Int16] = []

  init(from rate: Int, to other: Int = AudioBlock.sampleRate, channels: Int) throws(CodecError) {
    resampler = try Resampler(from: rate, to: other, channels: channels)
    ratio = Double(other) / Double(rate)
  }

  /// - Parameter room: how many samples may be appended to `target`.
  /// - Returns: how many of `samples` were taken.
  func process(_ samples: UnsafeBufferPointer<Int16>, room: Int, into target: inout [Int16]) -> Int {
    let channels = resampler.channels
    let wanted = min(room, (Int(Double(samples.count / channels) * ratio) + 2) * channels)
    guard wanted > 0 else { return 0 }
    if output.count < wanted { output = [Int16](repeating: 0, count: wanted) }
    let (consumed, produced) = output.withUnsafeMutableBufferPointer {
      resampler.process(samples, into: UnsafeMutableBufferPointer(rebasing: $0[..<wanted]))
    }
    target += output[..<(produced * channels)]
    return consumed * channels
  }
}
