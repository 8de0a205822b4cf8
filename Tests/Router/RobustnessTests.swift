import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

/// No incoming datagram or message may stop the router or a call on it.
struct RobustnessTests {
  @Test func unexpectedDatagramsAreDroppedAndCounted() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 3)
    var random = SeededRandom(seed: 9)
    for number in 0..<20_000 {
      if number % 20 == 0 { world.run(.milliseconds(2)) }
      let count = Int.random(in: 0...120, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      // From strangers, and from a client's own address.
      world.inject(bytes, from: number % 2 == 0 ? .loopback(port: 999) : clients[0].address)
    }
    world.run(.seconds(3))
    #expect(world.router.statistics.strayDatagrams > 9000)
    #expect(clients[1].numbers("ana", "camera") == Array(0..<90))
  }

  @Test func replayedAndChangedDatagramsAreHarmless() throws {
    let world = try World()
    var recorded: [[UInt8]] = []
    world.tap = { client, datagram in if client.number == 0 { recorded.append(datagram.array) } }
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 1)
    world.run(.seconds(2))
    world.tap = nil
    var random = SeededRandom(seed: 4)
    for datagram in recorded {
      world.inject(datagram, from: clients[0].address)
      for _ in 0..<20 {
        var changed = datagram
        changed[Int.random(in: 0..<changed.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
        world.inject(changed.prefix(Int.random(in: 0...changed.count, using: &random)), from: clients[0].address)
        world.inject(changed, from: clients[0].address)
      }
    }
    world.run(.milliseconds(100))
    clients[0].sendFrames("camera", seconds: 1)
    world.run(.seconds(2))
    #expect(clients[1].numbers("ana", "camera") == Array(0..<30) + Array(0..<30))
    #expect(clients[0].failure == nil && clients[1].failure == nil)
  }

  @Test func forgedCheckDoesNotTakeOverAPeersAddress() throws {
    let world = try World()
    var checks: [[UInt8]] = []
    world.tap = { client, datagram in
      if client.number == 0, datagram.readable.first == 0 { checks.append(datagram.array) }
    }
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    var forged = try #require(checks.first)
    forged[forged.count - 1] ^= 1
    let thief = TransportAddress.loopback(port: 666)
    world.inject(forged, from: thief)
    forged[forged.count - 1] ^= 1
    forged[30] ^= 1
    world.inject(forged, from: thief)
    clients[0].sendFrames("camera", seconds: 1)
    world.run(.seconds(2))
    #expect(clients[1].numbers("ana", "camera") == Array(0..<30))
  }

  @Test func trackWithImpossibleBitrateOrHeightIsRefused() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for (bitrate, height) in [(Int.max, 1), (.min, 1), (-1, 1), (1, .max), (1, .min)] {
      var media = clients[0].makeMedia(.camera)
      (media.encodings[0].maximumBitrate, media.encodings[0].maximumHeight) = (bitrate, height)
      let publish = Publish(request: 1, tracks: [TrackOffer(id: "c", kind: .camera, media: media)])
      #expect(throws: SignalingError.self) {
        try ClientMessage.publish(publish).json().withUnsafeBytes { try ClientMessage(json: $0) }
      }
      // As by SDP, which is read elsewhere.
      world.host.receive(.publish(publish), on: clients[0].connection, at: world.now)
      world.drain()
      #expect(clients[0].messages.last?.code == .badMedia)
    }
    for id in ["c", "d", "e"] {
      var media = clients[0].makeMedia(.camera)
      media.mid = id
      media.encodings[0].maximumBitrate = SignalingLimits.bitrate
      clients[0].publish(TrackOffer(id: id, kind: .camera, media: media))
    }
    clients[1].subscribe(to: "ana", "c", "d", "e")
    world.run(.seconds(1))
    #expect(world.router.statistics.participants == 2)
  }

  @Test func publisherDoesNotReceiveItsOwnTracks() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.publish(.camera)
    ana.subscribe(to: "ana", "camera")
    #expect(ana.messages.last?.code == .forbidden)
  }

  @Test func addressReturnsToItsPeerAfterATakeover() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    let (ana, ben) = (clients[0], clients[1])
    ana.publish(.camera)
    ben.subscribe(to: "ana", "camera")
    // Ben's datagrams come from Ana's address for a while: he takes it over, as his checks have the right password.
    world.redirect = { client in client.number == 1 ? ana.address : client.address }
    world.run(.seconds(8))
    world.redirect = nil
    world.run(.seconds(8))
    ana.sendFrames("camera", seconds: 1)
    world.run(.seconds(2))
    #expect(ana.failure == nil)
    #expect(ben.failure == nil)
    #expect(ben.numbers("ana", "camera") == Array(0..<30))
  }

  @Test func messagesInTheWrongStateAreAnswered() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    let reference = Track.ID(participant: "nobody", track: "")
    for message: ClientMessage in [
      .unpublish(trackIDs: ["x"]), .mute(trackID: "x", muted: true), .unsubscribe([reference]), .pause([reference]),
      .resume([reference]), .subscribe(Subscribe(request: -1, tracks: [reference, reference])),
      .publish(Publish(request: 0, tracks: [])),
      .publish(Publish(request: 0, tracks: [TrackOffer(id: "", kind: .camera)])),
      .data(SendData(DataMessage(topic: "", payload: [], to: [], lifetime: .seconds(-1e14)), id: "")),
    ] {
      world.host.receive(message, on: ana.connection, at: world.now)
      world.drain()
    }
    world.host.receive(.ping(1), on: ConnectionID(77), at: world.now)
    world.host.close(ConnectionID(77), at: world.now)
    world.host.receive(UnreadableMessage(.malformed("x")), on: ana.connection)
    world.drain()
    #expect(ana.messages.last == .failed(request: nil, SignalingError.malformed("x").failure))
    #expect(world.router.statistics.participants == 1)
  }

  @Test func unreadableRequestIsAnsweredWithItsRequestID() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    /// Reads the text and answers it as a server does.
    func answer(to text: String) throws -> ServerMessage? {
      ana.forgetMessages()
      switch Array(text.utf8).withUnsafeBytes(ClientMessage.reading) {
      case .success(let message): world.host.receive(message, on: ana.connection, at: world.now)
      case .failure(let unreadable): world.host.receive(unreadable, on: ana.connection)
      }
      world.drain()
      return ana.messages.last
    }
    func request(in answer: ServerMessage?) throws -> Int? {
      guard case .failed(let request, _)? = answer else { throw Surprise(answer: answer) }
      return request
    }
    let long = String(repeating: "x", count: 257)
    for (text, code) in [
      (#"{"type":"publish","request":7,"tracks":17}"#, .malformed),
      (#"{"type":"publish","tracks":[{"id":"\#(long)","kind":"camera"}],"request":7}"#, .tooLarge),
      (#"{"type":"subscribe","request":7,"tracks":[{"participant":"ben"}]}"#, .malformed),
      (#"{"type":"dance","request":7}"#, .unknownType), (#"{"request":7}"#, .malformed),
    ] as [(String, Failure.Code)] {
      let answer = try answer(to: text)
      #expect(try request(in: answer) == 7 && answer?.code == code, "\(text.prefix(40))")
    }
    for text in [
      #"{"type":"publish","tracks":[]}"#, #"{"type":"publish","request":"7","tracks":[]}"#,
      #"{"type":"publish","request":7.5,"tracks":[]}"#, #"{"type":"publish","inner":{"request":7}}"#,
      #"{"type":"publish","request":18446744073709551616}"#, #"{"type":"publish","request":7"#, #"[{"request":7}]"#,
      #"{"type":"dance","request":null}"#, "7", "",
    ] {
      #expect(try request(in: try answer(to: text)) == nil, "\(text)")
    }
    let read = try answer(to: #"{"type":"publish","request":8,"tracks":[{"id":"x","kind":"camera"}]}"#)
    #expect(try request(in: read) == 8, "read, and refused")
  }

  private struct Surprise: Error { let answer: ServerMessage? }

  @Test func invalidDescriptionFailsItsOwnerOnly() throws {
    let world = try World()
    let ben = try world.joined("ben")[0]
    let odd = PeerDescription(
      ice: ICECredentials(ufrag: "", password: ""),
      candidates: [
        ICECandidate(host: "not an address", port: 0, kind: .relay, priority: 0),
        ICECandidate(host: "256.1.1.1", port: 0, priority: .max),
      ], fingerprint: Fingerprint(algorithm: "md5", value: "zz"), isLite: true, setup: .passive)
    let connection = ConnectionID(500)
    world.host.open(connection, at: world.now)
    world.host.receive(.join(Join(room: "room", name: "odd", description: odd)), on: connection, at: world.now)
    world.run(.seconds(20))
    #expect(world.router.statistics.participants == 1)
    #expect(ben.isConnected)
  }

  @Test func equalSeedsRepeatTheRun() throws {
    func trace() throws -> [Int] {
      let world = try World(seed: 11)
      world.loss = 0.02
      let clients = try world.joined("ana", "ben")
      clients[0].publish(.camera)
      clients[1].subscribe(to: "ana", "camera")
      clients[0].sendFrames("camera", seconds: 3)
      world.run(.seconds(4))
      return clients[1].frames("ana", "camera").map { Int($0.arrived.nanoseconds) }
    }
    #expect(try trace() == trace())
  }
}

struct LayerTests {
  private func layers(_ client: Client) -> [UInt8] { client.frames("ana", "camera").map { $0.data.array[3] } }

  @Test func highestSentLayerIsForwarded() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, layers: 3)
    clients[0].activeLayers = 2
    clients[0].sendFrames("camera", seconds: 8, bytes: 300)
    world.run(.milliseconds(500))
    clients[1].subscribe(to: "ana", "camera")
    world.run(.seconds(2))
    #expect(layers(clients[1]).last == 1)
    clients[0].activeLayers = 1
    world.run(.seconds(3))
    #expect(layers(clients[1]).last == 0)
    let frames = clients[1].frames("ana", "camera")
    for (one, next) in zip(frames, frames.dropFirst()) {
      #expect(next.sequence > one.sequence)
      #expect(Int32(bitPattern: next.rtpTimestamp &- one.rtpTimestamp) > 0)
      if next.data.array[3] != one.data.array[3] { #expect(next.isKey) }
    }
    #expect(clients[1].statistics("ana", "camera")?.lost == 0)
  }

  @Test func receiverOnNarrowPathGetsALowerLayer() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, layers: 3)
    clients[0].activeLayers = 3
    clients[0].sendFrames("camera", seconds: 6, bytes: 400)
    clients[1].subscribe(to: "ana", "camera")
    world.run(.seconds(1))
    let room = try #require(world.clients[1].room)
    let ben = try #require(room.member("ben"))
    room.estimated(300_000, for: ben, at: world.now)
    #expect(ben.subscriptions[0].target == 0)
    ben.subscriptions[0].upgradeBackoff.reset()  // probing had let it go up a moment ago
    room.estimated(800_000, for: ben, at: world.now)
    #expect(ben.subscriptions[0].target == 1)
    room.estimated(2_700_000, for: ben, at: world.now)  // enough for the layer, not for going up
    #expect(ben.subscriptions[0].target == 1)
    room.estimated(5_000_000, for: ben, at: world.now)
    #expect(ben.subscriptions[0].target == 2)
  }
}
