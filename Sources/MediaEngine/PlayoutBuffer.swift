import KoineBase
import KoineCodecs

/// The state behind `AudioReceivePipeline`; see there.
struct PlayoutBuffer {
  private enum Phase {
    /// Nothing has come, or nothing for long: waits until the first packet has waited its time.
    case gathering
    case playing
  }

  private static let packetLength = 960
  private static let resyncLimit: Int64 = 48_000 * 2
  /// The limit by which packets may wait longer than the target before packets are dropped. Removing single pitch periods
  /// would take minutes to catch up.
  private static let patience = Duration.milliseconds(500)
  private static let longestStretch = Duration.milliseconds(100)
  /// Packets beyond those of the minimum delay: five seconds of 20 ms each.
  private static let capacity = 250
  /// A pause of the sender that is shorter is not waited for: it is made up for by stretching.
  private static let shortPause = Duration.milliseconds(40)
  /// Made-up sound fades out after this many packets in a row.
  private static let concealmentLimit = 5

  /// Of the decoded audio: 1, and 2 from the first packet of two channels on.
  private(set) var channels: Int
  private var decoder: OpusDecoderBox?
  private var frames: [EncodedFrame] = []  // in rising order of sequence
  private var phase = Phase.gathering
  private var delay = DelayEstimator()
  private var stretch: TimeStretch
  /// Decoded, not played yet.
  private var ready: [Int16] = []
  private var readyStart = 0
  /// One packet's decoded audio, between the decoder and `ready`. Keeps its memory.
  private var scratch: [Int16] = []
  private var nextSequence: Int64?
  /// Of the sample after `ready`, in the sender's 48 kHz clock.
  private var nextTimestamp: UInt32 = 0
  private var capturedAtNext: Tick?
  private var concealedInARow = 0
  /// Concealed, but perhaps only because the sender paused.
  private var doubtful = 0
  /// The smoothed time from the quickest possible arrival to being played.
  private var held: Duration?
  private var sinceStretch = 0
  private(set) var statistics = AudioReceiveStatistics()
  /// Bytes of memory for samples and waiting packets; flat in steady state.
  var memory: Int {
    (ready.capacity + scratch.capacity) * MemoryLayout<Int16>.stride
      + frames.capacity * MemoryLayout<EncodedFrame>.stride
  }
  private var isConcealing = false
  /// How long packets wait at least after the quickest possible arrival. A rise by more than 100 ms pauses the audio until the
  /// next packet has waited as long, because stretching would take seconds; else the audio is stretched.
  var minimumDelay = Duration.zero {
    didSet {
      if minimumDelay - oldValue > Self.longestStretch, phase == .playing { phase = .gathering }
    }
  }
  /// How long packets should wait after the quickest possible arrival.
  private var target: Duration { max(delay.target, minimumDelay) }
  private var capacity: Int { Self.capacity + Int(minimumDelay.nanoseconds / Duration.milliseconds(10).nanoseconds) }

  init(channels: Int) {
    self.channels = channels
    decoder = try? OpusDecoderBox(channels: channels)
    stretch = TimeStretch(channels: channels)
    frames.reserveCapacity(64)  // more than a second
    reserveSamples()
  }

  private mutating func reserveSamples() {
    scratch.reserveCapacity((OpusDecoder.maximumLength + TimeStretch.longest) * channels)
    // At most four packets' length that has been played, one block that has not, and the longest packet, lengthened.
    ready.reserveCapacity(
      (4 * Self.packetLength + AudioBlock.length + OpusDecoder.maximumLength + TimeStretch.longest) * channels)
  }

  // MARK: In

  mutating func insert(_ frame: EncodedFrame) {
    statistics.packets += 1
    if let level = frame.audioLevel { statistics.level = Int(level) }
    if channels == 1, Self.hasTwoChannels(frame) { becomeStereo() }
    if let newest = frames.last ?? lastPlayed, isRestart(frame, after: newest) { restart() }
    let base = delay.base
    delay.arrived(position: position(of: frame), at: frame.arrived)  // late ones, too, so that the target grows
    held = held.map { $0 - .nanoseconds(delay.base &- base) }
    if let nextSequence, phase == .playing, frame.sequence < nextSequence {
      statistics.late += 1
      return
    }
    let index = frames.lastIndex { $0.sequence <= frame.sequence }.map { $0 + 1 } ?? 0
    if index > 0, frames[index - 1].sequence == frame.sequence { return }
    frames.insert(frame, at: index)
    // The loudspeaker has not asked for audio for a long time. It will need the newest packets.
    if frames.count > capacity { frames.removeFirst() }
  }

