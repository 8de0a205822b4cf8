public import Foundation
import Koine

// The values, delegates and closures of a call's diagnostics. What raises them: Features+Diagnostics.swift.

/// Quality that a diagnostic reports.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum DiagnosticQuality: Int, Sendable {
  case unknown, good, poor, bad
}

/// The new value of a diagnostic that is true or false.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class DiagnosticFlagChangedEventArgs: NSObject {
  public let value: Bool
  /// The name of the diagnostic's property in `latest`.
  public let name: String
  init(_ value: Bool, _ name: String) { (self.value, self.name) = (value, name) }
}

/// The new quality of a diagnostic.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class DiagnosticQualityChangedEventArgs: NSObject {
  public let value: DiagnosticQuality
  /// The name of the diagnostic's property in `latest`.
  public let name: String
  init(_ value: DiagnosticQuality, _ name: String) { (self.value, self.name) = (value, name) }
}

// MARK: Network

/// The values at one moment. Nil, or `unknown`: the diagnostic has not been raised in the call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class NetworkDiagnosticValues: NSObject, @unchecked Sendable {  // constant
  /// When a value changed last; before the first change, when the app first asked for the diagnostics.
  public let lastUpdated: Date
  /// The call failed to start because the room could not be reached.
  public let isNetworkUnavailable: Bool?
  private let qualities: [NetworkDiagnostics.Quality: DiagnosticQuality]

  fileprivate init(
    _ qualities: [NetworkDiagnostics.Quality: DiagnosticQuality], isNetworkUnavailable: Bool? = nil,
    _ lastUpdated: Date = Date()
  ) {
    (self.qualities, self.isNetworkUnavailable, self.lastUpdated) = (qualities, isNetworkUnavailable, lastUpdated)
  }

  fileprivate func setting(_ quality: NetworkDiagnostics.Quality, to value: DiagnosticQuality)
    -> NetworkDiagnosticValues
  {
    NetworkDiagnosticValues(qualities.merging([quality: value]) { $1 }, isNetworkUnavailable: isNetworkUnavailable)
  }

  fileprivate func settingNetworkUnavailable() -> NetworkDiagnosticValues {
    NetworkDiagnosticValues(qualities, isNetworkUnavailable: true)
  }

  fileprivate subscript(quality: NetworkDiagnostics.Quality) -> DiagnosticQuality { qualities[quality] ?? .unknown }

  /// Always nil: there are no relays.
  public var isNetworkRelaysUnreachable: Bool? { nil }
  /// `isNetworkRelaysUnreachable` under the name of one of the vendor's pages.
  public var networkRelaysUnreachable: Bool? { isNetworkRelaysUnreachable }
  /// `bad` while the room, or the media path, cannot be reached; `good` after that.
  public var networkReconnectionQuality: DiagnosticQuality { self[.networkReconnectionQuality] }
  /// The path from the room, as the room measures it.
  public var networkReceiveQuality: DiagnosticQuality { self[.networkReceiveQuality] }
  /// The path to the room, as the room measures it.
  public var networkSendQuality: DiagnosticQuality { self[.networkSendQuality] }
}

/// Notified on the delivery queue of changes of the network diagnostics.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol NetworkDiagnosticsDelegate: NSObjectProtocol {
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeIsNetworkUnavailable args: DiagnosticFlagChangedEventArgs)
  /// Never called: there are no relays.
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeIsNetworkRelaysUnreachable args: DiagnosticFlagChangedEventArgs)
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics,
    didChangeNetworkReconnectionQuality args: DiagnosticQualityChangedEventArgs)
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkReceiveQuality args: DiagnosticQualityChangedEventArgs)
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkSendQuality args: DiagnosticQualityChangedEventArgs)
}

extension NetworkDiagnosticsDelegate {
  public func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeIsNetworkUnavailable args: DiagnosticFlagChangedEventArgs
  ) {}
  public func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeIsNetworkRelaysUnreachable args: DiagnosticFlagChangedEventArgs
  ) {}
  public func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics,
    didChangeNetworkReconnectionQuality args: DiagnosticQualityChangedEventArgs
  ) {}
  public func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkReceiveQuality args: DiagnosticQualityChangedEventArgs
  ) {}
  public func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkSendQuality args: DiagnosticQualityChangedEventArgs
  ) {}
}

