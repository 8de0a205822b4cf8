import KoineBase

@testable import Koine
@testable import KoineEmbeddedBackend
@testable import KoineRoomClient
@testable import KoineRouter
@testable import KoineSignaling
@testable import KoineTransport

/// A router that says anything at all to the client's own end: messages, breaking and new connections, datagrams, time, and
/// what a session asks for in between. Nothing may trap, and every deadline lies ahead once all is drained. The first byte
/// chooses between a participant, an endpoint, and the sealed stream that carries messages of the embedded backend.
func fuzzClient(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  switch input.number(below: 3) {
  case 0:
    guard let world = ClientWorld() else { return require(false, "a participant's end can be made") }
    while !input.isEmpty { world.step(&input) }
    world.end()
  case 1:
    let world = EndpointWorld()
    while !input.isEmpty { world.step(&input) }
    world.end()
  default:
    guard let world = StreamWorld() else { return require(false, "a stream can be made") }
    while !input.isEmpty { world.step(&input) }
    world.end()
  }
}

/// Counts what it is told; nothing follows the end.
private final class Receiver: LinkReceiver, EndpointReceiver {
  private let hasEnded = Lock(false)

  private func tell(isEnd: Bool) {
    let isAfterEnd = hasEnded.withLock { hasEnded in
      defer { hasEnded = hasEnded || isEnd }
      return hasEnded
    }
    require(!isAfterEnd, "nothing follows the end")
  }

  func linkDidChange(_ event: LinkEvent) { if case .ended = event { tell(isEnd: true) } else { tell(isEnd: false) } }
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}
  func endpointDidChange(_ event: EndpointLinkEvent) {
    if case .ended = event { tell(isEnd: true) } else { tell(isEnd: false) }
  }
}

/// What participants and endpoints have in common: a connection, messages and time.
private class EndWorld<End: RoomClient> {
  static var places: [String] { ["ws://n1", "ws://n2", "ws://n3"] }

  var now = Tick(nanoseconds: 1_000_000_000)
  let end: End
  private let scratch = Bytes(capacity: 2_048)

  init(_ end: End) {
    self.end = end
    end.signaling.firstConnectionBegun(to: Self.places, at: now)
    end.connectionMade(at: now)
  }

  /// - Returns: false where the choice is none of these.
  func takeStep(_ choice: Int, _ input: inout Input) {
    switch choice {
    case 0, 1:  // any message at all
      let length = Int(input.byte()) << 8 | Int(input.byte())
      end.handleMessage(Array(input.part(length)), at: now)
    case 2:
      switch input.number(below: 4) {
      case 0: end.connectionLost(at: now, because: .silent(.seconds(6)))
      case 1: end.connectionLost(at: now, because: .notMade("no"))
      case 2: say(.moved(places: places(&input)))
      default: end.connectionLost(at: now)
      }
    case 3: if end.signaling.takeConnectionRequest(at: now) { end.connectionMade(at: now) }
    case 4: say(.resumable(key: "k\(input.byte())", graceSeconds: 30))
    case 5: say(.resumed(heard: input.number(below: 30)))
    case 6: say(.heard(input.number(below: 30)))
    case 7:
      let codes: [Failure.Code] = [.unknownConversation, .forbidden, .moved, .unavailable, .tooMany]
      say(.refused(Failure(codes[input.number(below: 5)], "no"), places: places(&input)))
    case 8: say(.failed(request: input.flag() ? input.number(below: 8) : nil, Failure(.mediaLost, "")))
    case 9: say(.ended(input.flag() ? .roomClosed : .lost))
    default: pass(.milliseconds(1 << input.number(below: 16)))
    }
  }

  func places(_ input: inout Input) -> [String] {
    (0..<input.number(below: 3)).map { _ in "ws://n\(input.number(below: 5))" }
  }

  func say(_ message: ServerMessage) { if let json = try? message.json() { end.handleMessage(json, at: now) } }

  func drain() {
    while end.signaling.pollMessage() != nil {}
    while end.poll(into: scratch.writable, at: now) != nil {}
  }

  func pass(_ time: Duration) {
    let limit = now + time
    drain()
    while let due = end.deadline, due <= limit {
      now = max(now, due)
      end.handleTimeout(at: now)
      // Every attempt fails, or gets no answer.
      if end.signaling.takeConnectionRequest(at: now), now.nanoseconds & 1 == 1 { end.connectionLost(at: now) }
      drain()
      _ = end.signaling.takeConnectionRequest(at: now)
      let violation = DeadlineLaw.check("RoomClient", deadline: end.deadline, at: now, because: end.deadlineReason)
      require(violation == nil, violation ?? "")
    }
    now = limit
  }