  /// RFC 6716, 3.1: the third-last bit of the first byte.
  private static func hasTwoChannels(_ frame: EncodedFrame) -> Bool {
    frame.data.readable.first.map { $0 & 4 != 0 } ?? false
  }

  /// Decodes to two channels from now on; audio that is decoded already is the same in both.
  private mutating func becomeStereo() {
    channels = 2
    decoder = try? OpusDecoderBox(channels: 2)
    stretch = TimeStretch(channels: 2)
    ready = ready[readyStart...].flatMap { [$0, $0] }
    readyStart = 0
    reserveSamples()
  }

  /// Since the quickest possible arrival.
  private func waited(_ frame: EncodedFrame, at now: Tick) -> Duration {
    .nanoseconds(now.nanoseconds &- position(of: frame) &- delay.base)
  }

  private var lastPlayed: EncodedFrame?

  /// Counts a stamped packet, which is played without being buffered; nil: a packet that came after its audio was discarded.
  mutating func noteStamped(_ frame: EncodedFrame?) {
    statistics.packets += 1
    guard let frame else { return statistics.late += 1 }
    if let level = frame.audioLevel { statistics.level = Int(level) }
    let packetLength = Int(StampedMedia.soundDuration.nanoseconds / 1_000 * 48 / 1_000)
    let missing = nextSequence.map { max(0, min(frame.sequence - $0, 50)) } ?? 0
    statistics.concealed += Int(missing) * packetLength
    statistics.samples += Int(missing + 1) * packetLength
    nextSequence = frame.sequence + 1
  }

  /// RTP timestamps in ns; wraps are far apart and end in a restart.
  private func position(of frame: EncodedFrame) -> Int64 { Int64(frame.rtpTimestamp) * 1_000_000 / 48 }

  private func isRestart(_ frame: EncodedFrame, after newest: EncodedFrame) -> Bool {
    let jump = Int64(Int32(bitPattern: frame.rtpTimestamp &- newest.rtpTimestamp))
    return abs(jump) > Self.resyncLimit || abs(frame.sequence - newest.sequence) > 3_000
      || frame.rtpTimestamp < 1 << 20 && newest.rtpTimestamp > .max - 1 << 20
  }

  private mutating func restart() {
    frames.removeAll(keepingCapacity: true)
    phase = .gathering
    nextSequence = nil
    delay.reset()
    held = nil
    doubtful = 0
  }

  // MARK: Out

  /// - Returns: whether there is sound, and when its first sample was captured.
  mutating func play(into samples: inout [Int16], hold: Duration, at now: Tick) -> (Bool, Tick?) {
    let wanted = AudioBlock.length * channels
    if phase == .gathering { startPlayout(hold: hold, at: now) }
    guard phase == .playing else {
      for index in samples.indices { samples[index] = 0 }
      return (false, nil)
    }
    var rounds = 0
    while ready.count - readyStart < wanted, rounds < 4 {
      decodeNext(hold: hold, at: now)
      rounds += 1
      if phase == .gathering { break }
    }
    let available = min(wanted, ready.count - readyStart)
    copyReady(available, into: &samples)
    let captured = capturedAtNext.map {
      $0 - .nanoseconds(Int64((ready.count - readyStart) / channels) * 1_000_000 / 48)
    }
    readyStart += available
    if readyStart > 4 * Self.packetLength * channels {
      ready.removeFirst(readyStart)
      readyStart = 0
    }
    statistics.samples += AudioBlock.length
    statistics.bufferDelay = (held ?? .zero).inMilliseconds
    return (true, captured)
  }

