import AmazonChimeSDK
import Koine
import KoineEmbeddedBackend
import Testing

/// The machine's screen as content.
@Suite struct ScreenTests {
  private let environment = TestEnvironment()

  @Test func screenCaptureSourceIsShared() async throws {
    let (ana, ben) = try environment.pair()
    let screen = environment.screen()
    #expect(screen.videoContentHint == .text)
    let listener = CaptureListener()
    screen.addCaptureSourceObserver(observer: listener)
    let source = ContentShareSource()
    source.videoSource = screen
    screen.start()
    screen.start()
    ana.audioVideo.startContentShare(source: source)
    await environment.run(.seconds(3))
    let view = try #require(ben.view(of: "ana#content"))
    #expect(view.frames > 10 && view.last?.width == 320, "as the world's devices say")
    screen.stop()
    screen.stop()
    await environment.run()
    let before = view.frames
    await environment.run()
    #expect(view.frames == before)
    #expect(listener.heard.withLock { $0 } == ["started", "stopped"])
    ana.audioVideo.stopContentShare()
    await environment.run()
  }
}

/// Records what a capture source reports.
final class CaptureListener: CaptureSourceObserver, Sendable {
  let heard = Lock<[String]>([])
  func captureDidStart() { heard.withLock { $0.append("started") } }
  func captureDidStop() { heard.withLock { $0.append("stopped") } }
  func captureDidFail(error: CaptureSourceError) { heard.withLock { $0.append("failed \(error)") } }
}
