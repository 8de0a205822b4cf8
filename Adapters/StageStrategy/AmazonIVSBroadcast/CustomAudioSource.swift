import Foundation
import Koine
import KoineAVFoundation
import KoineCoreMedia

/// Audio that the app hands in. Silence fills the gaps if it arrives late.
final class CustomAudioSource: AudioDevice, IVSCustomAudioSource, PublishableSound, @unchecked Sendable {  // locked
  /// Largest buffer, in bytes: the vendor's limit of 5.5 MB.
  private static let largest = 5_500_000
  private let source = HandedSound()
  private let microphone: SharedMicrophone
  private let told = Lock<Set<IVSBroadcastError>>([])

  init(named name: String, in world: World) {
    microphone = SharedMicrophone(source, in: world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:audio:\(UUID().uuidString)", friendlyName: name, type: .userAudio), in: world)
    source.device = self
  }

  override func attach(_ sink: any AudioSink) { microphone.addSink(sink) }
  override func detach(_ sink: any AudioSink) { microphone.removeSink(sink) }
  override var isAmplifiedAlready: Bool { true }
  /// Speech, in a call; the mixer gets both channels.
  func makeAudioSource() -> any AudioSource { InOneChannel(microphone.makeSource()) }
  var processing: AudioProcessing? { nil }
  func wasPublished(as stream: LocalStream) {}

  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer) {
    let data = sampleBuffer.dataBuffer?.dataLength ?? 0
    guard data <= Self.largest else { return reportOnce(.pcmDataTooLong, "\(data) bytes are too many") }
    let audio = sampleBuffer.formatDescription?.audioStreamBasicDescription
    guard let audio, let samples = sampleBuffer.stereoSamples() else {
      return reportOnce(.pcmUnsupportedSample, "the sample buffer holds no linear PCM")
    }
    guard source.push(samples, at: audio.mSampleRate) else {
      return reportOnce(.pcmUnsupportedSample, "sound at \(audio.mSampleRate) Hz")
    }
  }

  func onPCMBuffer(_ pcmBuffer: AVAudioPCMBuffer, at audioTime: AVAudioTime) {
    guard pcmBuffer.byteCount <= Self.largest else {
      return reportOnce(.pcmDataTooLong, "\(pcmBuffer.byteCount) bytes are too many")
    }
    guard source.push(pcmBuffer.stereoSamples(), at: pcmBuffer.format.sampleRate) else {
      return reportOnce(.pcmUnsupportedSample, "sound at \(pcmBuffer.format.sampleRate) Hz")
    }
  }

  private func reportOnce(_ code: IVSBroadcastError, _ message: String) {
    guard told.withLock({ $0.insert(code).inserted }) else { return }
    report(NSError.ivs(code, message, source: tag()))
  }
}

/// The mean of a source's channels.
final class InOneChannel: AudioSource, Sendable {
  private let source: any AudioSource
  let channels = 1

  init(_ source: any AudioSource) { self.source = source }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    try source.start(on: lane) { deliver($0.with(channels: 1)) }
  }

  func stop() { source.stop() }
}

/// A microphone with audio from the app, which arrives at any time and in any amount.
private final class HandedSound: AudioSource, @unchecked Sendable {  // `device` is set once, before it is used
  private struct State {
    /// At 48 kHz, left and right in turns.
    var waiting: [Int16] = []
    var rest = 0.0
    var last: [Int16] = [0, 0]
    var run = 0
  }
  /// Most samples that wait: half a second of both channels. Older samples are dropped.
  private static let most = AudioBlock.sampleRate / 2 * 2
  private let state = Lock(State())
  weak var device: CustomAudioSource?
  let channels = 2

  /// - Parameter samples: left and right in turns.
  /// - Returns: false for a rate that is none.
  func push(_ samples: [Int16], at rate: Double) -> Bool {
    guard rate.isFinite, (8_000...192_000).contains(rate) else { return false }
    state.withLock { state in
      state.waiting += Self.resampled(samples, by: rate / Double(AudioBlock.sampleRate), &state.rest, &state.last)
      if state.waiting.count > Self.most { state.waiting.removeFirst(state.waiting.count - Self.most) }
    }
    return true
  }

  /// Along straight lines between samples; `rest` and `last` carry over to the next buffer.
  private static func resampled(
    _ samples: [Int16], by step: Double, _ rest: inout Double, _ last: inout [Int16]
  ) -> [Int16] {
    if step == 1 { return samples }
    guard samples.count >= 2 else { return [] }
    let (whole, count) = (last + samples, Double(samples.count / 2))
    var result: [Int16] = []
    var position = rest
    while position < count {
      let index = Int(position)
      let fraction = position - Double(index)
      for side in [2 * index, 2 * index + 1] {
        result.append(Int16(clamping: Int(Double(whole[side]) * (1 - fraction) + Double(whole[side + 2]) * fraction)))
      }
      position += step
    }
    (rest, last) = (position - count, Array(samples.suffix(2)))
    return result
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let run = state.withLock { state in
      state.run += 1
      return state.run
    }
    let start = lane.scheduler.now
    lane.post { [weak self] in self?.tick(0, run, start, lane, deliver) }
  }

  func stop() { state.withLock { $0.run += 1 } }

  private func tick(
    _ count: Int, _ run: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void
  ) {
    let gain = device?.gain() ?? 1
    var block = AudioBlock(channels: channels, captured: start + AudioBlock.duration * count)
    let isRunning = state.withLock { state in
      guard state.run == run else { return false }
      let part = state.waiting.prefix(block.samples.count)
      block.samples.replaceSubrange(0..<part.count, with: part)
      state.waiting.removeFirst(part.count)
      return true
    }
    guard isRunning else { return }
    deliver(gain == 1 ? block : block.amplified(by: gain))
    lane.post(at: start + AudioBlock.duration * (count + 1)) { [weak self] in
      self?.tick(count + 1, run, start, lane, deliver)
    }
  }
}
