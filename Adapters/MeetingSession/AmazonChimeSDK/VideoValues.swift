import Koine
public import KoineCoreMedia
public import KoineCoreVideo

/// Receives video frames on the thread of their source. The frames of a tile arrive on the delivery queue.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoSink.html)
public protocol VideoSink: AnyObject {
  func onVideoFrameReceived(frame: VideoFrame)
}

/// Delivers its frames to all of its sinks. A processing step is both a source and a sink.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoSource.html)
public protocol VideoSource: AnyObject {
  /// Asked for when sending begins.
  var videoContentHint: VideoContentHint { get set }
  func addVideoSink(sink: any VideoSink)
  /// Once it has returned, the sink gets no more.
  func removeVideoSink(sink: any VideoSink)
}

/// The pixels of a video frame.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoFrameBuffer.html)
public protocol VideoFrameBuffer: AnyObject {
  func width() -> Int
  func height() -> Int
}

/// A buffer backed by a `CVPixelBuffer`. Frames with other buffers are neither sent nor shown.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoFramePixelBuffer.html)
public final class VideoFramePixelBuffer: VideoFrameBuffer, Sendable {
  public let pixelBuffer: CVPixelBuffer
  public init(pixelBuffer: CVPixelBuffer) { self.pixelBuffer = pixelBuffer }
  public func width() -> Int { CVPixelBufferGetWidth(pixelBuffer) }
  public func height() -> Int { CVPixelBufferGetHeight(pixelBuffer) }
}

/// A video frame: its buffer, rotation and timestamp.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoFrame.html)
public final class VideoFrame {
  public var width: Int { buffer.width() }
  public var height: Int { buffer.height() }
  public let timestampNs: Int64
  public let rotation: VideoRotation
  public let buffer: any VideoFrameBuffer

  public init(timestampNs: Int64, rotation: VideoRotation, buffer: any VideoFrameBuffer) {
    self.timestampNs = timestampNs
    self.rotation = rotation
    self.buffer = buffer
  }

  /// Nil if the sample has no valid time or no pixels.
  public convenience init?(sampleBuffer: CMSampleBuffer) {
    guard let pixels = sampleBuffer.imageBuffer, sampleBuffer.presentationTimeStamp.isValid,
      let time = Int64(exactly: (sampleBuffer.presentationTimeStamp.seconds * 1e9).rounded())
    else { return nil }
    self.init(timestampNs: time, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: pixels))
  }

  /// Wraps a frame of the engine; no pixel is copied.
  convenience init(_ frame: Koine.VideoFrame) {
    self.init(
      timestampNs: frame.captured.nanoseconds,
      rotation: VideoRotation(rawValue: Int(frame.quarterTurns) * 90) ?? .rotation0,
      buffer: VideoFramePixelBuffer(pixelBuffer: CVPixelBuffer(frame)))
  }

  /// As the engine has it; nil for a buffer without pixels.
  func engineFrame(captured: Tick, pool: FramePool? = nil) -> Koine.VideoFrame? {
    (buffer as? VideoFramePixelBuffer)?.pixelBuffer.videoFrame(
      captured: captured, quarterTurns: UInt8(rotation.rawValue / 90), pool: pool)
  }
}

/// Clockwise rotation of a frame for display.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoRotation.html)
public enum VideoRotation: Int, CustomStringConvertible, Sendable {
  case rotation0 = 0
  case rotation90 = 90
  case rotation180 = 180
  case rotation270 = 270
  public var description: String { "rotation_\(rawValue)" }
}

/// The content of a video source, as a hint for its encoder.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoContentHint.html)
public enum VideoContentHint: Int, CustomStringConvertible, Sendable {
  case none, motion, detail, text
  public var description: String { ["none", "motion", "detail", "text"][rawValue] }

  /// The engine's content type; `none` gives the default, motion.
  var content: VideoContent {
    switch self {
    case .none, .motion: .motion
    case .detail: .detail
    case .text: .text
    }
  }
}

/// Settings of the local video: maximum bit rate and simulcast.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/LocalVideoConfiguration.html)
public final class LocalVideoConfiguration {
  /// In kbit/s; 0 leaves it to the engine.
  public var maxBitRateKbps: UInt32
  /// Whether to send also a smaller layer, for receivers that show the video small or have little available bitrate. Ignored
  /// for content.
  public var simulcastEnabled: Bool

  public init(maxBitRateKbps: UInt32 = 0, simulcastEnabled: Bool = true) {
    self.maxBitRateKbps = maxBitRateKbps
    self.simulcastEnabled = simulcastEnabled
  }
}

// MARK: Subscriptions

/// An attendee's video that can be received. One instance represents it as long as it is available.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/RemoteVideoSource.html)
public final class RemoteVideoSource: Hashable {
  public var attendeeId = ""
  public init() {}
  public static func == (a: RemoteVideoSource, b: RemoteVideoSource) -> Bool { a === b }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Priority and resolution of a received video.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoSubscriptionConfiguration.html)
public final class VideoSubscriptionConfiguration {
  public var priority = VideoPriority.high
  public var targetResolution = VideoResolution.high
  public init() {}
}

/// Priority of a received video when the available bitrate is low.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoPriority.html)
public enum VideoPriority: Int, Sendable {
  case lowest = 0
  case low = 10
  case medium = 20
  case high = 30
  case highest = 40
}

/// Target resolution of a received video, in pixels.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoResolution.html)
public final class VideoResolution: Hashable, CustomStringConvertible, Sendable {
  public static let low = VideoResolution(width: 320, height: 240)
  public static let medium = VideoResolution(width: 640, height: 480)
  public static let high = VideoResolution(width: 960, height: 720)
  public static let videoDisabled = VideoResolution(width: 0, height: 0)
  public static let videoResolutionHD = VideoResolution(width: 1_280, height: 720)
  public static let videoResolutionFHD = VideoResolution(width: 1_920, height: 1_080)
  public static let videoResolutionUHD = VideoResolution(width: 3_840, height: 2_160)

  public let width: Int
  public let height: Int

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  public static func == (a: VideoResolution, b: VideoResolution) -> Bool {
    a.width == b.width && a.height == b.height
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(width)
    hasher.combine(height)
  }
  public var description: String { "{ width: \(width), height: \(height) }" }
}
