import KoineBase
import KoineSignaling
import KoineSignalingHost

@testable import KoineRouter
@testable import KoineTransport

/// Clients on several connections against one router, in any order: messages, breaking and resuming connections, datagrams
/// and time. The laws of a room are the oracle: deadlines lie ahead, a participant is announced before its tracks and has
/// none when it leaves, and nothing is left once all have gone.
func fuzzRoom(_ bytes: UnsafeRawBufferPointer) {
  guard let world = RoomWorld() else { return require(false, "a router can be made") }
  var input = Input(bytes)
  while !input.isEmpty { world.step(&input) }
  world.end()
}

private final class RoomWorld {
  private static let address = TransportAddress.loopback(port: 7_000)
  private static let rooms = ["tea", "room", "x"]
  private static let names = ["ana", "ben", "cem", "dan", "koine.recording", ""]
  private static let tracks = ["camera", "microphone", "screen"]
  private static let lines = 6

  private var now = Tick(nanoseconds: 1_000_000_000)
  private let router: Router
  private let host: SignalingHost
  private var nextLine = 0
  /// The connection that each client speaks on; nil between two.
  private var open: [ConnectionID?] = Array(repeating: nil, count: lines)
  private var keys: [String] = []
  private var passwords: [(ufrag: String, password: String)] = []
  private var views: [ConnectionID: RoomView] = [:]
  private let scratch = Bytes(capacity: 2_048)

  init?() {
    guard let certificate = try? Certificate.shared() else { return nil }
    var configuration = RouterConfiguration(certificate: certificate, addresses: [Self.address])
    (configuration.limits.rooms, configuration.limits.participants, configuration.limits.lobby) = (2, 4, 2)
    configuration.authorization = Authorization(check: Self.check)
    router = Router(configuration: configuration, random: SeededRandom(seed: 1), now: now)
    host = SignalingHost(router: router, configuration: .init(resumeGrace: configuration.limits.resumeGrace))
  }

  /// Each letter of a credential grants or denies something.
  private static let check: @Sendable (Join) -> Result<Grants, Failure> = { join in
    let letters = join.credential ?? ""
    if letters.contains("x") { return .failure(Failure(.unauthorized, "no")) }
    var grants = Grants()
    if letters.contains("f") { grants.participantID = "ana" }
    (grants.mustAsk, grants.isHidden) = (letters.contains("a"), letters.contains("h"))
    (grants.canModerate, grants.canAdmit) = (letters.contains("m"), letters.contains("l"))
    if letters.contains("t") { grants.validFor = .seconds(3) }
    if letters.contains("s") { grants.canSubscribe = false }
    return .success(grants)
  }

  func step(_ input: inout Input) {
    let client = input.number(below: Self.lines)
    switch input.number(below: 29) {
    case 0, 1:
      guard open[client] == nil else { break }
      nextLine += 1
      open[client] = ConnectionID(nextLine)
      host.open(ConnectionID(nextLine), at: now)
    case 2: if let line = takeLine(client) { host.connectionLost(line, at: now) }
    case 3: if let line = takeLine(client) { host.close(line, at: now) }
    case 4, 5: send(.join(join(&input)), from: client)
    case 6:
      guard !keys.isEmpty else { break }
      let key = keys[input.number(below: keys.count)]
      send(.resumeConversation(key: key, heard: input.number(below: 20)), from: client)
    case 7: send(.heard(input.number(below: 40)), from: client)
    case 8: send(.publish(publish(&input)), from: client)
    case 9: send(.unpublish(trackIDs: [track(&input)]), from: client)
    case 10, 11: send(.subscribe(Subscribe(request: 1, tracks: references(&input))), from: client)
    case 12: send(.unsubscribe(references(&input)), from: client)
    case 13: send(input.flag() ? .pause(references(&input)) : .resume(references(&input)), from: client)
    case 14:
      let rows = input.number(below: 3) * 180
      send(
        .prefer(references(&input).map { TrackPreference(LayerPreference(maximumHeight: rows), of: $0) }), from: client)
    case 15: send(.mute(trackID: track(&input), muted: input.flag()), from: client)
    case 16:
      let message = SendData(
        DataMessage(topic: "t", payload: Array(input.part(input.number(below: 64))), isPersistent: true), id: "d")
      send(.data(message), from: client)
    case 17: send(.leave(reason: nil), from: client)
    case 18: send(.answerKnock(participant: name(&input), admitted: input.flag()), from: client)
    case 19: send(input.flag() ? .remove(participant: name(&input)) : .close, from: client)
    case 20: send(.register(Register(identity: name(&input), name: "n")), from: client)
    case 21:
      send(.ring(RingRequest(id: "r\(input.number(below: 4))", room: room(&input), to: [name(&input)])), from: client)
    case 22: send(.answerRing(id: "r\(input.number(below: 4))", .accepted), from: client)
    case 23: send(.restartMedia(description(input.byte())), from: client)
    case 24:  // any message at all
      let length = Int(input.byte()) << 8 | Int(input.byte())
      guard let line = open[client] else { break }
      switch ClientMessage.reading(input.part(length)) {
      case .success(let message): host.receive(message, on: line, at: now)
      case .failure(let unreadable): host.receive(unreadable, on: line)
      }
    case 25: check(&input)
    case 26:
      let source = TransportAddress.loopback(port: 20_000 + UInt16(input.number(below: Self.lines)))
      router.handle(Bytes(input.part(input.number(below: 200))), from: source, to: Self.address, at: now)
    case 27: router.execute(RoomRequest(command(&input), by: CommandOrigin(.test, "fuzz")), at: now)
    default: pass(.milliseconds(1 << input.number(below: 14)))
    }
    drain()
  }

