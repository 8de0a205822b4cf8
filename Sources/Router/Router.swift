package import KoineBase
package import KoineSignaling
package import KoineTransport

/// One signalling connection: one participant's stay at a time.
package struct ConnectionID: Hashable, Sendable {
  package let value: Int
  package init(_ value: Int) { self.value = value }
}

/// What a router is made with.
package struct RouterConfiguration: Sendable {
  package var certificate: Certificate
  /// Where the router's sockets are reached: its ICE candidates.
  package var addresses: [SocketAddress]
  package var limits = RouterLimits()
  package var authorization = Authorization.open
  /// Every RTP and RTCP packet before protection and after it has been opened; for traces.
  package var tracesPlaintext: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  package init(certificate: Certificate, addresses: [SocketAddress]) {
    (self.certificate, self.addresses) = (certificate, addresses)
  }
}

package struct RouterStatistics: Hashable, Sendable {
  package var rooms = 0
  package var participants = 0
  /// Datagrams that belong to no peer.
  package var strayDatagrams = 0
  package var forwardedPackets = 0
  /// Asked of publishers.
  package var keyFrameRequests = 0
}

/// A selective forwarding unit: rooms, and in each the packets of every track on their way to all who subscribed.
///
/// Sans-IO with a single owner: no clock, socket, lock or thread inside. Signalling comes in as messages on connections,
/// media as datagrams. After each call that takes a time, drain `poll(into:at:)` and `pollMessage()`, then call
/// `handleTimeout(at:)` no later than `deadline`. Time never goes backwards.
///
///     open ─→ join ─→ joined: publish, subscribe, data, … ─→ leave, or ended ─→ open     close at any time: a drop
///
/// A room is one control value (`Room`): who is there, what they publish, who gets what, in one place and in order. A packet
/// goes from its ingress peer through the track's list of forwarders to the egress peers; on that path there is one look-up
/// by address per datagram and none by name, and nothing is allocated.
///
/// **Shards.** To use more cores, the peers of a room are to be divided among N loops, each with a `PeerTable` of its own.
/// What crosses is already in one piece: a track's forwarders are a flat list (to be kept per shard), a forwarder touches
/// nothing but its own state and its receiver's peer, and a packet is a shared immutable block (to be handed over once per
/// shard that has a receiver). The way back is narrow: a key frame wanted for (track, layer), an estimate for a member.
/// `Room`, `SpeakerBoard` and all messages stay with one owner.
package final class Router {
  private struct Connection {
    var member: Member?
  }

  private let configuration: RouterConfiguration
  private var random: SeededRandom
  private var connections: [ConnectionID: Connection] = [:]
  private var rooms: [String: Room] = [:]
  private var roomsByNumber: [Int: Room] = [:]
  private var nextRoom = 0
  private let peers = PeerTable()
  private let outbox = Outbox()
  private var timers = TimerHeap()
  private var switchboard: Switchboard
  private var counts = RouterStatistics()

  package init(configuration: RouterConfiguration, random: SeededRandom, now: Tick) {
    self.configuration = configuration
    self.random = random
    switchboard = Switchboard(outbox: outbox)
  }

  deinit {
    for room in rooms.values { room.dissolve() }
  }

  // MARK: Signalling

  /// Begins a connection. What is said on one that is not open is dropped.
  package func open(_ connection: ConnectionID, at now: Tick) {
    if connections[connection] == nil { connections[connection] = Connection() }
  }

  /// The connection broke. Its participant is dropped after a grace, during which its media goes on.
  package func close(_ connection: ConnectionID, at now: Tick) {
    switchboard.close(connection)
    guard let member = connections.removeValue(forKey: connection)?.member else { return }
    member.connection = nil
    member.room.loses(member, at: now)
    settle(member.room, at: now)
  }

  /// A message that cannot be read is answered, never punished.
  package func refuse(_ error: SignalingError, on connection: ConnectionID) {
    guard let state = connections[connection] else { return }
    if state.member == nil, case .unknownVersion = error { return outbox.post(.refused(error.failure), to: connection) }
    outbox.post(.failed(request: nil, error.failure), to: connection)
  }

  package func handle(_ message: ClientMessage, on connection: ConnectionID, at now: Tick) {
    guard let state = connections[connection] else { return }
    switch message {
    case .ping(let number): return outbox.post(.pong(number), to: connection)
    case .join(let join):
      guard state.member == nil else {
        return outbox.post(.failed(request: nil, Failure(.wrongState, "already in a room")), to: connection)
      }
      return admit(join, on: connection, at: now)
    case .register, .ring, .cancelRing, .answerRing: return handleRinging(message, on: connection, at: now)
    case .close:
      guard let member = state.member, member.grants.canModerate else { break }
      return close(room: member.room.name, at: now)
    default: break
    }
    guard let member = state.member else {
      return outbox.post(.failed(request: message.request, Failure(.wrongState, "join first")), to: connection)
    }
    let room = member.room
    room.handle(message, of: member, at: now)
    settle(room, at: now)
  }

  private func handleRinging(_ message: ClientMessage, on connection: ConnectionID, at now: Tick) {
    var failure: Failure?
    switch message {
    case .register(let register):
      switch configuration.authorization.checkIdentity(register) {
      case .success(let known): switchboard.register(known.identity, name: known.name, on: connection)
      case .failure(let failure): outbox.post(.refused(failure), to: connection)
      }
    case .ring(let ring): failure = switchboard.ring(ring, from: connection, at: now)
    case .cancelRing(let id): switchboard.cancel(id, by: connection)
    case .answerRing(let id, let answer): switchboard.answer(id, answer, by: connection)
    default: break
    }
    if let failure { outbox.post(.failed(request: nil, failure), to: connection) }
  }

  /// Puts a participant out.
  /// - Returns: false if there is none of that name.
  @discardableResult
  package func remove(participant id: String, from room: String, at now: Tick) -> Bool {
    guard let room = rooms[room], let member = room.member(id) else { return false }
    room.remove(member, told: .removed, others: .removed, at: now)
    settle(room, at: now)
    return true
  }

  /// Puts everybody out of a room.
  package func close(room name: String, at now: Tick) {
    guard let room = rooms[name] else { return }
    for member in room.members { room.remove(member, told: .closed, others: .removed, at: now) }
    settle(room, at: now)
  }

  /// Puts everybody out of every room.
  package func closeAllRooms(at now: Tick) {
    for name in rooms.keys.sorted() { close(room: name, at: now) }
  }

  package func pollMessage() -> (ConnectionID, ServerMessage)? { outbox.popFirst() }

  // MARK: Joining

  private func admit(_ join: Join, on connection: ConnectionID, at now: Tick) {
    switch admission(join, at: now) {
    case .failure(let failure): outbox.post(.refused(failure), to: connection)
    case .success(let grants):
      let room = room(named: join.room)
      defer { settle(room, at: now) }
      do {
        let id = grants.participantID ?? join.participantID ?? unusedID(in: room)
        let member = try room.join(join, id: id, grants: grants, connection: connection, at: now) { [self] in
          try makeSeat(for: join.description, at: now)
        }
        connections[connection] = Connection(member: member)
      } catch {
        outbox.post(.refused(Failure(.internal, "no peer: \(error)")), to: connection)
      }
    }
  }

  private func admission(_ join: Join, at now: Tick) -> Result<Grants, Failure> {
    guard join.version == SignalingVersion.current else {
      return .failure(SignalingError.unknownVersion(join.version).failure)
    }
    guard !join.room.isEmpty, join.participantID != "" else {
      return .failure(Failure(.malformed, "a room and a participant need a name"))
    }
    let answer = configuration.authorization.check(join)
    guard case .success(let grants) = answer else { return answer }
    guard let room = rooms[join.room] else {
      guard rooms.count < configuration.limits.rooms else {
        return .failure(Failure(.roomFull, "no more than \(configuration.limits.rooms) rooms at a time"))
      }
      return answer
    }
    let id = grants.participantID ?? join.participantID
    let replaces = id.map { room.member($0) != nil } ?? false
    guard replaces || room.members.count < configuration.limits.participants else {
      return .failure(Failure(.roomFull, "the room holds \(configuration.limits.participants) participants"))
    }
    return answer
  }

  private func unusedID(in room: Room) -> String {
    while true {
      let id = "p" + String(random.next(), radix: 36)
      if room.member(id) == nil { return id }
    }
  }

  private func room(named name: String) -> Room {
    if let room = rooms[name] { return room }
    let room = Room(
      name: name, number: nextRoom, limits: configuration.limits, peers: peers, outbox: outbox, random: random.fork())
    nextRoom += 1
    rooms[name] = room
    roomsByNumber[room.number] = room
    return room
  }

  private func makeSeat(for description: Description, at now: Tick) throws -> Seat {
    var peerConfiguration = PeerConfiguration(role: .server, certificate: configuration.certificate)
    peerConfiguration.tracesPlaintext = configuration.tracesPlaintext
    let peer = try Peer(configuration: peerConfiguration, random: random.fork(), now: now)
    for address in configuration.addresses { peer.addLocalAddress(address) }
    peer.setRemote(PeerDescription(description), at: now)
    let seat = peers.add(peer)
    peers.touch(seat)
    return seat
  }

  // MARK: Datagrams

  /// Takes a datagram; it is decrypted in place and may be kept, so the caller must not use it afterwards.
  package func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    guard let seat = peers.find(datagram.readable, from: source), let room = seat.member?.room else {
      counts.strayDatagrams += 1
      return
    }
    seat.peer.handle(datagram, from: source, to: destination, at: now)
    peers.bind(seat, to: source)
    peers.touch(seat)
    room.takeEvents(of: seat, at: now)
    if room.needsSettling { settle(room, at: now) }
  }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    peers.poll(into: out, at: now)
  }

  // MARK: Time

  /// When `handleTimeout` next has work to do; it may turn out to have none.
  package var deadline: Tick? { peers.deadline.sooner(timers.soonest).sooner(switchboard.deadline) }

  package func handleTimeout(at now: Tick) {
    switchboard.handleTimeout(at: now)
    while let seat = peers.popDue(at: now) {
      seat.peer.handleTimeout(at: now)
      peers.touch(seat)
      guard let room = seat.member?.room else { continue }
      room.takeEvents(of: seat, at: now)
      if room.needsSettling { settle(room, at: now) }
    }
    while let entry = timers.popDue(at: now) {
      guard case .room(let number) = entry.owner, let room = roomsByNumber[number], room.alarm.fired(entry) else {
        continue
      }
      room.handleTimeout(at: now)
      settle(room, at: now)
    }
  }

  /// After anything has happened to a room: frees who left, arms its timer, drops it when it is empty.
  private func settle(_ room: Room, at now: Tick) {
    room.needsSettling = false
    for member in room.takeDeparted() {
      // The connection stays open, and may already carry another stay.
      if let connection = member.connection, connections[connection]?.member === member {
        connections[connection] = Connection()
      }
    }
    if room.members.isEmpty {
      counts.forwardedPackets += room.forwardedPackets
      counts.keyFrameRequests += room.keyFrameRequests
      rooms[room.name] = nil
      roomsByNumber[room.number] = nil
    } else {
      room.alarm.arm(room.deadline, .room(room.number), in: &timers)
    }
  }

  /// For tests.
  func room(of connection: ConnectionID) -> Room? { connections[connection]?.member?.room }

  package var statistics: RouterStatistics {
    var result = counts
    result.rooms = rooms.count
    for room in rooms.values {
      result.participants += room.members.count
      result.forwardedPackets += room.forwardedPackets
      result.keyFrameRequests += room.keyFrameRequests
    }
    return result
  }
}

extension ClientMessage {
  /// The number its answer repeats.
  fileprivate var request: Int? {
    switch self {
    case .publish(let publish): publish.request
    case .subscribe(let subscribe): subscribe.request
    default: nil
    }
  }
}
