public import Foundation
import Koine
public import KoineUIKit

/// Video, audio and mixer settings of a broadcast. A session copies them when it is created.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSBroadcastConfiguration.html)
public class IVSBroadcastConfiguration: NSObject {
  /// How a video fills an area of a different aspect ratio.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSAspectMode.html)
  public enum AspectMode: Int, Sendable {
    /// Stretched.
    case none = 0
    /// Whole, with room left over.
    case fit = 1
    /// Filling, with edges cut off.
    case fill = 2
  }

  public var audio = IVSAudioConfiguration()
  public var video = IVSVideoConfiguration()
  public var mixer = IVSMixerConfiguration()
  public var autoReconnect = IVSAutoReconnectConfiguration()
  /// The log level with which a session begins.
  public var logLevel = IVSBroadcastSession.LogLevel.error

  public override init() { super.init() }
  public init(audio: IVSAudioConfiguration, video: IVSVideoConfiguration, mixer: IVSMixerConfiguration) {
    self.audio = audio
    self.video = video
    self.mixer = mixer
  }
}

/// Whether a session reconnects after the loss of its server: five attempts, after 1, 2, 3, 4 and 5 seconds, from
/// `start` to `stop`. A written file stays unchanged.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSBroadcastAutoReconnectConfiguration.html)
public class IVSAutoReconnectConfiguration: NSObject {
  public var enabled = false
}

/// Video settings of a broadcast. Setters throw for values outside of their range and then change nothing.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSVideoConfiguration.html)
public class IVSVideoConfiguration: NSObject {
  /// In bit/s. The broadcast begins with it, within `minBitrate` and `maxBitrate`. Without `useAutoBitrate`, and in files, it stays.
  public private(set) var initialBitrate = 2_100_000
  /// In bit/s. The broadcast is encoded with no more.
  public private(set) var maxBitrate = 6_000_000
  /// In bit/s. The broadcast is encoded with no less, unless `maxBitrate` is smaller.
  public private(set) var minBitrate = 300_000
  /// In frames per second.
  public private(set) var targetFramerate = 30
  /// In pixels.
  public private(set) var size = CGSize(width: 720, height: 1280)
  /// Between two pictures that stand for themselves, in seconds.
  public private(set) var keyframeInterval: Float = 2
  /// Whether the encoder uses frames that depend on later ones (B frames). Outputs in H.264 (RTMP, `.mp4`, HLS) do; VP8 (`.webm`) has
  /// none.
  public var usesBFrames = true
  /// Whether the bitrate follows the speed at which an RTMP server takes the stream, between `minBitrate` and `maxBitrate`.
  public var useAutoBitrate = true
  public var autoBitrateProfile = AutomaticBitrateProfile.conservative

  /// How fast the automatic bitrate rises while the server takes the stream without delay: by 8 % after each five seconds, or by 20 %
  /// after each two. It falls equally fast with both.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSAutomaticBitrateProfile.html)
  public enum AutomaticBitrateProfile: Int, Sendable {
    case conservative = 0
    case fastIncrease = 1
  }

  /// Slots may be transparent only then.
  public var enableTransparency = false

  /// What the broadcast's video is encoded with, in bit/s.
  var encodedBitrate: Int { min(max(initialBitrate, minBitrate), maxBitrate) }
  /// The limits of an automatic bitrate, in bit/s; nil: it is not automatic.
  var automaticLimits: ClosedRange<Int>? { useAutoBitrate ? min(minBitrate, maxBitrate)...maxBitrate : nil }

  /// - Parameter initialBitrate: 100,000...8,500,000 bit/s.
  public func setInitialBitrate(_ initialBitrate: Int) throws {
    try check((100_000...8_500_000).contains(initialBitrate), .configurationInvalidVideoInitialBitrate, initialBitrate)
    self.initialBitrate = initialBitrate
  }

  /// - Parameter maxBitrate: 100,000...8,500,000 bit/s.
  public func setMaxBitrate(_ maxBitrate: Int) throws {
    try check((100_000...8_500_000).contains(maxBitrate), .configurationInvalidVideoMaxBitrate, maxBitrate)
    self.maxBitrate = maxBitrate
  }

  /// - Parameter minBitrate: 100,000...8,500,000 bit/s.
  public func setMinBitrate(_ minBitrate: Int) throws {
    try check((100_000...8_500_000).contains(minBitrate), .configurationInvalidVideoMinBitrate, minBitrate)
    self.minBitrate = minBitrate
  }

  /// - Parameter targetFramerate: 10...60 frames per second.
  public func setTargetFramerate(_ targetFramerate: Int) throws {
    try check((10...60).contains(targetFramerate), .configurationInvalidVideoTargetFramerate, targetFramerate)
    self.targetFramerate = targetFramerate
  }

  /// - Parameter keyframeInterval: 1...5 seconds.
  public func setKeyframeInterval(_ keyframeInterval: Float) throws {
    try check((1...5).contains(keyframeInterval), .configurationInvalidVideoKeyframeInterval, keyframeInterval)
    self.keyframeInterval = keyframeInterval
  }

