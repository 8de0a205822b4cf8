import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

/// Several names of one room.
@Suite struct LinkTests {
  private func table(_ links: [String]...) -> RoomTable {
    var table = RoomTable()
    for names in links { #expect(table.link(names) == nil) }
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