  /// No answers come any more.
  func finish() {
    if !end.isOver { end.connectionLost(at: now) }
    for _ in 0..<20 { pass(.seconds(10)) }
    require(end.isOver, "it gives up")
    require(end.deadline == nil, "nothing is waited for after the end")
  }
}

private final class ClientWorld {
  private static let address = TransportAddress.loopback(port: 20_000)
  private static let names = ["ana", "ben", "koine.recording", ""]
  private static let tracks = ["camera", "microphone", "x"]

  private let link: RoomLink
  private let base: EndWorld<ParticipantClient>
  private let router: Peer

  init?() {
    let now = Tick(nanoseconds: 1_000_000_000)
    link = RoomLink(number: 1) {}
    guard
      let end = try? ParticipantClient(
        link: link, request: JoinRequest(room: "tea", participantID: "eva", name: "Eva"), receiver: Receiver(),
        addresses: [Self.address], random: SeededRandom(seed: 1), now: now),
      let certificate = try? Certificate.shared(),
      let router = try? Peer(
        configuration: PeerConfiguration(role: .server, certificate: certificate), random: SeededRandom(seed: 2),
        now: now)
    else { return nil }
    router.addLocalAddress(.loopback(port: 7_000))
    self.router = router
    base = EndWorld(end)
  }

  func end() { base.finish() }

  func step(_ input: inout Input) {
    let choice = input.number(below: 34)
    switch choice {
    case 12, 13: base.say(.joined(joined(&input)))
    case 14: base.say(.participantJoined(participant(&input)))
    case 15: base.say(.participantLeft(id: name(&input), reason: .left))
    case 16:
      let id = name(&input)
      base.say(.published(participant: id, tracks: [track(of: id, &input)]))
    case 17: base.say(.withdrawn(participant: name(&input), trackIDs: [Self.tracks[input.number(below: 3)]]))
    case 18: base.say(.subscribed(Subscribed(request: input.number(below: 8), tracks: [forwarded(&input)])))
    case 19: base.say(.data(data(&input)))
    case 20: base.say(.history(HistoryPage(messages: [data(&input), data(&input)], hasMore: input.flag())))
    case 21: base.say(.wanted(trackID: Self.tracks[input.number(below: 3)], layers: [input.number(below: 5)]))
    case 22: base.say(.accepted(request: input.number(below: 8)))
    case 23: base.say(.knock(participant(&input), number: input.number(below: 4)))
    case 24: base.say(.attendants(["koine.recording"]))
    case 25: base.say(.mediaRestarted(router.localDescription))
    case 26:
      base.say(
        .dataReceipt(
          DataReceipt(id: "\(input.byte())", order: 3, failure: input.flag() ? Failure(.unavailable, "") : nil)))
    case 30: base.say(.unsubscribed([Track.ID(participant: name(&input), track: Self.tracks[input.number(below: 3)])]))
    case 31: base.say(.permissions(input.flag() ? Set(ParticipantPermission.allCases) : []))
    case 27 where !base.end.isOver:
      let datagram = Bytes(input.part(input.number(below: 200)))
      base.end.handle(datagram, from: .loopback(port: 7_000), to: Self.address, at: base.now)
    case 28, 29: ask(&input)
    default: base.takeStep(choice, &input)
    }
    base.drain()
  }

  /// What a session asks for.
  private func ask(_ input: inout Input) {
    let id = Self.tracks[input.number(below: 3)]
    let kind: Track.Kind = id == "microphone" ? .microphone : .camera
    switch input.number(below: 9) {
    case 0:
      let stream = Track(id: Track.ID(participant: "eva", track: id), kind: kind)
      let layers = (0...input.number(below: 3)).map { PublishOptions.LayerLimits(maximumBitrate: 100_000 << $0) }
      link.publish(stream, options: PublishOptions(codec: kind == .camera ? .vp8 : .opus, layers: layers))
    case 1: link.unpublish(Track.ID(participant: "eva", track: id))
    case 2: link.subscribe(to: Track.ID(participant: name(&input), track: id))
    case 3: link.unsubscribe(from: Track.ID(participant: name(&input), track: id))
    case 4: link.setMuted(input.flag(), Track.ID(participant: "eva", track: id))
    case 5: link.send(DataMessage(topic: "t", payload: Array(input.part(input.number(below: 64)))))
    case 6: link.requestKeyFrame(of: Track.ID(participant: name(&input), track: id))
    case 7: link.answerKnock(of: name(&input), admitting: input.flag())
    default:
      if input.byte() < 16 {
        link.leave()
      } else {
        link.setPaused(input.flag(), Track.ID(participant: name(&input), track: id))
      }
    }
    base.end.executeCommands(at: base.now)
  }

