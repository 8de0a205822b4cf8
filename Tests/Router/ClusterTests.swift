import KoineBase
import KoineLedger
import KoineSignaling
import Testing

@testable import KoineRouter

@Suite struct RouterClusterTests {
  @Test func participantsOfOneRoomMeetAtOneNodeWhereverTheyJoin() throws {
    let world = try ClusterWorld(nodes: "a", "b", "c")
    let people = try ["a", "b", "c"].map { try world.person("p" + $0, in: "tea", at: $0) }
    world.run(.seconds(1))
    #expect(Set(people.map(\.node)).count == 1)
    #expect(people.allSatisfy { $0.joined.count == 1 })
    #expect(people.map(\.moves).filter { $0 > 1 }.isEmpty, "each is sent on once at most")
    #expect(people.reduce(0) { $0 + $1.moves } == 2, "two of three have joined at the wrong node")
  }

  @Test func joinedNamesThePlacesAndTheTimesOfTheNode() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let joined = try #require(ana.joined.first)
    #expect(joined.places.first == ClusterWorld.address(of: try #require(ana.node)))
    #expect(Set(joined.places) == ["ws://a:80", "ws://b:80"])
    #expect((joined.pingSeconds, joined.silenceSeconds) == (2, 6))
    #expect(joined.continues)
  }

  @Test func keptMessageIsAcknowledgedWhenItIsStored() throws {
    let world = try ClusterWorld(nodes: "a")
    world.ledger.delays = .milliseconds(50) ... .milliseconds(50)
    let (ana, ben) = (try world.person("ana", in: "tea", at: "a"), try world.person("ben", in: "tea", at: "a"))
    world.run(.seconds(2))
    world.send("kept", from: ana)
    world.send("passing", from: ana, lifetime: nil)
    world.run(.milliseconds(10))
    #expect(ben.texts == ["kept", "passing"], "delivered at once")
    #expect(ana.receipts.map(\.id) == ["passing"])
    world.run(.milliseconds(150))
    #expect(ana.receipts.map(\.id) == ["passing", "kept"])
    #expect(ana.order(of: "kept") == ben.heard[0].order)
  }

  @Test func receiptWaitsWhileTheLedgerIsAwayAndSaysSoAfterTenSeconds() throws {
    let world = try ClusterWorld(nodes: "a")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    world.ledger.stop(at: world.now)
    world.send("kept", from: ana)
    world.send("passing", from: ana, lifetime: nil)
    world.run(.seconds(9))
    #expect(ana.receipts.map(\.id) == ["passing"])
    world.run(.seconds(2))
    #expect(ana.receipts.last?.failure?.code == .unavailable)
    world.ledger.start()
    world.run(.seconds(5))
    #expect(ana.order(of: "kept") != nil, "the message was on its way")
  }

  @Test(arguments: [false, true]) func participantThatCameBackGetsTheReceiptOfWhatItSendsAgain(
    _ isStoredBefore: Bool
  ) throws {
    let world = try ClusterWorld(nodes: "a")
    let (ana, ben) = (try world.person("ana", in: "tea", at: "a"), try world.person("ben", in: "tea", at: "a"))
    world.run(.seconds(1))
    world.ledger.stop(at: world.now)
    world.send("kept", from: ana)
    world.run(.milliseconds(500))
    world.forget(ana)  // its node has not noticed that the connection is lost
    world.join(ana, at: "a")
    world.run(.milliseconds(500))
    #expect(ana.joined.count == 2)
    if isStoredBefore {
      world.ledger.start()
      world.run(.seconds(3))
      #expect(ana.receipts.isEmpty, "the new connection has not sent it")
    }
    world.send("kept", from: ana)
    world.ledger.start()
    world.run(.seconds(5))
    #expect(ana.receipts.map(\.id) == ["kept"])
    #expect(ana.receipts.map(\.order) == [ben.heard.first?.order])
    #expect(ben.texts == ["kept"])
  }

  @Test func participantsOfAKilledHomeFindTheHistoryAtTheNextOne() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    for number in 1...5 { world.send("m\(number)", from: ana) }
    world.run(.seconds(1))
    let orders = (1...5).compactMap { ana.order(of: "m\($0)") }
    #expect(orders.count == 5)
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    #expect(ana.node == other)
    #expect(ana.joined.count == 2)
    let ben = try world.person("ben", in: "tea", at: other)
    world.run(.seconds(1))
    #expect(ben.texts == (1...5).map { "m\($0)" })
    world.send("after", from: ana)
    world.run(.seconds(1))
    #expect(try #require(ana.order(of: "after")) > (orders.last ?? 0))
    #expect(ben.texts.last == "after")
  }

  @Test func messageThatIsSentAgainToTheNextHomeHasItsNumberAndIsKeptOnce() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    world.send("once", from: ana)
    world.run(.seconds(1))
    let order = try #require(ana.order(of: "once"))
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    world.send("once", from: ana)
    world.run(.seconds(1))
    #expect(ana.receipts.compactMap(\.order) == [order, order])
    let ben = try world.person("ben", in: "tea", at: other)
    world.run(.seconds(1))
    #expect(ben.texts == ["once"])
  }

  @Test func wokenHomeSendsItsParticipantsToTheNewHomeWithoutASecondReceipt() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let (ana, ben) = (try world.person("ana", in: "tea", at: "a"), try world.person("ben", in: "tea", at: "a"))
    world.run(.seconds(1))
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.freeze(home)
    world.run(.seconds(7))
    // Ben's client has noticed the silence, Ana's has not.
    world.forget(ben)
    world.join(ben, at: other, unreachable: home)
    world.run(.seconds(3))
    #expect(ben.node == other)
    world.send("old", from: ana)
    world.thaw(home)
    world.run(.seconds(2))
    #expect(ana.node == other, "the woken home has stepped down")
    #expect(ana.order(of: "old") == nil)
    #expect(world.nodes[home]?.events.contains { if case .deposed = $0 { true } else { false } } == true)
  }

  @Test func drainedNodeHandsItsRoomsOverWithTheirHistory() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let (ana, ben) = (try world.person("ana", in: "tea", at: "a"), try world.person("ben", in: "tea", at: "b"))
    world.run(.seconds(1))
    world.send("kept", from: ana)
    world.run(.seconds(1))
    let home = try #require(ana.node)
    world.nodes[home]?.router.drain(at: world.now)
    world.run(.seconds(3))
    #expect(world.nodes[home]?.events.last == .drained)
    #expect(Set([ana.node, ben.node]) == [home == "a" ? "b" : "a"])
    #expect(ben.joined.last?.history.map(\.id) == ["kept"])
    #expect(world.nodes[home]?.router.isEmpty == true)
  }

  @Test func drainedNodeKeepsTheRoomsForWhichNoOtherNodeHasCapacity() throws {
    let world = try ClusterWorld(nodes: "a")
    let people = try (0..<4).map { try world.person("p\($0)", in: "room\($0)", at: "a") }
    world.run(.seconds(1))
    func run(seconds: Int) {
      for _ in 0..<seconds {
        for node in world.nodes.values { node.router.setLoad(0, at: world.now) }
        world.run(.seconds(1))
      }
    }
    world.change = { $0.limits.rooms = 2 }
    try world.start("b")
    run(seconds: 3)
    world.nodes["a"]?.router.drain(at: world.now)
    run(seconds: 10)
    #expect(people.count { $0.node == "b" } == 2)
    #expect(people.count { $0.node == "a" } == 2)
    world.change = { _ in }
    try world.start("c")
    run(seconds: 5)
    #expect(people.count { $0.node == "c" } == 2)
    #expect(world.nodes["a"]?.events.last == .drained)
    #expect(people.allSatisfy { $0.failures.isEmpty && $0.joined.count == 2 })
  }

  @Test func participantThatMayOpenNoRoomLeavesNone() throws {
    let world = try ClusterWorld()
    world.change = { $0.roomPermit = { _ in nil } }
    try world.start("a")
    world.run(.seconds(2))
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    #expect(ana.failures.map(\.code) == [.roomFull])
    #expect(world.nodes["a"]?.router.isEmpty == true)
    #expect(world.nodes["a"]?.events.last == .closed(room: "tea"))
  }

  @Test func startingNodeGetsNoRoomsUntilItIsReady() throws {
    let world = try ClusterWorld(nodes: "a")
    world.change = { $0.cluster?.record.state = .starting }
    try world.start("b")
    world.run(.seconds(2))
    let early = try (0..<10).map { try world.person("early\($0)", in: "early\($0)", at: "b") }
    world.run(.seconds(2))
    #expect(early.allSatisfy { $0.node == "a" && $0.failures.isEmpty })
    world.nodes["b"]?.router.setReady(at: world.now)
    world.run(.seconds(2))
    let late = try (0..<10).map { try world.person("late\($0)", in: "late\($0)", at: "a") }
    world.run(.seconds(2))
    #expect(late.contains { $0.node == "b" })
  }

  @Test func roomEndsInTheLedgerWithItsLastParticipant() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    world.send("kept", from: ana)
    world.run(.seconds(20))
    world.nodes[try #require(ana.node)]?.router.handle(.leave(reason: nil), from: ana.client, at: world.now)
    world.run(.seconds(1))
    let ben = try world.person("ben", in: "tea", at: "a")
    world.run(.seconds(1))
    #expect(ben.joined.first?.history.isEmpty == true, "another room of the name")
  }

  @Test func emptyRoomOfADeadHomeWaitsForItsParticipants() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let (ana, ben) = (try world.person("ana", in: "tea", at: "a"), try world.person("ben", in: "tea", at: "a"))
    world.run(.seconds(1))
    world.send("kept", from: ana)
    world.run(.seconds(1))
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    world.nodes[other]?.router.handle(.leave(reason: nil), from: ana.client, at: world.now)
    world.run(.seconds(10))
    world.join(ben, at: other)
    world.run(.seconds(1))
    #expect(ben.texts == ["kept"])
  }

  @Test func joinWhileTheLedgerIsAwayIsRefusedAfterEightSeconds() throws {
    let world = try ClusterWorld(nodes: "a")
    world.ledger.stop(at: world.now)
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(7))
    #expect(ana.failures.isEmpty)
    world.run(.seconds(2))
    #expect(ana.failures.map(\.code) == [.unavailable])
  }

  @Test func joinThatWaitsCanBeTakenBack() throws {
    let world = try ClusterWorld(nodes: "a")
    world.ledger.stop(at: world.now)
    let ana = try world.person("ana", in: "tea", at: "a")
    world.nodes["a"]?.router.handle(.leave(reason: nil), from: ana.client, at: world.now)
    world.run(.seconds(1))
    #expect(ana.messages.last == .ended(.left))
    world.ledger.start()
    world.run(.seconds(20))
    #expect(ana.joined.isEmpty)
    #expect(world.nodes["a"]?.router.holdings["joins that wait"] == 0)
  }

  // MARK: Found by a review

  @Test func thousandJoinsThatWaitForOneRoomAreAnswered() throws {
    let world = try ClusterWorld(nodes: "a")
    world.ledger.stop(at: world.now)
    let people = try (0..<1_000).map { try world.person("p\($0)", in: "tea", at: "a") }
    world.run(.seconds(1))
    world.ledger.start()
    world.run(.seconds(3))
    #expect(people.allSatisfy { $0.joined.count == 1 })
  }

  /// The request is lost, so the ledger has no other home for the room.
  @Test func messageThatIsSentWhileTheRoomIsHandedOverIsStoredIfTheRoomStays() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    world.ledger.stop(at: world.now)
    world.nodes[home]?.router.handOver("tea", at: world.now)
    world.send("in between", from: ana)
    world.kill(home == "a" ? "b" : "a")
    world.run(.seconds(12))
    #expect(ana.receipts.map { $0.failure?.code } == [.unavailable])
    world.ledger.start()
    world.run(.seconds(3))
    world.send("after", from: ana)
    world.run(.seconds(1))
    #expect(ana.node == home)
    #expect(ana.receipts.compactMap(\.order) == ana.receipts.compactMap(\.order).sorted())
    #expect(ana.order(of: "in between") != nil && ana.order(of: "after") != nil)
  }

  @Test func roomOfADrainingNodeIsOpenToAllWhileTheLedgerIsAway() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    world.ledger.stop(at: world.now)
    world.run(.milliseconds(500))
    world.nodes[home]?.router.drain(at: world.now)
    world.send("kept", from: ana)
    let ben = try world.person("ben", in: "tea", at: home)
    world.run(.seconds(3))
    #expect(ben.joined.count == 1)
    #expect(ben.texts == ["kept"])
    world.ledger.start()
    world.run(.seconds(8))
    #expect(Set([ana.node, ben.node]) == [home == "a" ? "b" : "a"], "now the room has moved")
    #expect(ana.order(of: "kept") != nil)
    #expect(world.nodes[home]?.events.last == .drained)
  }

  /// All leases end in an outage. The node that comes back first sees only itself in the list.
  @Test(arguments: 1...20) func roomStaysAtItsHomeWhenTheLedgerIsBackAndAnotherNodeHasAJoin(seed: UInt64) throws {
    let world = try ClusterWorld(seed: seed, nodes: "a", "b", "c")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let (home, moves) = (try #require(ana.node), ana.moves)
    let other = home == "a" ? "b" : "a"
    world.ledger.stop(at: world.now)
    world.run(.seconds(10))
    world.ledger.start()
    let late = try (0..<15).map { number in
      defer { world.run(.milliseconds(100)) }
      return try world.person("late\(number)", in: "tea", at: other)
    }
    world.run(.seconds(8))
    #expect(ana.node == home && ana.moves == moves)
    #expect(late.allSatisfy { $0.node == home && $0.failures.isEmpty })
  }

  @Test func joinAtANodeWithoutRoomsWaitsForTheListWhenTheLedgerIsBack() throws {
    let world = try ClusterWorld(nodes: "a")
    world.change = { $0.cluster?.record.publicAddress = nil }
    try world.start("front")
    world.run(.seconds(2))
    world.ledger.stop(at: world.now)
    world.run(.seconds(10))
    let ana = try world.person("ana", in: "tea", at: "front")
    world.run(.seconds(3))
    world.ledger.start()
    world.run(.seconds(5))
    #expect(ana.failures.isEmpty)
    #expect(ana.node == "a")
    world.nodes["a"]?.router.drain(at: world.now)
    world.run(.seconds(3))
    let ben = try world.person("ben", in: "cake", at: "front")
    world.run(.seconds(3))
    #expect(ben.failures == [Failure(.unavailable, "no node takes rooms")])
  }

  /// The node that had sent the room there had an old list.
  @Test func roomThatOpensAtADrainedNodeIsHandedOverAsSoonAsThereIsANode() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    world.nodes["b"]?.router.drain(at: world.now)
    world.run(.milliseconds(1_900))
    world.nodes["a"]?.router.drain(at: world.now)
    let ana = try world.person("ana", in: "tea", at: "b")
    world.run(.seconds(3))
    #expect(ana.node == "a" && ana.joined.count == 1, "by the list that b had")
    world.nodes["b"]?.router.endDraining(at: world.now)
    world.run(.seconds(4))
    #expect(ana.node == "b")
    #expect(world.nodes["a"]?.events.last == .drained)
  }

  @Test func receiptOfAMessageThatIsRepeatedComesOnce() throws {
    let world = try ClusterWorld(nodes: "a")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    world.ledger.stop(at: world.now)
    for _ in 0..<5 { world.send("kept", from: ana) }
    world.run(.seconds(1))
    world.ledger.start()
    world.run(.seconds(5))
    #expect(ana.receipts.count == 1)
  }

  // MARK: Guests

  /// A room with Ana and a guest. Ana has admitted the guest from the lobby.
  private func guestAdmitted() throws -> (world: ClusterWorld, ana: ClusterWorld.Person, guest: ClusterWorld.Person) {
    let world = try ClusterWorld()
    world.change = {
      $0.authorization = Authorization { join in
        var grants = Grants.everything
        grants.mustAsk = join.participantID == "guest"
        return .success(grants)
      }
    }
    for node in ["a", "b"] { try world.start(node) }
    world.run(.seconds(2))
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let guest = try world.person("guest", in: "tea", at: try #require(ana.node))
    world.run(.seconds(1))
    #expect(guest.joined.isEmpty)
    world.admit("guest", by: ana)
    world.run(.seconds(1))
    #expect(guest.joined.count == 1)
    return (world, ana, guest)
  }

  @Test func admittedGuestIsInTheRoomAgainAfterAMoveAndAfterTheHomesDeath() throws {
    let (world, ana, guest) = try guestAdmitted()
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.nodes[home]?.router.handOver("tea", at: world.now)
    world.run(.seconds(2))
    #expect(guest.node == other && guest.joined.count == 2)
    world.run(.seconds(300))
    world.kill(other)
    // The guest comes first.
    world.join(guest, at: home, unreachable: other)
    world.run(.seconds(3))
    world.join(ana, at: home, unreachable: other)
    world.run(.seconds(3))
    #expect(guest.joined.count == 3)
    #expect(ana.joined.count == 3)
    #expect(guest.heard.isEmpty && ana.heard.isEmpty, "an admission is no message")
  }

  @Test func guestThatWasRemovedOrStayedAwayWaitsAgain() throws {
    for isRemoved in [true, false] {
      let (world, ana, guest) = try guestAdmitted()
      let home = try #require(ana.node)
      let other = home == "a" ? "b" : "a"
      if isRemoved {
        world.nodes[home]?.router.handle(.leave(reason: nil), from: guest.client, at: world.now)
        world.run(.seconds(1))
      } else {
        world.forget(guest)
      }
      world.kill(home)
      world.join(ana, at: other, unreachable: home)
      world.run(.seconds(3))
      if !isRemoved { world.run(.seconds(90)) }
      world.join(guest, at: other)
      world.run(.seconds(3))
      #expect(guest.joined.count == 1, "\(isRemoved)")
    }
  }

  /// The ledger keeps the log of a dead home for days.
  @Test func admissionIsForgottenAfterAnHour() throws {
    let (world, ana, guest) = try guestAdmitted()
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.kill(home)
    world.run(.seconds(3_700))
    world.join(ana, at: other)
    world.join(guest, at: other)
    world.run(.seconds(3))
    #expect(ana.joined.count == 2 && guest.joined.count == 1)
  }

  /// The next home would not learn of the removal.
  @Test func guestIsNotRemovedWhileTheRoomIsHandedOver() throws {
    let (world, ana, guest) = try guestAdmitted()
    let home = try #require(ana.node)
    world.ledger.stop(at: world.now)
    world.nodes[home]?.router.handOver("tea", at: world.now)
    world.nodes[home]?.router.handle(.remove(participant: "guest"), from: ana.client, at: world.now)
    world.run(.seconds(1))
    #expect(ana.messages.last == .failed(request: nil, Failure(.unavailable, "the room is on its way")))
    #expect(guest.messages.last != .ended(.removed))
    world.ledger.start()
    world.run(.seconds(8))
    let next = try #require(ana.node)
    world.nodes[next]?.router.handle(.remove(participant: "guest"), from: ana.client, at: world.now)
    world.run(.seconds(1))
    #expect(guest.messages.last == .ended(.removed))
  }

  /// A program that knows the id of the guest, and not the resumption key.
  @Test func guestsPlaceIsNotForOthers() throws {
    let (world, ana, guest) = try guestAdmitted()
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    world.kill(home)
    world.join(ana, at: other, unreachable: home)
    world.run(.seconds(3))
    world.join(guest, at: other, key: "another")
    world.run(.seconds(3))
    #expect(guest.joined.count == 1)
  }

  // MARK: False statements of participants

  @Test func inventedNumbersOpenARoomAgainAFewTimesAtMost() throws {
    let world = try ClusterWorld(nodes: "a")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let liar = try world.person("liar", in: "tea", at: "a")
    world.run(.seconds(1))
    for number in 1...20 {
      world.disconnect(liar)
      world.join(liar, at: "a", seen: (1 << 52) + UInt64(number))
      world.run(.seconds(1))
    }
    #expect(ana.joined.count <= 4, "it was sent away \(ana.joined.count - 1) times")
    // Later, at no time.
    let joins = ana.joined.count
    world.run(.seconds(61))
    for number in 1...5 {
      world.disconnect(liar)
      world.join(liar, at: "a", seen: (1 << 52) + UInt64(100 + number))
      world.run(.seconds(1))
    }
    #expect(ana.joined.count == joins)
    #expect(liar.joined.count > 20, "the liar itself is admitted")
  }

  @Test func homeThatOneParticipantDoesNotReachIsNotAwayForOthers() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    let other = home == "a" ? "b" : "a"
    let liar = try world.person("liar", in: "tea", at: other)
    world.run(.milliseconds(100))
    world.disconnect(liar)
    // It says so again and again, while others come.
    for number in 0..<10 {
      world.join(liar, at: other, unreachable: home)
      world.run(.milliseconds(20))
      let guest = try world.person("guest\(number)", in: "tea", at: other)
      world.run(.milliseconds(100))
      #expect(guest.joined.count == 1, "guest \(number): \(guest.failures)")
      #expect(guest.node == home)
      world.disconnect(liar)
    }
  }

  @Test func refusedJoinOpensNoRoom() throws {
    let world = try ClusterWorld(nodes: "a")
    world.change = { configuration in
      configuration.admission = AdmissionPolicy { _ in .refuse(Failure(.ended, "the meeting has ended")) }
    }
    world.kill("a")
    try world.start("a")
    world.run(.seconds(8))
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    #expect(ana.failures.map(\.code) == [.ended])
    #expect(world.ledger.state.place(of: "tea") == nil)
  }

  @Test func nodeIsTheHomeOfNoMoreRoomsThanItsLimit() throws {
    let world = try ClusterWorld(nodes: "a")
    world.change = { $0.limits.rooms = 2 }
    world.kill("a")
    try world.start("a")
    world.run(.seconds(8))
    let people = try (0..<5).map { try world.person("p\($0)", in: "room\($0)", at: "a") }
    world.run(.seconds(2))
    #expect(people.filter { $0.joined.count == 1 }.count == 2)
    #expect(people.flatMap(\.failures).map(\.code) == [.roomFull, .roomFull, .roomFull])
  }

  @Test func placeOfARoomThatNobodyOpensIsForgottenAfterAMinute() throws {
    let world = try ClusterWorld(nodes: "a", "b", "c")
    // Each node places rooms at others, and the people go away.
    for number in 0..<12 {
      let person = try world.person("p\(number)", in: "room\(number)", at: "a")
      world.run(.milliseconds(3))
      world.disconnect(person)
    }
    world.run(.seconds(5))
    world.run(.seconds(70))
    #expect((0..<12).allSatisfy { world.ledger.state.place(of: "room\($0)") == nil })
  }

  @Test func nodeThatIsDrainedAlreadySaysSoAgain() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    world.nodes["a"]?.router.drain(at: world.now)
    world.run(.seconds(1))
    world.nodes["a"]?.router.drain(at: world.now)
    world.run(.seconds(1))
    #expect(world.nodes["a"]?.events.count { $0 == .drained } == 2)
  }

  @Test func joinAtANodeThatStopsIsSentToAnother() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = try world.person("ana", in: "tea", at: "a")
    world.run(.seconds(1))
    let home = try #require(ana.node)
    world.nodes[home]?.router.abandonRooms(at: world.now)
    let ben = try world.person("ben", in: "tea", at: home)
    world.run(.seconds(3))
    #expect(ana.node == ben.node)
    #expect(ben.node != home)
  }
}

