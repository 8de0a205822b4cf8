import AmazonChimeSDK
import Koine
import Testing

/// Callbacks of a meeting whose app releases its session at once.
@Suite struct ReleaseTests {
  private let environment = TestEnvironment()

  private final class Observer: AudioVideoObserver, @unchecked Sendable {
    let lines = Lock<[String]>([])
    private func note(_ line: String) { lines.withLock { $0.append(line) } }
    func audioSessionDidStartConnecting(reconnecting: Bool) {}
    func audioSessionDidStart(reconnecting: Bool) { note("audio started") }
    func audioSessionDidDrop() {}
    func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
      note("audio stopped \(sessionStatus.statusCode)")
    }
    func audioSessionDidCancelReconnect() {}
    func connectionDidRecover() {}
    func connectionDidBecomePoor() {}
    func videoSessionDidStartConnecting() {}
    func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
    func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
      note("video stopped \(sessionStatus.statusCode)")
    }
  }

  /// - Returns: the callbacks after the release.
  private func released(stopping: Bool) async throws -> [String] {
    let ben = try environment.native("Ben")
    let observer = Observer()
    do {
      let session = World.$current.withValue(environment.world) {
        DefaultMeetingSession(
          configuration: App.configuration("Ana"), logger: ConsoleLogger(name: "Ana", level: .OFF))
      }
      session.audioVideo.addAudioVideoObserver(observer: observer)
      try session.audioVideo.start()
      await environment.run(.seconds(1))
      #expect(ben.participants.map(\.id) == ["ana"])
      #expect(observer.lines.withLock { $0 } == ["audio started"])
      observer.lines.withLock { $0 = [] }
      if stopping { session.audioVideo.stop() }
    }
    await environment.run(.seconds(1))
    #expect(ben.participants.isEmpty)
    return observer.lines.withLock { $0 }
  }

  @Test func sessionReleasedAfterStopReportsItsEnd() async throws {
    #expect(try await released(stopping: true) == ["audio stopped ok", "video stopped ok"])
  }

  @Test func sessionReleasedWithoutStopIsLeftWithoutCallbacks() async throws {
    #expect(try await released(stopping: false).isEmpty)
  }
}
