public import Koine

/// The video input of one slot.
public protocol PictureInlet: VideoSink {
  /// The name of the source of these frames. They are kept in step with the audio of the same source, in any slot. nil: with the
  /// audio of their own slot.
  var source: String? { get set }
  /// Shows nothing until the next picture.
  func clear()
}

/// The audio input of one slot.
public protocol SoundInlet: AudioSink {
  /// The name of the source of this audio; nil: the slot's id.
  var source: String? { get set }
  /// Forgets what waits.
  func clear()
}

/// Keeps a slot's pictures until the sound that was taken with them is mixed.
final class PictureInput: PictureInlet, Sendable {
  private struct State {
    var source: String?
    var shown: VideoFrame?
    /// Not due yet, the oldest first.
    var waiting: [VideoFrame] = []
    /// Of the last picture asked for; nil before anything is composed.
    var asked: Tick?
  }
  /// Half a second at 60 a second.
  private static let most = 30
  private let state = Lock(State())

  var source: String? {
    get { state.withLock { $0.source } }
    set { state.withLock { $0.source = newValue } }
  }

  func render(_ frame: VideoFrame) {
    state.withLock { state in
      // While nothing is composed nothing waits, and a time far ahead is none.
      guard let asked = state.asked, frame.captured - asked < .seconds(1) else {
        (state.shown, state.waiting) = (frame, [])
        return
      }
      state.waiting.append(frame)
      if state.waiting.count > Self.most { state.shown = state.waiting.removeFirst() }
    }
  }

  func clear() { state.withLock { ($0.shown, $0.waiting) = (nil, []) } }

  /// The newest picture that was taken by then.
  func picture(takenBy time: Tick) -> VideoFrame? {
    state.withLock { state in
      state.asked = time
      while let next = state.waiting.first, next.captured <= time { state.shown = state.waiting.removeFirst() }
      return state.shown
    }
  }
}

/// Keeps a slot's sound until the mixer comes: blocks of 10 ms. Source and mixer tick on their own, so a little is
/// kept in reserve; when more than five blocks wait, the oldest go.
final class SoundInput: SoundInlet, Sendable {
  private struct Waiting {
    var source: String?
    var blocks: [(samples: [Int16], captured: Tick)] = []
    var isPrimed = false
    var age: Duration?
  }
  private static let most = 5, reserve = 2
  /// For so long sound is kept.
  static let wait = AudioBlock.duration * reserve
  private let channels: Int
  private let waiting = Lock(Waiting())

  /// - Parameter channels: that sound of any kind is made to be of.
  init(channels: Int) { self.channels = channels }

  var source: String? {
    get { waiting.withLock { $0.source } }
    set { waiting.withLock { $0.source = newValue } }
  }

  /// How long after it was taken sound has been mixed of late; nil before there was any.
  var age: Duration? { waiting.withLock { $0.age } }

  func play(_ block: AudioBlock) {
    let samples = block.with(channels: channels).samples
    waiting.withLock { waiting in
      waiting.blocks.append((samples, block.captured))
      if waiting.blocks.count > Self.most { waiting.blocks.removeFirst(waiting.blocks.count - Self.reserve) }
      if waiting.blocks.count >= Self.reserve { waiting.isPrimed = true }
    }
  }

  func clear() {
    waiting.withLock { ($0.blocks, $0.isPrimed, $0.age) = ([], false, nil) }
  }

  func add(to sums: inout [Int32], gain: Double, at now: Tick) {
    let next = waiting.withLock { waiting -> [Int16]? in
      guard waiting.isPrimed, !waiting.blocks.isEmpty else {
        waiting.isPrimed = false
        return nil
      }
      let block = waiting.blocks.removeFirst()
      let age = now - block.captured
      // Sound that tells no sensible time is taken to have come at once.
      if (.milliseconds(-100) ... .seconds(2)).contains(age) {
        waiting.age = waiting.age.map { ($0 * 15 + age) / 16 } ?? age
      }
      return block.samples
    }
    guard let next, gain > 0 else { return }
    for (index, sample) in next.enumerated() where index < sums.count {
      sums[index] &+= gain == 1 ? Int32(sample) : Int32((Double(sample) * min(gain, 4)).rounded())
    }
  }
}
