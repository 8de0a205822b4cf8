import Foundation
import Koine

/// A device that can be published as audio.
protocol PublishableSound: AnyObject {
  func makeAudioSource() -> any AudioSource
  /// Audio processing for publications that start from now on.
  var processing: AudioProcessing? { get }
  /// The device's audio has been published as `stream`, until that object is released.
  func wasPublished(as stream: LocalStream)
}

/// A device that delivers audio to attached sinks.
public class AudioDevice: StageDevice, IVSAudioDevice, @unchecked Sendable {  // `meter` and `level` are locks
  private let meter = Lock<AudioMeter?>(nil)
  private let level: Lock<Float>

  init(_ descriptor: IVSDeviceDescriptor, in world: World, gain: Float = 1) {
    level = Lock(gain)
    super.init(descriptor, in: world)
  }

  func attach(_ sink: any AudioSink) {}
  func detach(_ sink: any AudioSink) {}
  /// Id of the participant that sends this audio; nil: the machine's own audio, or the app's.
  var participant: String? { nil }
  /// Whether attached sinks receive audio with the device's gain applied.
  var isAmplifiedAlready: Bool { false }

  public func gain() -> Float { level.withLock { $0 } }
  public func setGain(_ gain: Float) {
    guard !gain.isNaN else { return }
    level.withLock { $0 = min(max(gain, 0), 2) }
  }

  public func setStatsCallback(_ callback: ((IVSAudioDeviceStats) -> Void)?) {
    let new = callback.map { callback in
      AudioMeter(delivery: world.delivery) { callback(IVSAudioDeviceStats(peak: Float($0.peak), rms: Float($0.rms))) }
    }
    let old = meter.withLock { meter in
      defer { meter = new }
      return meter
    }
    if let old {
      old.stop()
      detach(old)
    }
    if let new { attach(new) }
  }
}

/// A remote participant's sound, while it is subscribed to.
final class RemoteAudioDevice: AudioDevice, @unchecked Sendable {  // constant
  private let stream: Track.ID
  private weak let session: Session?

  init(_ stream: Track.ID, _ session: Session, gain: Float) {
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
