public import Foundation
import Koine

/// How strongly steady background noise is removed from the microphone.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum NoiseSuppressionMode: Int, Sendable {
  case off, auto, low, high
}

/// The processing of the microphone's audio from the call's beginning. The defaults are the vendor's.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingAudioFilters: NSObject {
  /// Kept: there is no analogue volume that software could set. `digitalAutomaticGainControlEnabled` controls the gain.
  public var analogAutomaticGainControlEnabled = true {
    didSet { if !analogAutomaticGainControlEnabled { NoEffect.analogGain.log() } }
  }
  public var digitalAutomaticGainControlEnabled = true
  /// Sends music as it is: without suppression of noise, control of gain and filter of low frequencies.
  public var musicModeEnabled = false
  /// Counts in music mode only. Otherwise the echo is cancelled.
  public var acousticEchoCancellationEnabled = true
  public var noiseSuppressionMode = NoiseSuppressionMode.high
}

/// The processing of the microphone's audio in a call. A change takes effect at once.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class LiveOutgoingAudioFilters: NSObject, @unchecked Sendable {  // constant
  private weak let call: Call?

  init(_ call: Call) { self.call = call }

  public var noiseSuppressionMode: NoiseSuppressionMode {
    get { settings.noiseSuppression }
    set { change { $0.noiseSuppression = newValue } }
  }
  /// Sends music as it is: without suppression of noise, control of gain and filter of low frequencies.
  public var musicModeEnabled: Bool {
    get { settings.isMusic }
    set { change { $0.isMusic = newValue } }
  }
  /// Counts in music mode only. Otherwise the echo is cancelled.
  public var acousticEchoCancellationEnabled: Bool {
    get { settings.cancelsEcho }
    set { change { $0.cancelsEcho = newValue } }
  }

  private var settings: AudioFilterSettings { call?.current.withLock { $0.filters } ?? AudioFilterSettings(nil) }

  private func change(_ change: (inout AudioFilterSettings) -> Void) {
    guard let call else { return }
    let audio = call.current.withLock { current in
      change(&current.filters)
      current.filters.isSet = true
      return current.outgoingAudio
    }
    call.setProcessing(usual: audio?.usualProcessing)
  }
}

/// The filters of a call. Until the app has set one, the usual processing of the microphone applies.
struct AudioFilterSettings {
  var isSet = false
  var noiseSuppression = NoiseSuppressionMode.high
  var isMusic = false
  var cancelsEcho = true
  var controlsGain = true

  init(_ filters: OutgoingAudioFilters?) {
    guard let filters else { return }
    isSet = true
    noiseSuppression = filters.noiseSuppressionMode
    isMusic = filters.musicModeEnabled
    cancelsEcho = filters.acousticEchoCancellationEnabled
    controlsGain = filters.digitalAutomaticGainControlEnabled
  }

  /// - Parameter usual: the usual processing of the microphone.
  func processing(usual: AudioProcessing?) -> AudioProcessing? {
    guard isSet else { return usual }
    if isMusic {
      return cancelsEcho
        ? AudioProcessing(cancelsEcho: true, noiseSuppression: nil, removesLowFrequencies: false) : nil
    }
    let suppression: AudioProcessing.NoiseSuppression? =
      switch noiseSuppression {
      case .off: nil
      case .auto: usual?.noiseSuppression ?? .moderate
      case .low: .low
      case .high: .high
      }
    return AudioProcessing(noiseSuppression: suppression, controlsGain: controlsGain)
  }
}

extension Call {
  /// The same object each time.
  public var liveOutgoingAudioFilters: LiveOutgoingAudioFilters {
    current.withLock { current in
      if let made = current.liveFilters { return made }
      let made = LiveOutgoingAudioFilters(self)
      current.liveFilters = made
      return made
    }
  }
}