/// Rings between devices at different nodes.
@Suite struct RouterClusterRingTests {
  private typealias State = Ring.State

  private static func states(_ device: ClusterWorld.Device, of id: String = "r") -> [State] {
    device.messages.compactMap {
      if case .ringProgress(let progress) = $0, progress.id == id { progress.state } else { nil }
    }
  }

  private static func rings(_ device: ClusterWorld.Device) -> [String] {
    device.messages.compactMap { if case .incomingRing(let ring) = $0 { ring.id } else { nil } }
  }

  private static func ends(_ device: ClusterWorld.Device) -> [State] {
    device.messages.compactMap { if case .ringEnded(_, let state) = $0 { state } else { nil } }
  }

  /// Ana, at node `a`, has rung Ben's device at node `b` for a second.
  private func ringing() throws -> (world: ClusterWorld, ana: ClusterWorld.Device, ben: ClusterWorld.Device) {
    let world = try ClusterWorld(nodes: "a", "b", "c")
    let (ana, ben) = (world.device("ana", at: "a"), world.device("ben", at: "b"))
    world.run(.seconds(1))
    world.ring("r", to: ["ben"], from: ana)
    world.run(.seconds(1))
    return (world, ana, ben)
  }

  @Test func devicesOfACalleeRingAtAllNodesAndTheFirstAnswerCounts() throws {
    let world = try ClusterWorld(nodes: "a", "b", "c")
    let ana = world.device("ana", at: "a")
    let (ben, bens) = (world.device("ben", at: "b"), world.device("ben", at: "c"))
    world.run(.seconds(1))
    world.ring("r", to: ["ben"], from: ana)
    world.run(.milliseconds(300))
    #expect(Self.rings(ben) == ["r"])
    #expect(Self.rings(bens) == ["r"])
    #expect(Self.states(ana) == [.ringing])
    world.answer("r", .accepted, from: ben)
    world.run(.milliseconds(300))
    #expect(Self.states(ana) == [.ringing, .accepted])
    #expect(Self.ends(ben) == [.accepted])
    #expect(Self.ends(bens) == [.handledElsewhere])
    world.run(.seconds(10))
    #expect(Self.states(ana) == [.ringing, .accepted], "said once")
  }

