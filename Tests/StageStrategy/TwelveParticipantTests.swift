import AmazonIVSBroadcast
import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineRouter
import KoineSimulatedNetwork
import Testing

/// Stages of twelve, by the router's own counters.
@Suite struct TwelveParticipantTests {
  private let environment: TestEnvironment
  private let backend: EmbeddedBackend

  init() throws {
    let backend = EmbeddedBackend(virtual: 6)
    self.backend = backend
    environment = TestEnvironment(
      in: World(
        backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")),
        devices: DefaultDevices(camera: "stamp:cam,160x90@10", microphone: "silence"), stamps: StampedMedia()))
  }

  private func counted() async throws -> (all: RouterStatistics, ways: [ForwardingStatistics]) {
    let result = Lock<(all: RouterStatistics, ways: [ForwardingStatistics])?>(nil)
    backend.routerStatistics(of: "tea") { all, ways in result.withLock { $0 = (all, ways) } }
    await environment.run(.milliseconds(1))
    return try #require(result.withLock { $0 })
  }

  /// The receivers and senders of packets in the next second: `receiver < sender track`.
  private func flowing() async throws -> Set<String> {
    let before = Dictionary(
      uniqueKeysWithValues: try await counted().ways.map { (["\($0.receiver)", "\($0.stream)"], $0.packets) })
    await environment.run()
    let after = try await counted().ways
    return Set(
      after.filter { $0.packets > before[["\($0.receiver)", "\($0.stream)"]] ?? 0 }
        .map { "\($0.receiver) < \($0.stream.participant) \($0.stream.track.prefix { $0 != "-" })" })
  }

  /// Three moderators and nine guests; all publish.
  private func twelveApps(_ prepare: (StageApp) -> Void = { _ in }) throws -> [StageApp] {
    try (0..<12).map { number in
      let role = number < 3 ? "moderator" : "guest"
      let app = try environment.app("p\(number)", id: "p\(number)", attributes: ["role": role])
      prepare(app)
      try app.stage.join()
      return app
    }
  }

  @Test func thousandRefreshesWithTheSameAnswersSendNothing() async throws {
    let apps = try twelveApps()
    await environment.run(.seconds(2))
    let ana = apps[0]
    #expect(ana.remoteStreams.count == 22)
    let streams = ana.remoteStreams
    let before = try await counted()
    for app in apps { app.forget() }
    for _ in 0..<1_000 { ana.stage.refreshStrategy() }
    await environment.run(.seconds(2))
    #expect(apps.allSatisfy { $0.told.isEmpty }, "no renderer hears of it")
    #expect(ana.lines.count == 1_000 * 13 && ana.remoteStreams == streams, "each time all questions are asked")
    let after = try await counted()
    #expect(after.all.messages == before.all.messages, "nobody says anything to the router")
    #expect(after.all.keyFrameRequests == before.all.keyFrameRequests)
    #expect(after.ways.map(\.stream) == before.ways.map(\.stream))
    #expect(after.ways.count == 12 * 22)
  }

  /// The guide's example: all participants subscribe to guests, and none to moderators. Five of the guests have a microphone:
  /// a room forwards as many audio streams at once.
  @Test func onlySubscribedStreamsFlow() async throws {
    let talkers = 3..<8
    let apps = try twelveApps { app in
      app.wish = { participant in participant.attributes["role"] == "guest" ? .audioVideo : .none }
      if !talkers.contains(where: { app.name == "p\($0)" }) {
        app.streams = app.streams.filter { $0.device is any IVSImageDevice }
      }
    }
    await environment.run(.seconds(2))
    func wished(_ senders: Range<Int>, _ track: String, by receivers: Range<Int>) -> Set<String> {
      Set(
        receivers.flatMap { receiver in
          senders.filter { $0 != receiver }.map { "p\(receiver) < p\($0) \(track)" }
        })
    }
    var expected = wished(3..<12, "camera", by: 0..<12).union(wished(talkers, "microphone", by: 0..<12))
    var flowing = try await flowing()
    #expect(flowing.symmetricDifference(expected).sorted() == [])

    // The first moderator wants sound only, and the second nothing any more: nothing else changes.
    apps[0].wish = { participant in participant.attributes["role"] == "guest" ? .audioOnly : .none }
    apps[1].wish = { _ in .none }
    for app in apps { app.stage.refreshStrategy() }
    await environment.run()
    expected.subtract(wished(3..<12, "camera", by: 0..<2).union(wished(talkers, "microphone", by: 1..<2)))
    flowing = try await self.flowing()
    #expect(flowing.symmetricDifference(expected).sorted() == [])
    #expect(apps[1].remoteStreams.isEmpty && apps[0].remoteStreams.count == talkers.count)
  }
}

/// One of three receivers has a narrow path.
@Suite struct NarrowPathTests {
  @Test func narrowPathOfOneReceiverDoesNotAffectOthers() async throws {
    let backend = EmbeddedBackend(virtual: 8)
    let environment = TestEnvironment(
      in: World(
        backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")),
        devices: DefaultDevices(camera: "pattern:640x360@15", microphone: "tone")))
    let host = try environment.app("Host", id: "host", subscribe: false)
    let configuration = IVSLocalStageStreamVideoConfiguration()
    try configuration.setSize(CGSize(width: 640, height: 360))
    configuration.simulcast.enabled = true
    host.streams.first { $0.device is any IVSImageDevice }?.setConfiguration(configuration)
    try host.stage.join()
    let names = ["ana", "ben", "cleo"]
    let apps = try names.map { name in
      let app = try environment.app(name, id: name)
      app.publishes = false
      try app.stage.join()
      return app
    }
    await environment.run(.seconds(10))

    func layers() async throws -> [String: Int] {
      let result = Lock<[String: Int]>([:])
      backend.routerStatistics(of: "tea") { _, ways in
        result.withLock { result in
          for way in ways where way.stream.track.contains("camera") { result[way.receiver] = way.layer }
        }
      }
      await environment.run(.milliseconds(1))
      return result.withLock { $0 }
    }
    let before = try await layers()
    let top = try #require(before["ana"])
    #expect(top > 0)
    #expect(before == ["ana": top, "ben": top, "cleo": top])
    for app in apps { app.forget() }
    backend.setNetwork(try NetworkSpec("rate=300k"), of: "ben")
    await environment.run(.seconds(3))
    let after = try await layers()
    #expect(try #require(after["ben"]) < top && after["ana"] == top && after["cleo"] == top, "\(after)")
    await environment.run(.seconds(5))
    let later = try await layers()
    #expect(try #require(later["ben"]) < top && later["ana"] == top && later["cleo"] == top, "\(later)")
    #expect(apps[0].told.isEmpty && apps[2].told.isEmpty && host.errors.isEmpty)
  }
}
