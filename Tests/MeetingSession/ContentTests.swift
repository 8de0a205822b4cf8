import AmazonChimeSDK
import Koine
import KoineTokens
import Testing

/// Custom sources and processors, and sharing content.
@Suite struct ContentTests {
  private let environment = TestEnvironment()

  @Test func contentShareAppearsAsSecondAttendee() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      try app.audioVideo.startLocalVideo()
      app.audioVideo.startRemoteVideo()
    }
    await environment.run()
    for app in [ana, ben] { app.forget() }
    let share = ContentShareSource()
    ana.audioVideo.startContentShare(source: share)
    await environment.run()
    #expect(ana.lines.isEmpty, "nothing to share, nothing told")
    let painter = try Painter("Slides", in: environment.world)
    share.videoSource = painter
    ana.audioVideo.stopContentShare()
    ana.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(4))
    #expect(ben.lines.prefix(3) == ["join ana#content Ana", "sources +ana#content", "tile +ana#content content"])
    #expect(ben.view(of: "ana#content")?.name == "Slides")
    #expect(ben.view(of: "ana")?.name == "self")
    #expect(
      ana.lines.filter { !$0.hasPrefix("signal") } == ["share started", "join ana#content Ana"], "no tile of one's own")
    let metrics = try #require(ana.told.withLock { $0.metrics.last } as? [ObservableMetric: Double])
    #expect(metrics[.contentShareVideoSendFps].map { $0 > 10 } == true)

    share.videoSource = try Painter("More", in: environment.world, format: kCVPixelFormatType_32BGRA)
    ana.audioVideo.startContentShare(source: share)
    await environment.run()
    #expect(ben.view(of: "ana#content")?.name == "More")
    #expect(ana.lines(of: "share").count == 1)
    #expect(painter.sinkCount == 0)
    ana.audioVideo.stopContentShare()
    ana.audioVideo.stopContentShare()
    await environment.run()
    #expect(ben.lines.suffix(3) == ["tile -ana#content", "leave ana#content Ana", "sources -ana#content"])
    #expect(ana.lines.suffix(2) == ["share stopped ok", "leave ana#content Ana"])

    ana.forget()
    ana.audioVideo.removeContentShareObserver(observer: ana)
    ana.audioVideo.startContentShare(source: share)
    await environment.run()
    #expect(ana.lines(of: "share").isEmpty)
    #expect(ana.lines.contains("join ana#content Ana"))
  }

  @Test func sendingWithoutCapabilityIsRefusedAndReported() async throws {
    let now = NumericDate.ofSystemClock()
    let pass = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("embedded:")), attendeeID: "ana", externalUserID: "Ana",
      capabilities: .init(video: .receive, content: .receive), issued: now, with: try SigningKey(generating: .p256))
    let (ana, ben) = (environment.app("Ana", joinToken: pass.attendee.joinToken), environment.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      app.audioVideo.startRemoteVideo()
    }
    try ben.audioVideo.startLocalVideo()
    await environment.run()
    for app in [ana, ben] { app.forget() }
    try ana.audioVideo.startLocalVideo()
    await environment.run()
    #expect(ana.lines == ["camera refused"])
    #expect(ana.tile(of: "ana") == nil)
    #expect(ana.tile(of: "ben") != nil)
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: environment.world)
    for _ in 1...2 {
      ana.forget()
      ana.audioVideo.startContentShare(source: share)
      await environment.run()
      #expect(ana.lines == ["share stopped videoServiceFailed"])
    }
    #expect(ben.lines.isEmpty, "sound is granted, and nothing else came")
    ana.audioVideo.stop()
    await environment.run()
    ana.forget()
    ana.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(2))
    #expect(ana.lines == ["share stopped videoServiceFailed"], "nor over a connection of its own")
  }

  @Test func contentShareNeedsNoMeetingAndOutlivesMeetingStop() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    try ben.audioVideo.start()
    ben.audioVideo.startRemoteVideo()
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: environment.world)
    ana.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(2))
    #expect(ana.lines == ["share started"])
    #expect(ben.view(of: "ana#content")?.name == "Slides")
    #expect(ben.lines(of: "join") == ["join ben Ben", "join ana#content Ana"])
    ana.audioVideo.stopContentShare()
    await environment.run()
    #expect(ben.lines.contains("leave ana#content Ana"))
    #expect(ana.lines.last == "share stopped ok")

    try ana.audioVideo.start()
    await environment.run()
    ana.audioVideo.startContentShare(source: share)
    await environment.run()
    ana.audioVideo.stop()
    await environment.run(.seconds(2))
    #expect(ben.tile(of: "ana#content") != nil)
    #expect(ben.view(of: "ana#content")?.name == "Slides")
    #expect(ana.lines.last == "video stopped ok")
    #expect(ana.lines(of: "share").count == 3)
  }

  @Test func screenShareOfNativeParticipantIsContent() async throws {
    let ana = environment.app("Ana")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    let ben = try environment.native("Ben")
    await environment.run()
    let share = try ben.publish(camera: Devices.camera("stamp:Slides,160x90@15"), as: .screen)
    await environment.run(.seconds(2))
    #expect(ana.lines.contains("join ben#content Ben"))
    #expect(ana.view(of: "ben#content")?.name == "Slides")
    #expect(ana.tile(of: "ben#content")?.isContent == true)
    share.unpublish()
    await environment.run()
    #expect(ana.lines.contains("leave ben#content Ben"))
    #expect(ana.tile(of: "ben#content") == nil)
  }

  @Test func contentHintDeterminesWhatIsReduced() async throws {
    let (ana, ben) = try environment.pair()
    let screen = environment.screen()
    screen.start()
    let source = ContentShareSource()
    source.videoSource = screen
    var seen: [VideoContentHint: (width: Int, frames: Int)] = [:]
    for hint in [VideoContentHint.none, .motion, .detail, .text] {
      screen.videoContentHint = hint
      // Too little for 320×180 at its rate.
      ana.audioVideo.startContentShare(source: source, config: LocalVideoConfiguration(maxBitRateKbps: 12))
      await environment.run(.seconds(2))
      let view = try #require(ben.view(of: "ana#content"))
      let before = view.frames
      await environment.run(.seconds(2))
      seen[hint] = (view.last?.width ?? 0, view.frames - before)
      ana.audioVideo.stopContentShare()
      await environment.run()
    }
    for hint in [VideoContentHint.none, .motion] {
      #expect(seen[hint].map { $0.width < 320 && (18...21).contains($0.frames) } == true, "smaller")
    }
    for hint in [VideoContentHint.detail, .text] {
      #expect(seen[hint].map { $0.width == 320 && (8...16).contains($0.frames) } == true, "fewer")
    }
    screen.stop()
  }

  /// Receives frames and forwards them darker: a processing step as in the vendor's guide.
  private final class Darkener: AmazonChimeSDK.VideoSource, AmazonChimeSDK.VideoSink, @unchecked Sendable {
    var videoContentHint = VideoContentHint.none
    let sinks = Lock<[any AmazonChimeSDK.VideoSink]>([])
    func addVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.append(sink) } }
    func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.removeAll { $0 === sink } } }

    func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) {
      guard let buffer = (frame.buffer as? VideoFramePixelBuffer)?.pixelBuffer else { return }
      CVPixelBufferLockBaseAddress(buffer, [])
      if let luma = CVPixelBufferGetBaseAddressOfPlane(buffer, 0)?.assumingMemoryBound(to: UInt8.self) {
        for index in 0..<CVPixelBufferGetBytesPerRowOfPlane(buffer, 0) * CVPixelBufferGetHeight(buffer) {
          luma[index] = 16
        }
      }
      CVPixelBufferUnlockBaseAddress(buffer, [])
      for sink in sinks.withLock({ $0 }) { sink.onVideoFrameReceived(frame: frame) }
    }
  }

  @Test func processedCameraCaptureSourceIsSent() async throws {
    let (ana, ben) = try environment.pair()
    let camera = World.$current.withValue(environment.world) {
      DefaultCameraCaptureSource(logger: ConsoleLogger(name: "camera", level: .OFF))
    }
    camera.format = VideoCaptureFormat(width: 80, height: 80, maxFrameRate: 15)
    let (darkener, listener) = (Darkener(), CaptureListener())
    camera.addVideoSink(sink: darkener)
    camera.addCaptureSourceObserver(observer: listener)
    ana.audioVideo.startLocalVideo(source: darkener)
    camera.start()
    await environment.run(.seconds(3))
    let view = try #require(ben.view(of: "ana"))
    let shown = try #require(view.last)
    #expect(shown.withPlanes { $0.y[40 * $0.lumaStride + 40] } < 24)
    #expect((shown.width, shown.height) == (80, 44))
    let before = view.frames
    await environment.run()
    #expect((14...16).contains(view.frames - before), "the format's rate")
    #expect(ana.audioVideo.getActiveCamera() == nil)
    ana.audioVideo.stopLocalVideo()
    await environment.run()
    #expect(darkener.sinks.withLock { $0.isEmpty }, "nobody hangs on to the app's source")
    camera.stop()

    let machine = environment.world.machine
    for device in machine.devices(.camera) { machine.unplug(device.id) }
    camera.start()
    await environment.run(.milliseconds(10))
    #expect(listener.heard.withLock { $0 } == ["started", "stopped", "failed configurationFailure"])
    camera.removeCaptureSourceObserver(observer: listener)
    camera.start()
    await environment.run(.milliseconds(10))
    #expect(listener.heard.withLock { $0.count } == 3)
  }

  @Test func replacedVideoSourceKeepsTheTile() async throws {
    let (ana, ben) = try environment.pair()
    try ana.audioVideo.startLocalVideo()
    await environment.run(.seconds(2))
    ben.forget()
    ana.audioVideo.startLocalVideo(source: try Painter("Mask", in: environment.world))
    await environment.run(.seconds(2))
    #expect(ben.lines(of: "tile") == [])
    #expect(ben.view(of: "ana")?.name == "Mask")
  }
}
