import KoineAudioProcessing
package import KoineBase
import KoineCodecs

/// From a microphone, through processing where it is asked for, to Opus packets of 20 ms (RFC 7587), each with its level (RFC 6464).
///
/// Captures and encodes on one lane: a hop costs as much as encoding. `@unchecked Sendable`, and without the check of exclusive access:
/// `shared` is a lock, the rest is touched on that lane only.
package final class AudioSendPipeline: @unchecked Sendable {
  private struct Shared {
    var isMuted = false
    var isStopped = true
    var expectedLoss: Int
    var level: Int8 = -127
    var processing: AudioProcessing?
    var statistics = AudioSendStatistics()
    var allocations = 0
  }

  /// Of a packet, in bytes.
  private static let packetLimit = 1_000

  private let source: any AudioSource
  private let settings: AudioSendSettings
  private let output: any FrameOutput
  private let echoReference: EchoReference?
  /// Nil: sound is coded.
  private let stamps: StampedMedia?
  private let lane: Lane
  private let shared: Lock<Shared>
  @exclusivity(unchecked) private var encoder: OpusEncoderBox?
  @exclusivity(unchecked) private var processor: CaptureProcessor?
  @exclusivity(unchecked) private var pending: [Int16] = []
  @exclusivity(unchecked) private var pendingSince = Tick.zero
  @exclusivity(unchecked) private var meter = SpeechLevel()
  @exclusivity(unchecked) private var appliedLoss = 0
  @exclusivity(unchecked) private var lastStamp: Tick?
  @exclusivity(unchecked) private var blocks = FrameBufferPool()

  /// - Parameter echoReference: what a loudspeaker near the microphone plays; used while echo is cancelled.
  package init(
    source: any AudioSource, settings: AudioSendSettings, scheduler: Scheduler, output: any FrameOutput,
    echoReference: EchoReference? = nil, stamps: StampedMedia? = nil
  ) {
    self.stamps = stamps
    self.source = source
    self.settings = settings
    self.output = output
    self.echoReference = echoReference
    shared = Lock(Shared(expectedLoss: settings.leastExpectedLoss, processing: settings.processing))
    lane = scheduler.lane("microphone")
    pending.reserveCapacity(2 * AudioBlock.length * settings.channels)
  }

  package func start() throws {
    if stamps == nil { encoder = try OpusEncoderBox(settings) }
    processor = try shared.withLock { $0.processing }.map {
      try CaptureProcessor($0, channels: settings.channels, reference: echoReference)
    }
    shared.withLock { $0.isStopped = false }
    try source.start(on: lane) { [weak self] in self?.captured($0) }
  }

  package func stop() {
    shared.withLock { $0.isStopped = true }
    source.stop()
  }

  /// Muted: nothing is sent.
  package func setMuted(_ muted: Bool) { shared.withLock { $0.isMuted = muted } }

  /// Sets the processing of the audio from the next block on; nil: no processing. Processing steps that stay enabled keep
  /// their adapted state.
  package func setProcessing(_ processing: AudioProcessing?) { shared.withLock { $0.processing = processing } }

  /// Decides how much of the rate goes into in-band correction; below `leastExpectedLoss` as much as there.
  /// - Parameter fraction: of this end's own way out, 0...1.
  package func setExpectedLoss(_ fraction: Double) {
    shared.withLock {
      $0.expectedLoss = max(settings.leastExpectedLoss, Int((min(max(fraction, 0), 0.5) * 100).rounded(.up)))
    }
  }

  /// In dBov.
  package var level: Int8 { shared.withLock { $0.level } }
  package var statistics: AudioSendStatistics { shared.withLock { $0.statistics } }
  /// How many blocks its packets have needed; flat in steady state.
  package var allocations: Int { shared.withLock { $0.allocations } }

  // MARK: On the lane

  private func captured(_ captured: AudioBlock) {
    let (isSending, loss, processing) = shared.withLock {
      (!$0.isStopped && !$0.isMuted, $0.expectedLoss, $0.processing)
    }
    guard isSending, captured.isWhole else { return pending.removeAll(keepingCapacity: true) }
    let block = captured.with(channels: settings.channels)
    if let stamps { return stamp(block, as: stamps) }
    if pending.isEmpty { pendingSince = block.captured }
    pending.append(contentsOf: block.samples)
    process(last: block.samples.count, of: block, as: processing)
    guard pending.count >= 2 * AudioBlock.length * settings.channels else { return }
    encode(expectedLoss: loss)
    pending.removeAll(keepingCapacity: true)
  }

  /// What cannot be processed goes as it is, and is counted.
  private func process(last count: Int, of block: AudioBlock, as processing: AudioProcessing?) {
    guard let processing else { return processor = nil }
    do throws(AudioProcessingError) {
      let processor = try processor(for: processing)
      try pending.withUnsafeMutableBufferPointer { all throws(AudioProcessingError) in
        try processor.process(UnsafeMutableBufferPointer(rebasing: all.suffix(count)), captured: block.captured)
      }
    } catch {
      shared.withLock { $0.statistics.unprocessed += 1 }
    }
  }

  private func processor(for processing: AudioProcessing) throws(AudioProcessingError) -> CaptureProcessor {
    if let processor {
      if processor.settings != processing { try processor.set(processing) }
      return processor
    }
    let made = try CaptureProcessor(processing, channels: settings.channels, reference: echoReference)
    processor = made
    return made
  }

  /// One block in ten goes out and stands for all; it is not processed.
  private func stamp(_ block: AudioBlock, as stamps: StampedMedia) {
    guard lastStamp.map({ block.captured - $0 >= StampedMedia.soundDuration - AudioBlock.duration / 2 }) ?? true else {
      return
    }
    lastStamp = block.captured
    pendingSince = block.captured
    // A few samples tell how loud a steady sound is.
    let measure = block.samples.withUnsafeBufferPointer {
      meter.measure(UnsafeBufferPointer(rebasing: $0.prefix(96 * settings.channels)), channels: settings.channels)
    }
    shared.withLock { shared in
      shared.level = measure.level
      shared.statistics.packets += 1
    }
    send(stamps.stamp(block), measure)
  }

  private func encode(expectedLoss loss: Int) {
    guard let encoder else { return }
    if loss != appliedLoss {
      appliedLoss = loss
      encoder.setExpectedLoss(loss)
    }
    let packet = blocks.take(Self.packetLimit)
    let measure = pending.withUnsafeBufferPointer { meter.measure($0, channels: settings.channels) }
    let isWorthSending = pending.withUnsafeBufferPointer { encoder.encode($0, into: packet) }
    shared.withLock { shared in
      shared.level = measure.level
      shared.statistics.processing = processor?.statistics
      shared.allocations = blocks.allocations
      if isWorthSending { shared.statistics.packets += 1 } else { shared.statistics.silent += 1 }
    }
    if isWorthSending { send(packet, measure) }
  }

  private func send(_ packet: Bytes, _ measure: SpeechLevel.Measure) {
    output.send(
      EncodedFrame(
        codec: .opus, data: packet, captured: pendingSince,
        rtpTimestamp: UInt32(truncatingIfNeeded: pendingSince.nanoseconds / 1_000 * 48 / 1_000), isKey: true,
        audioLevel: measure.level, voiceActivity: measure.isVoice))
  }
}

