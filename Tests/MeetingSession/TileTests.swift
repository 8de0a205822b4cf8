import AmazonChimeSDK
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Tiles: paused ones stop arriving, bound views show, and one view is of one tile.
@Suite struct TileTests {
  private let place = Place()

  private func call() async throws -> (App, Session) {
    let ana = place.app("Ana")
    let ben = try place.native("Ben")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    await place.run(.seconds(2))
    return (ana, ben)
  }

  private func bytes(_ app: App) async throws -> Int {
    let session = try #require(app.session.session)
    let figures = await place.world.run { await session.statistics() }
    return figures.streams.filter { $0.stream.kind == .camera }.compactMap(\.incoming).reduce(0) { $0 + $1.bytes }
  }

  @Test func aPausedTileStopsArrivingAndGoesOnAfterwards() async throws {
    let (ana, _) = try await call()
    let tile = try #require(ana.tile(of: "ben"))
    let view = try #require(ana.view(of: "ben"))
    ana.forget()
    ana.audioVideo.pauseRemoteVideoTile(tileId: tile.tileId)
    ana.audioVideo.pauseRemoteVideoTile(tileId: tile.tileId)
    #expect(tile.pauseState == .pausedByUserRequest)
    await place.run(.milliseconds(300))
    let (before, shown) = (try await bytes(ana), view.frames)
    await place.run(.seconds(2))
    #expect(try await bytes(ana) == before, "the room forwards nothing of it")
    #expect(view.frames == shown)
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    await place.run(.seconds(2))
    #expect(try await bytes(ana) > before + 5_000 && view.frames > shown + 45)
    #expect(ana.lines == ["tile ben pausedByUserRequest", "tile ben unpaused"], "each told once")
  }

