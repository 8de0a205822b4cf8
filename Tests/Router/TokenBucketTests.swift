import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Limits on the messages that one participant may cause to remote participants.
struct TokenBucketTests {
  private func attributes(_ client: Client) -> [[String: String]] {
    client.messages.compactMap { if case .attributes(_, let attributes) = $0 { attributes } else { nil } }
  }

  @Test func attributeUpdatesAreSentTenTimesASecondEndingWithTheLatest() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for number in 0..<150 {
      clients[0].send(.attributes(["number": "\(number)"]))
      world.run(.milliseconds(2))
    }
    #expect((3...5).contains(attributes(clients[1]).count))
    world.run(.milliseconds(200))
    #expect(attributes(clients[1]).last == ["number": "149"])
    #expect(attributes(clients[1]).count <= 5)
  }

  @Test(arguments: ["subscribe", "unsubscribe", "pause", "resume", "prefer"])
  func messagesWithManyTracksAreRateLimitedByTheirReferences(_ what: String) throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    let ben = clients[1]
    clients[0].publish(.microphone)
    let references = (0..<128).map { Track.ID(participant: "ana", track: "t\($0)") }
    let message: ClientMessage =
      switch what {
      case "subscribe": .subscribe(Subscribe(request: 77, tracks: references))
      case "unsubscribe": .unsubscribe(references)
      case "pause": .pause(references)
      case "resume": .resume(references)
      default: .prefer(references.map { TrackPreference(LayerPreference(maximumHeight: 180), of: $0) })
      }
    ben.forgetMessages()
    // 400 at once, 16 each.
    for _ in 0..<24 { ben.send(message) }
    #expect(!ben.messages.contains { $0.code == .tooMany })
    for _ in 0..<100 { ben.send(message) }
    #expect(ben.messages.count { $0.code == .tooMany } >= 99)
    if what == "subscribe" {
      guard case .failed(let request, _) = ben.messages.last else {
        Issue.record("not refused")
        return
      }
      #expect(request == 77)
    }
    world.run(.seconds(1))
    ben.subscribe(to: "ana", "microphone")
    #expect(ben.messages.last?.code == nil)
  }

  @Test func offersAreRateLimitedByTheirMedia() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    world.run(.seconds(3))
    func offers(_ media: Int, at now: Tick) -> Int {
      (0..<10_000).prefix { _ in world.router.takeOffer(media: media, of: ana.id, at: now) }.count
    }
    #expect(offers(320, at: world.now) == 10)
    #expect(offers(8, at: world.now + .seconds(1)) == 200)
    #expect(offers(0, at: world.now + .seconds(2)) == 1_600, "one without media costs something, too")
  }

  @Test func attributesAreBounded() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].send(.attributes(["a": String(repeating: "x", count: 4_000)]))
    #expect(attributes(clients[1]).count == 1)
    let many = Dictionary(uniqueKeysWithValues: (0..<8).map { ("\($0)", String(repeating: "x", count: 4_000)) })
    clients[0].send(.attributes(many))
    #expect(clients[0].messages.last?.code == .tooLarge)
    let eve = try world.makeClient()
    eve.send(
      .join(Join(room: "room", name: "eve", attributes: many, description: eve.peer.localDescription)))
    #expect(eve.messages.last?.code == .tooLarge)
  }

  /// The router sends the whole roster to a new participant in one message. Its size is bounded, for any names and attributes in the room.
  @Test func rosterSentToANewParticipantIsBounded() throws {
    let world = try World { ($0.limits.rosterBytes, $0.limits.participants) = (100_000, 1_000) }
    let wide = String(repeating: "\u{1}", count: 2_500)
    var refused = 0
    for number in 0..<20 {
      let client = try world.makeClient()
      client.send(
        .join(
          Join(
            room: "room", name: "\(number)", attributes: ["a": wide],
            description: client.peer.localDescription)))
      if client.messages.last?.code == .roomFull { refused += 1 }
      if let room = client.room {
        for other in room.members { #expect(other.entry.size == other.participant.writtenSize) }
        #expect(room.roster.bytes == room.members.reduce(0) { $0 + $1.entry.size })
        #expect(room.roster.bytes <= 100_000)
      }
    }
    #expect(refused == 14)
    let first = world.clients[0]
    first.send(.attributes([:]))
    let late = try world.makeClient()
    late.join("room", as: "late")
    let joined = try #require(late.messages.first)
    #expect(try joined.json().count < 110_000)
    for index in 0..<5 { first.publish(.camera, id: String(repeating: "\u{1}", count: 200) + "\(index)") }
    first.send(
      .unpublish(trackIDs: first.room?.member(first.room?.members.first?.id ?? "")?.tracks.map(\.id.track) ?? []))
    #expect(first.room?.roster.bytes == first.room?.members.reduce(0) { $0 + $1.participant.writtenSize })
  }

  @Test(arguments: ["publish", "join"]) func broadcastMessagesAreRateLimited(_ what: String) throws {
    let world = try World { ($0.limits.dataBurst, $0.limits.dataPerSecond) = (20, 1) }
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.microphone)
    clients[0].forgetMessages()
    for _ in 0..<30 {
      switch what {
      case "publish":
        clients[0].publish(.camera)
        clients[0].send(.unpublish(trackIDs: ["camera"]))
      default:
        clients[0].send(.leave(reason: nil))
        clients[0].join("room", as: "ana")
      }
    }
    #expect(clients[0].messages.count { $0.code == .tooMany } >= 5)
  }

  /// Muting is never refused: audio must not be sent because its owner has muted and unmuted too often.
  @Test func lastOfTooManyMutesIsSent() throws {
    let world = try World { ($0.limits.dataBurst, $0.limits.dataPerSecond) = (20, 1) }
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.microphone)
    for client in clients { client.forgetMessages() }
    for number in 0..<101 { clients[0].send(.mute(trackID: "microphone", muted: number % 2 == 0)) }
    world.run(.milliseconds(200))
    let told = clients[1].messages.compactMap { if case .muted(_, _, let muted) = $0 { muted } else { nil } }
    #expect(told.last == true && told.count < 25, "\(told.count)")
    #expect(!clients[0].messages.contains { $0.code == .tooMany }, "nothing is refused")
  }

  /// Attribute updates are rate limited too: as many are sent as the budget allows, and the latest always.
  @Test func lastOfTooManyAttributeUpdatesIsSent() throws {
    let world = try World { ($0.limits.dataBurst, $0.limits.dataPerSecond) = (5, 2) }
    let clients = try world.joined("ana", "ben")
    for client in clients { client.forgetMessages() }
    for number in 0..<60 {
      clients[0].send(.attributes(["a": "\(number)"]))
      world.run(.milliseconds(50))
    }
    world.run(.seconds(1))
    let told = clients[1].messages.compactMap {
      if case .attributes(_, let attributes) = $0 { attributes["a"] } else { nil }
    }
    #expect(told.last == "59" && (6...13).contains(told.count), "\(told)")
    #expect(!clients[0].messages.contains { $0.code == .tooMany }, "nothing is refused")
  }

  @Test func ringsAreRateLimitedByTheNumberOfCallees() throws {
    let world = try World { ($0.limits.dataByteBurst, $0.limits.dataBytesPerSecond) = (200_000, 1) }
    let ana = try world.makeClient()
    ana.send(.register(Register(identity: "ana")))
    for number in 0..<30 {
      ana.send(
        .ring(RingRequest(id: "\(number)", room: "tea", to: (0..<20).map { "somebody \($0)" }, timeoutSeconds: 0)))
    }
    #expect(ana.messages.count { $0.code == .tooMany } >= 5)
  }

  @Test func closedRoomSendsOnlyItsEnd() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    for client in clients { client.forgetMessages() }
    world.execute(.close(room: "room"))
    world.drain()
    for client in clients { #expect(client.messages == [.ended(.roomClosed)]) }
    #expect(world.router.statistics.rooms == 0)
    #expect(world.router.statistics.participants == 0)
    clients[0].join("room", as: "ana")
    #expect(clients[0].room?.members.count == 1)
  }
}