/// The one owner of an Opus encoder.
private final class OpusEncoderBox {
  @exclusivity(unchecked) private var encoder: OpusEncoder

  init(_ settings: AudioSendSettings) throws(CodecError) {
    encoder = try OpusEncoder(channels: settings.channels)
    encoder.setBitrate(settings.bitrate)
    encoder.setFEC(settings.usesFEC)
    encoder.setDTX(settings.usesDTX)
    if settings.isWideband { encoder.limitToWideband() }
    if let complexity = settings.complexity ?? (settings.effort == .least ? 0 : nil) {
      encoder.setComplexity(complexity)
    }
  }

  func setExpectedLoss(_ percent: Int) { encoder.setExpectedLoss(percent: percent) }

  /// - Returns: false when there is nothing to send: silence, or audio that cannot be encoded.
  func encode(_ pcm: UnsafeBufferPointer<Int16>, into packet: Bytes) -> Bool {
    (try? encoder.encode(pcm, into: packet)) ?? false
  }
}

package struct AudioSendStatistics: Sendable, Hashable {
  package var packets = 0
  /// Packets not sent, because the audio was silent (DTX) or could not be encoded.
  package var silent = 0
  /// Blocks of 10 ms that should have been processed and could not be.
  package var unprocessed = 0
  /// Nil while nothing is done to the sound.
  package var processing: AudioProcessingStatistics?
}