  @Test func aPauseDoesNotOutliveItsTile() async throws {
    let (ana, _) = try await call()
    ana.audioVideo.pauseRemoteVideoTile(tileId: try #require(ana.tile(of: "ben")).tileId)
    await place.run()
    ana.audioVideo.stopRemoteVideo()
    await place.run()
    #expect(ana.tile(of: "ben") == nil)
    ana.audioVideo.startRemoteVideo()
    await place.run(.seconds(2))
    #expect(ana.tile(of: "ben")?.pauseState == .unpaused && (ana.view(of: "ben")?.frames ?? 0) > 30)
  }

  @Test func theLocalTileCannotBePausedAndStrangersAreIgnored() async throws {
    let (ana, _) = try await call()
    try ana.audioVideo.startLocalVideo()
    await place.run()
    let local = try #require(ana.tile(of: "ana"))
    ana.forget()
    ana.audioVideo.pauseRemoteVideoTile(tileId: local.tileId)
    ana.audioVideo.pauseRemoteVideoTile(tileId: 4_711)
    ana.audioVideo.resumeRemoteVideoTile(tileId: local.tileId)
    ana.audioVideo.unbindVideoView(tileId: 4_711)
    await place.run()
    #expect(ana.lines.isEmpty && local.pauseState == .unpaused)
  }

  @Test func aViewShowsOneTileAndATileOneView() async throws {
    let (ana, _) = try await call()
    let cleo = try place.native("Cleo")
    await place.run(.seconds(2))
    let (ben, other) = (try #require(ana.tile(of: "ben")), try #require(ana.tile(of: "cleo")))
    let view = Screen()
    ana.audioVideo.bindVideoView(videoView: view, tileId: ben.tileId)
    await place.run(.milliseconds(500))
    #expect(view.name == "Ben")
    ana.audioVideo.bindVideoView(videoView: view, tileId: other.tileId)
    await place.run(.milliseconds(500))
    #expect(view.name == "Cleo")
    let before = view.frames
    await place.run()
    #expect((28...32).contains(view.frames - before), "of one tile only")
    cleo.leave {}
    await place.run()
    #expect(ana.tile(of: "cleo") == nil && ana.tile(of: "ben") != nil)
  }

  @Test func unbindingALivingTileAddsItAgain() async throws {
    let (ana, _) = try await call()
    let tile = try #require(ana.tile(of: "ben"))
    ana.forget()
    ana.audioVideo.unbindVideoView(tileId: tile.tileId)
    await place.run()
    #expect(ana.lines == ["tile +ben"])
    let again = try #require(ana.tile(of: "ben"))
    #expect(again.tileId == tile.tileId && again !== tile)
  }

  @Test func aPathTooNarrowPausesTheLesserTileAndGoesOnAfterwards() async throws {
    let ana = place.app("Ana")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    for name in ["Ben", "Cleo"] { _ = try place.native(name) }
    await place.run(.seconds(2))
    let (first, last) = (VideoSubscriptionConfiguration(), VideoSubscriptionConfiguration())
    (first.priority, last.priority) = (.highest, .lowest)
    let (ben, cleo) = (try #require(ana.source(of: "ben")), try #require(ana.source(of: "cleo")))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [cleo: first, ben: last], removed: [])
    let backend = try #require(place.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("rate=300k"), of: "ana")
    await place.run(.seconds(20))
    #expect(ana.tile(of: "ben")?.pauseState == .pausedForPoorConnection)
    #expect(ana.lines(of: "tile ben paused") == ["tile ben pausedForPoorConnection"])
    let tile = try #require(ana.tile(of: "ben"))
    ana.audioVideo.resumeRemoteVideoTile(tileId: tile.tileId)
    #expect(tile.pauseState == .pausedForPoorConnection, "it is not the user's")
    backend.setNetwork(try NetworkSpec(""), of: "ana")
    await place.run(.seconds(30))
    #expect(tile.pauseState == .unpaused && ana.tile(of: "cleo")?.pauseState == .unpaused)
    #expect(ana.lines(of: "tile ben unpaused").count == 1)
  }

  @Test func theDefaultViewDrawsAndMirrors() async throws {
    let (ana, _) = try await call()
    let (straight, mirrored) = await MainActor.run {
      (DefaultVideoRenderView(frame: CGRect(x: 0, y: 0, width: 160, height: 90)), DefaultVideoRenderView())
    }
    mirrored.mirror = true
    let tile = try #require(ana.tile(of: "ben"))
    ana.audioVideo.bindVideoView(videoView: straight, tileId: tile.tileId)
    await place.run()
    #expect(straight.framesRendered > 20)
    let shown = try #require(straight.lastFrame)
    #expect(StampReader.read(shown)?.name == "Ben")
    mirrored.onVideoFrameReceived(
      frame: AmazonChimeSDK.VideoFrame(
        timestampNs: 0, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: CVPixelBuffer(shown))))
    let turned = try #require(mirrored.lastFrame)
    #expect(turned.mirrored(pool: FramePool()).psnr(against: shown) == 100 && StampReader.read(turned) == nil)
    straight.resetImage()
    #expect(straight.lastFrame == nil)
  }

  @Test func onlyWhatIsAskedForIsReceivedFromTheFirstAskingOn() async throws {
    let (ana, _) = try await call()
    _ = try place.native("Cleo")
    await place.run(.seconds(2))
    ana.forget()
    let small = VideoSubscriptionConfiguration()
    small.targetResolution = .low
    small.priority = .lowest
    let cleo = try #require(ana.source(of: "cleo"))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [cleo: small], removed: [])
    await place.run()
    #expect(ana.lines == ["tile -ben"])
    let ben = try #require(ana.source(of: "ben"))
    ana.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: [ben: VideoSubscriptionConfiguration()], removed: [cleo])
    await place.run()
    #expect(Set(ana.lines.dropFirst()) == ["tile -cleo", "tile +ben"])
    _ = try place.native("Dora")
    await place.run()
    #expect(ana.lines.contains("sources +dora") && ana.tile(of: "dora") == nil)
  }

  @Test func theStartLimitsThePicture() async throws {
    let place = Place(camera: "stamp:self,640x360@15")
    let ana = place.app("Ana")
    try ana.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(videoMaxResolution: .low))
    try ana.audioVideo.startLocalVideo()
    let ben = try place.native("Ben")
    await place.run(.seconds(3))
    #expect(ben.tiles.first { !$0.isLocal }?.width == 320)
  }

  @Test func aTargetResolutionChoosesTheLayer() async throws {
    let place = Place(camera: "stamp:self,640x360@30")
    let (ana, ben) = (place.app("Ana"), place.app("Ben"))
    for app in [ana, ben] { try app.audioVideo.start() }
    try ben.audioVideo.startLocalVideo()
    ana.audioVideo.startRemoteVideo()
    await place.run(.seconds(8))
    #expect(ana.tile(of: "ben")?.videoStreamContentHeight == 360)
    let small = VideoSubscriptionConfiguration()
    small.targetResolution = .low
    let source = try #require(ana.source(of: "ben"))
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [source: small], removed: [])
    await place.run(.seconds(2))
    #expect(ana.lines.last == "tile ben 320x180")
    small.targetResolution = .high
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [source: small], removed: [])
    await place.run(.seconds(8))
    #expect(ana.tile(of: "ben")?.videoStreamContentHeight == 360)
  }
}
