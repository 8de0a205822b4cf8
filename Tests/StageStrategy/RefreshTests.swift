import AmazonIVSBroadcast
import Koine
import KoineEmbeddedBackend
import Testing

/// Section 12.3: a refresh applies changes only.
@Suite struct RefreshTests {
  private let environment = TestEnvironment()

  private func pair() async throws -> (StageApp, StageApp) {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    for app in [ana, ben] { app.forget() }
    return (ana, ben)
  }

  @Test func refreshWithTheSameAnswersChangesNothing() async throws {
    let (ana, ben) = try await pair()
    let streams = ana.remoteStreams
    for _ in 0..<5 {
      ana.stage.refreshStrategy()
      await environment.run(.milliseconds(100))
    }
    #expect(ana.told.isEmpty)
    #expect(ben.lines.isEmpty)
    #expect(Set(ana.lines) == ["publish me?", "streams of me?", "subscribe Ben?"])
    #expect(ana.remoteStreams == streams)
  }

  @Test func audioOnlySubscriptionRemovesOnlyTheVideo() async throws {
    let (ana, ben) = try await pair()
    let sound = try #require(ana.remote("audio"))
    let heard = StatsRecorder()
    (sound.device as? any IVSAudioDevice)?.setStatsCallback { heard.record($0) }
    await environment.run()
    #expect(heard.count >= 8)
    ana.subscription = .audioOnly
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["Ben -video"])
    #expect(ana.remoteStreams == [sound])
    #expect(heard.count >= 16, "the sound goes on")
    #expect(ben.lines.isEmpty)
    ana.forget()
    ana.subscription = .audioVideo
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["Ben +video"])
    ana.forget()
    ana.subscription = .none
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["Ben -audio+video", "Ben notSubscribed"], "Ben still publishes")
    ana.forget()
    ana.subscription = .audioOnly
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["Ben attemptingSubscribe", "Ben subscribed", "Ben +audio"])
  }

  @Test func refreshBeforeConnectingIsHarmless() async throws {
    let ana = try environment.app("Ana")
    ana.stage.refreshStrategy()
    await environment.run(.milliseconds(50))
    #expect(ana.lines.isEmpty)
    try ana.stage.join()
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told.first == "connecting")
    #expect(ana.lines.firstIndex(of: "publish me?") == 2)
  }

  @Test func omittedStreamAloneIsUnpublished() async throws {
    let (ana, ben) = try await pair()
    let both = ana.streams
    ana.streams = both.filter { $0.device is any IVSAudioDevice }
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["me -video"])
    #expect(ben.told == ["Ana -video"])
    ana.forget()
    ben.forget()
    ana.streams = both
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["me +video"])
    #expect(ben.told == ["Ana +video"])
  }

  @Test func muteStateBelongsToTheStreamInstance() async throws {
    let (ana, ben) = try await pair()
    let microphone = try #require(ana.streams.first { $0.device is any IVSAudioDevice })
    microphone.setMuted(true)
    #expect(microphone.isMuted, "at once")
    await environment.run()
    #expect(ana.told == ["me audio muted", "audio delegate true"])
    #expect(ben.told == ["Ana audio muted", "audio delegate true"])
    let heard = try #require(ben.remote("audio"))
    #expect(heard.isMuted)

    ana.forget()
    ben.forget()
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told.isEmpty && ben.told.isEmpty && microphone.isMuted, "the same instance stays as it is")

    let fresh = IVSLocalStageStream(device: microphone.device)
    ana.streams = ana.streams.map { $0 === microphone ? fresh : $0 }
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.told == ["me -audio", "me +audio"], "another instance")
    #expect(ben.told == ["Ana audio unmuted", "audio delegate false"], "brings its own state")
    #expect(ben.remote("audio") === heard)
    ben.forget()
    microphone.setMuted(false)
    microphone.setMuted(true)
    await environment.run()
    #expect(ben.told.isEmpty, "the old instance is out of it")
  }

  @Test func streamMutedBeforePublishingIsPublishedMuted() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for stream in ana.streams { stream.setMuted(true) }
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    #expect(!ana.told.contains { $0.contains("muted") })
    #expect(!ben.told.contains { $0.contains("muted") })
    #expect(ben.remoteStreams.map(\.isMuted) == [true, true])
    ana.streams.first?.setMuted(false)
    await environment.run()
    #expect(ben.told.last == "video delegate false")
  }

  @Test func newConfigurationRepublishesTheSameStream() async throws {
    let (ana, ben) = try await pair()
    let camera = try #require(ana.streams.first { $0.device is any IVSImageDevice })
    let small = IVSLocalStageStreamVideoConfiguration()
    try small.setTargetFramerate(10)
    camera.setConfiguration(small)
    await environment.run()
    #expect(ana.told.isEmpty)
    #expect(ben.told == ["Ana -video", "Ana +video"])
    camera.setMuted(true)
    await environment.run()
    #expect(ben.remote("video")?.isMuted == true)
  }

  @Test func streamIsPublishedWithTheConfigurationOfItsInitializer() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    let camera = try #require(ana.streams.first { $0.device is any IVSImageDevice })
    let config = IVSLocalStageStreamConfiguration()
    try config.video.setTargetFramerate(10)
    ana.streams = [IVSLocalStageStream(device: camera.device, config: config)]
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    let received = try #require(ben.remote("video")?.device as? any IVSImageDevice)
    let frames = Lock(0)
    received.setOnFrameCallback { _ in frames.withLock { $0 += 1 } }
    await environment.run(.seconds(2))
    #expect((18...21).contains(frames.withLock { $0 }), "10 frames a second: not the default's 15")
  }

  @Test func strategyIsNotAskedForWhatTheTokenDenies() async throws {
    let ana = try environment.app("Ana", publish: false)
    let ben = try environment.app("Ben", subscribe: false)
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    #expect(!ana.lines.contains("publish me?"))
    #expect(ana.told.contains("Ben +audio+video"))
    ana.stage.leave()
    let cleo = try environment.app("Cleo")
    try cleo.stage.join()
    await environment.run()
    #expect(ben.told.suffix(2) == ["Cleo joined", "Cleo published"])
    #expect(!ben.lines.contains("subscribe Cleo?"))
    #expect(ben.people["Cleo"]?.capabilities == [])
  }
}

/// Records the values of a stats callback.
final class StatsRecorder: @unchecked Sendable {  // a lock
  private let heard = Lock<[(peak: Float, rms: Float)]>([])
  var count: Int { heard.withLock { $0.count } }
  var last: (peak: Float, rms: Float)? { heard.withLock { $0.last } }
  func record(_ stats: IVSAudioDeviceStats) { heard.withLock { $0.append((stats.peak, stats.rms)) } }
}
