import AmazonChimeSDK
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Tiles: pausing, binding to views, and the choice of layers.
@Suite struct TileTests {
  private let environment = TestEnvironment()

  private func call() async throws -> (App, Session) {
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    return (ana, ben)
  }

  private func bytes(_ app: App) async throws -> Int {
    let session = try #require(app.session.session)
    let figures = await environment.world.run { await session.statistics() }
    return figures.streams.filter { $0.stream.kind == .camera }.compactMap(\.incoming).reduce(0) { $0 + $1.bytes }
  }

  @Test func pausedTileIsNotReceivedUntilResumed() async throws {
    let (ana, _) = try await call()
    let tile = try #require(ana.tile(of: "ben"))
    let view = try #require(ana.view(of: "ben"))
    ana.forget()
    ana.audioVideo.pauseRemoteVideoTile(tileId: tile.tileId)
    ana.audioVideo.pauseRemoteVideoTile(tileId: tile.tileId)
    #expect(tile.pauseState == .pausedByUserRequest)
    await environment.run(.milliseconds(300))
    let (before, shown) = (try await bytes(ana), view.frames)
    await environment.run(.seconds(2))
    #expect(try await bytes(ana) == before, "the room forwards nothing of it")
    #expect(view.frames == shown)
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    await environment.run(.seconds(2))
    #expect(try await bytes(ana) > before + 5_000 && view.frames > shown + 45)
    #expect(ana.lines == ["tile ben pausedByUserRequest", "tile ben unpaused"], "each told once")
  }

