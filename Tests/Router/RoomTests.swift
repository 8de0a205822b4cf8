import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

struct JoiningTests {
  @Test func newParticipantGetsTheRosterAndIsAnnounced() throws {
    let world = try World()
    let ana = try world.makeClient()
    ana.join("room", as: "ana")
    ana.publish(.camera)
    let ben = try world.makeClient()
    ben.join("room", as: "ben")
    guard case .joined(let joined) = ben.messages.first else {
      Issue.record("not joined")
      return
    }
    #expect(joined.participantID == "ben")
    #expect(joined.participants.map(\.id) == ["ana"])
    #expect(joined.participants[0].tracks == [Track(id: Track.ID(participant: "ana", track: "camera"), kind: .camera)])
    #expect(joined.participants[0].joinedOrder < joined.local.joinedOrder)
    #expect(ana.messages.last == .participantJoined(joined.local))
    #expect(world.router.statistics.rooms == 1)
    #expect(world.router.statistics.participants == 2)
  }

  @Test func roomsAreIsolatedFromEachOther() throws {
    let world = try World()
    let ana = try world.joined("ana", room: "one")[0]
    let ben = try world.joined("ben", room: "two")[0]
    ana.forgetMessages()
    ben.publish(.camera)
    ben.send(.data(SendData(DataMessage(topic: "t", payload: [1]), id: "1")))
    ana.subscribe(to: "ben", "camera")
    guard case .subscribed(let answer) = ana.messages.last else {
      Issue.record("no answer")
      return
    }
    #expect(ana.messages.count == 1)
    #expect(answer.missing.count == 1)
  }

  @Test func emptyRoomIsClosed() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.send(.leave(reason: nil))
    #expect(ana.messages.last == .ended(.left))
    #expect(world.router.statistics.rooms == 0)
    world.run(.seconds(60))
    #expect(world.router.deadline == nil)
  }

  @Test func connectionJoinsAgainAfterLeaving() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.send(.leave(reason: nil))
    ana.join("other", as: "ana")
    guard case .joined = ana.messages.last else {
      Issue.record("not joined")
      return
    }
  }

  @Test func newerParticipantReplacesOlderWithTheSameID() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    let newer = try world.makeClient()
    clients[1].forgetMessages()
    newer.join("room", as: "ana")
    #expect(clients[0].messages.last == .ended(.duplicate))
    #expect(clients[1].messages.count == 3)
    #expect(clients[1].messages[0] == .withdrawn(participant: "ana", trackIDs: ["camera"]))
    #expect(clients[1].messages[1] == .participantLeft(id: "ana", reason: .removed))
    guard case .participantJoined(let participant) = clients[1].messages[2] else {
      Issue.record("not announced")
      return
    }
    #expect(participant.tracks.isEmpty)
    world.host.close(clients[0].connection, at: world.now)
    world.run(.seconds(10))
    #expect(world.router.statistics.participants == 2)
  }

  @Test func participantWithoutIDGetsOne() throws {
    let world = try World()
    let client = try world.makeClient()
    client.join("room", as: nil)
    guard case .joined(let joined) = client.messages.last else {
      Issue.record("not joined")
      return
    }
    #expect(!joined.participantID.isEmpty)
  }

  @Test func refusedRequestsCarryTheReason() throws {
    let world = try World { configuration in
      configuration.limits.participants = 1
      configuration.authorization = Authorization { join in
        join.credential == "good"
          ? .success(Grants(name: "Ana B.", publish: [.microphone], canSendData: false))
          : .failure(Failure(.unauthorized, "no"))
      }
    }
    let ana = try world.makeClient()
    ana.join("room", as: "ana")
    #expect(ana.messages.last?.code == .unauthorized)
    ana.join("", as: "ana", credential: "good")
    #expect(ana.messages.last?.code == .malformed)
    ana.send(.attributes([:]))
    #expect(ana.messages.last?.code == .wrongState)
    ana.join("room", as: "ana", credential: "good")
    guard case .joined(let joined) = ana.messages.last else {
      Issue.record("not joined")
      return
    }
    #expect(joined.local.name == "Ana B.")
    ana.join("room", as: "ana", credential: "good")
    #expect(ana.messages.last?.code == .wrongState)
    let ben = try world.makeClient()
    ben.join("room", as: "ben", credential: "good")
    #expect(ben.messages.last?.code == .roomFull)
    ana.publish(.camera)
    #expect(ana.messages.last?.code == .forbidden)
    ana.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "1")))
    #expect(ana.messages.last?.code == .forbidden)
    ana.publish(.microphone)
    #expect(ana.messages.last == .accepted(request: 2))
  }

  @Test func joinOfAnotherVersionIsRefused() throws {
    let world = try World()
    let client = try world.makeClient()
    world.host.receive(UnreadableMessage(.unknownVersion(9)), on: client.connection)
    world.drain()
    #expect(client.messages.last?.code == .unsupportedVersion)
    world.host.receive(
      .join(Join(version: 9, room: "r", name: "", description: client.peer.localDescription)),
      on: client.connection, at: world.now)
    world.drain()
    #expect(client.messages.last?.code == .unsupportedVersion)
  }
}