  /// Fills `samples` with the first decoded samples that have not been played, and with silence behind them.
  private func copyReady(_ count: Int, into samples: inout [Int16]) {
    samples.withUnsafeMutableBufferPointer { samples in
      ready.withUnsafeBufferPointer { ready in
        _ = samples.update(fromContentsOf: ready[readyStart..<readyStart + count])
      }
      samples[count...].update(repeating: 0)
    }
  }

  private mutating func startPlayout(hold: Duration, at now: Tick) {
    guard let first = frames.first, waited(first, at: now) >= target + hold else { return }
    phase = .playing
    nextSequence = first.sequence
    nextTimestamp = first.rtpTimestamp
    concealedInARow = 0
    ready.removeAll(keepingCapacity: true)
    readyStart = 0
    held = nil
  }

  private mutating func decodeNext(hold: Duration, at now: Tick) {
    catchUp(hold: hold, at: now)
    guard let expected = nextSequence else { return }
    if let frame = frames.first, frame.sequence == expected {
      if isAfterPause(frame), waited(frame, at: now) + Self.shortPause < minimumDelay { return wait() }
      frames.removeFirst()
      decode(frame, hold: hold, at: now)
    } else if let frame = frames.first {
      fill(before: frame)
    } else {
      wait()
    }
  }

  /// The sender has paused before the packet, which then has a time of its own to wait until.
  private func isAfterPause(_ frame: EncodedFrame) -> Bool {
    Int64(Int32(bitPattern: frame.rtpTimestamp &- nextTimestamp)) > Int64(2 * Self.packetLength)
  }

  /// Continues with the packet that is due now if far more packets wait than the target demands. This happens after the
  /// machine has stood still, while it is overloaded, or after a burst of packets. If only the path's delay has grown, no
  /// packets can be dropped.
  private mutating func catchUp(hold: Duration, at now: Tick) {
    guard let first = frames.first, let last = frames.last else { return }
    let goal = target + hold
    // Measured on the sender's clock, which includes the sender's pauses. A pause between queued packets means that the
    // loudspeaker has not asked for audio in the meantime.
    guard waited(first, at: now) - waited(last, at: now) > goal + Self.patience else { return }
    // The last packet that is due. Packets after a pause of the sender have their own time to wait.
    let due = frames.lastIndex { waited($0, at: now) >= waited(last, at: now) + goal } ?? 0
    guard due > 0 else { return }
    statistics.accelerated += due * Self.packetLength
    frames.removeFirst(due)
    (nextSequence, nextTimestamp) = (frames[0].sequence, frames[0].rtpTimestamp)
    countConcealed()
    (doubtful, concealedInARow, held) = (0, 0, nil)
  }

  private mutating func decode(_ frame: EncodedFrame, hold: Duration, at now: Tick) {
    // A pause of the sender shows as a jump of the timestamp that the sequence does not share.
    let jump = Int64(Int32(bitPattern: frame.rtpTimestamp &- nextTimestamp))
    if jump > Int64(2 * Self.packetLength), doubtful > 0 || concealedInARow > 0 { doubtful = 0 }
    countConcealed()
    doubtful = 0
    concealedInARow = 0
    var pcm: [Int16] = []
    swap(&pcm, &scratch)
    defer { swap(&pcm, &scratch) }
    if decoder?.decode(frame, into: &pcm) != true || pcm.isEmpty { makeUp(into: &pcm) }
    let length = pcm.count / channels
    statistics.bufferTime += (now - frame.arrived).inSeconds * Double(length)
    statistics.bufferedSamples += length
    adapt(&pcm, waited: waited(frame, at: now), hold: hold)
    ready.append(contentsOf: pcm)
    nextSequence = frame.sequence + 1
    nextTimestamp = frame.rtpTimestamp &+ UInt32(truncatingIfNeeded: length)
    capturedAtNext = frame.captured + .nanoseconds(Int64(length) * 1_000_000 / 48) - OpusDecoder.delay
    lastPlayed = frame
  }

  private mutating func countConcealed() {
    guard doubtful > 0 else { return isConcealing = false }
    statistics.concealed += doubtful
    if !isConcealing { statistics.concealments += 1 }
    isConcealing = true
  }