  private func command(_ input: inout Input) -> RoomCommand {
    let (id, room) = (name(&input), room(&input))
    switch input.number(below: 8) {
    case 0: return .listRooms
    case 1: return .describe(room: room)
    case 2: return .remove(id, room: room)
    case 3: return input.flag() ? .close(room: room) : .closeAllRooms
    case 4, 5:
      let permission = ParticipantPermission.allCases[input.number(below: ParticipantPermission.allCases.count)]
      let isAllowed = input.flag()
      return .grant(
        PermissionChange(allowing: isAllowed ? [permission] : [], denying: isAllowed ? [] : [permission]), id,
        room: room)
    case 6: return .mute(input.flag() ? .track(track(&input)) : .kind(.microphone), id, room: room)
    default: return input.flag() ? .startRecording(RecordingOrder(), room: room) : .stopRecording(.file, room: room)
    }
  }

  /// All participants leave, and the longest grace passes.
  func end() {
    for client in open.indices { if let line = takeLine(client) { host.close(line, at: now) } }
    drain()
    for _ in 0..<80 { pass(.seconds(1)) }
    let left = router.holdings.merging(host.holdings) { $1 }.filter { $0.value != 0 }
    require(left.isEmpty, "nothing is left: \(left)")
  }

  private func takeLine(_ client: Int) -> ConnectionID? {
    defer { open[client] = nil }
    return open[client]
  }

  private func send(_ message: ClientMessage, from client: Int) {
    if let line = open[client] { host.receive(message, on: line, at: now) }
  }

  private func pass(_ time: Duration) {
    let end = now + time
    while let due = router.deadline.sooner(host.deadline), due <= end {
      now = max(now, due)
      host.handleTimeout(at: now)
      router.handleTimeout(at: now)
      drain()
      let violation = DeadlineLaw.check(
        "Router", deadline: router.deadline, at: now, because: router.deadlineReason)
      require(violation == nil, violation ?? "")
    }
    now = end
  }

  private func drain() {
    while let outgoing = host.pollMessage(at: now) {
      guard let message = outgoing.message.message else { continue }
      let line = outgoing.connection
      switch message {
      case .resumable(let key, _): keys.append(key)
      case .joined(let joined): views[line] = RoomView(joined)
      case .ended, .refused: views[line] = nil
      default: views[line]?.take(message)
      }
    }
    while host.pollEvent() != nil {}
    if keys.count > 16 { keys.removeFirst(keys.count - 16) }
    while router.poll(into: scratch.writable, at: now) != nil {}
  }

  // MARK: Messages

