package import KoineBase
import KoineCodecs

/// Plays all talkers. Every 10 ms the mixer pulls each talker's audio, hands it to the talker's own sinks, and gives the mix
/// to the loudspeaker. It uses one lane and one tick for any number of talkers, and does not tick without talkers.
package final class PlayoutMixer: @unchecked Sendable {  // `shared` is a lock, the blocks are touched on the lane only
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
  private var voice: AudioBlock
  private var mix: AudioBlock
  private var sums = [Int32](repeating: 0, count: AudioBlock.length)

  package init(scheduler: Scheduler, sink: (any AudioSink)?) {
    lane = scheduler.lane("play-out")
    shared = Lock(Shared(sink: sink))
    echoReference = sink.map { EchoReference(playoutDelay: $0.playoutDelay) }
    voice = AudioBlock(captured: .zero)
    mix = AudioBlock(captured: .zero)
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

  /// Plays on another loudspeaker from the next block on. The reference of echo cancellers keeps the delay of the first loudspeaker.
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

  private func beginTicking() { tick(due: lane.scheduler.now) }

  private func tick(due: Tick) {
    let (talkers, sink) = shared.withLock { shared in
      shared.isTicking = !shared.talkers.isEmpty
      return (shared.talkers, shared.sink)
    }
    guard !talkers.isEmpty else { return }
    play(talkers, on: sink, at: due)
    // After a standstill of the machine the clock goes on from now: sound that was not played is not played late.
    let now = lane.scheduler.now
    let next = due + AudioBlock.duration
    let following = now - next > .milliseconds(200) ? now : next
    lane.post(at: following) { [weak self] in self?.tick(due: following) }
  }

  private func play(_ talkers: [AudioReceivePipeline], on sink: (any AudioSink)?, at now: Tick) {
    for index in sums.indices { sums[index] = 0 }
    for talker in talkers where talker.pull(into: &voice, at: now) {
      let gain = talker.gain
      if gain == 1 {
        for index in sums.indices { sums[index] &+= Int32(voice.samples[index]) }
      } else {
        for index in sums.indices { sums[index] &+= Int32(Float(voice.samples[index]) * gain) }
      }
    }
    guard let sink, (sink as? any IntermittentSink)?.isListening != false else { return }
    for index in sums.indices { mix.samples[index] = Int16(clamping: sums[index]) }
    mix.captured = now
    echoReference?.write(mix.samples, due: now)
    sink.play(mix)
  }
}
