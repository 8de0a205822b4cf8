import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

extension ServerMessage {
  /// Of a refusal or a failure.
  fileprivate var code: Failure.Code? {
    switch self {
    case .refused(let failure), .failed(_, let failure): failure.code
    case .dataReceipt(let receipt): receipt.failure?.code
    default: nil
    }
  }
}

struct JoiningTests {
  @Test func aJoinerSeesTheRoomAndTheRoomSeesTheJoiner() throws {
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
    #expect(joined.participants[0].tracks == [Track(id: "camera", kind: .camera)])
    #expect(joined.participants[0].joinedOrder < joined.local.joinedOrder)
    #expect(ana.messages.last == .participantJoined(joined.local))
    #expect(world.router.statistics.rooms == 1)
    #expect(world.router.statistics.participants == 2)
  }

  @Test func roomsDoNotHearEachOther() throws {
    let world = try World()
    let ana = try world.joined("ana", room: "one")[0]
    let ben = try world.joined("ben", room: "two")[0]
    ana.forgetMessages()
    ben.publish(.camera)
    ben.tell(.data(DataMessage(topic: "t", payload: [1], id: "1")))
    ana.subscribe(to: "ben", "camera")
    guard case .subscribed(let answer) = ana.messages.last else {
      Issue.record("no answer")
      return
    }
    #expect(ana.messages.count == 1)
    #expect(answer.missing.count == 1)
  }

  @Test func anEmptyRoomIsDropped() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.tell(.leave(reason: nil))
    #expect(ana.messages.last == .ended(.left))
    #expect(world.router.statistics.rooms == 0)
    world.run(.seconds(60))
    #expect(world.router.deadline == nil)
  }

  @Test func theConnectionCanJoinAgainAfterLeaving() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.tell(.leave(reason: nil))
    ana.join("other", as: "ana")
    guard case .joined = ana.messages.last else {
      Issue.record("not joined")
      return
    }
  }

  @Test func theNewerOfEqualNamesStays() throws {
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
    world.router.close(clients[0].connection, at: world.now)
    world.run(.seconds(10))
    #expect(world.router.statistics.participants == 2)
  }

  @Test func aNamelessJoinerGetsAName() throws {
    let world = try World()
    let client = try world.makeClient()
    client.join("room", as: nil)
    guard case .joined(let joined) = client.messages.last else {
      Issue.record("not joined")
      return
    }
    #expect(!joined.participantID.isEmpty)
  }

  @Test func refusalsSayWhy() throws {
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
    ana.tell(.attributes([:]))
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
    ana.tell(.data(DataMessage(topic: "t", payload: [], id: "1")))
    #expect(ana.messages.last?.code == .forbidden)
    ana.publish(.microphone)
    #expect(ana.messages.last == .accepted(request: 2))
  }

  @Test func anotherVersionIsRefused() throws {
    let world = try World()
    let client = try world.makeClient()
    world.router.refuse(.unknownVersion(9), on: client.connection)
    world.drain()
    #expect(client.messages.last?.code == .unsupportedVersion)
    world.router.handle(
      .join(Join(version: 9, room: "r", name: "", description: Description(client.peer.localDescription))),
      on: client.connection, at: world.now)
    world.drain()
    #expect(client.messages.last?.code == .unsupportedVersion)
  }
}