/// Closures for the changes of the network diagnostics, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class NetworkDiagnosticsEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onIsNetworkUnavailableChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  /// Never called: there are no relays.
  @EventClosure public var onIsNetworkRelaysUnreachableChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onNetworkReconnectionQualityChanged: ((DiagnosticQualityChangedEventArgs) -> Void)?
  @EventClosure public var onNetworkReceiveQualityChanged: ((DiagnosticQualityChangedEventArgs) -> Void)?
  @EventClosure public var onNetworkSendQualityChanged: ((DiagnosticQualityChangedEventArgs) -> Void)?

  public func removeAll() {
    (onIsNetworkUnavailableChanged, onIsNetworkRelaysUnreachableChanged) = (nil, nil)
    (onNetworkReconnectionQualityChanged, onNetworkReceiveQualityChanged, onNetworkSendQualityChanged) = (nil, nil, nil)
  }
}

/// Diagnostics of the local participant's network. Changes on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class NetworkDiagnostics: NSObject, @unchecked Sendable {  // everything mutable is locked
  /// The diagnostics that are qualities.
  enum Quality: String {
    case networkReconnectionQuality
    case networkReceiveQuality
    case networkSendQuality
  }

  public let events = NetworkDiagnosticsEvents()
  private let listener = Listener<any NetworkDiagnosticsDelegate>()
  private let values = Lock(NetworkDiagnosticValues([:]))

  public weak var delegate: (any NetworkDiagnosticsDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// The values at this moment; the object does not follow later changes.
  public var latest: NetworkDiagnosticValues { values.withLock { $0 } }

  override init() {}

  /// On the delivery queue. A first value that is good is no news.
  func raise(_ quality: Quality, _ value: DiagnosticQuality) {
    let hasChanged = values.withLock { values in
      let old = values[quality]
      guard old != value, old != .unknown || value != .good else { return false }
      values = values.setting(quality, to: value)
      return true
    }
    if hasChanged { tell(quality, DiagnosticQualityChangedEventArgs(value, quality.rawValue)) }
  }

  private func tell(_ quality: Quality, _ args: DiagnosticQualityChangedEventArgs) {
    switch quality {
    case .networkReconnectionQuality:
      delegate?.networkDiagnostics(self, didChangeNetworkReconnectionQuality: args)
      events.onNetworkReconnectionQualityChanged?(args)
    case .networkReceiveQuality:
      delegate?.networkDiagnostics(self, didChangeNetworkReceiveQuality: args)
      events.onNetworkReceiveQualityChanged?(args)
    case .networkSendQuality:
      delegate?.networkDiagnostics(self, didChangeNetworkSendQuality: args)
      events.onNetworkSendQualityChanged?(args)
    }
  }

  /// On the delivery queue, once.
  func raiseNetworkUnavailable() {
    values.withLock { $0 = $0.settingNetworkUnavailable() }
    let args = DiagnosticFlagChangedEventArgs(true, "isNetworkUnavailable")
    delegate?.networkDiagnostics(self, didChangeIsNetworkUnavailable: args)
    events.onIsNetworkUnavailableChanged?(args)
  }
}

// MARK: Media

/// The values at one moment. Nil: the diagnostic has not been raised in the call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaDiagnosticValues: NSObject, @unchecked Sendable {  // constant
  /// When a value changed last; before the first change, when the app first asked for the diagnostics.
  public let lastUpdated: Date
  private let flags: [MediaDiagnostics.Flag: Bool]

  fileprivate init(_ flags: [MediaDiagnostics.Flag: Bool], _ lastUpdated: Date) {
    (self.flags, self.lastUpdated) = (flags, lastUpdated)
  }

  fileprivate func setting(_ flag: MediaDiagnostics.Flag, to value: Bool) -> MediaDiagnosticValues {
    MediaDiagnosticValues(flags.merging([flag: value]) { $1 }, Date())
  }

  fileprivate subscript(flag: MediaDiagnostics.Flag) -> Bool? { flags[flag] }

  /// The loudspeaker in use could not be opened.
  public var isSpeakerNotFunctioning: Bool? { self[.isSpeakerNotFunctioning] }
  /// Another program has the sound.
  public var isSpeakerBusy: Bool? { self[.isSpeakerBusy] }
  /// The machine's loudspeaker is muted (`Machine.setOutputMuted`).
  public var isSpeakerMuted: Bool? { self[.isSpeakerMuted] }
  /// The volume of the machine's loudspeaker is zero (`Machine.setOutputVolume`).
  public var isSpeakerVolumeZero: Bool? { self[.isSpeakerVolumeZero] }
  /// No loudspeaker is plugged in.
  public var isNoSpeakerDevicesAvailable: Bool? { self[.isNoSpeakerDevicesAvailable] }
  /// The muted microphone hears speech.
  public var isSpeakingWhileMicrophoneIsMuted: Bool? { self[.isSpeakingWhileMicrophoneIsMuted] }
  /// No microphone is plugged in.
  public var isNoMicrophoneDevicesAvailable: Bool? { self[.isNoMicrophoneDevicesAvailable] }
  /// Another program has the sound.
  public var isMicrophoneBusy: Bool? { self[.isMicrophoneBusy] }
  /// A camera that is sent has given no frame for 3 s.
  public var isCameraFrozen: Bool? { self[.isCameraFrozen] }
  /// `isCameraFrozen` under the name that apps read.
  public var isCameraFreeze: Bool? { isCameraFrozen }
  /// A camera could not be started.
  public var isCameraStartFailed: Bool? { self[.isCameraStartFailed] }
  /// A camera that was started has given no frame for 10 s.
  public var isCameraStartTimedOut: Bool? { self[.isCameraStartTimedOut] }
  /// The microphone could not be opened, may not be used, or gives no audio.
  public var isMicrophoneNotFunctioning: Bool? { self[.isMicrophoneNotFunctioning] }
  /// The app is in the background and may not use the microphone there.
  public var isMicrophoneMutedUnexpectedly: Bool? { self[.isMicrophoneMutedUnexpectedly] }
  /// The user has denied the use of cameras.
  public var isCameraPermissionDenied: Bool? { self[.isCameraPermissionDenied] }
}