  /// - Parameter size: sides of 160...1920 pixels, 2,073,600 pixels in all at most.
  public func setSize(_ size: CGSize) throws {
    let sides: ClosedRange<CGFloat> = 160...1920
    try check(
      sides.contains(size.width) && sides.contains(size.height) && size.width * size.height <= 2_073_600,
      .configurationInvalidVideoSize, size)
    self.size = size
  }

  private func check(_ isAllowed: Bool, _ code: IVSBroadcastError, _ value: Any) throws {
    if !isAllowed { throw NSError.ivs(code, "\(value) is out of range", source: "IVSVideoConfiguration") }
  }
}

/// Audio settings of a broadcast. Setters throw for values outside of their range and then change nothing.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSAudioConfiguration.html)
public class IVSAudioConfiguration: NSObject {
  /// In bit/s.
  public private(set) var bitrate = 96_000
  /// What all sound is mixed to; of two, sound in one channel is in the middle. A stage's is in one.
  public private(set) var channels = 2
  /// How hard the encoder works at the same bitrate. Opus (`.webm`) has all five qualities; AAC (RTMP, `.mp4`, HLS) works less for the two
  /// lowest.
  public var quality = AudioQuality.medium

  /// Quality of the audio encoder.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSAudioQuality.html)
  public enum AudioQuality: Int, Sendable {
    case minimum = 0
    case low = 1
    case medium = 2
    case high = 3
    case maximum = 4

    /// Of `BroadcastPlan`; nil: the encoder's own choice.
    var complexity: Int? {
      switch self {
      case .minimum: 0
      case .low: 2
      case .medium: nil
      case .high: 8
      case .maximum: 10
      }
    }
  }

  /// - Parameter channels: 1 or 2.
  public func setChannels(_ channels: Int) throws {
    guard (1...2).contains(channels) else {
      throw NSError.ivs(
        .configurationInvalidAudioChannels, "\(channels) is out of range", source: "IVSAudioConfiguration")
    }
    self.channels = channels
  }

  /// - Parameter bitrate: 64,000...160,000 bit/s.
  public func setBitrate(_ bitrate: Int) throws {
    guard (64_000...160_000).contains(bitrate) else {
      throw NSError.ivs(
        .configurationInvalidAudioBitrate, "\(bitrate) is out of range", source: "IVSAudioConfiguration")
    }
    self.bitrate = bitrate
  }
}

/// The slots of a broadcast's mixer at its start.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixerConfiguration.html)
public class IVSMixerConfiguration: NSObject {
  /// The places that a session's mixer begins with; their names differ.
  public var slots = [IVSMixerSlotConfiguration()]
  public var canvasAspectMode = IVSBroadcastConfiguration.AspectMode.fit
}

/// A slot of the mixer: position, size and layer on the canvas, and volume of its audio.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixerSlotConfiguration.html)
public class IVSMixerSlotConfiguration: NSObject {
  public private(set) var name = "default"
  /// In pixels of the canvas, as `position`.
  public var size = CGSize(width: 720, height: 1280) { didSet { matchCanvasSize = false } }
  /// Of the top left corner.
  public var position = CGPoint.zero
  public var aspect = IVSBroadcastConfiguration.AspectMode.fit { didSet { matchCanvasAspectMode = false } }
  /// Higher ones lie above lower ones.
  public var zIndex: Int32 = 0
  /// Behind the picture; nil: clear.
  public var fillColor: UIColor?
  /// 0...2.
  public private(set) var gain: Float = 1
  /// 0 (opaque)...1.
  public private(set) var transparency: Float = 0
  public var preferredVideoInput = IVSDeviceType.camera
  public var preferredAudioInput = IVSDeviceType.microphone
  /// The slot is as large as the canvas.
  public var matchCanvasSize = true
  public var matchCanvasAspectMode = true

  /// - Parameter name: 1...50 characters.
  public func setName(_ name: String) throws {
    try check((1...50).contains(name.count), .configurationInvalidSlotName, name)
    self.name = name
  }

  /// - Parameter gain: 0...2.
  public func setGain(_ gain: Float) throws {
    try check((0...2).contains(gain), .configurationInvalidSlotGain, gain)
    self.gain = gain
  }

  /// - Parameter transparency: 0...1. Seen only where the video configuration enables transparency.
  public func setTransparency(_ transparency: Float) throws {
    try check((0...1).contains(transparency), .configurationInvalidSlotTransparency, transparency)
    self.transparency = transparency
  }

  private func check(_ isAllowed: Bool, _ code: IVSBroadcastError, _ value: Any) throws {
    if !isAllowed { throw NSError.ivs(code, "'\(value)' is not allowed", source: "IVSMixerSlotConfiguration") }
  }

  func duplicate() -> IVSMixerSlotConfiguration {
    let copy = IVSMixerSlotConfiguration()
    (copy.name, copy.size, copy.position, copy.aspect) = (name, size, position, aspect)
    (copy.zIndex, copy.fillColor, copy.gain, copy.transparency) = (zIndex, fillColor, gain, transparency)
    (copy.preferredVideoInput, copy.preferredAudioInput) = (preferredVideoInput, preferredAudioInput)
    (copy.matchCanvasSize, copy.matchCanvasAspectMode) = (matchCanvasSize, matchCanvasAspectMode)
    return copy
  }
}
