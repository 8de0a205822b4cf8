import AmazonIVSBroadcast
import Koine
import Testing

/// The minimum delay of subscriptions (catalogue 12.3, rules 7 and 8).
@Suite struct JitterBufferTests {
  private let environment = TestEnvironment()

  /// How long after their capture frames are shown and audio is played.
  private final class Latencies: VideoSink, AudioSink, @unchecked Sendable {  // locks
    private let world: World
    private let seen = Lock<(video: [Duration], audio: [Duration])>(([], []))
    init(_ world: World) { self.world = world }

    func render(_ frame: VideoFrame) {
      let latency = world.backend.scheduler.now - frame.captured
      seen.withLock { $0.video.append(latency) }
    }
    func play(_ block: AudioBlock) {
      let latency = world.backend.scheduler.now - block.captured
      seen.withLock { $0.audio.append(latency) }
    }
    func take() -> (video: [Duration], audio: [Duration]) {
      seen.withLock { seen in
        defer { seen = ([], []) }
        return seen
      }
    }
  }

  private struct Call {
    let ana: StageApp
    let ben: Session
    let latencies: Latencies
  }

  /// Ben publishes; Ana has joined without publishing.
  private func call(_ delay: IVSJitterBufferDelay) async throws -> Call {
    let ana = try environment.app("Ana")
    (ana.publishes, ana.minDelay) = (false, delay)
    try ana.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: environment.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,160x90@30"))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await environment.run(.seconds(4))
    let latencies = Latencies(environment.world)
    let session = try #require(ana.stage.session)
    for stream in try #require(session.participants.first?.tracks) {
      if stream.kind.isVideo {
        session.attach(latencies as any VideoSink, to: stream.id)
      } else {
        session.attach(latencies as any AudioSink, to: stream.id)
      }
    }
    return Call(ana: ana, ben: ben, latencies: latencies)
  }

  private func expect(_ range: ClosedRange<Duration>, _ call: Call, _ comment: Comment) async {
    _ = call.latencies.take()
    await environment.run(.seconds(1))
    let (video, audio) = call.latencies.take()
    #expect(video.count > 25, comment)
    #expect(audio.count > 95, comment)
    #expect(video.filter { !range.contains($0) } == [], comment)
    #expect(audio.filter { !range.contains($0) } == [], comment)
  }

  private func range(_ milliseconds: ClosedRange<Int>) -> ClosedRange<Duration> {
    .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)
  }

  @Test func minimumDelayDelaysAudioAndVideo() async throws {
    let presets: [(IVSJitterBufferDelay, ClosedRange<Int>)] = [
      (.default(), 0...100), (.low(), 100...180), (.medium(), 200...280), (.high(), 500...580),
      (.custom(withTimeInterval: 1.5), 1_500...1_580),
    ]
    for (delay, milliseconds) in presets {
      let test = JitterBufferTests()
      let call = try await test.call(delay)
      await test.expect(range(milliseconds), call, "\(milliseconds)")
      call.ana.stage.leave()
    }
  }

  /// A participant that publishes is not delayed; the delay holds again after it has unpublished.
  @Test func minimumDelayIsIgnoredWhilePublishing() async throws {
    let call = try await call(.custom(withTimeInterval: 1))
    call.ana.publishes = true
    call.ana.stage.refreshStrategy()
    await environment.run(.seconds(4))
    await expect(range(0...100), call, "publishing")
    let log = NoEffect("AmazonIVSBroadcast", "IVSJitterBufferConfiguration.minDelay", why: "")
    #expect(log.isLogged)
    call.ana.publishes = false
    call.ana.stage.refreshStrategy()
    await environment.run(.seconds(4))
    await expect(range(1_000...1_100), call, "not publishing any more")
    call.ana.stage.leave()
  }

  @Test func refreshAppliesAnotherMinimumDelay() async throws {
    let call = try await call(.default())
    call.ana.forget()
    call.ana.minDelay = .high()
    call.ana.stage.refreshStrategy()
    await environment.run(.seconds(4))
    await expect(range(500...600), call, "changed")
    #expect(call.ana.told.isEmpty)
    call.ana.stage.leave()
  }

  @Test func minimumDelayOutOfRangeThrowsAndChangesNothing() throws {
    let configuration = IVSJitterBufferConfiguration()
    try configuration.setMinDelay(.custom(withTimeInterval: 10))
    for seconds in [-0.1, 10.1] {
      #expect(throws: NSError.self) { try configuration.setMinDelay(.custom(withTimeInterval: seconds)) }
    }
    #expect((configuration.minDelay as? IVSCustomJitterBufferDelay)?.interval == 10)
    #expect(IVSJitterBufferConfiguration().minDelay as? IVSCustomJitterBufferDelay == nil)
  }
}
