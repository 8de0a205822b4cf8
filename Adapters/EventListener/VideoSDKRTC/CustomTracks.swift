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

/// Sizes, frame rates and bit rates of an encoder. The names give height and width in pixels.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/custom-tracks)
public enum CustomVideoTrackConfig: Sendable {
  case h90p_w160p, h180p_w320p, h216p_w384p, h360p_w640p, h540p_w960p, h720p_w1280p, h1080p_w1920p, h1440p_w2560p
  case h2160p_w3840p
  case h120p_w160p, h180p_w240p, h240p_w320p, h360p_w480p, h480p_w640p, h540p_w720p, h720p_w960p, h1080p_w1440p
  case h1440p_w1920p

  /// Width and height in pixels, frames per second, bit/s.
  var limits: (width: Int, height: Int, framesPerSecond: Double, bitrate: Int) {
    switch self {
    case .h90p_w160p: (160, 90, 15, 60_000)
    case .h180p_w320p: (320, 180, 15, 120_000)
    case .h216p_w384p: (384, 216, 15, 180_000)
    case .h360p_w640p: (640, 360, 20, 300_000)
    case .h540p_w960p: (960, 540, 25, 600_000)
    case .h720p_w1280p: (1280, 720, 30, 2_000_000)
    case .h1080p_w1920p: (1920, 1080, 30, 3_000_000)
    case .h1440p_w2560p: (2560, 1440, 30, 5_000_000)
    case .h2160p_w3840p: (3840, 2160, 30, 8_000_000)
    case .h120p_w160p: (160, 120, 15, 80_000)
    case .h180p_w240p: (240, 180, 15, 100_000)
    case .h240p_w320p: (320, 240, 15, 150_000)
    case .h360p_w480p: (480, 360, 20, 225_000)
    case .h480p_w640p: (640, 480, 25, 300_000)
    case .h540p_w720p: (720, 540, 30, 450_000)
    case .h720p_w960p: (960, 720, 30, 1_500_000)
    case .h1080p_w1440p: (1440, 1080, 30, 2_500_000)
    case .h1440p_w1920p: (1920, 1440, 30, 3_500_000)
    }
  }

  /// - Parameter isMultiStream: a smaller size is sent besides, where that is much smaller.
  func publishOptions(isMultiStream: Bool) -> VideoPublishOptions {
    let isLarge = limits.height >= 2 * VideoLayer.small.maximumHeight
    return VideoPublishOptions(
      maximumBitrate: limits.bitrate, maximumFramesPerSecond: limits.framesPerSecond, maximumWidth: limits.width,
      maximumHeight: limits.height, lowerLayers: isMultiStream && isLarge ? [.small] : [])
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