/// Notified on the delivery queue of changes of the media diagnostics.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol MediaDiagnosticsDelegate: NSObjectProtocol {
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerNotFunctioning args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerBusy args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerMuted args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerVolumeZero args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsNoSpeakerDevicesAvailable args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakingWhileMicrophoneIsMuted args: DiagnosticFlagChangedEventArgs
  )
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsNoMicrophoneDevicesAvailable args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneBusy args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraFrozen args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraStartFailed args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraStartTimedOut args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneNotFunctioning args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneMutedUnexpectedly args: DiagnosticFlagChangedEventArgs)
  func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraPermissionDenied args: DiagnosticFlagChangedEventArgs)
}

extension MediaDiagnosticsDelegate {
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerNotFunctioning args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerBusy args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerMuted args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakerVolumeZero args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsNoSpeakerDevicesAvailable args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsSpeakingWhileMicrophoneIsMuted args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsNoMicrophoneDevicesAvailable args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneBusy args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraFrozen args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraStartFailed args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraStartTimedOut args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneNotFunctioning args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsMicrophoneMutedUnexpectedly args: DiagnosticFlagChangedEventArgs
  ) {}
  public func mediaDiagnostics(
    _ mediaDiagnostics: MediaDiagnostics, didChangeIsCameraPermissionDenied args: DiagnosticFlagChangedEventArgs
  ) {}
}

/// Closures for the changes of the media diagnostics, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaDiagnosticsEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onIsSpeakerNotFunctioningChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsSpeakerBusyChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  /// Never called: the machine has no such switch.
  @EventClosure public var onIsSpeakerMutedChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  /// Never called: the machine has no volume.
  @EventClosure public var onIsSpeakerVolumeZeroChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsNoSpeakerDevicesAvailableChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsSpeakingWhileMicrophoneIsMutedChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsNoMicrophoneDevicesAvailableChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsMicrophoneBusyChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsCameraFrozenChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsCameraStartFailedChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsCameraStartTimedOutChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsMicrophoneNotFunctioningChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsMicrophoneMutedUnexpectedlyChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?
  @EventClosure public var onIsCameraPermissionDeniedChanged: ((DiagnosticFlagChangedEventArgs) -> Void)?

  public func removeAll() {
    (onIsSpeakerNotFunctioningChanged, onIsSpeakerBusyChanged) = (nil, nil)
    (onIsSpeakerMutedChanged, onIsSpeakerVolumeZeroChanged) = (nil, nil)
    (onIsNoSpeakerDevicesAvailableChanged, onIsSpeakingWhileMicrophoneIsMutedChanged) = (nil, nil)
    (onIsNoMicrophoneDevicesAvailableChanged, onIsMicrophoneBusyChanged) = (nil, nil)
    (onIsCameraFrozenChanged, onIsCameraStartFailedChanged) = (nil, nil)
    (onIsCameraStartTimedOutChanged, onIsMicrophoneNotFunctioningChanged) = (nil, nil)
    (onIsMicrophoneMutedUnexpectedlyChanged, onIsCameraPermissionDeniedChanged) = (nil, nil)
  }
}

