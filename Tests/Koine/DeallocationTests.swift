import Dispatch
import Foundation
@testable import Koine
@testable import KoineEmbeddedBackend
import Testing

/// Worlds, sessions and sources are deallocated or stopped once the app has released them, even during an operation.
@Suite struct DeallocationTests {
  /// Weak references to objects that must have been deallocated by the time of the check.
  private struct Remains {
    private var all: [(name: String, isThere: () -> Bool)] = []

    mutating func watch(_ name: String, _ object: AnyObject) {
      weak let object = object
      all.append((name, { object != nil }))
    }

    mutating func watch(_ session: Session) {
      watch("session", session)
      watch("session's core", session.core)
      watch("mixer", session.core.mixer)
    }

    mutating func watch(_ world: World) throws {
      let backend = try #require(world.backend as? EmbeddedBackend)
      watch("world", world)
      watch("machine", world.machine)
      watch("clock", backend.scheduler)
      watch("hub", backend.host)
      watch("backend", backend)
    }

    var names: [String] { all.filter { $0.isThere() }.map(\.name) }
  }

  enum Moment: String, CaseIterable {
    case notJoined, joining, connected, cutOff, back, routerLost, left
  }

  private let queue = DispatchQueue(label: "delivery")

  private func makeWorld(isCoded: Bool = false) -> World {
    World(
      backend: EmbeddedBackend(virtual: 3), delivery: Delivery(queue: queue), stamps: isCoded ? nil : StampedMedia())
  }

  /// Waits for the delivery queue: callbacks that still run may retain objects.
  private func fence() async { await withCheckedContinuation { done in queue.async { done.resume() } } }

  private func join(_ name: String, _ world: World, _ remains: inout Remains) throws -> (Session, Watcher) {
    let session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
    let watcher = Watcher()
    watcher.follow(session)
    let camera = CountingCamera(try Devices.camera("stamp:\(name),160x90@5"))
    try session.publish(camera: camera)
    try session.publish(microphone: SharedMicrophone(Devices.microphone("tone"), in: world).makeSource())
    remains.watch(session)
    remains.watch("watcher", watcher)
    remains.watch("camera", camera)
    return (session, watcher)
  }

  @Test(arguments: Moment.allCases) func worldIsDeallocatedWithItsSessions(_ moment: Moment) async throws {
    func live() async throws -> Remains {
      var remains = Remains()
      let world = makeWorld(isCoded: moment == .connected || moment == .left)
      try remains.watch(world)
      let backend = try #require(world.backend as? EmbeddedBackend)
      let people = try ["ana", "ben"].map { try join($0, world, &remains) }
      let endpoint = Endpoint(identity: "ana", in: world)
      remains.watch("endpoint's core", endpoint.core)
      if moment == .notJoined { return remains }
      endpoint.register { _ in }
      for (session, _) in people { session.join { _ in } }
      if moment == .joining { return remains }
      await world.run(for: .seconds(2))
      #expect(people.allSatisfy { $0.0.state == .connected && $0.1.now.frames > 0 })
      #expect(endpoint.state == .registered)
      switch moment {
      case .notJoined, .joining, .connected: break
      case .cutOff, .back:
        backend.cutNetwork(of: "ana", for: .seconds(25))
        await world.run(for: .seconds(moment == .back ? 35 : 20))
      case .routerLost:
        backend.restartRouter()
        await world.run(for: .seconds(20))
      case .left:
        for (session, _) in people { await world.run { await session.leave() } }
      }
      withExtendedLifetime(people) {}
      return remains
    }
    let remains = try await live()
    await fence()
    #expect(remains.names == [])
  }

  @Test func sourceIsStoppedWhenItsWorldIsReleased() throws {
    let camera = CountingCamera(try Devices.camera("stamp:ana,160x90@5"))
    do {
      let world = makeWorld()
      let session = Session(JoinRequest(room: "tea", name: "ana"), in: world)
      try session.publish(camera: camera)
      session.join { _ in }
      let clock = world.backend.scheduler
      withExtendedLifetime(session) { clock.advance(to: clock.now) }
    }
    #expect(camera.starts == 1)
    #expect(camera.stops == 1)
  }

  /// Long runs: `KOINE_ROUNDS=200`.
  @Test func roomRetainsNothingOfDepartedParticipants() async throws {
    let rounds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) } ?? 2
    let world = makeWorld()
    let backend = try #require(world.backend as? EmbeddedBackend)
    var hosts = Remains()
    let (host, hostWatcher) = try join("ben", world, &hosts)
    host.join { _ in }
    await world.run(for: .seconds(1))
    let alone = backend.host.holdings
    #expect(alone["members"] == 1)
    #expect(alone["peers"] == 1)
    for round in 0..<rounds {
      let remains = try await visit(round, world, backend)
      await world.run(for: .milliseconds(1))  // released objects may have work left
      await fence()
      #expect(remains.names == [], "round \(round)")
    }
    await world.run(for: .seconds(60))
    #expect(backend.host.holdings == alone)
    #expect(host.participants.isEmpty)
    #expect(host.tiles.count == 1)
    #expect(hostWatcher.now.events.count { $0 == "left ana left" } == rounds)
    await world.run { await host.leave() }
    #expect(backend.host.holdings.allSatisfy { $0.value == 0 }, "\(backend.host.holdings)")
  }

  /// Ana joins, loses the network for 25 s, reconnects and leaves.
  private func visit(_ round: Int, _ world: World, _ backend: EmbeddedBackend) async throws -> Remains {
    var remains = Remains()
    let (session, watcher) = try join("ana", world, &remains)
    session.join { _ in }
    await world.run(for: .seconds(1))
    try session.send(DataMessage(topic: "round", payload: Array("\(round)".utf8)))
    backend.cutNetwork(of: "ana", for: .seconds(25))
    await world.run(for: .seconds(34))
    #expect(session.state == .connected)
    #expect(watcher.now.events.contains("state reconnecting"))
    await world.run { await session.leave() }
    await world.run(for: .seconds(1))
    return remains
  }
}