  @Test func calleeWithoutADeviceAnywhereIsUnreachableAfterASecond() throws {
    let world = try ClusterWorld(nodes: "a", "b")
    let ana = world.device("ana", at: "a")
    world.run(.seconds(1))
    world.ring("r", to: ["ben"], from: ana)
    world.run(.milliseconds(900))
    #expect(Self.states(ana).isEmpty)
    world.run(.milliseconds(200))
    #expect(Self.states(ana) == [.unreachable])
  }

  @Test func deviceThatRegistersDuringTheCallRings() throws {
    let world = try ClusterWorld(nodes: "a", "b", "c")
    let (ana, ben) = (world.device("ana", at: "a"), world.device("ben", at: "b"))
    world.run(.seconds(1))
    world.ring("r", to: ["ben"], from: ana)
    world.run(.seconds(2))
    let late = world.device("ben", at: "c")
    world.run(.seconds(1))
    #expect(Self.rings(late) == ["r"])
    world.answer("r", .declined, from: late)
    world.run(.seconds(1))
    #expect(Self.states(ana) == [.ringing, .declined])
    #expect(Self.ends(ben) == [.handledElsewhere])
  }

  @Test func cancelledCallStopsRingingAlthoughTheLedgerWasAway() throws {
    let (world, ana, ben) = try ringing()
    world.ledger.stop(at: world.now)
    world.cancel("r", from: ana)
    world.run(.seconds(2))
    #expect(Self.ends(ben).isEmpty)
    world.ledger.start()
    world.run(.seconds(3))
    #expect(Self.ends(ben) == [.cancelled])
    #expect(world.nodes["b"]?.router.holdings["devices and calls"] == 2, "one device of one identity")
  }

