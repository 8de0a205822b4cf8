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
  package var addresses: [TransportAddress]
  package var limits = RouterLimits()
  package var authorization = Authorization.open
  package var attendant: Attendant?
  /// Asked before a connection opens a room: nil refuses it, anything else is released with the room.
  package var roomPermit: (@Sendable (LineHold) -> AnyObject?)?
  /// Asked to close a line: its client has resumed on another one, or cannot be told what it missed.
  package var closeLine: (@Sendable (ConnectionID) -> Void)?
  /// Whether the owner tells when a page of history or of repeated messages has been written (`Router.historyWritten`,
  /// `Router.pageWritten`); else all of it is sent at once.
  package var pacesPages = false
  /// Every RTP and RTCP packet before protection and after it has been opened; for traces.
  package var tracesPlaintext: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  package init(certificate: Certificate, addresses: [TransportAddress]) {
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
  /// From clients, but for those that keep a connection alive.
  package var messages = 0

  package init() {}
}

/// A message on its way to a client.
package struct Outgoing: Sendable {
  package let line: ConnectionID
  package let message: ServerMessage
  /// Of the message: equal for the copies of one to several clients, and for no others. Copies come one after the other.
  package let number: UInt64
  /// Of the last message of a page of repeated ones: what the page weighs in bytes. The owner calls `Router.pageWritten` once it
  /// has been written.
  package let endsPage: Int?
}

/// What has been forwarded of one stream to one receiver.
package struct ForwardingStatistics: Hashable, Sendable {
  package let receiver: String
  package let stream: Track.ID
  package let packets: Int
  /// Of simulcast layers the one that is forwarded, 0 the smallest; nil while nothing is.
  package let layer: Int?
}