  private func room(_ input: inout Input) -> String { Self.rooms[input.number(below: Self.rooms.count)] }
  private func name(_ input: inout Input) -> String { Self.names[input.number(below: Self.names.count)] }
  private func track(_ input: inout Input) -> String { Self.tracks[input.number(below: Self.tracks.count)] }

  private func references(_ input: inout Input) -> [Track.ID] {
    (0...input.number(below: 3)).map { _ in Track.ID(participant: name(&input), track: track(&input)) }
  }

  private func join(_ input: inout Input) -> Join {
    let credential = String(
      "fahmltsx".enumerated().filter { input.byte() & (1 << ($0.offset % 8)) != 0 }.map(\.element))
    let number = input.byte()
    return Join(
      room: room(&input), credential: input.flag() ? credential : nil, participantID: input.flag() ? name(&input) : nil,
      name: "n", description: description(number), returningTo: input.byte() == 7 ? "old" : nil)
  }

  private func description(_ number: UInt8) -> PeerDescription {
    var random = SeededRandom(seed: UInt64(number))
    let credentials = ICECredentials.random(using: &random)
    return PeerDescription(
      ice: credentials, fingerprint: Fingerprint(sha256: Array(0..<32)), isLite: false, setup: .active)
  }

  private func publish(_ input: inout Input) -> Publish {
    let id = track(&input)
    let isAudio = id == "microphone"
    let layers = isAudio ? 1 : 1 + input.number(below: 3)
    let isNamed = input.flag()
    let first = UInt32(input.byte()) * 100 + 1
    let media = StreamParameters(
      mid: "m\(input.number(below: 4))", codec: isAudio ? .opus : .vp8, payloadType: isAudio ? 111 : 96,
      rtxPayloadType: isAudio ? nil : 97,
      encodings: (0..<layers).map {
        StreamParameters.Encoding(
          rid: layers > 1 ? "\($0)" : nil, ssrc: isNamed ? first + UInt32($0) : 0, rtxSSRC: isAudio ? nil : 0)
      })
    let kind: Track.Kind = isAudio ? .microphone : id == "screen" ? .screen : .camera
    return Publish(request: 1, tracks: [TrackOffer(id: id, kind: kind, isMuted: input.flag(), media: media)])
  }

  /// A good connectivity check, as only a member can send it.
  private func check(_ input: inout Input) {
    let members = router.rooms.all.sorted { $0.number < $1.number }.flatMap(\.members)
    guard !members.isEmpty else { return }
    let peer = members[input.number(below: members.count)].slot.peer
    var request = STUNMessage(.request, .init(high: 7, low: UInt64(input.byte())))
    request.username = peer.localCredentials.ufrag + ":abcd"
    (request.controlling, request.usesCandidate) = (1, input.flag())
    let datagram = Bytes(capacity: 500)
    datagram.count = request.write(into: datagram.writable, key: peer.localCredentials.password) ?? 0
    let source = TransportAddress.loopback(port: 20_000 + UInt16(input.number(below: Self.lines)))
    router.handle(datagram, from: source, to: Self.address, at: now)
  }
}

/// What one client has been told of its room.
private struct RoomView {
  private var tracks: [String: Set<String>] = [:]
  private let own: String

  init(_ joined: Joined) {
    own = joined.local.id
    for participant in joined.participants { tracks[participant.id] = Set(participant.tracks.map(\.id.track)) }
  }

  mutating func take(_ message: ServerMessage) {
    switch message {
    case .participantJoined(let participant):
      require(tracks[participant.id] == nil, "\(participant.id) is announced once")
      tracks[participant.id] = Set(participant.tracks.map(\.id.track))
    case .participantLeft(let id, _):
      require(tracks[id] != nil, "\(id) leaves that was there")
      require(tracks[id]?.isEmpty ?? true, "its tracks are withdrawn before")
      tracks[id] = nil
    case .published(let id, let new):
      require(tracks[id] != nil, "\(id) is announced before its tracks")
      for track in new {
        require(tracks[id, default: []].insert(track.id.track).inserted, "\(track.id) is published once")
      }
    // Of its own tracks it is told only what a command from outside withdraws.
    case .withdrawn(own, _): break
    case .withdrawn(let id, let gone):
      for track in gone { require(tracks[id, default: []].remove(track) != nil, "\(track) was published") }
    default: break
    }
  }
}