  /// Keeps the time that sound is held near the target, a pitch period at a time.
  private mutating func adapt(_ pcm: inout [Int16], waited: Duration, hold: Duration) {
    let smoothed = held.map { ($0 * 7 + waited) / 8 } ?? waited
    held = smoothed
    sinceStretch += 1
    let goal = target + hold
    let before = pcm.count
    if smoothed > goal + .milliseconds(25), sinceStretch >= 2, stretch.shorten(&pcm) {
      sinceStretch = 0
      let removed = (before - pcm.count) / channels
      statistics.accelerated += removed
      held = smoothed - .nanoseconds(Int64(removed) * 1_000_000 / 48)
    } else if smoothed < goal - .milliseconds(10), sinceStretch >= 2, stretch.lengthen(&pcm) {
      sinceStretch = 0
      let added = (pcm.count - before) / channels
      statistics.stretched += added
      held = smoothed + .nanoseconds(Int64(added) * 1_000_000 / 48)
    }
  }

  /// Replaces the packet that is due now and missing, while a later packet is in the buffer.
  private mutating func fill(before next: EncodedFrame) {
    guard let expected = nextSequence else { return }
    let gap = next.sequence - expected
    let timestampGap = Int64(Int32(bitPattern: next.rtpTimestamp &- nextTimestamp))
    if gap == 1, timestampGap <= Int64(2 * Self.packetLength), decoder?.correct(from: next, into: &scratch) == true {
      ready.append(contentsOf: scratch)
      statistics.corrected += scratch.count / channels
    } else {
      conceal()
    }
    countConcealed()
    doubtful = 0
    nextSequence = expected + 1
    nextTimestamp = nextTimestamp &+ UInt32(Self.packetLength)
    capturedAtNext = capturedAtNext.map { $0 + .milliseconds(20) }
  }

  /// Nothing at all is there: late, or the sender has paused. `nextSequence` stays: packets before it still count as late.
  private mutating func wait() {
    guard concealedInARow < Self.concealmentLimit else {
      doubtful = 0
      phase = .gathering
      return
    }
    conceal()
  }

  private mutating func conceal() {
    concealedInARow += 1
    doubtful += Self.packetLength
    makeUp(into: &scratch)
    ready.append(contentsOf: scratch)
  }

  /// Replaces `pcm` with audio for a packet that is not there.
  private func makeUp(into pcm: inout [Int16]) {
    if decoder?.conceal(into: &pcm) == true { return }
    pcm.removeAll(keepingCapacity: true)
    pcm.append(contentsOf: repeatElement(0, count: Self.packetLength * channels))
  }
}

/// The one owner of an Opus decoder. Every function replaces the samples in `out`, which keeps its memory.
private final class OpusDecoderBox {
  @exclusivity(unchecked) private var decoder: OpusDecoder
  @exclusivity(unchecked) private var pcm: [Int16]
  private let channels: Int

  init(channels: Int) throws(CodecError) {
    decoder = try OpusDecoder(channels: channels)
    self.channels = channels
    pcm = [Int16](repeating: 0, count: OpusDecoder.maximumLength * channels)
  }

  /// - Returns: false for a packet that cannot be decoded.
  func decode(_ frame: EncodedFrame, into out: inout [Int16]) -> Bool {
    run(&out) { buffer throws(CodecError) in try decoder.decode(frame.data.readable, into: buffer) }
  }

  /// - Returns: false where the packet carries no copy that can be decoded.
  func correct(from next: EncodedFrame, into out: inout [Int16]) -> Bool {
    run(&out) { buffer throws(CodecError) in try decoder.decodeFEC(next.data.readable, samples: 960, into: buffer) }
  }

  func conceal(into out: inout [Int16]) -> Bool {
    run(&out) { buffer throws(CodecError) in try decoder.conceal(samples: 960, into: buffer) }
  }

  private func run(
    _ out: inout [Int16], _ body: (UnsafeMutableBufferPointer<Int16>) throws(CodecError) -> Int
  ) -> Bool {
    guard let count = pcm.withUnsafeMutableBufferPointer({ try? body($0) }) else { return false }
    out.removeAll(keepingCapacity: true)
    out.append(contentsOf: pcm[..<(count * channels)])
    return true
  }
}
