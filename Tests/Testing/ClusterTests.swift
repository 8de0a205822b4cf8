import KoineTesting
import Testing

/// A test room in a cluster: people at different servers, of which some die.
@Suite struct TestRoomClusterTests {
  private func room(_ seed: UInt64 = 7) async throws -> TestRoom {
    try await TestRoom(clock: .virtual(seed: seed), nodes: 3)
  }

  private func allMeet(_ people: [Person], since time: Tick) -> Bool {
    people.allSatisfy { person in
      people.allSatisfy { $0 === person || person.sees($0.name, newerThan: time) && person.hears($0.name) }
    }
  }

  @Test func peopleWhoComeToDifferentServersMeet() async throws {
    let room = try await room()
    #expect(room.home == nil)
    let people = [try await room.join("Ana"), try await room.join("Bea"), try await room.join("Cleo")]
    await room.until("all see and hear all", within: .seconds(3)) { allMeet(people, since: room.start) }
    #expect(room.home != nil)
  }

  @Test func keptMessagesAndTheCallSurviveTheDeathOfTheHome() async throws {
    let room = try await room()
    let people = [try await room.join("Ana"), try await room.join("Bea"), try await room.join("Cleo")]
    try people[0].send("kept", lifetime: .seconds(600))
    await room.until("it is there") { people[1].texts == ["kept"] && people[2].texts == ["kept"] }
    let home = try #require(room.home)
    room.kill(node: home)
    let killed = room.now
    await room.until("all see and hear all again", within: .seconds(4)) { allMeet(people, since: killed) }
    #expect(room.home != home)
    let dan = try await room.join("Dan")
    await room.until("the history is there") { dan.texts == ["kept"] }
    #expect(people[1].texts == ["kept"], "not a second time")
  }

  @Test func moveToAnotherServerIsNoInterruption() async throws {
    let room = try await room()
    let bea = try await room.join("Bea")
    let credential = try room.credential(.eventListener, for: "Ana")
    let session = Session(
      JoinRequest(room: room.id, credential: credential.token, participantID: "ana", name: "Ana"),
      in: room.world(of: "Ana"))
    let states = Lock<[String]>([])
    let observation = session.observe { event in
      if case .stateChanged(let state) = event { states.withLock { $0.append("\(state)") } }
    }
    session.join { _ in }
    await room.run(for: .seconds(3))
    states.withLock { $0 = [] }
    let home = try #require(room.home)
    room.drain(node: home)
    await room.until("it has another home", within: .seconds(3)) { room.home != nil && room.home != home }
    await room.run(for: .seconds(5))
    #expect(states.withLock { $0 }.isEmpty)
    #expect(bea.others == ["Ana"])
    observation.cancel()
  }

  @Test func frozenServerIsReplacedAndStepsDownWhenItWakes() async throws {
    let room = try await room()
    let people = [try await room.join("Ana"), try await room.join("Bea")]
    let home = try #require(room.home)
    room.freeze(node: home)
    let frozen = room.now
    await room.until("all see and hear all again", within: .seconds(12)) { allMeet(people, since: frozen) }
    let next = try #require(room.home)
    #expect(next != home)
    room.freeze(node: home, false)
    let woken = room.now
    await room.run(for: .seconds(3))
    await room.until("all see and hear all", within: .seconds(1)) { allMeet(people, since: woken) }
    #expect(room.home == next)
  }

  @Test func callGoesOnWithoutTheLedger() async throws {
    let room = try await room()
    let people = [try await room.join("Ana"), try await room.join("Bea")]
    room.cutLedger()
    await room.run(for: .seconds(60))
    let time = room.now
    await room.until("all see and hear all", within: .seconds(2)) { allMeet(people, since: time) }
    try people[0].send("passing")
    await room.until("it is there") { people[1].texts == ["passing"] }
    room.cutLedger(false)
    await room.run(for: .seconds(3))
    let cleo = try await room.join("Cleo")
    await room.until("she is in the same room") { cleo.others == ["Ana", "Bea"] }
  }

  @Test func personWhoIsCutFromTheHomeAloneWaitsOutsideAndReturns() async throws {
    let room = try await room()
    let people = [try await room.join("Ana"), try await room.join("Bea")]
    let home = try #require(room.home)
    room.cut("Bea", from: home)
    await room.run(for: .seconds(12))
    #expect(room.home == home, "a living home stays")
    room.cut("Bea", from: home, false)
    let time = room.now
    await room.until("all see and hear all again", within: .seconds(20)) { allMeet(people, since: time) }
  }
}
