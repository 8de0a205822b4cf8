import KoineBase
import KoineCluster
import KoineLedger
import KoineSignaling
import Testing

@testable import KoineRouter

/// Jobs of services in a cluster: a recording that the room's former home has not ended.
@Suite struct ServiceJobTests {
  private static let recorder = "koine.recording"

  /// What the services of a world's nodes have been told.
  private final class Told {
    var messages: [String: [RoomService.Message]] = [:]
    var moved: [String] = []
  }

  private let told = Told()

  /// - Parameter nodes: all of them have a recorder, but for those of `without`.
  private func world(nodes: String..., without: String? = nil) throws -> ClusterWorld {
    let world = try ClusterWorld()
    let box = UncheckedBox(told)
    world.change = { configuration in
      guard let node = configuration.cluster?.record.id.name, node != without else { return }
      var service = RoomService(names: [Self.recorder]) { box.value.messages[node, default: []].append($0) }
      service.roomMoved = { box.value.moved.append("\($0) from \(node)") }
      configuration.attendant = service
    }
    for node in nodes { try world.start(node) }
    world.run(.seconds(2))
    return world
  }

  /// The routers of a `ClusterWorld` run on the test's thread.
  private struct UncheckedBox: @unchecked Sendable {
    let value: Told
    init(_ value: Told) { self.value = value }
  }

  private func say(_ text: String, of job: RoomService.Job?, in world: ClusterWorld, at node: String) {
    var answer = RoomService.Answer(Array(text.utf8), as: Self.recorder, stands: text != "stopped", in: "tea")
    answer.job = job
    world.nodes[node]?.router.send(answer, at: world.now)
    world.run(.seconds(1))
  }

  private let job = RoomService.Job(sender: "ana", payload: [52, 255])

  /// Ana's home, on which a recording has started, and the other node.
  private func recorded(in world: ClusterWorld) throws -> (ana: ClusterWorld.Person, home: String, other: String) {
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    say("starting", of: job, in: world, at: home)
    say("started tea-1.webm", of: job, in: world, at: home)
    return (ana, home, home == "a" ? "b" : "a")
  }

  @Test func recordingOfAKilledHomeIsContinuedAtTheNextOne() throws {
    let world = try world(nodes: "a", "b")
    let (ana, home, other) = try recorded(in: world)
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    let message = try #require(told.messages[other]?.first)
    #expect(told.messages[other]?.count == 1)
    #expect((message.room, message.sender, message.topic, message.payload) == ("tea", "ana", Self.recorder, [52, 255]))
    #expect(message.continuing.map { String(decoding: $0, as: UTF8.self) } == "started tea-1.webm")
    #expect(told.moved.isEmpty, "the killed node has told nobody")
    say("interrupted", of: job, in: world, at: other)
    let ben = try world.person("ben", in: "tea", at: other)
    world.run(.seconds(1))
    #expect(ben.texts == ["interrupted"])
  }

  @Test func endedRecordingIsNotContinued() throws {
    let world = try world(nodes: "a", "b")
    let (ana, home, other) = try recorded(in: world)
    say("stopping", of: nil, in: world, at: home)
    world.send("kept", from: ana)
    world.run(.seconds(1))
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    #expect(ana.node == other)
    #expect(told.messages[other] == nil)
  }

  /// As on the next morning: the log outlives its home by days.
  @Test func recordingIsNotContinuedForParticipantsThatWereNotThere() throws {
    let world = try world(nodes: "a", "b")
    let (_, home, other) = try recorded(in: world)
    world.kill(home)
    world.run(.seconds(30))
    let ben = try world.person("ben", in: "tea", at: other)
    world.run(.seconds(3))
    #expect(ben.node == other && ben.heard.isEmpty)
    #expect(told.messages[other] == nil)
    let room = try #require(world.nodes[other]?.router.rooms["tea"])
    #expect(room.data.jobs == [Self.recorder: job], "Ana may come back yet")
    world.run(.seconds(120))
    #expect(told.messages[other] == nil)
    #expect(room.data.jobs.isEmpty)
  }

  @Test func acknowledgedStopHoldsThoughTheHomeDiesBeforeTheServiceSaysSo() throws {
    let world = try world(nodes: "a", "b")
    let (ana, home, other) = try recorded(in: world)
    world.ledger.delays = .milliseconds(50) ... .milliseconds(50)
    world.order("koine.order.stop", Self.recorder, to: Self.recorder, from: ana)
    world.run(.milliseconds(20))
    #expect(ana.order(of: "koine.order.stop") == nil, "the end is on its way to the ledger")
    world.run(.milliseconds(200))
    #expect(ana.order(of: "koine.order.stop") != nil)
    #expect(told.messages[home]?.map(\.topic) == ["koine.order.stop"])
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    #expect(ana.node == other)
    #expect(told.messages[other] == nil)
  }

