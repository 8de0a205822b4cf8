import AmazonChimeSDK
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// A minute of it: `KOINE_ROUNDS=60 swift test --filter PagingTests`.
private let turns = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) } ?? 6

/// A meeting with more videos than fit on a screen: 25 cameras, 9 of them shown.
@Suite struct PagingTests {
  private static let people = 25, page = 9

  private let world: World
  private let ana: App
  private let others: [Session]

  init() throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 11), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "pattern:160x90@5", microphone: "silence"), stamps: StampedMedia())
    self.world = world
    others = try (1...Self.people).map { number in
      let name = "p\(number)"
      let session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
      try session.publish(camera: Devices.camera("stamp:\(name),320x180@5"))
      session.join { _ in }
      return session
    }
    ana = World.$current.withValue(world) { App("Ana") }
  }

  private func enter() async throws {
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    await world.run(for: .seconds(1))
    #expect(ana.told.withLock { $0.sources.count } == Self.people)
  }

  private func sources(_ names: some Sequence<Int>) -> [RemoteVideoSource] {
    names.compactMap { ana.source(of: "p\($0)") }
  }

  private func show(_ shown: [RemoteVideoSource], instead hidden: [RemoteVideoSource]) {
    ana.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: Dictionary(uniqueKeysWithValues: shown.map { ($0, VideoSubscriptionConfiguration()) }),
      removed: hidden)
  }

  /// Bytes and decoded frames so far, and the number of received camera streams.
  private func received() async throws -> (bytes: Int, decoded: Int, streams: Int) {
    let session = try #require(ana.session.session)
    let figures = await world.run { await session.statistics() }.streams.filter { $0.incoming != nil }
    return (
      figures.reduce(0) { $0 + ($1.incoming?.bytes ?? 0) }, figures.reduce(0) { $0 + ($1.video?.decoded ?? 0) },
      figures.count { $0.stream.kind == .camera }
    )
  }

  /// Bytes and decoded frames measure the work of the decoder.
  @Test func pausedTilesSaveTheirShareOfBytesAndDecoding() async throws {
    try await enter()
    func measured() async throws -> (bytes: Double, decoded: Double) {
      let before = try await received()
      await world.run(for: .seconds(2))
      let after = try await received()
      return (Double(after.bytes - before.bytes), Double(after.decoded - before.decoded))
    }
    let all = try await measured()
    for tile in sources(Self.page + 1...Self.people).compactMap({ ana.tile(of: $0.attendeeId) }) {
      ana.audioVideo.pauseRemoteVideoTile(tileId: tile.tileId)
    }
    await world.run(for: .seconds(1))
    let few = try await measured()
    let share = Double(Self.page) / Double(Self.people)
    #expect(abs(few.bytes / all.bytes / share - 1) < 0.1, "bytes: \(few.bytes / all.bytes)")
    #expect(abs(few.decoded / all.decoded / share - 1) < 0.1, "decoded pictures: \(few.decoded / all.decoded)")
  }

  @Test func turnedPageShowsLiveVideoWithinHalfASecond() async throws {
    try await enter()
    let pages = stride(from: 1, through: Self.people, by: Self.page).map { $0..<min($0 + Self.page, Self.people + 1) }
    var shown: [RemoteVideoSource] = []
    for turn in 0..<turns {
      let page = pages[turn % pages.count]
      let turned = world.backend.scheduler.now
      let next = sources(page)
      show(next, instead: shown)
      shown = next
      await world.run(for: .milliseconds(500))
      for number in page {
        let view = ana.view(of: "p\(number)")
        #expect(view?.name == "p\(number)" && (view?.last?.captured ?? .zero) >= turned, "turn \(turn), p\(number)")
      }
      #expect(ana.told.withLock { Set($0.tiles.values.map(\.attendeeId)) } == Set(next.map(\.attendeeId)))
      #expect(try await received().streams == page.count, "what is hidden is not received")
      await world.run(for: .milliseconds(500))
    }
  }
}