/// A selective forwarding unit: rooms, and in each the packets of every track on their way to all who subscribed.
///
/// Sans-IO with a single owner: no clock, socket, lock or thread inside. Signalling comes in as messages on connections,
/// media as datagrams. After each call that takes a time, drain `poll(into:at:)` and `pollMessage()`, then call
/// `handleTimeout(at:)` no later than `deadline`. Time never goes backwards.
///
///     open ─→ join ─→ joined: publish, subscribe, data, … ─→ leave, or ended ─→ open     close at any time: a drop
///       ↑                        │ lose
///       └─ resumeConversation ─ lost, for as long as the grace
///
/// A connection is told apart from the line that carries it: what a client and the router say to each other
/// (`Conversation`) goes on when the line breaks and the client comes back on another one.
///
/// A room's facts and decisions are values (`Roster`, `DataRouter`, `ActiveSpeakerDetector`, `LayerAllocator`, `StarvationDetector`,
/// `KeyFrameScheduler`), which take inputs and return decisions; `Room` carries these out. `RoomSnapshot` holds those that
/// another router needs in order to go on with the room. A packet goes from its ingress peer to the track, which puts it into the
/// queues of all who may get it; when their peers are polled, each one's forwarder decides and rewrites. On that path there
/// is one look-up by address per datagram and none by name, and nothing is allocated.
///
/// **More cores.** What a packet costs is nearly all spent on its way out, once per receiver: its place in that receiver's
/// stream, its header, its encryption, its system call. `poll(by:at:_:)` shares that out among the hands of a crew, receiver
/// by receiver, whichever rooms they are in; `handleArrivals(by:at:)` and `handleTimeout(by:at:)` do the same with what comes
/// from each (packets opened, reports read, the path's estimate) and with its time. Everything that decides (rooms, messages,
/// layers) stays with the one owner, in between. Peers have nothing in common but payloads, which are immutable once they
/// are shared.
package final class Router {
  var configuration: RouterConfiguration
  var random: SeededRandom
  var connections = LineTable<Connection>()
  var rooms: [String: Room] = [:]
  var roomsByNumber: [Int: Room] = [:]
  var nextRoom = 0
  let peers = PeerTable()
  let outbox = Outbox()
  private var timers = TimerHeap()
  var switchboard: Switchboard
  var lobby = Lobby()
  var nextKnock = 0
  var counts = RouterStatistics()

  package init(configuration: RouterConfiguration, random: SeededRandom, now: Tick) {
    self.configuration = configuration
    self.random = random
    switchboard = Switchboard(outbox: outbox)
  }

  deinit {
    for room in rooms.values { room.dissolve() }
  }

  // MARK: What a server does by itself (what clients say: `Router+Signalling`)

  /// For rooms that were made before, too: who is in stays.
  package func setParticipantLimit(_ limit: Int) { configuration.limits.participants = limit }

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
    room.close(told: .roomClosed)
    settle(room, at: now)
  }

  /// Puts everybody out of every room.
  package func closeAllRooms(at now: Tick) {
    for name in rooms.keys.sorted() { close(room: name, at: now) }
  }

  /// The next message and the line it goes out on. What is said to a lost connection is kept for its return.
  package func pollMessage() -> (ConnectionID, ServerMessage)? { pollOutgoing().map { ($0.line, $0.message) } }

  /// In place of `pollMessage`, for routers with `pacesPages`.
  package func pollOutgoing() -> Outgoing? {
    while let item = outbox.popFirst() {
      guard let connection = connections[item.recipient] else { continue }
      if !item.isRepeated {
        guard !holdsBack(item.message, of: connection) else { continue }
        connection.conversation.say(item.message)
        // The message is sent with a later page, after the earlier messages.
        if connection.repeating != nil, item.message.isCounted { continue }
      }
      if let line = connection.line {
        return Outgoing(line: line, message: item.message, number: item.number, endsPage: item.endsPage)
      }
    }
    return nil
  }

  // MARK: Datagrams

  /// Datagrams that belong to no peer.
  package var strayDatagrams: Int { counts.strayDatagrams }

  /// Takes a datagram; it is decrypted in place and may be kept, so the caller must not use it afterwards.
  package func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  {
    guard let slot = peers.find(datagram.readable, from: source), let room = slot.member?.room else {
      counts.strayDatagrams += 1
      return
    }
    slot.peer.handle(datagram, from: source, to: destination, at: now)
    peers.bind(slot, to: source, at: now)
    peers.touch(slot)
    takeEvents(of: slot, in: room, at: now)
  }

  /// In place of `handle`, where a crew helps: media is only laid before its peer, and looked at by `handleArrivals`, which
  /// has to follow before anything else does. What may change who is reached where is handled at once, after what the
  /// peer had before.
  package func take(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) {
    guard let first = datagram.readable.first, 128...191 ~= first,
      let slot = peers.find(datagram.readable, from: source)
    else {
      handleArrivals(by: nil, at: now)
      return handle(datagram, from: source, to: destination, at: now)
    }
    peers.keep(datagram, for: slot, from: source, to: destination)
  }

  package func handleArrivals(by crew: Crew?, at now: Tick) {
    peers.handleArrivals(by: crew, at: now) { takeEvents(of: $0, at: now) }
  }

  private func takeEvents(of slot: PeerSlot, at now: Tick) {
    if let room = slot.member?.room { takeEvents(of: slot, in: room, at: now) }
  }

  private func takeEvents(of slot: PeerSlot, in room: Room, at now: Tick) {
    room.takeEvents(of: slot, at: now)
    if room.needsSettling { settle(room, at: now) }
  }

  /// Where peers are reached: but for STUN, nothing that comes from elsewhere is anybody's. How often that has changed tells
  /// whether it has.
  package var sources: some Sequence<TransportAddress> { peers.sources }
  package var sourceChanges: Int { peers.changes }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    peers.poll(into: out, at: now)
  }

  /// In place of `poll(into:at:)`: lets all hands write and send at once. `send` is called once for each peer that may have
  /// something, on the hand's own thread, and polls it until nothing is due.
  package func poll(by crew: Crew, at now: Tick, _ send: (_ departure: Departure, _ hand: Int) -> Void) {
    peers.poll(by: crew, at: now, send)
  }

  // MARK: Time

  /// When `handleTimeout` next has work to do; it may turn out to have none.
  package var deadline: Tick? {
    peers.deadline.sooner(timers.soonest).sooner(switchboard.deadline).sooner(connections.deadline)
  }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    let reason = soonestDeadline([
      "ringing": switchboard.deadline, "end of a lost connection": connections.deadline, "room": timers.soonest,
      "peer": peers.deadline,
    ])
    switch reason {
    case "room": return "room: \(soonestRoom?.deadlineReason ?? "an entry that is out of date")"
    case "peer": return "peer: \(peers.deadlineReason)"
    default: return reason
    }
  }

  private var soonestRoom: Room? {
    rooms.values.filter { $0.deadline != nil }.min { $0.deadline ?? .zero < $1.deadline ?? .zero }
  }

  /// - Parameter crew: helps to wake those whose time has come.
  package func handleTimeout(by crew: Crew? = nil, at now: Tick) {
    switchboard.handleTimeout(at: now)
    while let connection = connections.firstExpired(at: now) { close(connection, grace: .zero, at: now) }
    peers.handleTimeouts(by: crew, at: now) { takeEvents(of: $0, at: now) }
    while let entry = timers.popDue(at: now) {
      guard case .room(let number) = entry.owner, let room = roomsByNumber[number], room.alarm.fired(entry) else {
        continue
      }
      room.handleTimeout(at: now)
      settle(room, at: now)
    }
  }

  /// After anything has happened to a room: frees who left, arms its timer, drops it when it is empty.
  func settle(_ room: Room, at now: Tick) {
    room.needsSettling = false
    for member in room.takeDeparted() {
      // The connection stays open, and may already carry another stay.
      if let id = member.connection, let connection = connections[id], connection.member === member {
        connection.member = nil
      }
    }
    if room.members.isEmpty, !room.roster.isAwaiting {
      lobby.forgetPlaces(at: room.name)
      counts.forwardedPackets += room.forwardedPackets
      counts.keyFrameRequests += room.keyFrameRequests
      room.permit = nil
      rooms[room.name] = nil
      roomsByNumber[room.number] = nil
    } else {
      room.alarm.arm(room.deadline, .room(room.number), in: &timers)
    }
  }

  /// For tests.
  func room(of line: ConnectionID) -> Room? { connections.holder(on: line)?.member?.room }

  /// For tests: what is kept for whom, by name; all nought once everybody has gone.
  package var holdings: [String: Int] {
    let known = [
      "rooms": rooms.count, "room numbers": roomsByNumber.count,
      "members": rooms.values.reduce(0) { $0 + $1.members.count },
      "knocks": lobby.count, "devices and calls": switchboard.count, "messages": outbox.count,
    ]
    return known.merging(connections.holdings) { $1 }.merging(peers.holdings) { $1 }
  }

  /// By receiver and stream, of all who are subscribed in a room.
  package func forwarding(in room: String) -> [ForwardingStatistics] {
    (rooms[room]?.members ?? []).flatMap { member in
      member.tracks.flatMap { track in
        track.forwarders.map { way in
          ForwardingStatistics(
            receiver: way.receiver.id, stream: track.id, packets: way.packets,
            layer: way.isPaused ? nil : way.current)
        }
      }
    }
  }

  /// Whether there is no room.
  package var isEmpty: Bool { rooms.isEmpty }

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