struct LeavingTests {
  @Test func leaveIsSentToRemoteParticipants() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[1].forgetMessages()
    clients[0].send(.leave(reason: "bye"))
    #expect(
      clients[1].messages == [
        .withdrawn(participant: "ana", trackIDs: ["camera"]), .participantLeft(id: "ana", reason: .left),
      ])
  }

  @Test func participantWithABrokenConnectionIsDroppedAfterTheGracePeriod() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 5)
    world.run(.seconds(1))
    world.host.close(clients[0].connection, at: world.now)
    let before = clients[1].frames("ana", "camera").count
    world.run(.milliseconds(1900))
    #expect(clients[1].frames("ana", "camera").count > before + 50)
    #expect(!clients[1].messages.contains(.participantLeft(id: "ana", reason: .dropped)))
    world.run(.milliseconds(200))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .dropped))
    #expect(world.router.statistics.participants == 1)
  }

  @Test func participantWithALostMediaPathIsDropped() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].isUnplugged = true
    world.run(.seconds(40))
    #expect(clients[0].messages.last == .ended(.lost))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .dropped))
  }

  @Test func participantThatNeverConnectsIsDropped() throws {
    let world = try World()
    let ana = try world.makeClient()
    ana.isUnplugged = true
    ana.join("room", as: "ana")
    world.run(.seconds(16))
    #expect(ana.messages.last == .ended(.lost))
    #expect(world.router.statistics.participants == 0)
  }

  @Test func serverRemovesAParticipantAndClosesTheRoom() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    #expect(world.execute(.remove("ana", room: "room")) == .success(.done))
    #expect(world.execute(.remove("ana", room: "room")).code == .noSuchParticipant)
    world.drain()
    #expect(clients[0].messages.last == .ended(.removed))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .removed))
    world.execute(.close(room: "room"))
    world.drain()
    #expect(clients[1].messages.last == .ended(.roomClosed))
    #expect(world.router.statistics.rooms == 0)
  }

  @Test func repeatedJoinsAndLeavesKeepNoState() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.publish(.camera)
    for round in 0..<50 {
      let guest = try world.makeClient(port: 30_000)  // the same port again and again
      guest.join("room", as: "guest\(round)")
      guest.publish(.microphone)
      guest.subscribe(to: "ana", "camera")
      ana.subscribe(to: "guest\(round)", "microphone")
      world.run(.milliseconds(200))
      #expect(guest.isConnected)
      guest.send(.leave(reason: nil))
      world.host.close(guest.connection, at: world.now)
      world.clients.removeLast()
    }
    #expect(world.router.statistics.participants == 1)
  }
}

struct LifetimeTests {
  @Test func routerIsReleasedWithItsRooms() throws {
    weak var room: Room?
    weak var member: Member?
    do {
      let world = try World()
      let clients = try world.joined("ana", "ben")
      clients[0].publish(.camera)
      clients[1].subscribe(to: "ana", "camera")
      room = clients[0].room
      member = room?.member("ana")
      #expect(room != nil)
      #expect(member != nil)
    }
    #expect(room == nil)
    #expect(member == nil)
  }

  /// Packets received in the router's last turn have not been forwarded yet.
  @Test func routerWithPendingPacketsIsReleased() throws {
    weak var slot: PeerSlot?
    do {
      let world = try World(workers: nil)
      let clients = try world.joined("ana", "ben")
      clients[0].publish(.microphone)
      clients[1].subscribe(to: "ana", "microphone")
      clients[0].sendAudio("microphone", seconds: 0.1)
      world.run(.seconds(1))
      #expect(!clients[1].frames("ana", "microphone").isEmpty)
      slot = clients[1].room?.member("ben")?.slot
      let (sender, out) = (try #require(clients[0].sender("microphone")), Bytes(capacity: 2048))
      clients[0].peer.send(
        EncodedFrame(codec: .opus, data: Bytes([1, 2, 3]), captured: world.now, rtpTimestamp: 48_000), on: sender,
        at: world.now)
      while let transmit = clients[0].peer.poll(into: out.writable, at: world.now) {
        world.router.handle(
          Bytes(out.writable[..<transmit.count]), from: clients[0].address, to: transmit.destination, at: world.now)
      }
    }
    let isGone = slot == nil  // outside `#expect`, which cannot describe a half-deallocated object
    #expect(isGone)
  }

  @Test func participantThatLeftIsReleased() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "microphone")
    clients[0].sendAudio("microphone", seconds: 1)
    world.run(.seconds(1))
    weak let member = clients[0].room?.member("ana")
    #expect(member != nil)
    clients[0].send(.leave(reason: nil))
    world.run(.seconds(1))
    #expect(member == nil)
  }
}

struct ScaleTests {
  @Test func thousandParticipantsGetTheRosterAndUpdates() throws {
    let now = Tick(nanoseconds: 1)
    let router = Router(
      configuration: RouterConfiguration(certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)]),
      random: SeededRandom(seed: 1), now: now)
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "ufrag", password: "password"), fingerprint: Fingerprint(value: "AA"), isLite: false,
      setup: .active)
    var told = 0
    for number in 0..<1000 {
      let client = ClientID(number)
      router.open(client, at: now)
      router.handle(
        .join(Join(room: "r", participantID: "\(number)", name: "", description: description)), from: client, at: now)
      while router.pollMessage() != nil { told += 1 }
    }
    // Each is sent the room, and the others its arrival.
    #expect(told == 1000 + 1000 * 999 / 2)
    router.handle(.attributes(["a": "b"]), from: ClientID(500), at: now)
    told = 0
    while router.pollMessage() != nil { told += 1 }
    #expect(told == 999)
    router.open(ClientID(1000), at: now)
    router.handle(.join(Join(room: "r", name: "", description: description)), from: ClientID(1000), at: now)
    guard case .refused(let failure, _)? = router.pollMessage()?.message else {
      Issue.record("let in")
      return
    }
    #expect(failure.code == .roomFull)
  }
}