  // MARK: Messages

  private func name(_ input: inout Input) -> String { Self.names[input.number(below: Self.names.count)] }

  private func joined(_ input: inout Input) -> Joined {
    var joined = Joined(
      local: Participant(id: "eva", name: "Eva"), description: router.localDescription,
      participants: (0..<input.number(below: 3)).map { _ in participant(&input) },
      history: (0..<input.number(below: 3)).map { _ in data(&input) }, epoch: "e\(input.number(below: 2))",
      attendants: input.flag() ? ["koine.recording"] : nil)
    joined.hasMoreHistory = input.flag()
    joined.places = base.places(&input)
    joined.continues = input.flag()
    (joined.pingSeconds, joined.silenceSeconds) = (input.number(below: 40), input.number(below: 200))
    return joined
  }

  private func participant(_ input: inout Input) -> Participant {
    let id = name(&input)
    return Participant(
      id: id, name: "n", tracks: (0..<input.number(below: 3)).map { _ in track(of: id, &input) },
      joinedOrder: input.flag() ? .max : UInt64(input.byte()))
  }

  private func track(of participant: Participant.ID, _ input: inout Input) -> Track {
    let id = Self.tracks[input.number(below: 3)]
    return Track(
      id: Track.ID(participant: participant, track: id), kind: id == "microphone" ? .microphone : .camera,
      isMuted: input.flag())
  }

  private func data(_ input: inout Input) -> ReceivedMessage {
    let number = input.byte()
    return ReceivedMessage(
      sender: name(&input), topic: "t", payload: Array(input.part(4)), id: "d\(number)",
      order: number > 250 ? .max - UInt64(number) : UInt64(number), age: .milliseconds(number == 7 ? Int64.max : 5))
  }

  private func forwarded(_ input: inout Input) -> ForwardedTrack {
    let id = Self.tracks[input.number(below: 3)]
    let number = input.byte()
    let media = StreamParameters(
      mid: "m\(number % 4)", codec: [Codec.vp8, .opus, .vp9][Int(number) % 3],
      payloadType: id == "microphone" ? 111 : 96, rtxPayloadType: input.flag() ? 97 : nil,
      encodings: (0..<input.number(below: 3)).map {
        StreamParameters.Encoding(ssrc: UInt32(number) + UInt32($0), rtxSSRC: nil)
      })
    return ForwardedTrack(reference: Track.ID(participant: name(&input), track: id), media: media)
  }
}

private final class EndpointWorld {
  private static let states: [Ring.State] = [
    .ringing, .accepted, .declined, .busy, .unanswered, .unreachable, .cancelled, .handledElsewhere,
  ]

  private let base: EndWorld<EndpointClient>

  init() {
    let request = EndpointRequest(identity: "ana", name: "Ana")
    base = EndWorld(EndpointClient(request, receiver: Receiver(), random: SeededRandom(seed: 1)))
  }

  func end() { base.finish() }

  func step(_ input: inout Input) {
    let choice = input.number(below: 24)
    let id = "r\(input.number(below: 3))"
    let state = Self.states[input.number(below: Self.states.count)]
    let seconds = [0, -1, 30, 1e300][input.number(below: 4)]
    switch choice {
    case 12, 13: base.say(.registered(identity: "ana"))
    case 14:
      base.say(
        .incomingRing(
          Ring(id: id, room: "x", caller: "ben", callerName: "", callees: [], hasVideo: false, isIncoming: true)))
    case 15: base.say(.ringEnded(id: id, state))
    case 16: base.say(.ringProgress(RingProgress(id: id, identity: "ben", state: state)))
    case 17: ask(.ring(RingRequest(id: id, room: "x", to: ["ben", "cem"], timeoutSeconds: seconds)))
    case 18: ask(.cancelRing(id: id))
    case 19: ask(.answerRing(id: id, state))
    default: base.takeStep(choice, &input)
    }
    base.drain()
  }

  /// What an endpoint asks for, until it is over.
  private func ask(_ message: ClientMessage) { if !base.end.isOver { base.end.send(message, at: base.now) } }
}

