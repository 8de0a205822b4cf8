import AmazonIVSBroadcast
import Foundation
import Koine
import KoineAVFoundation
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Section 11, and section 7's ranges.
@Suite struct ErrorTests {
  private let environment = TestEnvironment()

  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch {
      let error = error as NSError
      #expect(error.domain == IVSBroadcastErrorDomain)
      #expect(error.userInfo[IVSBroadcastErrorIsFatalKey] is NSNumber)
      return error.code
    }
    return nil
  }

  @Test func malformedAndExpiredTokensThrowBeforeJoining() throws {
    let app = StageApp("Ana")
    for text in ["", "a.b", "a.b.c", "a.!!.c", "x.e30.y"] {
      #expect(
        code { _ = try World.$current.withValue(environment.world) { try IVSStage(token: text, strategy: app) } }
          == 1000)
    }
    let old = try World.$current.withValue(environment.world) {
      try IVSStage(token: try makeToken(lasting: -1), strategy: app)
    }
    #expect(code { try old.join() } == 1001)
  }

  @Test func secondStageWithTheSameTokenReplacesTheFirstWithoutAnError() async throws {
    let (first, second) = (try environment.app("Ana", id: "ana"), try environment.app("Ana", id: "ana"))
    try first.stage.join()
    await environment.run()
    try second.stage.join()
    await environment.run()
    #expect(first.told.suffix(4) == ["me notPublished", "me -audio+video", "me left", "disconnected"])
    #expect(second.told.last == "me +audio+video")
  }

  @Test func lostConnectionIsReportedWithItsError() async throws {
    let backend = EmbeddedBackend(virtual: 4, network: try NetworkSpec("loss=0%;5s:loss=100%"))
    let world = World(backend: backend, delivery: environment.world.delivery, devices: environment.world.devices)
    let app = StageApp("Ana")
    try World.$current.withValue(world) {
      app.streams = IVSDeviceDiscovery().listLocalDevices().map { IVSLocalStageStream(device: $0) }
      app.stage = try IVSStage(token: try makeToken(), strategy: app)
    }
    app.stage.addRenderer(app)
    try app.stage.join()
    await world.run(for: .seconds(90))
    #expect(app.told.suffix(4) == ["me notPublished", "me -audio+video", "me left", "disconnected 1300"])
  }

  @Test func secondJoinThrowsAndChangesNothing() async throws {
    let ana = try environment.app("Ana")
    try ana.stage.join()
    #expect(code { try ana.stage.join() } == 10410)
    await environment.run()
    #expect(code { try ana.stage.join() } == 10410)
    #expect(ana.told.last == "me +audio+video")
  }

  @Test func statsOfAnUnpublishedStreamThrow() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    #expect(code { try ana.streams[0].requestRTCStats() } == 10111)
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    let remote = try #require(ana.remote("video"))
    #expect(code { try ana.streams[0].requestRTCStats() } == nil)
    ben.stage.leave()
    ana.stage.leave()
    await environment.run()
    #expect(code { try ana.streams[0].requestRTCStats() } == 10111)
    #expect(code { try remote.requestRTCStats() } == 10111)
  }

  @Test func cameraThatFailsToStartIsReportedAndAudioContinues() async throws {
    Devices.register(camera: "broken") { _ throws(DeviceError) in BrokenCamera() }
    let environment = TestEnvironment(camera: "broken")
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben", publish: false))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    #expect(ana.errors.map(\.code) == [1020])
    #expect(ana.told.last == "me +audio")
    #expect(ben.told.last == "Ana +audio")
  }

  @Test func errorsOfStageDeviceAndAudioManagerReachTheirDelegate() async throws {
    final class Listener: NSObject, IVSErrorDelegate, Sendable {
      let codes = Lock<Set<Int>>([])
      func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
        codes.withLock { _ = $0.insert((error as NSError).code) }
      }
    }
    Devices.register(camera: "broken") { _ throws(DeviceError) in BrokenCamera() }
    let environment = TestEnvironment(camera: "broken")
    let ana = try environment.app("Ana")
    let (manager, music) = World.$current.withValue(environment.world) {
      (IVSStageAudioManager.sharedInstance(), IVSDeviceDiscovery().createAudioSource(withName: "music"))
    }
    let listener = Listener()
    for source in [ana.stage, manager, music] as [any IVSErrorSource] { source.errorDelegate = listener }
    try ana.stage.join()
    manager.setCategory(.ambient, options: [], mode: .voiceChat)
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 1_000, channels: 1))
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 10))
    music.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: 1_000))
    await environment.run()
    let strategy = IVSBroadcastError.invalidAudioSessionStrategy.rawValue
    #expect(listener.codes.withLock { $0 } == [1_020, strategy, 10_411])
    ana.stage.leave()
  }

  @Test func valueOutsideItsRangeThrowsAndChangesNothing() throws {
    let config = IVSLocalStageStreamVideoConfiguration()
    #expect(config.maxBitrate == 900_000)
    #expect(config.minBitrate == 100_000)
    #expect(config.targetFramerate == 15)
    #expect(config.size == CGSize(width: 360, height: 640))
    #expect(config.simulcast.enabled)
    for value in [99_999, 2_500_001] {
      #expect(code { try config.setMaxBitrate(value) } == 10220)
      #expect(code { try config.setMinBitrate(value) } == 10221)
    }
    for value in [9, 31] { #expect(code { try config.setTargetFramerate(value) } == 10222) }
    for size in [(159, 200), (1281, 200), (1280, 721)] {
      #expect(code { try config.setSize(CGSize(width: size.0, height: size.1)) } == 10223)
    }
    #expect(config.maxBitrate == 900_000)
    #expect(config.minBitrate == 100_000)
    #expect(config.targetFramerate == 15)
    #expect(config.size == CGSize(width: 360, height: 640))
    for size in [(160.0, 160.0), (720, 1280), (332.1, 720)] {
      #expect(code { try config.setSize(CGSize(width: size.0, height: size.1)) } == nil)
    }
    #expect(code { try config.setMaxBitrate(2_500_000) } == nil)
    #expect(config.maxBitrate == 2_500_000)
    let audio = IVSLocalStageStreamAudioConfiguration()
    #expect(code { try audio.setMaxBitrate(11_999) } == 10224)
    #expect(audio.maxBitrate == 64_000)
    let jitter = IVSJitterBufferConfiguration()
    try jitter.setMinDelay(.medium())
    #expect(throws: NSError.self) { try jitter.setMinDelay(.custom(withTimeInterval: 11)) }
  }
}

private final class BrokenCamera: VideoSource {
  let format = VideoFormat()
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    throw DeviceError.unreadable("broken", reason: "it is broken")
  }
  func stop() {}
}
