import AmazonChimeSDK
import Koine
import KoineTokens
import Testing

/// Custom sources and processors, and sharing content.
@Suite struct ContentTests {
  private let place = Place()

  @Test func ofAShareTheOthersSeeASecondAttendee() async throws {
    let (ana, ben) = (place.app("Ana"), place.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      try app.audioVideo.startLocalVideo()
      app.audioVideo.startRemoteVideo()
    }
    await place.run()
    for app in [ana, ben] { app.forget() }
    let share = ContentShareSource()
    ana.audioVideo.startContentShare(source: share)
    await place.run()
    #expect(ana.lines.isEmpty, "nothing to share, nothing told")
    let painter = try Painter("Slides", in: place.world)
    share.videoSource = painter
    ana.audioVideo.stopContentShare()
    ana.audioVideo.startContentShare(source: share)
    await place.run(.seconds(4))
    #expect(ben.lines.prefix(3) == ["join ana#content Ana", "sources +ana#content", "tile +ana#content content"])
    #expect(ben.view(of: "ana#content")?.name == "Slides" && ben.view(of: "ana")?.name == "self")
    #expect(
      ana.lines.filter { !$0.hasPrefix("signal") } == ["share started", "join ana#content Ana"], "no tile of one's own")
    let metrics = try #require(ana.told.withLock { $0.metrics.last } as? [ObservableMetric: Double])
    #expect(metrics[.contentShareVideoSendFps].map { $0 > 10 } == true)

