import Koine

/// Sends the last frame of a source again when the source pauses, so that new receivers get a frame soon and encoders keep their
/// rate. `InAppScreenCaptureSource` has one: a screen that does not change gives no frames.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoFrameResender.html)
public final class VideoFrameResender: Sendable {
  private struct Last: @unchecked Sendable {  // a frame is not changed once it is sent
    var frame: VideoFrame
    var at: Tick
    /// Rises with each frame.
    var number: Int
  }

  private let interval: Duration
  private let lane: Lane
  private let resend: @Sendable (VideoFrame) -> Void
  private let last = Lock<Last?>(nil)

  /// - Parameters:
  ///   - minFramerate: in frames per second, at least 1.
  ///   - resend: called on `lane` with the last frame, under a new timestamp, once no frame was sent for the interval.
  init(minFramerate: UInt, on lane: Lane, resend: @escaping @Sendable (VideoFrame) -> Void) {
    interval = .nanoseconds(1_000_000_000 / Int64(max(minFramerate, 1)))
    self.lane = lane
    self.resend = resend
  }

  /// A frame has been sent, by the source or by this object.
  func frameDidSend(videoFrame: VideoFrame) {
    let now = lane.scheduler.now
    let number = last.withLock { last in
      let number = (last?.number ?? 0) + 1
      last = Last(frame: videoFrame, at: now, number: number)
      return number
    }
    lane.post(at: now + interval) { [weak self] in self?.resendLast(after: number) }
  }

  /// No frame is sent any more before the next `frameDidSend`.
  func stop() { last.withLock { $0 = nil } }

  private func resendLast(after number: Int) {
    guard let last = last.withLock({ $0 }), last.number == number else { return }
    let passed = (lane.scheduler.now - last.at).nanoseconds
    let frame = VideoFrame(
      timestampNs: last.frame.timestampNs + passed, rotation: last.frame.rotation, buffer: last.frame.buffer)
    resend(frame)
    frameDidSend(videoFrame: frame)
  }
}