/// Diagnostics of the local participant's devices. Changes on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaDiagnostics: NSObject, @unchecked Sendable {  // everything mutable is locked
  /// The diagnostics that have a cause here.
  enum Flag: String {
    case isSpeakerNotFunctioning
    case isSpeakerBusy
    case isSpeakerMuted
    case isSpeakerVolumeZero
    case isNoSpeakerDevicesAvailable
    case isSpeakingWhileMicrophoneIsMuted
    case isNoMicrophoneDevicesAvailable
    case isMicrophoneBusy
    case isCameraFrozen
    case isCameraStartFailed
    case isCameraStartTimedOut
    case isMicrophoneNotFunctioning
    case isMicrophoneMutedUnexpectedly
    case isCameraPermissionDenied
  }

  public let events = MediaDiagnosticsEvents()
  private let listener = Listener<any MediaDiagnosticsDelegate>()
  private let values = Lock(MediaDiagnosticValues([:], Date()))

  public weak var delegate: (any MediaDiagnosticsDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// The values at this moment; the object does not follow later changes.
  public var latest: MediaDiagnosticValues { values.withLock { $0 } }

  override init() {}

  /// On the delivery queue. A first value of false is no news.
  func raise(_ flag: Flag, _ value: Bool) {
    let hasChanged = values.withLock { values in
      guard (values[flag] ?? false) != value else { return false }
      values = values.setting(flag, to: value)
      return true
    }
    if hasChanged { tell(flag, DiagnosticFlagChangedEventArgs(value, flag.rawValue)) }
  }

  private func tell(_ flag: Flag, _ args: DiagnosticFlagChangedEventArgs) {
    switch flag {
    case .isSpeakerNotFunctioning:
      delegate?.mediaDiagnostics(self, didChangeIsSpeakerNotFunctioning: args)
      events.onIsSpeakerNotFunctioningChanged?(args)
    case .isSpeakerBusy:
      delegate?.mediaDiagnostics(self, didChangeIsSpeakerBusy: args)
      events.onIsSpeakerBusyChanged?(args)
    case .isSpeakerMuted:
      delegate?.mediaDiagnostics(self, didChangeIsSpeakerMuted: args)
      events.onIsSpeakerMutedChanged?(args)
    case .isSpeakerVolumeZero:
      delegate?.mediaDiagnostics(self, didChangeIsSpeakerVolumeZero: args)
      events.onIsSpeakerVolumeZeroChanged?(args)
    case .isNoSpeakerDevicesAvailable:
      delegate?.mediaDiagnostics(self, didChangeIsNoSpeakerDevicesAvailable: args)
      events.onIsNoSpeakerDevicesAvailableChanged?(args)
    case .isSpeakingWhileMicrophoneIsMuted:
      delegate?.mediaDiagnostics(self, didChangeIsSpeakingWhileMicrophoneIsMuted: args)
      events.onIsSpeakingWhileMicrophoneIsMutedChanged?(args)
    case .isNoMicrophoneDevicesAvailable:
      delegate?.mediaDiagnostics(self, didChangeIsNoMicrophoneDevicesAvailable: args)
      events.onIsNoMicrophoneDevicesAvailableChanged?(args)
    case .isMicrophoneBusy:
      delegate?.mediaDiagnostics(self, didChangeIsMicrophoneBusy: args)
      events.onIsMicrophoneBusyChanged?(args)
    case .isCameraFrozen:
      delegate?.mediaDiagnostics(self, didChangeIsCameraFrozen: args)
      events.onIsCameraFrozenChanged?(args)
    case .isCameraStartFailed:
      delegate?.mediaDiagnostics(self, didChangeIsCameraStartFailed: args)
      events.onIsCameraStartFailedChanged?(args)
    case .isCameraStartTimedOut:
      delegate?.mediaDiagnostics(self, didChangeIsCameraStartTimedOut: args)
      events.onIsCameraStartTimedOutChanged?(args)
    case .isMicrophoneNotFunctioning:
      delegate?.mediaDiagnostics(self, didChangeIsMicrophoneNotFunctioning: args)
      events.onIsMicrophoneNotFunctioningChanged?(args)
    case .isMicrophoneMutedUnexpectedly:
      delegate?.mediaDiagnostics(self, didChangeIsMicrophoneMutedUnexpectedly: args)
      events.onIsMicrophoneMutedUnexpectedlyChanged?(args)
    case .isCameraPermissionDenied:
      delegate?.mediaDiagnostics(self, didChangeIsCameraPermissionDenied: args)
      events.onIsCameraPermissionDeniedChanged?(args)
    }
  }
}