  @Test func pauseEndsWithItsTile() async throws {
    let (ana, _) = try await call()
    ana.audioVideo.pauseRemoteVideoTile(tileId: try #require(ana.tile(of: "ben")).tileId)
    await environment.run()
    ana.audioVideo.stopRemoteVideo()
    await environment.run()
    #expect(ana.tile(of: "ben") == nil)
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    #expect(ana.tile(of: "ben")?.pauseState == .unpaused)
    #expect((ana.view(of: "ben")?.frames ?? 0) > 30)
  }

  @Test func localTileCannotBePausedAndUnknownTilesAreIgnored() async throws {
    let (ana, _) = try await call()
    try ana.audioVideo.startLocalVideo()
    await environment.run()
    let local = try #require(ana.tile(of: "ana"))
    ana.forget()
    ana.audioVideo.pauseRemoteVideoTile(tileId: local.tileId)
    ana.audioVideo.pauseRemoteVideoTile(tileId: 4_711)
    ana.audioVideo.resumeRemoteVideoTile(tileId: local.tileId)
    ana.audioVideo.unbindVideoView(tileId: 4_711)
    await environment.run()
    #expect(ana.lines.isEmpty)
    #expect(local.pauseState == .unpaused)
  }

  @Test func viewShowsOnlyTheTileBoundLast() async throws {
    let (ana, _) = try await call()
    let cleo = try environment.native("Cleo")
    await environment.run(.seconds(2))
    let (ben, other) = (try #require(ana.tile(of: "ben")), try #require(ana.tile(of: "cleo")))
    let view = Screen()
    ana.audioVideo.bindVideoView(videoView: view, tileId: ben.tileId)
    await environment.run(.milliseconds(500))
    #expect(view.name == "Ben")
    ana.audioVideo.bindVideoView(videoView: view, tileId: other.tileId)
    await environment.run(.milliseconds(500))
    #expect(view.name == "Cleo")
    let before = view.frames
    await environment.run()
    #expect((28...32).contains(view.frames - before), "of one tile only")
    cleo.leave {}
    await environment.run()
    #expect(ana.tile(of: "cleo") == nil)
    #expect(ana.tile(of: "ben") != nil)

    ana.forget()
    ana.audioVideo.removeVideoTileObserver(observer: ana)
    _ = try environment.native("Dora")
    await environment.run(.seconds(2))
    #expect(ana.lines.contains("sources +dora"))
    #expect(ana.lines(of: "tile").isEmpty, "the observer is removed")
  }

  @Test func unboundTileIsAddedAgain() async throws {
    let (ana, _) = try await call()
    let tile = try #require(ana.tile(of: "ben"))
    ana.forget()
    ana.audioVideo.unbindVideoView(tileId: tile.tileId)
    await environment.run()
    #expect(ana.lines == ["tile +ben"])
    let again = try #require(ana.tile(of: "ben"))
    #expect(again.tileId == tile.tileId)
    #expect(again !== tile)
  }

  @Test func narrowPathPausesLowestPriorityTileUntilItRecovers() async throws {
    let ana = environment.app("Ana")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    for name in ["Ben", "Cleo"] { _ = try environment.native(name) }
    await environment.run(.seconds(2))
    let (first, last) = (VideoSubscriptionConfiguration(), VideoSubscriptionConfiguration())
    (first.priority, last.priority) = (.highest, .lowest)
    let (ben, cleo) = (try #require(ana.source(of: "ben")), try #require(ana.source(of: "cleo")))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [cleo: first, ben: last], removed: [])
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("rate=300k"), of: "ana")
    await environment.run(.seconds(20))
    #expect(ana.tile(of: "ben")?.pauseState == .pausedForPoorConnection)
    #expect(ana.lines(of: "tile ben paused") == ["tile ben pausedForPoorConnection"])
    let tile = try #require(ana.tile(of: "ben"))
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    #expect(tile.pauseState == .pausedForPoorConnection, "it is not the user's")
    backend.setNetwork(try NetworkSpec(""), of: "ana")
    await environment.run(.seconds(30))
    #expect(tile.pauseState == .unpaused)
    #expect(ana.tile(of: "cleo")?.pauseState == .unpaused)
    #expect(ana.lines(of: "tile ben unpaused").count == 1)
  }

  @Test func defaultRenderViewDrawsAndMirrorsFrames() async throws {
    let (ana, _) = try await call()
    let (straight, mirrored) = await MainActor.run {
      (DefaultVideoRenderView(frame: CGRect(x: 0, y: 0, width: 160, height: 90)), DefaultVideoRenderView())
    }
    mirrored.mirror = true
    let tile = try #require(ana.tile(of: "ben"))
    ana.audioVideo.bindVideoView(videoView: straight, tileId: tile.tileId)
    await environment.run()
    #expect(straight.framesRendered > 20)
    let shown = try #require(straight.lastFrame)
    #expect(StampReader.read(shown)?.name == "Ben")
    mirrored.onVideoFrameReceived(
      frame: AmazonChimeSDK.VideoFrame(
        timestampNs: 0, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: CVPixelBuffer(shown))))
    let turned = try #require(mirrored.lastFrame)
    #expect(turned.mirrored(pool: FramePool()).psnr(against: shown) == 100)
    #expect(StampReader.read(turned) == nil)
    straight.resetImage()
    #expect(straight.lastFrame == nil)
  }

  @Test func onlySubscribedSourcesAreReceivedAfterFirstSubscriptionUpdate() async throws {
    let (ana, _) = try await call()
    _ = try environment.native("Cleo")
    await environment.run(.seconds(2))
    ana.forget()
    let small = VideoSubscriptionConfiguration()
    small.targetResolution = .low
    small.priority = .lowest
    let cleo = try #require(ana.source(of: "cleo"))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [cleo: small], removed: [])
    await environment.run()
    #expect(ana.lines == ["tile -ben"])
    let ben = try #require(ana.source(of: "ben"))
    ana.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: [ben: VideoSubscriptionConfiguration()], removed: [cleo])
    await environment.run()
    #expect(Set(ana.lines.dropFirst()) == ["tile -cleo", "tile +ben"])
    _ = try environment.native("Dora")
    await environment.run()
    #expect(ana.lines.contains("sources +dora"))
    #expect(ana.tile(of: "dora") == nil)
  }

  @Test func startConfigurationLimitsTheVideoResolution() async throws {
    let environment = TestEnvironment(camera: "stamp:self,640x360@15")
    let ana = environment.app("Ana")
    try ana.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(videoMaxResolution: .low))
    try ana.audioVideo.startLocalVideo()
    let ben = try environment.native("Ben")
    await environment.run(.seconds(3))
    #expect(ben.tiles.first { !$0.isLocal }?.width == 320)
  }

  @Test func targetResolutionSelectsTheLayer() async throws {
    let environment = TestEnvironment(camera: "stamp:self,640x360@30")
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] { try app.audioVideo.start() }
    try ben.audioVideo.startLocalVideo()
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(8))
    #expect(ana.tile(of: "ben")?.videoStreamContentHeight == 360)
    let small = VideoSubscriptionConfiguration()
    small.targetResolution = .low
    let source = try #require(ana.source(of: "ben"))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [source: small], removed: [])
    await environment.run(.seconds(2))
    #expect(ana.lines.last == "tile ben 320x180")
    small.targetResolution = .high
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [source: small], removed: [])
    await environment.run(.seconds(8))
    #expect(ana.tile(of: "ben")?.videoStreamContentHeight == 360)
  }
}
