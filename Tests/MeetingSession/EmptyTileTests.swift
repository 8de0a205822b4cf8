import AmazonChimeSDK
import Koine
import Testing

/// An available source without a subscription has an empty tile, so that apps can page through tiles.
@Suite struct EmptyTileTests {
  private let environment = TestEnvironment()

  /// An app that manages its subscriptions and has none yet.
  private func subscribedToNothing() async throws -> (App, Session) {
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    try ana.audioVideo.start()
    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [:], removed: [])
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    return (ana, ben)
  }

  @Test func unsubscribedSourceHasEmptyTileAfterThreeSeconds() async throws {
    let (ana, ben) = try await subscribedToNothing()
    #expect(ana.source(of: "ben") != nil)
    #expect(ana.lines(of: "tile").isEmpty)
    await environment.run(.seconds(2))
    #expect(ana.lines(of: "tile") == ["tile +ben"])
    let tile = try #require(ana.tile(of: "ben"))
    #expect(tile.pauseState == .pausedForPoorConnection)
    #expect(tile.videoStreamContentWidth == 0)
    #expect(tile.videoStreamContentHeight == 0)

    let source = try #require(ana.source(of: "ben"))
    ana.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: [source: VideoSubscriptionConfiguration()], removed: [])
    await environment.run(.seconds(2))
    let lines = ana.lines(of: "tile")
    #expect(lines.count == 3 && lines[1].hasPrefix("tile ben 1") && lines[2] == "tile ben unpaused", "\(lines)")
    #expect(ana.tile(of: "ben") === tile)
    #expect(tile.videoStreamContentWidth > 0)
    #expect((ana.view(of: "ben")?.frames ?? 0) > 10)

    ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [:], removed: [source])
    await environment.run()
    #expect(ana.lines.last == "tile -ben")
    await environment.run(.seconds(4))
    #expect(ana.lines.last == "tile +ben")
    #expect(ana.tile(of: "ben")?.tileId == tile.tileId)
    ben.leave {}
    await environment.run()
    #expect(ana.lines(of: "tile").last == "tile -ben")
    #expect(ana.tile(of: "ben") == nil)
  }

  @Test func unsubscribingInsideCallbackAddsOneTile() async throws {
    final class Unsubscriber: VideoTileObserver, @unchecked Sendable {
      let told = Lock<[String]>([])
      private let ana: App
      init(_ ana: App) { self.ana = ana }
      func videoTileDidAdd(tileState: VideoTileState) {
        told.withLock { $0.append("add") }
        guard let source = ana.source(of: tileState.attendeeId) else { return }
        ana.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [:], removed: [source])
      }
      func videoTileDidRemove(tileState: VideoTileState) { told.withLock { $0.append("remove") } }
      func videoTileDidPause(tileState: VideoTileState) { told.withLock { $0.append("pause") } }
      func videoTileDidResume(tileState: VideoTileState) { told.withLock { $0.append("resume") } }
      func videoTileSizeDidChange(tileState: VideoTileState) { told.withLock { $0.append("size") } }
    }
    let (ana, ben) = try await subscribedToNothing()
    let unsubscriber = Unsubscriber(ana)
    ana.audioVideo.addVideoTileObserver(observer: unsubscriber)
    await environment.run(.seconds(60))
    #expect(unsubscriber.told.withLock { $0 } == ["add"])
    withExtendedLifetime(ben) {}
  }

  @Test func appWithoutSubscriptionUpdateHasNoEmptyTiles() async throws {
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    try ana.audioVideo.start()
    await environment.run(.seconds(5))
    #expect(ana.lines(of: "tile").isEmpty, "remote video has not been started")
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(5))
    #expect(ana.tile(of: "ben")?.pauseState == .unpaused)
    withExtendedLifetime(ben) {}
  }

  @Test func emptyTilesAreRemovedWithRemoteVideo() async throws {
    let (ana, ben) = try await subscribedToNothing()
    await environment.run(.seconds(2))
    #expect(ana.tile(of: "ben") != nil)
    ana.audioVideo.stopRemoteVideo()
    await environment.run(.seconds(5))
    #expect(ana.lines(of: "tile") == ["tile +ben", "tile -ben"])
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(4))
    #expect(ana.lines(of: "tile").last == "tile +ben")
    withExtendedLifetime(ben) {}
  }
}
