import Foundation
import Koine

/// A device that can be published as sound.
protocol PublishableSound: AnyObject {
  func makeAudioSource() -> any AudioSource
  /// What is done to the sound of publications that begin now.
  var processing: AudioProcessing? { get }
  /// Its sound goes out as `stream`, for as long as anybody holds that.
  func wasPublished(as stream: LocalStream)
}

/// A device that gives sound to whoever attaches to it.
public class AudioDevice: StageDevice, IVSAudioDevice, @unchecked Sendable {  // `meter` and `level` are locks
  private let meter = Lock<AudioMeter?>(nil)
  private let level: Lock<Float>

  init(_ descriptor: IVSDeviceDescriptor, in world: World, gain: Float = 1) {
    level = Lock(gain)
    super.init(descriptor, in: world)
  }

  func attach(_ sink: any AudioSink) {}
  func detach(_ sink: any AudioSink) {}
  /// Whose sound this is; nil: the machine's own, or the app's.
  var participant: String? { nil }
  /// What is attached gets the sound with the device's gain done.
  var isAmplifiedAlready: Bool { false }

  public func gain() -> Float { level.withLock { $0 } }
  public func setGain(_ gain: Float) {
    guard !gain.isNaN else { return }
    level.withLock { $0 = min(max(gain, 0), 2) }
  }

  public func setStatsCallback(_ callback: ((IVSAudioDeviceStats) -> Void)?) {
    let new = callback.map { AudioMeter(delivery: world.delivery, callback: $0) }
    let old = meter.withLock { meter in
      defer { meter = new }
      return meter
    }
    if let old {
      old.end()
      detach(old)
    }
    if let new { attach(new) }
  }
}

/// Tells the loudness of each tenth of a second.
private final class AudioMeter: AudioSink, @unchecked Sendable {  // `sum` is a lock, `callback` runs on one queue
  private struct Sum {
    var squares = 0.0
    var peak = 0
    var samples = 0
    var blocks = 0
    var isOver = false
  }

  private let delivery: Delivery
  private let callback: (IVSAudioDeviceStats) -> Void
  private let sum = Lock(Sum())

  init(delivery: Delivery, callback: @escaping (IVSAudioDeviceStats) -> Void) {
    self.delivery = delivery
    self.callback = callback
  }

  func end() { sum.withLock { $0.isOver = true } }

  func play(_ block: AudioBlock) {
    let whole = sum.withLock { sum -> Sum? in
      for sample in block.samples {
        sum.squares += Double(sample) * Double(sample)
        sum.peak = max(sum.peak, Int(sample.magnitude))
      }
      sum.samples += block.samples.count
      sum.blocks += 1
      guard sum.blocks == 10, !sum.isOver else { return nil }
      defer { sum = Sum() }
      return sum
    }
    guard let whole else { return }
    let rms = (whole.squares / Double(max(whole.samples, 1))).squareRoot()
    let (peakLevel, rmsLevel) = (Self.decibels(Double(whole.peak)), Self.decibels(rms))
    delivery.deliver { [weak self] in
      guard let self, !sum.withLock({ $0.isOver }) else { return }
      callback(IVSAudioDeviceStats(peak: peakLevel, rms: rmsLevel))
    }
  }

  /// dBFS, −100...0.
  private static func decibels(_ amplitude: Double) -> Float {
    amplitude > 0 ? Float(min(max(20 * log10(amplitude / 32_768), -100), 0)) : -100
  }
}

/// A remote participant's sound, while it is subscribed to.
final class RemoteAudioDevice: AudioDevice, @unchecked Sendable {  // constant
  private let stream: Koine.Stream.ID
  private weak let session: Session?

  init(_ stream: Koine.Stream.ID, _ session: Session, gain: Float) {
    self.stream = stream
    self.session = session
    super.init(
      IVSDeviceDescriptor(urn: "koine:\(stream)", friendlyName: "\(stream)", type: .userAudio), in: session.world,
      gain: gain)
    session.setGain(Double(self.gain()), of: stream)
  }

  override func setGain(_ gain: Float) {
    super.setGain(gain)
    session?.setGain(Double(self.gain()), of: stream)
  }

  override var participant: String? { stream.participant }
  override func attach(_ sink: any AudioSink) { session?.attach(sink, to: stream) }
  override func detach(_ sink: any AudioSink) { session?.detach(sink, from: stream) }
}
