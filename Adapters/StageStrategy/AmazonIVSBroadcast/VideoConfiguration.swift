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
    if simulcast.enabled, !simulcast.layers.isEmpty { return simulcast.publishOptions(isUpright: isUpright) }
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
  /// The app's own layers, which replace size, bitrate and frame rate of the video configuration. Empty: the usual ones.
  public private(set) var layers: [IVSLocalStageStreamLayer] = []

  /// - Parameter layers: at most 3, each with a maximum bitrate, a size and a frame rate, and no two alike.
  /// - Throws: for others; nothing changes then.
  public func setLayers(_ layers: [IVSLocalStageStreamLayer]) throws {
    let source = "IVSSimulcastConfiguration"
    guard layers.count <= 3 else {
      throw NSError.ivs(.invalidState, "\(layers.count) layers are more than 3", source: source)
    }
    guard layers.allSatisfy(\.isComplete) else {
      throw NSError.ivs(.invalidState, "a layer lacks its bitrate, size or frame rate", source: source)
    }
    guard Set(layers.map(\.values)).count == layers.count else {
      throw NSError.ivs(.invalidState, "two layers are alike", source: source)
    }
    self.layers = layers
  }

  /// The largest layer is the main encoding.
  func publishOptions(isUpright: Bool) -> VideoPublishOptions {
    let ordered = layers.map { $0.videoLayer(isUpright: isUpright) }.sorted {
      ($0.maximumWidth * $0.maximumHeight, $0.maximumBitrate, $0.maximumFramesPerSecond)
        < ($1.maximumWidth * $1.maximumHeight, $1.maximumBitrate, $1.maximumFramesPerSecond)
    }
    guard let main = ordered.last else { return VideoPublishOptions() }
    return VideoPublishOptions(
      maximumBitrate: main.maximumBitrate, maximumFramesPerSecond: main.maximumFramesPerSecond,
      maximumWidth: main.maximumWidth, maximumHeight: main.maximumHeight, lowerLayers: Array(ordered.dropLast()),
      minimumBitrate: layers.reduce(0) { $0 + min($1.minBitrate, $1.maxBitrate) })
  }
}

/// One encoding of a published video stream. Setters take what lies in their range, or throw and change nothing. A new layer has
/// no values: `IVSSimulcastConfiguration.setLayers(_:)` refuses it.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStreamLayer.html)
public class IVSLocalStageStreamLayer: NSObject {
  /// In bit/s; 0: not set.
  public private(set) var maxBitrate = 0
  /// In bit/s; 0: not set. As much is sent, of all layers together, even where the path seems to carry less.
  public private(set) var minBitrate = 0
  /// In pixels; zero: not set. Larger frames are scaled down to fit, and for a camera that lies on its side width and height
  /// change places.
  public private(set) var size = CGSize.zero
  /// In frames per second; 0: not set.
  public private(set) var targetFramerate: Float = 0

  /// - Parameter maxBitrate: 50,000...2,500,000 bit/s.
  public func setMaxBitrate(_ maxBitrate: Int) throws {
    try check((50_000...2_500_000).contains(maxBitrate), .stageConfigurationInvalidVideoMaxBitrate, maxBitrate)
    self.maxBitrate = maxBitrate
  }

  /// - Parameter minBitrate: 50,000...2,500,000 bit/s.
  public func setMinBitrate(_ minBitrate: Int) throws {
    try check((50_000...2_500_000).contains(minBitrate), .stageConfigurationInvalidVideoMinBitrate, minBitrate)
    self.minBitrate = minBitrate
  }

  /// - Parameter size: sides of 160...1280 pixels, 921,600 pixels in all at most.
  public func setSize(_ size: CGSize) throws {
    let sides: ClosedRange<CGFloat> = 160...1280
    try check(
      sides.contains(size.width) && sides.contains(size.height) && size.width * size.height <= 921_600,
      .stageConfigurationInvalidVideoSize, size)
    self.size = size
  }

  /// - Parameter targetFramerate: 10...30 frames per second.
  public func setTargetFramerate(_ targetFramerate: Float) throws {
    try check(
      (10...30).contains(targetFramerate), .stageConfigurationInvalidVideoTargetFramerate, targetFramerate)
    self.targetFramerate = targetFramerate
  }

  private func check(_ isAllowed: Bool, _ code: IVSBroadcastError, _ value: Any) throws {
    if !isAllowed { throw NSError.ivs(code, "\(value) is out of range", source: "IVSLocalStageStreamLayer") }
  }

  var isComplete: Bool { maxBitrate > 0 && size.width > 0 && targetFramerate > 0 }
  /// Everything that makes two layers alike.
  var values: [Double] { [Double(maxBitrate), size.width, size.height, Double(targetFramerate)] }

  func videoLayer(isUpright: Bool) -> VideoLayer {
    let (short, long) = (Int(min(size.width, size.height)), Int(max(size.width, size.height)))
    return VideoLayer(
      maximumWidth: isUpright ? short : long, maximumHeight: isUpright ? long : short, maximumBitrate: maxBitrate,
      maximumFramesPerSecond: Double(targetFramerate))
  }
}

/// Ready-made settings for stages.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSStagePresets.html)
public class IVSStagePresets: NSObject {
  public class func simulcastLocalLayer() -> IVSSimulcastLocalLayerPresets { IVSSimulcastLocalLayerPresets() }
}

/// Ready-made layers, by the shorter side of their frames of 16:9. The vendor does not publish the numbers; those here are Koine's.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSimulcastLocalLayerPresets.html)
public class IVSSimulcastLocalLayerPresets: NSObject {
  public func default160() -> IVSLocalStageStreamLayer { layer(160, 284, bitrate: 80_000, framerate: 15) }
  public func default180() -> IVSLocalStageStreamLayer { layer(180, 320, bitrate: 100_000, framerate: 15) }
  public func default270() -> IVSLocalStageStreamLayer { layer(270, 480, bitrate: 250_000, framerate: 15) }
  public func default360() -> IVSLocalStageStreamLayer { layer(360, 640, bitrate: 500_000, framerate: 15) }
  public func default480() -> IVSLocalStageStreamLayer { layer(480, 852, bitrate: 800_000, framerate: 30) }
  public func default540() -> IVSLocalStageStreamLayer { layer(540, 960, bitrate: 1_000_000, framerate: 30) }
  public func default720() -> IVSLocalStageStreamLayer { layer(720, 1280, bitrate: 1_800_000, framerate: 30) }

  private func layer(_ width: Int, _ height: Int, bitrate: Int, framerate: Float) -> IVSLocalStageStreamLayer {
    let layer = IVSLocalStageStreamLayer()
    do {
      try layer.setMaxBitrate(bitrate)
      try layer.setMinBitrate(50_000)
      try layer.setSize(CGSize(width: width, height: height))
      try layer.setTargetFramerate(framerate)
    } catch {
      preconditionFailure("the values above are allowed")
    }
    return layer
  }
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