/// Both ends of a sealed stream over a network that loses, repeats, reorders and damages, and a peer that seals nonsense.
/// Messages arrive whole, once and in order, unless the peer lied.
private final class StreamWorld {
  private static let key = [UInt8](0..<16)

  private var now = Tick(nanoseconds: 1_000_000_000)
  private let ends: [SignalStream]
  private var sent: [[[UInt8]]] = [[], []]
  private var arrived = [0, 0]
  private var underWay: [(to: Int, datagram: [UInt8])] = []
  private var hasLied = false
  private let scratch = Bytes(capacity: 2_048)

  init?() {
    guard let participant = try? SignalStream(key: Self.key, end: .participant, now: now),
      let router = try? SignalStream(key: Self.key, end: .router, now: now)
    else { return nil }
    ends = [participant, router]
  }

  func step(_ input: inout Input) {
    let side = input.number(below: 2)
    switch input.number(below: 10) {
    case 0, 1:
      let message = [UInt8](repeating: input.byte(), count: Int(input.byte()) * 40)
      sent[side].append(message)
      ends[side].send(message)
    case 2: if !underWay.isEmpty { underWay.remove(at: input.number(below: underWay.count)) }
    case 3: if let again = underWay.first { underWay.append(again) }
    case 4: if underWay.count > 1 { underWay.swapAt(0, input.number(below: underWay.count)) }
    case 5:
      guard !underWay.isEmpty else { break }
      let index = input.number(below: underWay.count)
      let offset = input.number(below: max(underWay[index].datagram.count, 1))
      if offset < underWay[index].datagram.count { underWay[index].datagram[offset] ^= max(input.byte(), 1) }
    case 6: withCopy(input.part(input.number(below: 100))) { ends[side].handle(UnsafeRawBufferPointer($0), at: now) }
    case 7: lie(to: side, &input)
    default: pass(.milliseconds(1 << input.number(below: 12)))
    }
    deliver(input.number(below: 8))
    poll()
  }

  func end() {
    for _ in 0..<200 where !hasLied { pass(.milliseconds(100)) }
    guard !hasLied, !ends.contains(where: \.isBroken) else { return }
    for side in 0..<2 { require(arrived[side] == sent[1 - side].count, "everything has arrived") }
  }

  private func deliver(_ count: Int) {
    for _ in 0..<min(count, underWay.count) {
      let (to, datagram) = underWay.removeFirst()
      datagram.withUnsafeBytes { ends[to].handle($0, at: now) }
      read(to)
    }
  }

  private func read(_ side: Int) {
    while let message = ends[side].pollMessage() {
      guard !hasLied else { continue }
      require(arrived[side] < sent[1 - side].count, "nothing arrives that was not sent")
      require(message == sent[1 - side][arrived[side]], "messages arrive whole and in order")
      arrived[side] += 1
    }
  }

  private func poll() {
    for side in 0..<2 {
      while let count = ends[side].poll(into: scratch.writable, at: now) {
        underWay.append((1 - side, Array(scratch.writable[..<count])))
      }
    }
  }

  private func pass(_ time: Duration) {
    let limit = now + time
    poll()
    while let due = ends[0].deadline.sooner(ends[1].deadline), due <= limit {
      now = max(now, due)
      for end in ends { end.handleTimeout(at: now) }
      poll()
      for end in ends {
        let violation = DeadlineLaw.check("SignalStream", deadline: end.deadline, at: now, because: "stream")
        require(violation == nil, violation ?? "")
      }
      deliver(underWay.count)
      poll()
    }
    now = limit
  }

  /// A segment with any numbers, sealed as the other end would seal it.
  private func lie(to side: Int, _ input: inout Input) {
    hasLied = true
    guard let aead = try? AEAD(key: Self.key) else { return }
    let other: SignalStream.End = side == 0 ? .router : .participant
    let counter = UInt64(input.byte())
    let header = [SignalStream.firstByte] + (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
    let plain = Array(input.part(input.number(below: 40)))
    let datagram = withRoom(header.count + plain.count + AEAD.tagLength) { room in
      room.copyBytes(from: header)
      let body = UnsafeMutableRawBufferPointer(rebasing: room[header.count...])
      _ = plain.withUnsafeBytes { plain in
        header.withUnsafeBytes {
          try? aead.seal(
            plain, nonce: AEAD.Nonce(high: counter, low: other.rawValue), additionalData: $0, into: body)
        }
      }
      return Array(room)
    }
    datagram.withUnsafeBytes { ends[side].handle($0, at: now) }
    read(side)
  }
}
