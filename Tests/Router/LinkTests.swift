import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

/// Several names of one room.
@Suite struct LinkTests {
  private func table(_ links: [String]...) -> RoomTable {
    var table = RoomTable()
    for names in links { #expect(table.link(names, waiting: []) == nil) }
    return table
  }

  @Test func namesLeadToTheRoomOfTheFirst() {
    let table = table(["tea", "stage", "meeting"])
    #expect(["tea", "stage", "meeting", "other"].map(table.name(of:)) == ["tea", "tea", "tea", "other"])
  }

  @Test func linkOfLinkedNamesLeadsToOneRoom() {
    let table = table(["b", "c"], ["a", "b"], ["d", "c"])
    #expect(Set(["a", "b", "c", "d"].map(table.name(of:))).count == 1)
  }

  @Test func unlinkedNameLeadsToItsOwnRoomAndATargetIsUnlinkedWithAllNames() {
    var table = table(["b", "c"], ["a", "b"], ["d", "e"])
    #expect(table.unlink(["b"], waiting: []) == nil)
    #expect(["a", "b", "c", "e"].map(table.name(of:)) == ["a", "b", "a", "d"])
    #expect(table.unlink(["a", "e", "other"], waiting: []) == nil)
    #expect(["a", "b", "c", "d", "e"].map(table.name(of:)) == ["a", "b", "c", "d", "e"])
    #expect(table.linkCount == 0)
  }

  @Test func linksOfManyNamesToOneRoomCostWhatTheyMove() {
    var links = RoomLinks()
    let start = ContinuousClock.now
    for number in 0..<RoomLinks.limit { links.link(["tea", "room\(number)"]) }
    // 0.7 s in a debug build; a look at all names for each link would take minutes.
    #expect(ContinuousClock.now - start < .seconds(20))
    #expect(links.count == RoomLinks.limit && links.target(of: "room7") == "tea")
    links.link(["cake", "room7"])
    #expect(links.target(of: "room9") == "cake" && links.target(of: "tea") == "cake")
  }

  private func execute(_ command: RoomCommand, in world: World) -> Result<RoomAnswer, RoomControlError> {
    world.router.execute(RoomRequest(command, by: .init(.test, "test")), at: world.now)
  }

  @Test func namesAreUnlinkedWhenParticipantsThatCameByThemHaveLeft() throws {
    let world = try World()
    #expect(execute(.link(["tea", "stage", "meeting"]), in: world) == .success(.done))
    func enter(_ room: String, _ id: String) throws -> Client {
      let client = try world.makeClient()
      client.join(room, as: id, credential: "")
      world.run(.milliseconds(300))
      try #require(client.isConnected)
      return client
    }
    let ana = try enter("tea", "ana")
    let ben = try enter("stage", "ben")
    for names in [["stage"], ["tea"], ["meeting", "stage"]] {
      #expect(throws: RoomControlError.self, "\(names)") { try execute(.unlink(names), in: world).get() }
    }
    #expect(world.router.rooms.linkCount == 2, "nothing has changed")
    #expect(execute(.unlink(["meeting"]), in: world) == .success(.done), "by which nobody has come")
    ben.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(execute(.unlink(["stage"]), in: world) == .success(.done))
    // Ana stays, and the next participant of the stage has a room of its own.
    let cal = try enter("stage", "cal")
    #expect(world.router.rooms.sorted.map { $0.members.map(\.id) } == [["cal"], ["ana"]])
    #expect(ana.isConnected && cal.isConnected)
  }

  @Test func nameIsNotUnlinkedWhileAParticipantWaitsToEnterByIt() throws {
    let world = try World {
      $0.authorization = Authorization { join in
        var grants = Grants.everything
        grants.mustAsk = join.credential == "guest"
        return .success(grants)
      }
    }
    #expect(execute(.link(["tea", "stage"]), in: world) == .success(.done))
    let guest = try world.makeClient()
    guest.join("stage", as: "gil", credential: "guest")
    world.run(.milliseconds(300))
    #expect(throws: RoomControlError.self) { try execute(.unlink(["stage"]), in: world).get() }
    guest.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(execute(.unlink(["stage"]), in: world) == .success(.done))
  }

  @Test func reportsOfTheRecorderGoToNoNameThatHasBeenUnlinked() throws {
    let events = Lock<[RoomEvent]>([])
    let recorder = RecordingOrder.Kind.file.rawValue
    let world = try World {
      $0.attendant = RoomService(names: [recorder]) { _ in }
      $0.roomEvent = { event in events.withLock { $0.append(event) } }
    }
    #expect(execute(.link(["tea", "stage"]), in: world) == .success(.done))
    let ana = try enter("tea", "ana", "", in: world)
    let ben = try enter("stage", "ben", "", in: world)
    func say(_ text: String, stands: Bool) -> [String] {
      events.withLock { $0 = [] }
      world.router.send(
        RoomService.Answer(Array(text.utf8), as: recorder, to: nil, stands: stands, in: "tea"), at: world.now)
      return events.withLock { events in
        events.filter { if case .recorder = $0.change { true } else { false } }.map(\.room)
      }
    }
    #expect(say("started a.webm", stands: true) == ["stage", "tea"])
    ben.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(execute(.unlink(["stage"]), in: world) == .success(.done))
    #expect(say("started b.webm", stands: true) == ["tea"], "while the room is open")
    ana.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(world.router.rooms.isEmpty)
    #expect(say("stopped", stands: false) == ["tea"], "after its end")
  }

  @Test func roomThatAParticipantWaitsToEnterIsNotLinked() throws {
    let world = try World { $0.authorization = Self.accounts }
    let gil = try enter("stage", "gil", "?", in: world)
    #expect(gil.messages.last == .waiting)
    #expect(throws: RoomControlError.self) { try execute(.link(["tea", "stage"]), in: world).get() }
    #expect(execute(.link(["stage", "tea"]), in: world) == .success(.done), "the others come to the room")
    let ana = try enter("tea", "ana", "1", in: world)
    #expect(knocks(of: ana) == ["gil"])
  }

  @Test func linksAreLimitedByTheNamesThatTheyMove() throws {
    let world = try World()
    var count = 0
    while count < RoomLinks.limit - 1 {
      let new = min(99, RoomLinks.limit - 1 - count)
      try #require(execute(.link(["tea"] + (count..<count + new).map { "r\($0)" }), in: world) == .success(.done))
      count += new
    }
    #expect(execute(.link(["tea", "last"]), in: world) == .success(.done))
    #expect(world.router.rooms.linkCount == RoomLinks.limit)
    #expect(execute(.link(["tea", "r1", "last"]), in: world) == .success(.done), "which are linked already")
    #expect(throws: RoomControlError.self) { try execute(.link(["tea", "another"]), in: world).get() }
  }

  /// Of two back ends, each of which means a room of its own by “standup”.
  private static let authorization = Authorization { join in
    var grants = Grants.everything
    if join.room == "standup", let issuer = join.credential { grants.room = "room-\(issuer)" }
    grants.issuer = join.credential
    return .success(grants)
  }

  @Test func nameThatTwoCredentialsMeanDifferentlyLeadsToTwoRoomsThatMayBeLinked() throws {
    let events = Lock<[RoomEvent]>([])
    let world = try World {
      $0.authorization = Self.authorization
      $0.roomEvent = { event in events.withLock { $0.append(event) } }
    }
    #expect(
      world.router.execute(RoomRequest(.link(["tea", "room-2"]), by: .init(.test, "test")), at: world.now)
        == .success(.done))
    for (id, issuer) in [("ana", "1"), ("ben", "2"), ("cal", "")] {
      let client = try world.makeClient()
      client.join("standup", as: id, credential: issuer)
      world.run(.milliseconds(300))
      try #require(client.isConnected)
    }
    let entered = events.withLock { $0.filter { if case .joined = $0.change { true } else { false } } }
    #expect(entered.map(\.room) == ["room-1", "room-2", "room-"])
    #expect(entered.map(\.issuer) == ["1", "2", ""])
    #expect(world.router.rooms.sorted.map(\.name) == ["room-", "room-1", "tea"])
  }