    share.videoSource = try Painter("More", in: place.world, format: kCVPixelFormatType_32BGRA)
    ana.audioVideo.startContentShare(source: share)
    await place.run()
    #expect(ben.view(of: "ana#content")?.name == "More" && ana.lines(of: "share").count == 1 && painter.sinkCount == 0)
    ana.audioVideo.stopContentShare()
    ana.audioVideo.stopContentShare()
    await place.run()
    #expect(ben.lines.suffix(3) == ["tile -ana#content", "leave ana#content Ana", "sources -ana#content"])
    #expect(ana.lines.suffix(2) == ["share stopped ok", "leave ana#content Ana"])
  }

  @Test func whatACapabilityDoesNotGrantIsRefusedAndSaid() async throws {
    let now = NumericDate.ofSystemClock()
    let pass = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("embedded:")), attendeeID: "ana", externalUserID: "Ana",
      capabilities: .init(video: .receive, content: .receive), issued: now, with: try SigningKey(generating: .p256))
    let (ana, ben) = (place.app("Ana", joinToken: pass.attendee.joinToken), place.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      app.audioVideo.startRemoteVideo()
    }
    try ben.audioVideo.startLocalVideo()
    await place.run()
    for app in [ana, ben] { app.forget() }
    try ana.audioVideo.startLocalVideo()
    await place.run()
    #expect(ana.lines == ["camera refused"] && ana.tile(of: "ana") == nil && ana.tile(of: "ben") != nil)
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: place.world)
    for _ in 1...2 {
      ana.forget()
      ana.audioVideo.startContentShare(source: share)
      await place.run()
      #expect(ana.lines == ["share stopped videoServiceFailed"])
    }
    #expect(ben.lines.isEmpty, "sound is granted, and nothing else came")
    ana.audioVideo.stop()
    await place.run()
    ana.forget()
    ana.audioVideo.startContentShare(source: share)
    await place.run(.seconds(2))
    #expect(ana.lines == ["share stopped videoServiceFailed"], "nor over a connection of its own")
  }

  @Test func aShareNeedsNoMeetingAndOutlivesItsStop() async throws {
    let (ana, ben) = (place.app("Ana"), place.app("Ben"))
    try ben.audioVideo.start()
    ben.audioVideo.startRemoteVideo()
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: place.world)
    ana.audioVideo.startContentShare(source: share)
    await place.run(.seconds(2))
    #expect(ana.lines == ["share started"] && ben.view(of: "ana#content")?.name == "Slides")
    #expect(ben.lines(of: "join") == ["join ben Ben", "join ana#content Ana"])
    ana.audioVideo.stopContentShare()
    await place.run()
    #expect(ben.lines.contains("leave ana#content Ana") && ana.lines.last == "share stopped ok")

    try ana.audioVideo.start()
    await place.run()
    ana.audioVideo.startContentShare(source: share)
    await place.run()
    ana.audioVideo.stop()
    await place.run(.seconds(2))
    #expect(ben.tile(of: "ana#content") != nil && ben.view(of: "ana#content")?.name == "Slides")
    #expect(ana.lines.last == "video stopped ok" && ana.lines(of: "share").count == 3)
  }

  @Test func aShareOfAnotherStyleIsContentToo() async throws {
    let ana = place.app("Ana")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    let ben = try place.native("Ben")
    await place.run()
    let share = try ben.publish(camera: Devices.camera("stamp:Slides,160x90@15"), as: .screen)
    await place.run(.seconds(2))
    #expect(ana.lines.contains("join ben#content Ben") && ana.view(of: "ben#content")?.name == "Slides")
    #expect(ana.tile(of: "ben#content")?.isContent == true)
    share.unpublish()
    await place.run()
    #expect(ana.lines.contains("leave ben#content Ben") && ana.tile(of: "ben#content") == nil)
  }

  @Test func aHintSaysWhatIsGivenUpFirst() async throws {
    let (ana, ben) = try place.pair()
    let screen = place.screen()
    screen.start()
    let source = ContentShareSource()
    source.videoSource = screen
    var seen: [VideoContentHint: (width: Int, frames: Int)] = [:]
    for hint in [VideoContentHint.none, .motion, .detail, .text] {
      screen.videoContentHint = hint
      // Too little for 320×180 at its rate.
      ana.audioVideo.startContentShare(source: source, config: LocalVideoConfiguration(maxBitRateKbps: 12))
      await place.run(.seconds(2))
      let view = try #require(ben.view(of: "ana#content"))
      let before = view.frames
      await place.run(.seconds(2))
      seen[hint] = (view.last?.width ?? 0, view.frames - before)
      ana.audioVideo.stopContentShare()
      await place.run()
    }
    for hint in [VideoContentHint.none, .motion] {
      #expect(seen[hint].map { $0.width < 320 && (18...21).contains($0.frames) } == true, "smaller")
    }
    for hint in [VideoContentHint.detail, .text] {
      #expect(seen[hint].map { $0.width == 320 && (8...16).contains($0.frames) } == true, "fewer")
    }
    screen.stop()
  }

  /// Takes pictures and hands them on darker: a processing step as the vendor's guide shows it.
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

  @Test func theSDKsCameraThroughAProcessor() async throws {
    let (ana, ben) = try place.pair()
    let camera = World.$current.withValue(place.world) {
      DefaultCameraCaptureSource(logger: ConsoleLogger(name: "camera", level: .OFF))
    }
    camera.format = VideoCaptureFormat(width: 80, height: 80, maxFrameRate: 15)
    let darkener = Darkener()
    camera.addVideoSink(sink: darkener)
    ana.audioVideo.startLocalVideo(source: darkener)
    camera.start()
    await place.run(.seconds(3))
    let view = try #require(ben.view(of: "ana"))
    let shown = try #require(view.last)
    #expect(shown.withPlanes { $0.y[40 * $0.lumaStride + 40] } < 24)
    #expect((shown.width, shown.height) == (80, 44))
    let before = view.frames
    await place.run()
    #expect((14...16).contains(view.frames - before), "the format's rate")
    #expect(ana.audioVideo.getActiveCamera() == nil)
    ana.audioVideo.stopLocalVideo()
    await place.run()
    #expect(darkener.sinks.withLock { $0.isEmpty }, "nobody hangs on to the app's source")
    camera.stop()
  }

  @Test func startingAgainWithAnotherSourceKeepsTheTile() async throws {
    let (ana, ben) = try place.pair()
    try ana.audioVideo.startLocalVideo()
    await place.run(.seconds(2))
    ben.forget()
    ana.audioVideo.startLocalVideo(source: try Painter("Mask", in: place.world))
    await place.run(.seconds(2))
    #expect(ben.lines(of: "tile") == [] && ben.view(of: "ana")?.name == "Mask")
  }
}
