import AmazonChimeSDK
import Koine
import Testing

/// The SDK's own video sources: the camera, the screen, and samples of ReplayKit.
@Suite struct CaptureSourceTests {
  private let environment = TestEnvironment()
  private let logger = ConsoleLogger(name: "source", level: .OFF)

  private final class Sink: AmazonChimeSDK.VideoSink, Sendable {
    private let received = Lock(0)
    var frames: Int { received.withLock { $0 } }
    func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) { received.withLock { $0 += 1 } }
  }

  private var captureSources: [any VideoCaptureSource] {
    World.$current.withValue(environment.world) {
      [DefaultCameraCaptureSource(logger: logger), InAppScreenCaptureSource(logger: logger)]
    }
  }

  @Test func captureSourcesCaptureAndNotifyFromStartToStop() async {
    for source in captureSources {
      let (sink, listener, removed) = (Sink(), CaptureListener(), CaptureListener())
      source.addVideoSink(sink: sink)
      for one in [listener, removed] { source.addCaptureSourceObserver(observer: one) }
      source.removeCaptureSourceObserver(observer: removed)
      await environment.run()
      #expect(sink.frames == 0, "\(type(of: source)) is not started")
      source.start()
      await environment.run()
      #expect(sink.frames > 5, "\(type(of: source))")
      source.stop()
      await environment.run(.milliseconds(100))
      let frames = sink.frames
      await environment.run()
      #expect(sink.frames == frames, "\(type(of: source)) is stopped")
      #expect(listener.heard.withLock { $0 } == ["started", "stopped"], "\(type(of: source))")
      #expect(removed.heard.withLock { $0 } == [], "\(type(of: source))")
    }
  }

  @Test func removedSinkReceivesNoFramesOfAnySource() async throws {
    let replayKit = World.$current.withValue(environment.world) { ReplayKitSource(logger: logger) }
    let running = captureSources
    for source in running { source.start() }
    let sources: [any AmazonChimeSDK.VideoSource] = running + [replayKit]
    let sinks = sources.map { _ in (kept: Sink(), removed: Sink()) }
    for (source, sinks) in zip(sources, sinks) {
      source.addVideoSink(sink: sinks.kept)
      source.addVideoSink(sink: sinks.removed)
    }
    let pixels = FramePool().make(width: 64, height: 36, captured: .zero) { _ in }
    replayKit.processSampleBuffer(
      sampleBuffer: CMSampleBuffer(imageBuffer: CVPixelBuffer(pixels), presentationTimeStamp: .zero), type: .video)
    await environment.run()
    for (source, sinks) in zip(sources, sinks) {
      #expect(sinks.kept.frames > 2, "\(type(of: source))")
      #expect(sinks.removed.frames > 2, "\(type(of: source))")
      source.removeVideoSink(sink: sinks.removed)
    }
    await environment.run(.milliseconds(100))
    let before = sinks.map { (kept: $0.kept.frames, removed: $0.removed.frames) }
    await environment.run()
    for (source, (sinks, before)) in zip(sources, zip(sinks, before)) {
      #expect(sinks.kept.frames > before.kept, "\(type(of: source))")
      #expect(sinks.removed.frames == before.removed, "\(type(of: source))")
    }
    for source in running { source.stop() }
    replayKit.stop()
  }
}
