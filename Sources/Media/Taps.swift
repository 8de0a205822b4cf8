/// Buffers the newest video frames, one by default, until the app takes them. For an app that draws at its own pace.
///
///     session.attach(tap, to: stream.id)
///     if let frame = tap.takeFrame() { draw(frame.bytes(.bgra)) }
public final class VideoTap: VideoSink, Sendable {
  /// Counters of a tap.
  public struct Statistics: Sendable, Hashable {
    /// Frames received from the stream.
    public var rendered = 0
    /// Frames taken by the app.
    public var taken = 0
    /// Frames replaced by a newer frame before the app took them.
    public var missed = 0
  }

  private struct State {
    var waiting: [VideoFrame] = []
    var statistics = Statistics()
  }
  private let capacity: Int
  private let state = Lock(State())

  /// Creates a tap.
  /// - Parameter capacity: how many pictures wait, 1...60; the oldest gives way.
  public init(capacity: Int = 1) { self.capacity = min(max(capacity, 1), 60) }

  public func render(_ frame: VideoFrame) {
    state.withLock { state in
      state.statistics.rendered += 1
      if state.waiting.count == capacity {
        state.waiting.removeFirst()
        state.statistics.missed += 1
      }
      state.waiting.append(frame)
    }
  }

  /// The oldest that waits, once; nil if there is none that was not taken yet.
  public func takeFrame() -> VideoFrame? {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return nil }
      state.statistics.taken += 1
      return state.waiting.removeFirst()
    }
  }

  /// The counters so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }
}

/// Buffers audio until the app reads it, at the app's sample rate. For an audio device's callback, a speech recogniser or a
/// file.
public final class AudioTap: AudioSink, Sendable {
  /// Counters of a tap.
  public struct Statistics: Sendable, Hashable {
    /// Samples of each channel, at the reader's rate.
    public var read = 0
    /// Made up as silence because there was no more.
    public var missing = 0
    /// Samples of each channel lost because the app did not read for longer than the capacity.
    public var lost = 0
  }

  private struct State {
    var waiting: [Int16] = []
    var resampler: ResamplerBox?
    var statistics = Statistics()
  }

  /// Number of channels of the read audio: 1 or 2.
  public let channels: Int
  /// Sample rate of the read audio, in Hz.
  public let sampleRate: Int
  private let capacity: Int
  private let state: Lock<State>

  /// Creates a tap.
  /// - Parameters:
  ///   - channels: 1 or 2.
  ///   - sampleRate: in Hz, 8,000...192,000.
  ///   - capacity: how much waits; the oldest gives way.
  public init(channels: Int = 1, sampleRate: Int = 48_000, capacity: Duration = .milliseconds(500)) {
    self.channels = min(max(channels, 1), 2)
    self.sampleRate = min(max(sampleRate, 8_000), 192_000)
    let milliseconds = Int(min(max(capacity, .milliseconds(20)), .seconds(60)) / .milliseconds(1))
    self.capacity = milliseconds * self.sampleRate / 1_000 * self.channels
    let resampler =
      self.sampleRate == AudioBlock.sampleRate
      ? nil : try? ResamplerBox(from: AudioBlock.sampleRate, to: self.sampleRate, channels: self.channels)
    state = Lock(State(resampler: resampler))
  }

  public func play(_ block: AudioBlock) {
    let samples = block.with(channels: channels).samples
    state.withLock { state in
      if let resampler = state.resampler {
        samples.withUnsafeBufferPointer { _ = resampler.process($0, room: .max / 4, into: &state.waiting) }
      } else {
        state.waiting += samples
      }
      let excess = (state.waiting.count - capacity) / channels * channels
      if excess > 0 {
        state.waiting.removeFirst(excess)
        state.statistics.lost += excess / channels
      }
    }
  }

  /// Samples of each channel that can be read now.
  public var available: Int { state.withLock { $0.waiting.count } / channels }

  /// Fills all of `samples`, interleaved. Missing samples become silence.
  /// - Returns: how many samples are not made up.
  @discardableResult
  public func read(into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
    state.withLock { state in
      let count = min(samples.count, state.waiting.count) / channels * channels
      for index in samples.indices { samples[index] = index < count ? state.waiting[index] : 0 }
      state.waiting.removeFirst(count)
      state.statistics.read += count / channels
      state.statistics.missing += (samples.count - count) / channels
      return count
    }
  }

  /// Reads audio; silence fills up what is missing.
  /// - Parameter count: samples of each channel.
  public func read(_ count: Int) -> [Int16] {
    [Int16](unsafeUninitializedCapacity: max(count, 0) * channels) { buffer, filled in
      buffer.initialize(repeating: 0)
      read(into: buffer)
      filled = buffer.count
    }
  }

  /// The counters so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }
}
