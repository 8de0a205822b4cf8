import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// A call of Ana, Ben and Eva. Ana's network has the fault. Eva publishes no media and only sends messages.
private final class FaultyNetworkCall: Sendable {
  enum Fault: String, CaseIterable { case shortGap, longGap, newAddress, routerRestart }

  struct Person: Sendable {
    let session: Session
    let watcher = Watcher()
    let heard = Lock<[String]>([])
    let states = Lock<[SessionState]>([])
    let sent = Lock(0)

    init(_ name: String, _ world: World, withSound: Bool) throws {
      session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
      watcher.follow(session)
      session.observe { [heard, states] event in
        if case .messageReceived(let message) = event {
          heard.withLock { $0.append("\(message.sender) \(String(decoding: message.payload, as: UTF8.self))") }
        }
        if case .stateChanged(let state) = event { states.withLock { $0.append(state) } }
      }
      if name != "eva" {
        try session.publish(camera: Devices.camera("stamp:\(name),160x90@5"))
        if withSound { try session.publish(microphone: Devices.microphone("tone")) }
      }
      session.join { _ in }
    }

    func say() throws {
      let number = sent.withLock { sent in
        sent += 1
        return sent
      }
      try session.send(DataMessage(topic: "count", payload: Array("\(number)".utf8)))
    }

    /// Messages that the other participants should have received from this one.
    var said: [String] { (0..<sent.withLock { $0 }).map { "\(session.request.name) \($0 + 1)" } }
    func heard(of name: String) -> [String] { heard.withLock { $0.filter { $0.hasPrefix(name + " ") } } }
  }

  let world: World
  let backend: EmbeddedBackend
  let people: [Person]

  init(seed: UInt64, network: String? = nil, withSound: Bool = false) async throws {
    world = try virtualWorld(seed: seed, network: network)
    backend = try #require(world.backend as? EmbeddedBackend)
    people = try ["ana", "ben", "eva"].map { [world] in try Person($0, world, withSound: withSound) }
    let ready = await world.run(
      until: { [people] in people.allSatisfy { $0.session.state == .connected && $0.watcher.now.frames > 0 } },
      limit: .seconds(10))
    #expect(ready)
  }

  func exchangeMessages(for seconds: Int) async throws {
    for _ in 0..<seconds * 4 {
      for person in people { try person.say() }
      await world.run(for: .milliseconds(250))
    }
  }

  func inject(_ trouble: Fault) -> Int {
    switch trouble {
    case .shortGap: backend.cutNetwork(of: "ana", for: .seconds(3))
    case .longGap: backend.cutNetwork(of: "ana", for: .seconds(25))
    case .newAddress: backend.changeAddress(of: "ana")
    case .routerRestart: backend.restartRouter()
    }
    switch trouble {
    case .shortGap: return 6
    case .longGap: return 34
    case .newAddress: return 4
    case .routerRestart: return 32
    }
  }

  /// Checks that all participants are connected, have received every message once and in order, and receive all published
  /// video again.
  func check(_ note: Comment) async throws {
    let before = people.map { $0.watcher.now.stamps.count }
    await world.run(for: .seconds(3))
    for (index, person) in people.enumerated() {
      #expect(person.session.state == .connected, note)
      let (name, seers) = (person.session.request.name, ["ana", "ben"])
      #expect(person.session.participants.map(\.id).sorted() == ["ana", "ben", "eva"].filter { $0 != name }, note)
      let fresh = person.watcher.now.stamps.dropFirst(before[index])
      #expect(Set(fresh.map(\.name)) == Set(seers.filter { $0 != name }), note)
      #expect(fresh.count >= 12, "\(note): \(fresh.count) pictures")
      for other in people where other.session !== person.session {
        #expect(person.heard(of: other.session.request.name) == other.said, note)
      }
      let left = person.watcher.now.events.filter { $0.hasPrefix("left") }
      #expect(left.isEmpty, note)
    }
  }
}

/// Long runs: `KOINE_ROUNDS=100 swift test --filter ReconnectionTests`.
private let rounds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) } ?? 1

@Suite(.serialized) struct ReconnectionTests {
  @Test(arguments: FaultyNetworkCall.Fault.allCases)
  private func allParticipantsReconnectWithoutMessageLoss(after trouble: FaultyNetworkCall.Fault) async throws {
    for round in 0..<rounds {
      let network = round % 2 == 0 ? nil : "loss=2%,delay=20ms,jitter=10ms"
      let call = try await FaultyNetworkCall(
        seed: UInt64(round) + 1, network: network, withSound: round % 4 == 0 && rounds > 1)
      await call.world.run(for: .milliseconds(137 * (round % 29)))
      try await call.exchangeMessages(for: 1)
      let seconds = call.inject(trouble)
      try await call.exchangeMessages(for: seconds)
      try await call.check("\(trouble) \(round)")
    }
  }

