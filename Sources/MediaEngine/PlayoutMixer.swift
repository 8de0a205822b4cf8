package import KoineBase
import KoineCodecs

/// Plays all talkers. Every 10 ms the mixer pulls each talker's audio, hands it to the talker's own sinks, and gives the mix
/// to the loudspeaker. It uses one lane and one tick for any number of talkers, and does not tick without talkers.
/// `@unchecked Sendable`, and without the check of exclusive access: `shared` is a lock, the rest is touched on the lane only.
package final class PlayoutMixer: @unchecked Sendable {
  private struct Shared {
    var talkers: [AudioReceivePipeline] = []
    /// Talkers that play by themselves.
    var stamped: [AudioReceivePipeline] = []
    var sink: (any AudioSink)?
    var isTicking = false
    var isStopped = false
  }

  private let lane: Lane
  /// The audio given to the loudspeaker, as reference for echo cancellers; nil without a loudspeaker.
  package let echoReference: EchoReference?
  private let shared: Lock<Shared>
  /// Of one channel and of two.
  @exclusivity(unchecked) private var voices = (AudioBlock(captured: .zero), AudioBlock(channels: 2, captured: .zero))
  @exclusivity(unchecked) private var mix: AudioBlock
  /// Interleaved. Of two channels only while a talker has two.
  @exclusivity(unchecked) private var sums = [Int32](repeating: 0, count: 2 * AudioBlock.length)
  /// The mix in one channel, for `echoReference`.
  @exclusivity(unchecked) private var reference = [Int16](repeating: 0, count: AudioBlock.length)
  private let mostChannels: Int
  /// When the next block is due, and the job that plays it. The job is made once, so that no block allocates.
  @exclusivity(unchecked) private var due = Tick.zero
  @exclusivity(unchecked) private var tickJob: @Sendable () -> Void = {}

  /// - Parameter mostChannels: of the mix, 1 or 2. With 2 the mix has two channels while a talker has two.
  package init(scheduler: Scheduler, sink: (any AudioSink)?, mostChannels: Int = 2) {
    lane = scheduler.lane("play-out")
    shared = Lock(Shared(sink: sink))
    self.mostChannels = mostChannels
    echoReference = sink.map { EchoReference(playoutDelay: $0.playoutDelay) }
    mix = AudioBlock(captured: .zero)
    tickJob = { [weak self] in self?.tick() }
  }

  package func add(_ talker: AudioReceivePipeline) {
    if talker.playsByItself {
      return shared.withLock { shared in
        guard !shared.isStopped else { return }
        shared.stamped.append(talker)
        talker.play(on: shared.sink)
      }
    }
    let begins = shared.withLock { shared in
      guard !shared.isStopped else { return false }
      shared.talkers.append(talker)
      defer { shared.isTicking = true }
      return !shared.isTicking
    }
    if begins { lane.post { [weak self] in self?.beginTicking() } }
  }

  package func remove(_ talker: AudioReceivePipeline) {
    talker.play(on: nil)
    shared.withLock { shared in
      shared.talkers.removeAll { $0 === talker }
      shared.stamped.removeAll { $0 === talker }
    }
  }

  /// Plays on another loudspeaker from the next block on.
  package func setSink(_ sink: (any AudioSink)?) {
    let old = shared.withLock { shared in
      defer { shared.sink = sink }
      for talker in shared.stamped { talker.play(on: sink) }
      return shared.sink
    }
    withExtendedLifetime(old) {}  // let go of outside the lock
  }

  package func stop() {
    shared.withLock { shared in
      (shared.talkers, shared.stamped) = ([], [])
      shared.isStopped = true
    }
  }

  // MARK: On the lane

  private func beginTicking() {
    due = lane.scheduler.now
    tick()
  }

  private func tick() {
    let (talkers, sink) = shared.withLock { shared in
      shared.isTicking = !shared.talkers.isEmpty
      return (shared.talkers, shared.sink)
    }
    guard !talkers.isEmpty else { return }
    play(talkers, on: sink, at: due)
    // After a standstill of the machine the clock goes on from now: sound that was not played is not played late.
    let now = lane.scheduler.now
    let next = due + AudioBlock.duration
    due = now - next > .milliseconds(200) ? now : next
    lane.post(at: due, tickJob)
  }

  private func play(_ talkers: [AudioReceivePipeline], on sink: (any AudioSink)?, at now: Tick) {
    var channels = 1
    sums.withUnsafeMutableBufferPointer { $0[..<AudioBlock.length].update(repeating: 0) }
    for talker in talkers {
      if talker.channels == 1 {
        if talker.pull(into: &voices.0, at: now) { add(voices.0, gain: talker.gain, channels: &channels) }
      } else if talker.pull(into: &voices.1, at: now) {
        add(voices.1, gain: talker.gain, channels: &channels)
      }
    }
    guard let sink, (sink as? any IntermittentSink)?.isListening != false else { return }
    if mix.channels != channels { mix = AudioBlock(channels: channels, captured: now) }
    Self.clamp(sums, into: &mix.samples)
    mix.captured = now
    echoReference?.update(playoutDelay: sink.playoutDelay)
    writeReference(due: now)
    sink.play(mix)
  }

  // Over pointers, because each access to an element of an object's array is checked twice: for its bounds and for exclusivity.

  private static func clamp(_ sums: [Int32], into samples: inout [Int16]) {
    samples.withUnsafeMutableBufferPointer { samples in
      sums.withUnsafeBufferPointer { sums in
        for index in 0..<min(samples.count, sums.count) { samples[index] = Int16(clamping: sums[index]) }
      }
    }
  }

  private static func add(_ samples: [Int16], to sums: inout [Int32]) {
    sums.withUnsafeMutableBufferPointer { sums in
      samples.withUnsafeBufferPointer { samples in
        for index in 0..<min(samples.count, sums.count) { sums[index] &+= Int32(samples[index]) }
      }
    }
  }

  /// - Parameter channels: of the sums so far; 2 after a voice of two channels.
  private func add(_ voice: AudioBlock, gain: Float, channels: inout Int) {
    if voice.channels == 2, channels == 1, mostChannels == 2 {
      for index in (0..<AudioBlock.length).reversed() {
        (sums[2 * index], sums[2 * index + 1]) = (sums[index], sums[index])
      }
      channels = 2
    }
    func sample(_ index: Int) -> Int32 { Int32(Float(voice.samples[index]) * gain) }
    switch (voice.channels, channels) {
    case (1, 1) where gain == 1, (2, 2) where gain == 1: Self.add(voice.samples, to: &sums)
    case (1, 1), (2, 2): for index in voice.samples.indices { sums[index] &+= sample(index) }
    case (1, _): for index in 0..<2 * AudioBlock.length { sums[index] &+= sample(index / 2) }
    default: for index in 0..<AudioBlock.length { sums[index] &+= (sample(2 * index) + sample(2 * index + 1)) / 2 }
    }
  }

  private func writeReference(due: Tick) {
    guard let echoReference else { return }
    guard mix.channels == 2 else { return echoReference.write(mix.samples, due: due) }
    for index in reference.indices {
      reference[index] = Int16((Int(mix.samples[2 * index]) + Int(mix.samples[2 * index + 1])) / 2)
    }
    echoReference.write(reference, due: due)
  }
}
