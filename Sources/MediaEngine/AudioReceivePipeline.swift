package import KoineBase
import KoineCodecs

/// The play-out buffer of one talker: packets in as they come, 10 ms out whenever the loudspeaker asks.
///
/// Orders packets, and holds them for as long as their jitter demands. To reach that delay, the pipeline lengthens or
/// shortens the audio by single pitch periods. It drops packets only if the backlog is far larger than that.
/// A packet that is missing at its turn is recovered from the in-band FEC of the next packet (RFC 7587, 2.1.7), else concealed.
/// Any thread may push; one mixer pulls. `@unchecked Sendable`: all state sits in `state`.
package final class AudioReceivePipeline: @unchecked Sendable {
  private let state: Lock<PlayoutBuffer>
  private let sinks = Lock<[any AudioSink]>([])
  private let sync: StreamSync?
  private let stamps: StampedMedia?
  private let lane: Lane
  private let playout = Lock(
    (gain: Float(1), loudspeaker: (any AudioSink)?.none, stampedDue: Tick(nanoseconds: .min)))

  /// - Parameter stamps: nil: sound is decoded, and played on the mixer's clock. Otherwise it is played as it comes.
  package init(
    scheduler: Scheduler, sync: StreamSync? = nil, channels: Int = 1, stamps: StampedMedia? = nil
  ) {
    self.sync = sync
    self.stamps = stamps
    state = Lock(PlayoutBuffer(channels: channels))
    lane = scheduler.lane("stamped sound")
  }

  /// Whether it needs no mixer's clock.
  var playsByItself: Bool { stamps != nil }

  package func push(_ frame: EncodedFrame) {
    guard let stamps else { return state.withLock { $0.insert(frame) } }
    let block = stamps.sound(frame.data.readable)
    state.withLock { $0.noteStamped(block == nil ? nil : frame) }
    guard let block else { return }
    let work = { @Sendable [weak self] in
      guard let self else { return }
      var block = block
      block.captured = frame.captured
      for sink in sinks.withLock({ $0 }) { sink.play(block) }
      let (gain, loudspeaker, _) = playout.withLock { $0 }
      loudspeaker?.play(gain == 1 ? block : block.amplified(by: gain))
    }
    let now = lane.scheduler.now
    let due = stampedDue(at: now)
    if due > now { lane.post(at: due, work) } else { lane.post(work) }
  }

  /// Stamped audio has no buffer: it waits the minimum delay, in order.
  private func stampedDue(at now: Tick) -> Tick {
    let due = now + (sync?.minimumDelay ?? .zero)
    return playout.withLock { playout in
      playout.stampedDue = max(due, playout.stampedDue)
      return playout.stampedDue
    }
  }

  /// The factor applied to the audio for the loudspeaker, 0...2. Sinks attached to the stream get the audio as it was sent.
  package var gain: Float {
    get { playout.withLock { $0.gain } }
    set { playout.withLock { $0.gain = min(max(newValue, 0), 2) } }
  }

  /// Where it plays if it `playsByItself`.
  func play(on loudspeaker: (any AudioSink)?) { playout.withLock { $0.loudspeaker = loudspeaker } }

  package func addSink(_ sink: any AudioSink) {
    sinks.withLock { sinks in if !sinks.contains(where: { $0 === sink }) { sinks.append(sink) } }
  }

  package func removeSink(_ sink: any AudioSink) { sinks.withLock { $0.removeAll { $0 === sink } } }

  package var statistics: AudioReceiveStatistics { state.withLock { $0.statistics } }
  /// Bytes of memory for samples and waiting packets; flat in steady state.
  package var memory: Int { state.withLock { $0.memory } }

  /// Channels of the blocks: 1, and 2 once the talker has sent a packet of two channels.
  var channels: Int { state.withLock { $0.channels } }

  /// Fills `block` with the next 10 ms and hands it to this talker's own sinks. A block of another number of channels is replaced.
  /// - Returns: false while the talker is silent because nothing is sent.
  package func pull(into block: inout AudioBlock, at now: Tick) -> Bool {
    let timing = sync?.soundTiming ?? (hold: .zero, minimum: .zero)
    let (isSounding, captured) = state.withLock { buffer in
      if block.channels != buffer.channels { block = AudioBlock(channels: buffer.channels, captured: now) }
      buffer.minimumDelay = timing.minimum
      return buffer.play(into: &block.samples, hold: timing.hold, at: now)
    }
    block.captured = captured ?? now
    if let captured { sync?.soundPlayed(after: now - captured, at: now) }
    if isSounding { for sink in sinks.withLock({ $0 }) { sink.play(block) } }
    return isSounding
  }
}