  @Test func policyLearnsWhoseParticipantsHaveComeByTheSameName() throws {
    let seen = Lock<[Set<String>?]>([])
    let world = try World {
      $0.authorization = Self.authorization
      $0.admission = AdmissionPolicy(decide: { question in
        seen.withLock { $0.append(question.room?.issuers) }
        return .admit(question.grants)
      })
    }
    for (id, room, issuer) in [("ana", "tea", "1"), ("ben", "tea", "2"), ("cal", "standup", "1")] {
      try world.makeClient().join(room, as: id, credential: issuer)
      world.run(.milliseconds(300))
    }
    #expect(seen.withLock { $0 } == [nil, ["1"], nil])
  }

  /// Credentials are an issuer, and `?` for a participant that has to wait. “” is a credential of the server's own.
  private static let accounts = Authorization { join in
    var grants = Grants.everything
    let credential = join.credential ?? ""
    grants.mustAsk = credential.hasSuffix("?")
    let issuer = credential.filter { $0 != "?" }
    grants.issuer = issuer.isEmpty ? nil : issuer
    return .success(grants)
  }

  private func enter(_ room: String, _ id: String, _ credential: String, in world: World) throws -> Client {
    let client = try world.makeClient()
    client.join(room, as: id, credential: credential)
    world.run(.milliseconds(300))
    return client
  }

  private func knocks(of client: Client) -> [String] {
    client.messages.compactMap { message in
      switch message {
      case .knock(let participant, _): participant.id
      case .knockEnded(let id, _, _): "-" + id
      default: nil
      }
    }
  }

