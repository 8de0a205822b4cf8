import Koine

/// Settings of the meeting's media.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/AudioVideoConfiguration.html)
public final class AudioVideoConfiguration: CustomStringConvertible, Sendable {
  public static let defaultAudioMode = AudioMode.stereo48K
  public static let defaultAudioDeviceCapabilities = AudioDeviceCapabilities.inputAndOutput
  public static let defaultCallKitEnabled = false
  public static let defaultEnableAudioRedundancy = true
  public static let defaultVideoMaxResolution = VideoResolution.videoResolutionHD
  public static let defaultReconnectTimeoutMs = 180_000

  public let audioMode: AudioMode
  public let audioDeviceCapabilities: AudioDeviceCapabilities
  /// Whether the app reports the call to CallKit, which then activates the audio session. If false, the SDK activates it, also after an
  /// interruption of the audio.
  public let callKitEnabled: Bool
  public let enableAudioRedundancy: Bool
  public let videoMaxResolution: VideoResolution
  /// How long a lost connection is waited for, in milliseconds; then the meeting ends with `audioDisconnected`.
  public let reconnectTimeoutMs: Int

  public init(
    audioMode: AudioMode, audioDeviceCapabilities: AudioDeviceCapabilities, callKitEnabled: Bool,
    enableAudioRedundancy: Bool, videoMaxResolution: VideoResolution, reconnectTimeoutMs: Int
  ) {
    self.audioMode = audioMode
    self.audioDeviceCapabilities = audioDeviceCapabilities
    self.callKitEnabled = callKitEnabled
    self.enableAudioRedundancy = enableAudioRedundancy
    self.videoMaxResolution = videoMaxResolution
    self.reconnectTimeoutMs = reconnectTimeoutMs
  }

  /// All forms with fewer arguments.
  private convenience init(
    mode: AudioMode = defaultAudioMode, capabilities: AudioDeviceCapabilities = defaultAudioDeviceCapabilities,
    callKit: Bool = defaultCallKitEnabled, redundancy: Bool = defaultEnableAudioRedundancy,
    resolution: VideoResolution = defaultVideoMaxResolution, timeout: Int = defaultReconnectTimeoutMs
  ) {
    self.init(
      audioMode: mode, audioDeviceCapabilities: capabilities, callKitEnabled: callKit,
      enableAudioRedundancy: redundancy, videoMaxResolution: resolution, reconnectTimeoutMs: timeout)
  }

  public convenience init() { self.init(mode: Self.defaultAudioMode) }
  public convenience init(audioMode: AudioMode) { self.init(mode: audioMode) }
  public convenience init(audioDeviceCapabilities: AudioDeviceCapabilities) {
    self.init(capabilities: audioDeviceCapabilities)
  }
  public convenience init(callKitEnabled: Bool) { self.init(callKit: callKitEnabled) }
  public convenience init(enableAudioRedundancy: Bool) { self.init(redundancy: enableAudioRedundancy) }
  public convenience init(videoMaxResolution: VideoResolution) { self.init(resolution: videoMaxResolution) }
  public convenience init(reconnectTimeoutMs: Int) { self.init(timeout: reconnectTimeoutMs) }
  public convenience init(audioMode: AudioMode, callKitEnabled: Bool) {
    self.init(mode: audioMode, callKit: callKitEnabled)
  }
  public convenience init(audioMode: AudioMode, callKitEnabled: Bool, enableAudioRedundancy: Bool) {
    self.init(mode: audioMode, callKit: callKitEnabled, redundancy: enableAudioRedundancy)
  }
  public convenience init(
    audioMode: AudioMode, callKitEnabled: Bool, enableAudioRedundancy: Bool, videoMaxResolution: VideoResolution
  ) {
    self.init(
      mode: audioMode, callKit: callKitEnabled, redundancy: enableAudioRedundancy, resolution: videoMaxResolution)
  }
  public convenience init(
    audioMode: AudioMode, audioDeviceCapabilities: AudioDeviceCapabilities, callKitEnabled: Bool,
    enableAudioRedundancy: Bool, videoMaxResolution: VideoResolution
  ) {
    self.init(
      mode: audioMode, capabilities: audioDeviceCapabilities, callKit: callKitEnabled,
      redundancy: enableAudioRedundancy, resolution: videoMaxResolution)
  }

  public var description: String {
    """
    audioMode: \(audioMode), audioDeviceCapabilities: \(audioDeviceCapabilities), callKitEnabled: \(callKitEnabled), \
    enableAudioRedundancy: \(enableAudioRedundancy), videoMaxResolution: \(videoMaxResolution), \
    reconnectTimeoutMs: \(reconnectTimeoutMs)
    """
  }
}

/// Sample rate and channels of the meeting's audio. It has no effect in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/AudioMode.html)
public enum AudioMode: Int, CaseIterable, CustomStringConvertible, Sendable {
  case mono16K = 1
  case mono48K = 2
  case stereo48K = 3
  public var description: String { ["mono16K", "mono48K", "stereo48K"][rawValue - 1] }

  /// In bit/s.
  func bitrate(channels: Int) -> Int {
    switch self {
    case .mono16K: 24_000
    case .mono48K: 40_000
    case .stereo48K: channels == 2 ? 64_000 : 40_000
    }
  }
}

/// The audio devices that the meeting uses. Only `inputAndOutput` requires the permission to record.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/AudioDeviceCapabilities.html)
public enum AudioDeviceCapabilities: Int, CaseIterable, CustomStringConvertible, Sendable {
  case none, outputOnly, inputAndOutput
  public var description: String { ["none", "outputOnly", "inputAndOutput"][rawValue] }
}
