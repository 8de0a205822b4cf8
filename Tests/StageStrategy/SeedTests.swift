import AmazonIVSBroadcast
import Dispatch
import Koine
import KoineEmbeddedBackend
import Testing

/// The guide's own code, on the main queue, in virtual time.
@MainActor
@Suite(.serialized)
struct SeedTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 5), devices: DefaultDevices(camera: "pattern:640x360@30", microphone: "tone"))

  private func makeScreen(_ attributes: [String: String] = [:], id: String) throws -> StageViewController {
    let screen = StageViewController()
    screen.token = try makeToken(id: id, attributes: attributes)
    World.$current.withValue(world) { screen.findDevices() }
    return screen
  }

  private func join(_ screen: StageViewController) throws {
    try World.$current.withValue(world) { try screen.joinStage() }
  }

  @Test func twoAppsOfTheGuideReceiveEachOthersMedia() async throws {
    let (ana, ben) = (try makeScreen(["role": "guest"], id: "ana"), try makeScreen(id: "ben"))
    #expect((ana.microphoneStream.device as? IVSMicrophone)?.isEchoCancellationEnabled == true)
    for screen in [ana, ben] { try join(screen) }
    await world.run(for: .seconds(2))
    for screen in [ana, ben] {
      #expect(screen.previews.count == 2)
      for preview in screen.previews.values { #expect(preview.framesRendered > 15) }
      let picture = screen.videos.snapshot()
      for side in [0..<320, 320..<640] {
        #expect(side.contains { picture.color(x: $0, y: 90).map { $0 != (0, 0, 0) } == true })
      }
      let level = try #require(screen.levels.last)
      #expect(level.peak > -15)
      #expect(level.peak <= 0)
      #expect(level.rms < level.peak)
    }
    #expect(ben.printed.contains("ID: ana"))
    #expect(ben.printed.contains("attribute: role=guest"))

    ana.microphoneStream.setMuted(true)
    await world.run(for: .milliseconds(500))
    #expect(ben.mutes == [true] && ana.mutes == [true])

    ben.printed = []
    let remote = try #require(ben.previews.keys.first { $0.contains("ana") })
    #expect(remote.contains("camera"))
    ana.printed = []
    try ana.requestStats(of: ana.cameraStream)
    await world.run(for: .milliseconds(100))
    #expect(ana.printed.contains { $0.contains("has member type with value outbound-rtp") })
    #expect(ana.printed.contains { $0.contains("stat T01 has member selectedCandidatePairId") })

    ana.goToBackground()
    await world.run(for: .milliseconds(500))
    #expect(ana.previews.isEmpty)
    #expect(ben.previews.count == 1)
    ana.leaveStage()
    ben.leaveStage()
    #expect(ben.previews.isEmpty, "the teardown is told before leave() returns")
  }

  @Test func moderatorsOfTheGuideReceiveGuestsOnly() async throws {
    let (guest, moderator, nobody) = (
      try makeScreen(["role": "guest"], id: "guest"), try makeScreen(["role": "moderator"], id: "moderator"),
      try makeScreen(id: "nobody")
    )
    for screen in [guest, moderator, nobody] {
      screen.isModerated = true
      try join(screen)
    }
    await world.run(for: .seconds(1))
    #expect(Set(moderator.previews.keys.filter { $0.contains("/") }.map { $0.prefix(11) }) == ["koine:guest"])
    #expect(guest.previews.keys.filter { $0.contains("/") }.isEmpty)
  }

  @Test func configurationsOfTheGuideArePublished() async throws {
    let ana = try makeScreen(id: "ana")
    let config = try ana.configure()
    #expect(config.size == CGSize(width: 360, height: 640))
    #expect(config.targetFramerate == 30)
    #expect(config.degradationPreference == .balanced)
    #expect(config.maxBitrate == 900_000)
    ana.cameraStream = IVSLocalStageStream(device: ana.cameraStream.device, configuration: config)
    try join(ana)
    let watcher = Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    watcher.join { _ in }
    await world.run(for: .seconds(3))
    let tile = try #require(watcher.tiles.first)
    #expect((tile.width, tile.height) == (640, 360), "upright 360 × 640 for a camera that lies on its side")
    ana.disableSimulcast()
    ana.stage?.refreshStrategy()
    await world.run(for: .seconds(2))
    #expect(watcher.tiles.first?.width == 640)
    ana.leaveStage()
    watcher.leave {}
    await world.run(for: .seconds(1))
  }
}
