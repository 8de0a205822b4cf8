public import Foundation
import Koine

/// Video and audio settings of a published stream.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStreamConfiguration.html)
public class IVSLocalStageStreamConfiguration: NSObject {
  public var audio = IVSLocalStageStreamAudioConfiguration()
  public var video = IVSLocalStageStreamVideoConfiguration()
}

/// Video settings of a published stream. Setters throw for values outside of their range and then change nothing.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStreamVideoConfiguration.html)
public class IVSLocalStageStreamVideoConfiguration: NSObject {
  /// Whether video loses resolution or frame rate first when the available bitrate is low. It has no effect with
  /// simulcast, as in the vendor's SDK.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSLocalStageStreamVideoConfigurationDegradationPreference.html)
  public enum DegradationPreference: Int, Sendable {
    case maintainFramerate = 1
    case maintainResolution = 2
    case balanced = 3
  }

  /// In bit/s.
  public private(set) var maxBitrate = 900_000
  /// In bit/s. As much is sent even where the path seems to carry less.
  public private(set) var minBitrate = 100_000
  /// In frames per second.
  public private(set) var targetFramerate = 15
  /// In pixels, the camera held upright: larger pictures are scaled down to fit, and for a camera that lies on its side
  /// width and height change places.
  public private(set) var size = CGSize(width: 360, height: 640)
  public var degradationPreference = DegradationPreference.balanced
  public var simulcast = IVSSimulcastConfiguration()

  /// - Parameter maxBitrate: 100,000...2,500,000 bit/s.
  public func setMaxBitrate(_ maxBitrate: Int) throws {
    try check((100_000...2_500_000).contains(maxBitrate), .stageConfigurationInvalidVideoMaxBitrate, maxBitrate)
    self.maxBitrate = maxBitrate
  }

  /// - Parameter minBitrate: 100,000...2,500,000 bit/s.
  public func setMinBitrate(_ minBitrate: Int) throws {
    try check((100_000...2_500_000).contains(minBitrate), .stageConfigurationInvalidVideoMinBitrate, minBitrate)
    self.minBitrate = minBitrate
  }

  /// - Parameter targetFramerate: 10...30 frames per second.
  public func setTargetFramerate(_ targetFramerate: Int) throws {
    try check((10...30).contains(targetFramerate), .stageConfigurationInvalidVideoTargetFramerate, targetFramerate)
    self.targetFramerate = targetFramerate
  }

  /// - Parameter size: sides of 160...1280 pixels, 921,600 pixels in all at most.
  public func setSize(_ size: CGSize) throws {
    let sides: ClosedRange<CGFloat> = 160...1280
    try check(
      sides.contains(size.width) && sides.contains(size.height) && size.width * size.height <= 921_600,
      .stageConfigurationInvalidVideoSize, size)
    self.size = size
  }

  private func check(_ isAllowed: Bool, _ code: IVSBroadcastError, _ value: Any) throws {
    guard !isAllowed else { return }
    throw NSError.ivs(code, "\(value) is out of range", source: "IVSLocalStageStreamVideoConfiguration")
  }

  /// For a camera of the given format.
  func publishOptions(for camera: VideoFormat) -> VideoPublishOptions {
    let isUpright = camera.height > camera.width
    let (short, long) = (Int(min(size.width, size.height)), Int(max(size.width, size.height)))
    let (width, height) = isUpright ? (short, long) : (long, short)
    var options = VideoPublishOptions(
      maximumBitrate: maxBitrate, maximumFramesPerSecond: Double(targetFramerate), maximumWidth: width,
      maximumHeight: height)
    if simulcast.enabled, max(min(camera.width, width), min(camera.height, height)) > 480 {
      options.lowerLayers = [
        VideoLayer(
          maximumWidth: isUpright ? 180 : 320, maximumHeight: isUpright ? 320 : 180,
          maximumBitrate: min(100_000, maxBitrate), maximumFramesPerSecond: Double(min(15, targetFramerate)))
      ]
    }
    if !simulcast.enabled {
      options.degradation = degradationPreference.degradation
      options.minimumBitrate = min(minBitrate, maxBitrate)
    }
    return options
  }
}

extension IVSLocalStageStreamVideoConfiguration.DegradationPreference {
  fileprivate var degradation: VideoDegradation {
    switch self {
    case .maintainFramerate: .keepsFrameRate
    case .maintainResolution: .keepsSize
    case .balanced: .balanced
    }
  }
}

/// Whether a second, smaller encoding is sent: up to 320×180, 100 kbit/s, 15 frames per second. Only for video with a longer
/// side of over 480 pixels.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSimulcastConfiguration.html)
public class IVSSimulcastConfiguration: NSObject {
  public var enabled = true
}

/// Audio settings of a published stream.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStreamAudioConfiguration.html)
public class IVSLocalStageStreamAudioConfiguration: NSObject {
  /// In bit/s.
  public private(set) var maxBitrate = 64_000

  /// - Parameter maxBitrate: 12,000...128,000 bit/s.
  public func setMaxBitrate(_ maxBitrate: Int) throws {
    guard (12_000...128_000).contains(maxBitrate) else {
      throw NSError.ivs(
        .stageConfigurationInvalidAudioMaxBitrate, "\(maxBitrate) is out of range",
        source: "IVSLocalStageStreamAudioConfiguration")
    }
    self.maxBitrate = maxBitrate
  }

  var publishOptions: AudioPublishOptions { AudioPublishOptions(bitrate: maxBitrate) }
}