  @Test func sessionReportsReconnecting() async throws {
    let call = try await FaultyNetworkCall(seed: 5)
    call.backend.cutNetwork(of: "ana", for: .seconds(25))
    await call.world.run(for: .seconds(34))
    #expect(call.people[0].states.withLock { $0.suffix(3) } == [.connected, .reconnecting, .connected])
    #expect(call.people[1].states.withLock { $0.last } == .connected)
    #expect(call.people[1].watcher.now.events.filter { $0.hasPrefix("removed") }.isEmpty)
  }

  @Test func commandsDuringReconnectionRunAfterwards() async throws {
    let call = try await FaultyNetworkCall(seed: 6)
    let (ana, ben) = (call.people[0], call.people[1])
    call.backend.cutNetwork(of: "ana", for: .seconds(25))
    await call.world.run(for: .seconds(20))
    #expect(ana.session.state == .reconnecting)
    let shared = try ana.session.publish(camera: Devices.camera("stamp:share,160x90@5"), as: .screen)
    ana.session.setAttributes(["hand": "up"])
    ben.session.setAttributes(["hand": "down"])
    await call.world.run(for: .seconds(15))
    #expect(ben.session.participants.first { $0.id == "ana" }?.attributes == ["hand": "up"])
    #expect(ana.session.participants.first { $0.id == "ben" }?.attributes == ["hand": "down"])
    #expect(ben.watcher.now.stamps.contains { $0.name == "share" })
    shared.unpublish()
    await call.world.run(for: .seconds(1))
    #expect(ben.watcher.now.events.last { $0.hasPrefix("removed") } == "removed ana screen")
  }

  @Test func participantIsReportedDroppedAfterGracePeriodAndRejoins() async throws {
    let call = try await FaultyNetworkCall(seed: 7)
    let (ana, ben) = (call.people[0], call.people[1])
    call.backend.cutNetwork(of: "ana", for: .seconds(52))
    await call.world.run(for: .seconds(40))
    #expect(!ben.watcher.now.events.contains { $0.hasPrefix("left") }, "the grace is not over")
    await call.world.run(for: .seconds(10))
    #expect(ben.watcher.now.events.contains("left ana dropped"))
    await call.world.run(for: .seconds(25))
    #expect(ana.session.state == .connected)
    #expect(ben.session.participants.map(\.id).sorted() == ["ana", "eva"])
    #expect(ana.watcher.now.events.filter { $0.hasPrefix("left") }.isEmpty, "the others have been there all the time")
    let before = ben.watcher.now.frames
    await call.world.run(for: .seconds(2))
    #expect(ben.watcher.now.frames >= before + 8)
  }

  @Test func sessionThatCannotReconnectEndsAsLost() async throws {
    let call = try await FaultyNetworkCall(seed: 8)
    call.backend.cutNetwork(of: "ana", for: .seconds(600))
    await call.world.run(for: .seconds(90))
    #expect(call.people[0].session.state == .ended(.lost))
    #expect(call.people[1].session.participants.map(\.id) == ["eva"])
  }

  @Test func restartedRouterReportsParticipantsThatDoNotRejoin() async throws {
    let call = try await FaultyNetworkCall(seed: 9)
    call.backend.cutNetwork(of: "ben", for: .seconds(600))
    call.backend.restartRouter()
    await call.world.run(for: .seconds(40))
    let ana = call.people[0]
    #expect(ana.session.state == .connected)
    #expect(ana.session.participants.map(\.id).sorted() == ["ben", "eva"])
    await call.world.run(for: .seconds(35))
    #expect(ana.session.participants.map(\.id) == ["eva"])
    #expect(ana.watcher.now.events.contains("left ben dropped"))
  }

  @Test(arguments: ["gap", "restart"]) func ringingInvitationSurvivesGapAndRestart(_ trouble: String) async throws {
    let world = try virtualWorld()
    let backend = try #require(world.backend as? EmbeddedBackend)
    let (ana, ben) = (Endpoint(identity: "ana", in: world), Endpoint(identity: "ben", in: world))
    let heard = Lock<[String]>([])
    ana.observe { event in
      if case .answered(_, let callee, let answer) = event { heard.withLock { $0.append("ana: \(callee) \(answer)") } }
    }
    ben.observe { event in
      if case .invited = event { heard.withLock { $0.append("ben: rung") } }
      if case .answered(_, _, let answer) = event { heard.withLock { $0.append("ben: \(answer)") } }
    }
    for endpoint in [ana, ben] { endpoint.register { _ in } }
    await world.run(for: .seconds(1))
    let invitation = ana.invite(["ben"], patience: .seconds(85))
    await world.run(for: .seconds(1))
    if trouble == "gap" { backend.cutNetwork(of: "ben", for: .seconds(20)) } else { backend.restartRouter() }
    await world.run(for: .seconds(3))
    ben.reply(.accept, to: invitation.id)
    await world.run(for: .seconds(40))
    #expect(ana.state == .registered)
    #expect(ben.state == .registered)
    let words = heard.withLock { $0 }
    #expect(words.filter { $0 == "ben: rung" }.count == 1)
    #expect(words.contains("ben: accepted") && words.contains("ana: ben accepted"), "\(words)")
  }
}