struct LeavingTests {
  @Test func leavingIsTold() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[1].forgetMessages()
    clients[0].tell(.leave(reason: "bye"))
    #expect(
      clients[1].messages == [
        .withdrawn(participant: "ana", trackIDs: ["camera"]), .participantLeft(id: "ana", reason: .left),
      ])
  }

  @Test func aBrokenConnectionIsADropAfterAGrace() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendPictures("camera", seconds: 5)
    world.run(.seconds(1))
    world.router.close(clients[0].connection, at: world.now)
    let before = clients[1].frames("ana", "camera").count
    world.run(.milliseconds(1900))
    #expect(clients[1].frames("ana", "camera").count > before + 50)
    #expect(!clients[1].messages.contains(.participantLeft(id: "ana", reason: .dropped)))
    world.run(.milliseconds(200))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .dropped))
    #expect(world.router.statistics.participants == 1)
  }

  @Test func alostMediaPathIsADrop() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].isUnplugged = true
    world.run(.seconds(40))
    #expect(clients[0].messages.last == .ended(.dropped))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .dropped))
  }

  @Test func whoNeverConnectsIsDropped() throws {
    let world = try World()
    let ana = try world.makeClient()
    ana.isUnplugged = true
    ana.join("room", as: "ana")
    world.run(.seconds(16))
    #expect(ana.messages.last == .ended(.dropped))
    #expect(world.router.statistics.participants == 0)
  }

  @Test func aParticipantCanBePutOut() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    #expect(world.router.remove(participant: "ana", from: "room", at: world.now))
    #expect(!world.router.remove(participant: "ana", from: "room", at: world.now))
    world.drain()
    #expect(clients[0].messages.last == .ended(.removed))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .removed))
    world.router.close(room: "room", at: world.now)
    world.drain()
    #expect(clients[1].messages.last == .ended(.closed))
    #expect(world.router.statistics.rooms == 0)
  }

  @Test func roundsOfJoiningAndLeavingKeepNothing() throws {
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
      guest.tell(.leave(reason: nil))
      world.router.close(guest.connection, at: world.now)
      world.clients.removeLast()
    }
    #expect(world.router.statistics.participants == 1)
  }
}

struct PublishingTests {
  enum Fault: CaseIterable {
    case unknownCodec, codecOfTheOtherKind, noEncodings, sourceOfZero, oneSourceTwice, payloadTypeLikeRTCP,
      payloadTypeBeyondSevenBits, onePayloadTypeTwice

