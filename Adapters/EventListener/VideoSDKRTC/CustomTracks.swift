import Koine
import KoineAVFoundation

/// A camera with its encoder settings, for `Meeting.enableWebcam`. It has no public members.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public class CustomRTCMediaStream {
  struct Camera {
    let config: CustomVideoTrackConfig
    let facing: AVCaptureDevice.Position
    /// Whether it is sent in more than one size, so that each receiver gets what suits it.
    let isMultiStream: Bool
    let bitrateMode: BitrateMode
    let maxLayer: EncodingLayer

    var publishOptions: VideoPublishOptions {
      let limits = config.limits
      return VideoPublishOptions(
        maximumBitrate: config.bitrate(bitrateMode), maximumFramesPerSecond: limits.framesPerSecond,
        maximumWidth: limits.width, maximumHeight: limits.height,
        lowerLayers: isMultiStream ? config.lowerLayers(atMost: maxLayer == .MAX_LAYER_3 ? 2 : 1, bitrateMode) : [])
    }
  }

  /// Nil: it is a microphone.
  let camera: Camera?
  /// Of a microphone; nil: what is usual for the device.
  let processing: AudioProcessing?

  init(_ camera: Camera) { (self.camera, processing) = (camera, nil) }

  init(microphone processing: AudioProcessing?) { (camera, self.processing) = (nil, processing) }
}

/// What is done to a microphone's audio before it is sent. A value that is nil has its default: `highPassFilter` is off, the others
/// are on.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public struct noiseConfig: Sendable {
  /// Whether steady background noise is removed. (The spelling is the vendor's.)
  public var noiseSupression: Bool?
  /// Whether what the loudspeaker plays is removed.
  public var echoCancellation: Bool?
  /// Whether the voice is brought to an even level.
  public var autoGainControl: Bool?
  /// Whether frequencies below the voice are removed.
  public var highPassFilter: Bool?

  public init(noiseSupression: Bool?, echoCancellation: Bool?, autoGainControl: Bool?, highPassFilter: Bool?) {
    (self.noiseSupression, self.echoCancellation) = (noiseSupression, echoCancellation)
    (self.autoGainControl, self.highPassFilter) = (autoGainControl, highPassFilter)
  }

  var processing: AudioProcessing {
    AudioProcessing(
      cancelsEcho: echoCancellation ?? true, noiseSuppression: noiseSupression ?? true ? .moderate : nil,
      controlsGain: autoGainControl ?? true, removesLowFrequencies: highPassFilter ?? false)
  }
}

/// The name of later releases.
public typealias NoiseConfig = noiseConfig

/// How much a camera track may send: picture quality against bandwidth. The vendor has it from 2.3 on.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum BitrateMode: String, Sendable { case HIGH_QUALITY, BALANCED, BANDWIDTH_OPTIMIZED }

/// The most sizes in which a camera track is sent at once, if it is sent in several. The vendor has it from 2.3 on.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum EncodingLayer: Int, Sendable { case MAX_LAYER_2 = 2, MAX_LAYER_3 }

/// The codec of a camera track. The vendor added it in 2.1.5.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum PreferredCodec: String, Sendable { case H264, VP8 }

/// Sizes, frame rates and bit rates of an encoder. The names give height and width in pixels.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum CustomVideoTrackConfig: Sendable {
  case h90p_w160p, h180p_w320p, h216p_w384p, h360p_w640p, h540p_w960p, h720p_w1280p, h1080p_w1920p, h1440p_w2560p
  case h2160p_w3840p
  case h120p_w160p, h180p_w240p, h240p_w320p, h360p_w480p, h480p_w640p, h540p_w720p, h720p_w960p, h1080p_w1440p
  case h1440p_w1920p

  /// Width and height in pixels, frames per second; bit/s for the least bandwidth, balanced, and for the best picture. Of sizes that the
  /// vendor's table does not have, all three are the same.
  var limits: (width: Int, height: Int, framesPerSecond: Double, bitrates: (Int, Int, Int)) {
    switch self {
    case .h90p_w160p: (160, 90, 30, (40_000, 90_000, 120_000))
    case .h180p_w320p: (320, 180, 30, (60_000, 120_000, 180_000))
    case .h216p_w384p: (384, 216, 15, (180_000, 180_000, 180_000))
    case .h360p_w640p: (640, 360, 30, (300_000, 450_000, 600_000))
    case .h540p_w960p: (960, 540, 30, (600_000, 900_000, 1_200_000))
    case .h720p_w1280p: (1280, 720, 30, (1_000_000, 1_500_000, 2_000_000))
    case .h1080p_w1920p: (1920, 1080, 30, (1_500_000, 2_200_000, 2_700_000))
    case .h1440p_w2560p: (2560, 1440, 30, (5_000_000, 5_000_000, 5_000_000))
    case .h2160p_w3840p: (3840, 2160, 30, (8_000_000, 8_000_000, 8_000_000))
    case .h120p_w160p: (160, 120, 30, (40_000, 90_000, 120_000))
    case .h180p_w240p: (240, 180, 30, (90_000, 120_000, 180_000))
    case .h240p_w320p: (320, 240, 30, (100_000, 150_000, 200_000))
    case .h360p_w480p: (480, 360, 30, (270_000, 360_000, 540_000))
    case .h480p_w640p: (640, 480, 30, (350_000, 600_000, 900_000))
    case .h540p_w720p: (720, 540, 30, (450_000, 450_000, 450_000))
    case .h720p_w960p: (960, 720, 30, (900_000, 1_200_000, 1_600_000))
    case .h1080p_w1440p: (1440, 1080, 30, (1_500_000, 2_000_000, 2_700_000))
    case .h1440p_w1920p: (1920, 1440, 30, (3_500_000, 3_500_000, 3_500_000))
    }
  }

  /// In bit/s.
  func bitrate(_ mode: BitrateMode) -> Int {
    switch mode {
    case .BANDWIDTH_OPTIMIZED: limits.bitrates.0
    case .BALANCED: limits.bitrates.1
    case .HIGH_QUALITY: limits.bitrates.2
    }
  }

  /// Smaller sizes that are sent besides, where they are much smaller: the smallest, and half the size.
  func lowerLayers(atMost count: Int, _ mode: BitrateMode) -> [VideoLayer] {
    let small = VideoLayer.small
    let half = VideoLayer(
      maximumWidth: limits.width / 2, maximumHeight: limits.height / 2, maximumBitrate: bitrate(mode) / 3)
    let layers =
      limits.height >= 4 * small.maximumHeight
      ? [small, half] : limits.height >= 2 * small.maximumHeight ? [small] : []
    return Array(layers.prefix(count))
  }
}

/// Position of a camera, with the raw values of `AVCaptureDevice.Position`.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum CameraPosition: Int, Sendable {
  case back = 1
  case front = 2

  public mutating func toggle() { self = self == .back ? .front : .back }
}
