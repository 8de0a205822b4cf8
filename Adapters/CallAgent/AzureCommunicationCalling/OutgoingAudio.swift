import Foundation
import Koine

/// The audio that a call sends: the microphone's, or that of an app's own stream, with the tones of pressed keys. The source can be
/// exchanged while the stream is published.
final class OutgoingAudio: AudioSource, Sendable {
  private struct State {
    var source: (any AudioSource)?
    var output: (lane: Lane, deliver: @Sendable (AudioBlock) -> Void)?
    /// Rises whenever a source starts or stops. Blocks of an earlier source are dropped.
    var generation = 0
    /// Blocks delivered since the last `takeActivity()`.
    var activity = Activity()
    var isMetered = false
  }

  /// The audio of some time, in blocks of 10 ms.
  struct Activity {
    var blocks = 0
    /// Blocks at least as loud as speech. Counted only while `setMetered(true)` is in force.
    var loudBlocks = 0
  }

  /// RMS level from which a block counts as speech, in dBov.
  private static let speechLevel = -45.0

  let channels: Int
  var usualProcessing: AudioProcessing? { state.withLock { $0.source }?.usualProcessing }
  private let keypad = Keypad()
  private let state: Lock<State>

  /// Sends as many channels as the source has. Blocks of a later source with another number are converted.
  init(_ source: any AudioSource) {
    channels = source.channels
    state = Lock(State(source: source))
  }

  /// Whether there is a source.
  var hasSource: Bool { state.withLock { $0.source != nil } }

  /// Sends the audio of another source from now on; nil: none.
  /// - Throws: the error of a source that does not start. Nothing is sent then.
  func use(_ source: (any AudioSource)?) throws {
    let (old, output, generation) = state.withLock { state in
      defer {
        state.source = source
        state.generation += 1
      }
      return (state.output == nil ? nil : state.source, state.output, state.generation + 1)
    }
    old?.stop()
    if let output, let source { try start(source, generation, on: output.lane) }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    let (source, generation) = state.withLock { state in
      state.output = (lane, deliver)
      state.generation += 1
      return (state.source, state.generation)
    }
    if let source { try start(source, generation, on: lane) }
  }

  private func start(_ source: any AudioSource, _ generation: Int, on lane: Lane) throws {
    do {
      try source.start(on: lane) { [weak self] in self?.captured($0, generation) }
    } catch {
      state.withLock { if $0.generation == generation { $0.source = nil } }
      throw error
    }
    if !state.withLock({ $0.generation == generation && $0.output != nil }) { source.stop() }
  }

  func stop() {
    let source = state.withLock { state in
      state.output = nil
      state.generation += 1
      return state.source
    }
    source?.stop()
  }

  /// - Returns: false for a key without a tone.
  func press(_ tone: DtmfTone) -> Bool { keypad.press(tone) }

  // MARK: Activity

  /// Whether loud blocks are counted.
  func setMetered(_ isMetered: Bool) { state.withLock { $0.isMetered = isMetered } }

  /// Blocks since the last call.
  func takeActivity() -> Activity {
    state.withLock { state in
      defer { state.activity = Activity() }
      return state.activity
    }
  }

  private func captured(_ block: AudioBlock, _ generation: Int) {
    let (deliver, isMetered) = state.withLock { state in
      (state.generation == generation ? state.output?.deliver : nil, state.isMetered)
    }
    guard let deliver else { return }
    let isLoud = isMetered && Self.level(of: block) > Self.speechLevel
    state.withLock { state in
      state.activity.blocks += 1
      if isLoud { state.activity.loudBlocks += 1 }
    }
    let sent = block.channels == channels ? block : block.with(channels: channels)
    deliver(keypad.addTones(to: sent))
  }

  private static func level(of block: AudioBlock) -> Double {
    guard !block.samples.isEmpty else { return -127 }
    let energy = block.samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(block.samples.count)
    return energy > 0 ? 10 * log10(energy / (32_768 * 32_768)) : -127
  }
}