  @Test func lastDeviceThatIsLostMakesTheCalleeUnreachable() throws {
    let (world, ana, ben) = try ringing()
    world.close(ben)
    world.run(.seconds(1))
    #expect(Self.states(ana) == [.ringing, .unreachable])
  }

  @Test func callOverTheCallersNodeThatDiesIsTakenUpFromAnother() throws {
    let (world, _, ben) = try ringing()
    world.kill("a")
    let again = world.device("ana", at: "c")
    world.run(.milliseconds(100))
    world.ring("r", to: ["ben"], from: again, isRepeated: true)
    world.run(.seconds(1))
    #expect(Self.rings(ben) == ["r"], "it rings already")
    world.answer("r", .accepted, from: ben)
    world.run(.seconds(1))
    #expect(Self.states(again) == [.ringing, .accepted])
  }

  @Test func calleesAnswerIsKeptForACallerThatComesToAnotherNode() throws {
    let (world, _, ben) = try ringing()
    world.kill("a")
    world.answer("r", .accepted, from: ben)
    world.run(.seconds(7))
    let again = world.device("ana", at: "c")
    world.run(.milliseconds(100))
    world.ring("r", to: ["ben"], from: again, isRepeated: true)
    world.run(.seconds(1))
    #expect(Self.rings(ben) == ["r"], "it does not ring again")
    #expect(Self.states(again) == [.accepted])
  }

  @Test func answerReachesTheCallerAlthoughTheLedgerWasAwayForLongerThanFiveSeconds() throws {
    let (world, ana, ben) = try ringing()
    world.ledger.stop(at: world.now)
    world.answer("r", .accepted, from: ben)
    world.run(.seconds(12))
    world.ledger.start()
    world.run(.seconds(5))
    #expect(Self.states(ana) == [.ringing, .accepted])
  }
}