    func spoil(_ media: inout Media) {
      switch self {
      case .unknownCodec: media.codec = "H264"
      case .codecOfTheOtherKind: media.codec = "opus"
      case .noEncodings: media.encodings = []
      case .sourceOfZero: media.encodings[0].ssrc = 0
      case .oneSourceTwice: media.encodings[0].rtxSSRC = media.encodings[0].ssrc
      case .payloadTypeLikeRTCP: media.payloadType = 72
      case .payloadTypeBeyondSevenBits: media.rtxPayloadType = 200
      case .onePayloadTypeTwice: media.rtxPayloadType = media.payloadType
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func badMediaIsRefused(_ fault: Fault) throws {
    let world = try World()
    let client = try world.joined("ana")[0]
    var media = client.makeMedia(.camera)
    fault.spoil(&media)
    let track = Track(id: "camera", kind: .camera, media: media)
    world.router.handle(.publish(Publish(request: 5, tracks: [track])), on: client.connection, at: world.now)
    world.drain()
    #expect(client.messages.last?.code == .badMedia)
  }

  @Test func allTracksOfARequestOrNone() throws {
    let world = try World()
    let client = try world.joined("ana")[0]
    let good = Track(id: "a", kind: .camera, media: client.makeMedia(.camera))
    var second = Track(id: "b", kind: .microphone, media: client.makeMedia(.microphone))
    client.tell(.publish(Publish(request: 1, tracks: [good, second])))  // one mid twice
    #expect(client.messages.last?.code == .badMedia)
    second.media?.mid = "other"
    client.tell(.publish(Publish(request: 2, tracks: [good, second])))
    #expect(client.messages.last == .accepted(request: 2))
    client.tell(.publish(Publish(request: 3, tracks: [good])))
    #expect(client.messages.last?.code == .duplicateTrack)
  }

  @Test func tracksAreLimited() throws {
    let world = try World { $0.limits.tracks = 2 }
    let client = try world.joined("ana")[0]
    for id in ["a", "b", "c"] { client.publish(.camera, id: id) }
    #expect(client.messages.last?.code == .tooMany)
  }

  @Test func subscriptionsAreLimitedAndRepeatable() throws {
    let world = try World { $0.limits.subscriptions = 2 }
    let clients = try world.joined("ana", "ben")
    for id in ["a", "b", "c"] { clients[0].publish(.camera, id: id) }
    clients[1].subscribe(to: "ana", "a")
    let first = clients[1].messages.last
    clients[1].subscribe(to: "ana", "a")
    guard case .subscribed(let one) = first, case .subscribed(let two) = clients[1].messages.last else {
      Issue.record("no answers")
      return
    }
    #expect(one.tracks == two.tracks)
    clients[1].subscribe(to: "ana", "b", "c")
    #expect(clients[1].messages.last?.code == .tooMany)
  }
}

struct DataTests {
  private func data(_ client: Client) -> [ReceivedData] {
    client.messages.compactMap { if case .data(let data) = $0 { data } else { nil } }
  }

  @Test func messagesReachTheOthersInOrder() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    for number in 0..<20 {
      clients[number % 2].tell(.data(DataMessage(topic: "chat", payload: [UInt8(number)], id: "\(number)")))
    }
    #expect(data(clients[2]).map(\.payload) == (0..<20).map { [UInt8($0)] })
    #expect(data(clients[2]).map(\.order) == Array(1...20))
    #expect(data(clients[0]).map(\.payload) == stride(from: 1, to: 20, by: 2).map { [UInt8($0)] })
    #expect(clients[0].messages.contains(.dataReceipt(DataReceipt(id: "0", order: 1))))
  }

  @Test func directedMessagesReachOnlyTheirAddressees() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    clients[0].tell(.data(DataMessage(topic: "t", payload: [1], to: ["cyd", "nobody"], lifetimeSeconds: 10, id: "1")))
    #expect(data(clients[1]).isEmpty)
    #expect(data(clients[2]).map(\.isDirected) == [true])
    clients[0].tell(.data(DataMessage(topic: "t", payload: [1], to: ["nobody"], id: "2")))
    #expect(clients[0].messages.last?.code == .unknownParticipant)
    clients[0].tell(.data(DataMessage(topic: "t", payload: [2], id: "3", echo: true)))
    #expect(data(clients[0]).map(\.id) == ["3"])
    let dan = try world.joined("dan")[0]
    guard case .joined(let joined) = dan.messages.first else { return }
    #expect(joined.history.isEmpty)
  }

  @Test func lateJoinersGetWhatIsStillAlive() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.tell(.data(DataMessage(topic: "t", payload: [1], lifetimeSeconds: 1, id: "short")))
    ana.tell(.data(DataMessage(topic: "t", payload: [2], lifetimeSeconds: 60, id: "long")))
    ana.tell(.data(DataMessage(topic: "t", payload: [3], id: "none")))
    world.run(.seconds(5))
    let ben = try world.joined("ben")[0]
    guard case .joined(let joined) = ben.messages.first else {
      Issue.record("not joined")
      return
    }
    #expect(joined.history.map(\.id) == ["long"])
    #expect(joined.history.map(\.ageMilliseconds) == [5000])
  }

  @Test func tooManyMessagesAreRefused() throws {
    let world = try World { $0.limits.dataBurst = 5 }
    let ana = try world.joined("ana")[0]
    for number in 0..<6 { ana.tell(.data(DataMessage(topic: "t", payload: [], id: "\(number)"))) }
    #expect(ana.messages.last?.code == .tooMany)
    world.run(.seconds(1))
    ana.tell(.data(DataMessage(topic: "t", payload: [], id: "again")))
    #expect(ana.messages.last?.code == nil)
  }

  @Test func attributesReachTheOthersAndLateJoiners() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].tell(.attributes(["hand": "up"]))
    #expect(clients[1].messages.last == .attributes(participant: "ana", ["hand": "up"]))
    let cyd = try world.joined("cyd")[0]
    guard case .joined(let joined) = cyd.messages.first else { return }
    #expect(joined.participants[0].attributes == ["hand": "up"])
  }

  @Test func pingIsAnsweredAtAnyTime() throws {
    let world = try World()
    let client = try world.makeClient()
    client.tell(.ping(4))
    #expect(client.messages == [.pong(4)])
  }
}