  /// The report waits in the room, as too much waits for the ledger already. No later message may get into the log before it.
  /// - Parameter space: with some of these, a small message fits where a report does not.
  @Test(arguments: [4_000, 4_200, 4_400, 4_600, 4_800, 5_000])
  func reportForWhichThereIsNoSpaceIsStoredBeforeLaterMessages(space: Int) throws {
    let world = try ClusterWorld()
    let recorder = Self.recorder
    world.change = {
      $0.cluster?.limits.waitingBytes = space
      $0.attendant = RoomService(names: [recorder]) { _ in }
    }
    try world.start("a")
    world.run(.seconds(2))
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    world.ledger.stop(at: world.now)
    for number in 0..<8 { world.send(String(repeating: "\(number)", count: 500), from: ana) }
    world.run(.milliseconds(10))
    #expect(ana.receipts.last?.failure?.code == .tooMany, "all space is taken")
    say("started " + String(repeating: "x", count: 1_000), of: job, in: world, at: "a")
    world.send("small", from: ana)
    world.run(.seconds(1))
    world.ledger.start()
    world.run(.seconds(3))
    world.send("after", from: ana)
    world.run(.seconds(1))
    #expect(ana.order(of: "after") != nil)
    #expect(world.nodes["a"]?.router.rooms["tea"]?.data.jobs == [Self.recorder: job])
  }

  @Test func roomMovedOnPurposeIsLeftByOneRecorderAndTakenByTheNext() throws {
    let world = try world(nodes: "a", "b")
    let (ana, home, other) = try recorded(in: world)
    world.nodes[home]?.router.handOver("tea", at: world.now)
    world.run(.seconds(3))
    #expect(ana.node == other)
    #expect(told.moved == ["tea from \(home)"])
    #expect(told.messages[other]?.map(\.sender) == ["ana"])
    // The end of the former part is for the events of back ends only.
    var end = RoomService.Answer(Array("stopped".utf8), as: Self.recorder, stands: false, in: "tea")
    end.isForEventsOnly = true
    world.nodes[other]?.router.send(end, at: world.now)
    #expect(world.nodes[other]?.router.rooms["tea"]?.data.jobs == [Self.recorder: job])
  }

  @Test func recordingIsOverWhereNoServiceContinuesIt() throws {
    let world = try world(nodes: "a", "b", without: "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    if ana.node == "b" { world.nodes["b"]?.router.handOver("tea", at: world.now) }
    world.run(.seconds(3))
    #expect(ana.node == "a")
    say("started tea-1.webm", of: job, in: world, at: "a")
    world.kill("a")
    world.join(ana, at: "b", unreachable: "a")
    world.run(.seconds(3))
    let history = try #require(ana.joined.last).history
    #expect(ana.node == "b" && history.isEmpty, "participants that return withdraw what they do not find")
    #expect(try #require(world.nodes["b"]?.router.rooms["tea"]).data.jobs.isEmpty)
    // Nor is it continued where a later home could.
    try world.start("a")
    world.run(.seconds(2))
    world.nodes["b"]?.router.handOver("tea", at: world.now)
    world.run(.seconds(3))
    #expect(ana.node == "a")
    #expect(told.messages["a"] == nil)
  }

  @Test func ledgerThatLostTheReportGetsItAgain() throws {
    var data = DataRouter(limits: .init(), now: Tick(nanoseconds: 0))
    data.restore([], base: 100, at: Tick(nanoseconds: 0))
    var answer = RoomService.Answer(Array("started".utf8), as: Self.recorder, in: "tea")
    answer.job = job
    let entry = try #require(data.send(answer, id: "1", at: Tick(nanoseconds: 0)).logged?.entry)
    #expect(data.entries(after: 100, through: 101) == [entry])
    #expect(data.takeDropped().isEmpty)
    let next = try #require(data.send(answer, id: "2", at: Tick(nanoseconds: 0)).logged?.entry)
    #expect(data.takeDropped() == [101], "the log need not keep the report before")
    #expect(data.entries(after: 100, through: 102) == [next])
    #expect(data.entries(after: 102, through: 200).isEmpty)
    answer.job = nil
    let end = try #require(data.send(answer, id: "3", at: Tick(nanoseconds: 0)).logged?.entry)
    #expect(data.takeDropped() == [102])
    #expect(
      data.entries(after: 100, through: 103) == [end], "a log that has only the beginning would go on with the job")
    #expect(data.send(answer, id: "4", at: Tick(nanoseconds: 0)).logged == nil, "the end is in the log")
    #expect(data.takeDropped().isEmpty)
  }
}
