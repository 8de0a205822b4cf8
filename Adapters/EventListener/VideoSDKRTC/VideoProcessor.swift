import Koine
public import WebRTC

/// Changes the frames of the local camera before they are sent.
/// https://docs.videosdk.live/ios/guide/video-and-audio-calling-api-sdk/video-processor/overview
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public protocol VideoSDKVideoProcessor {
  /// Called for each frame, one at a time, on an engine thread. While it runs, later frames are skipped, so that a slow processor
  /// lowers the frame rate. The frame's buffer is an `RTCCVPixelBuffer`, whose pixels may be written.
  /// - Returns: the frame to send, perhaps the same one; nil drops it. The time of capture stays that of the given frame.
  func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame?
}

extension Meeting {
  /// Sets the processor of the local camera's frames, from the next frame on; nil removes it. Local views show the processed
  /// frames, too. The processor stays set while the camera is off, and after `switchTo`.
  public func setVideoProcessor(processor: (any VideoSDKVideoProcessor)?) {
    cameraEffects.effects = processor.map { [ProcessorEffect($0)] } ?? []
  }

  /// The camera track that was given to `initMeeting` or `enableWebcam`; nil: none.
  public var customVideoMediaStream: CustomRTCMediaStream? { state.withLock { $0.customCamera } }
  /// The microphone track that was given to `initMeeting` or `unmuteMic`; nil: none.
  public var customAudioMediaStream: CustomRTCMediaStream? { state.withLock { $0.customMicrophone } }

  @available(*, unavailable, message: "whiteboards are pages of the vendor's service")
  public func startWhiteboard() {}

  @available(*, unavailable, message: "whiteboards are pages of the vendor's service")
  public func stopWhiteboard() {}
}

extension MeetingEventListener {
  @available(*, unavailable, message: "whiteboards are pages of the vendor's service")
  public func onWhiteboardStarted(url: URL) {}

  @available(*, unavailable, message: "whiteboards are pages of the vendor's service")
  public func onWhiteboardStopped() {}
}

/// `@unchecked Sendable`: the processor is called for one frame at a time, as the vendor's SDK does.
private final class ProcessorEffect: VideoEffect, @unchecked Sendable {
  private let processor: any VideoSDKVideoProcessor

  init(_ processor: any VideoSDKVideoProcessor) { self.processor = processor }

  func process(_ frame: VideoFrame) -> VideoFrame? {
    processor.onFrameReceived(frame: RTCVideoFrame(writable: frame))?.engineFrame?.with(captured: frame.captured)
  }
}