  @Test func knocksAreShownOnlyToModeratorsOfTheSameAccount() throws {
    let world = try World {
      $0.authorization = Self.accounts
      $0.limits.lobby = 3
    }
    let gil = try enter("tea", "gil", "?", in: world)
    let eve = try enter("tea", "eve", "2?", in: world)
    let zoe = try enter("tea", "zoe", "2?", in: world)
    #expect(eve.messages.last == .waiting && zoe.messages.last == .waiting)
    let ana = try enter("tea", "ana", "1", in: world)
    // The same id as a participant of the other account, whose knocks do not fill the lobby either.
    let ben = try enter("tea", "eve", "1?", in: world)
    #expect(ben.messages.last == .waiting && gil.messages.last == .waiting && eve.messages.last == .waiting)
    #expect(knocks(of: ana) == ["gil", "eve"])
    ana.send(.answerKnock(participant: "zoe", admitted: true, number: nil))
    world.run(.milliseconds(100))
    #expect(ana.messages.last?.code == .unknownParticipant)
    zoe.send(.leave(reason: nil))
    ana.send(.answerKnock(participant: "eve", admitted: false, number: nil))
    world.run(.milliseconds(300))
    #expect(ben.messages.last?.code == .denied && eve.messages.last == .waiting, "the other “eve” waits")
    #expect(knocks(of: ana) == ["gil", "eve", "-eve"])
    // A moderator of no account may admit everyone.
    let server = try enter("tea", "mod", "", in: world)
    #expect(Set(knocks(of: server)) == ["eve", "gil"])
  }

  @Test func backEndRemovesWaitingParticipantsOfItsOwnAccountOnly() throws {
    let world = try World { $0.authorization = Self.accounts }
    let eve = try enter("tea", "eve", "2?", in: world)
    func remove(by key: String) -> Result<RoomAnswer, RoomControlError> {
      world.router.execute(RoomRequest(.remove("eve", room: "tea"), by: CommandOrigin(.vendorAPI, key)), at: world.now)
    }
    #expect(throws: RoomControlError.self) { try remove(by: "1").get() }
    #expect(eve.messages.last == .waiting)
    #expect(remove(by: "2") == .success(.done))
  }

  @Test(arguments: [false, true])
  func backEndEndsTheWaitingOfItsOwnAccountOnly(isLinked: Bool) throws {
    let world = try World { $0.authorization = Self.accounts }
    if isLinked {
      #expect(execute(.link(["stage", "tea"]), in: world) == .success(.done))
      _ = try enter("stage", "mod", "3", in: world)
    }
    let own = try enter("tea", "gil", "1?", in: world)
    let other = try enter("tea", "eve", "2?", in: world)
    let without = try enter("tea", "zoe", "?", in: world)
    func close(by key: String) -> Result<RoomAnswer, RoomControlError> {
      defer { world.run(.milliseconds(100)) }
      return world.router.execute(RoomRequest(.close(room: "tea"), by: CommandOrigin(.vendorAPI, key)), at: world.now)
    }
    #expect(close(by: "1") == .success(.done))
    #expect(own.messages.last == .ended(.roomClosedByService))
    #expect(without.messages.last == .ended(.roomClosedByService))
    #expect(other.messages.last == .waiting)
    if !isLinked { #expect(throws: RoomControlError.self) { try close(by: "1").get() } }
    #expect(close(by: "2") == .success(.done))
    #expect(other.messages.last == .ended(.roomClosedByService))
  }

  @Test func renewalThatChangesTheAccountChangesTheKnocksThatAreShown() throws {
    let world = try World { $0.authorization = Self.accounts }
    _ = try enter("tea", "eve", "2?", in: world)
    _ = try enter("tea", "ben", "1?", in: world)
    let ana = try enter("tea", "ana", "", in: world)
    #expect(knocks(of: ana) == ["eve", "ben"])
    ana.send(.renew(credential: "1"))
    world.run(.milliseconds(100))
    #expect(knocks(of: ana) == ["eve", "ben", "-eve"])
    ana.send(.renew(credential: ""))
    world.run(.milliseconds(100))
    #expect(knocks(of: ana) == ["eve", "ben", "-eve", "eve"])
  }

  @Test func moderatorsOfLinkedNamesSeeTheKnocksOfAll() throws {
    let world = try World { $0.authorization = Self.accounts }
    #expect(execute(.link(["tea", "stage"]), in: world) == .success(.done))
    let ana = try enter("tea", "ana", "1", in: world)
    _ = try enter("stage", "eve", "2?", in: world)
    #expect(knocks(of: ana) == ["eve"])
  }

  @Test func renewalWithACredentialForAnotherRoomOrOfAnotherIssuerIsRefused() throws {
    let world = try World {
      $0.authorization = Authorization { join in
        var grants = Grants.everything
        grants.issuer = join.credential == "2" ? "2" : "1"
        if join.credential == "elsewhere" { grants.room = "another" }
        return .success(grants)
      }
    }
    let ana = try world.makeClient()
    ana.join("tea", as: "ana", credential: "1")
    world.run(.milliseconds(300))
    try #require(ana.isConnected)
    func refusals() -> Int { ana.messages.count { $0.code == .forbidden } }
    ana.send(.renew(credential: "1"))
    #expect(refusals() == 0, "of the same issuer, for this room")
    ana.send(.renew(credential: "2"))
    #expect(refusals() == 1, "of another issuer")
    ana.send(.renew(credential: "1"))
    #expect(refusals() == 1)
    ana.send(.renew(credential: "elsewhere"))
    #expect(refusals() == 2, "for another room")
  }
}