struct SpeakingTests {
  @Test func levelsAndTheDominantSpeakerAreTold() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for client in clients { client.publish(.microphone) }
    clients[0].sendSound("microphone", seconds: 3, level: -20)
    clients[1].sendSound("microphone", seconds: 3, level: -80)
    world.run(.seconds(4))
    let speakers = clients[1].messages.compactMap { if case .speakers(let speakers) = $0 { speakers } else { nil } }
    #expect(speakers.contains { $0.dominant == "ana" })
    #expect(speakers.first?.levels["ana"] == -20)
    #expect(speakers.last?.levels == ["ana": -127, "ben": -127])
    #expect(speakers.count <= 5)
    let cyd = try world.joined("cyd")[0]
    #expect(cyd.messages.contains(.speakers(Speakers(levels: [:], dominant: "ana"))))
  }

  @Test func onlyTheLoudestOfManyAreForwarded() throws {
    let world = try World { $0.limits.forwardedVoices = 2 }
    let clients = try world.joined("a", "b", "c", "listener")
    for client in clients[..<3] { client.publish(.microphone) }
    for name in ["a", "b", "c"] { clients[3].subscribe(to: name, "microphone") }
    clients[0].sendSound("microphone", seconds: 4, level: -20)
    clients[1].sendSound("microphone", seconds: 4, level: -60)
    clients[2].sendSound("microphone", seconds: 4, level: -30)
    world.run(.seconds(5))
    #expect(clients[3].frames("a", "microphone").count == 200)
    #expect(clients[3].frames("b", "microphone").count < 20)
    #expect(clients[3].frames("c", "microphone").count > 190)
  }
}

struct LifetimeTests {
  @Test func aRouterLetsGoOfEverything() throws {
    weak var room: Room?
    weak var member: Member?
    do {
      let world = try World()
      let clients = try world.joined("ana", "ben")
      clients[0].publish(.camera)
      clients[1].subscribe(to: "ana", "camera")
      room = clients[0].room
      member = room?.member("ana")
      #expect(room != nil && member != nil)
    }
    #expect(room == nil && member == nil)
  }

  @Test func aParticipantThatLeftIsForgotten() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "microphone")
    clients[0].sendSound("microphone", seconds: 1)
    world.run(.seconds(1))
    weak let member = clients[0].room?.member("ana")
    #expect(member != nil)
    clients[0].tell(.leave(reason: nil))
    world.run(.seconds(1))
    #expect(member == nil)
  }
}

struct ScaleTests {
  @Test func aThousandParticipantsKnowEachOther() throws {
    let now = Tick(nanoseconds: 1)
    let router = Router(
      configuration: RouterConfiguration(certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)]),
      random: SeededRandom(seed: 1), now: now)
    let description = Description(
      ufrag: "ufrag", password: "password", fingerprint: Description.Fingerprint(value: "AA"), lite: false,
      setup: .active)
    var told = 0
    for number in 0..<1000 {
      let connection = ConnectionID(number)
      router.open(connection, at: now)
      router.handle(
        .join(Join(room: "r", participantID: "\(number)", name: "", description: description)), on: connection, at: now)
      while router.pollMessage() != nil { told += 1 }
    }
    #expect(told == 1000 + 1000 * 999 / 2)
    router.handle(.attributes(["a": "b"]), on: ConnectionID(500), at: now)
    told = 0
    while router.pollMessage() != nil { told += 1 }
    #expect(told == 999)
    router.open(ConnectionID(1000), at: now)
    router.handle(.join(Join(room: "r", name: "", description: description)), on: ConnectionID(1000), at: now)
    guard case .refused(let failure)? = router.pollMessage()?.1 else {
      Issue.record("let in")
      return
    }
    #expect(failure.code == .roomFull)
  }
}
