import Koine
public import KoineCoreMedia
public import KoineReplayKit

/// Video from ReplayKit for a content share: an `RPBroadcastSampleHandler` or an `RPScreenRecorder` hands its samples in. Audio is not
/// shared, as in the vendor's SDK. A screen that does not change is sent 5 times a second.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ReplayKitSource.html)
public final class ReplayKitSource: VideoSource, @unchecked Sendable {  // `hint` is a lock, the rest is constant
  private static let leastFrameRate: UInt = 5

  private let logger: any Logger
  private let sinks = Sinks()
  private let resender: VideoFrameResender
  private let hint = Lock(VideoContentHint.detail)

  public init(logger: any Logger) {
    self.logger = logger
    let lane = MeetingEnvironment().lane.scheduler.lane("ReplayKit source")
    resender = VideoFrameResender(minFramerate: Self.leastFrameRate, on: lane) { [sinks] in sinks.hand($0) }
  }

  /// `detail` by default.
  public var videoContentHint: VideoContentHint {
    get { hint.withLock { $0 } }
    set { hint.withLock { $0 = newValue } }
  }

  public func addVideoSink(sink: any VideoSink) { sinks.add(sink) }
  public func removeVideoSink(sink: any VideoSink) { sinks.remove(sink) }

  /// The last frame is not sent again, until `processSampleBuffer` brings another one.
  public func stop() { resender.stop() }

  /// - Parameter sampleBuffer: used if `type` is `video`.
  public func processSampleBuffer(sampleBuffer: CMSampleBuffer, type: RPSampleBufferType) {
    guard type == .video else { return }
    guard let frame = VideoFrame(sampleBuffer: sampleBuffer) else {
      return logger.error(msg: "the sample buffer of ReplayKit holds no frame")
    }
    sinks.hand(frame)
    resender.frameDidSend(videoFrame: frame)
  }
}
