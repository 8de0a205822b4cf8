package import KoineBase
import KoineCluster
import KoineLedger
package import KoineSignaling
package import KoineTransport

/// What a router is made with.
package struct RouterConfiguration: Sendable {
  package var certificate: Certificate
  /// Where the router's sockets are reached: its ICE candidates.
  package var addresses: [TransportAddress]
  package var limits = RouterLimits()
  package var authorization = Authorization.open
  /// Decides about joins after `authorization` has; nil: the credential alone decides.
  package var admission: AdmissionPolicy?
  package var attendant: RoomService?
  /// Called once for each command of `RoomControl`, when it has been executed or refused: for the log.
  package var commandExecuted: (@Sendable (RoomRequest, Result<RoomAnswer, RoomControlError>) -> Void)?
  /// Called for each event in the rooms, in order, on the router's own thread: it must return at once.
  package var roomEvent: (@Sendable (RoomEvent) -> Void)?
  /// Asked before a client opens a room: nil refuses it, anything else is released with the room.
  package var roomPermit: (@Sendable (ClientID) -> AnyObject?)?
  /// nil: this router has all rooms. Otherwise the owner carries requests to the cluster's ledger and its events back
  /// (`Router.takeLedgerRequests`, `handle(_: LedgerEvent, …)`, `takeClusterEvents`), after each call that takes a time.
  package var cluster: ClusterConfiguration?
  /// Whether the owner calls `Router.historyWritten` once a page of history has been written; else all pages are sent at once.
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
  /// Messages from clients.
  package var messages = 0

  package init() {}
}

/// A message on its way to a client.
package struct AddressedMessage: Sendable {
  package let client: ClientID
  package let message: ServerMessage
  /// Of the message: equal for the copies of one to several clients, and for no others. Copies come one after the other.
  package let number: UInt64
}

/// Statistics of one stream that the router forwards to one receiver.
package struct ForwardingStatistics: Hashable, Sendable {
  package let receiver: String
  package let stream: Track.ID
  package let packets: Int
  /// The simulcast layer that is forwarded, 0 the smallest; nil while the stream is paused.
  package let layer: Int?
}

/// A selective forwarding unit: in each room it forwards the packets of every track to the subscribed participants.
///
/// Sans-IO with a single owner: no clock, socket, lock or thread inside. Signalling comes in as messages of clients,
/// media as datagrams. After each call that takes a time, drain `poll(into:at:)` and `pollMessage()`, then call
/// `handleTimeout(at:)` no later than `deadline`. Time never goes backwards.
///
///     open ─→ join ─→ joined: publish, subscribe, data, … ─→ leave, or ended ─→ open     close at any time: a drop
///
/// A client is not a connection: `SignalingHost` has the connections, and messages that are lost with one are sent again on the
/// next.
///
/// A room's facts and decisions are values (`Roster`, `DataRouter`, `ActiveSpeakerDetector`, `LayerAllocator`, `StarvationDetector`,
/// `KeyFrameScheduler`), which take inputs and return decisions; `Room` carries these out. `RoomSnapshot` holds those that
/// another router needs in order to go on with the room. A packet goes from its ingress peer to the track, which puts it into the
/// queues of all receivers that may get it; when their peers are polled, each receiver's forwarder decides and rewrites. On that
/// path there is one look-up by address per datagram and none by name, and nothing is allocated.
///
/// **More cores.** What a packet costs is nearly all spent on its way out, once per receiver: its place in that receiver's
/// stream, its header, its encryption, its system call. `poll(by:at:_:)` divides that among the workers of a crew, receiver
/// by receiver, whichever rooms they are in; `handleArrivals(by:at:)` and `handleTimeout(by:at:)` do the same with what comes
/// from each (packets opened, reports read, the path's estimate) and with its time. Everything that decides (rooms, messages,
/// layers) stays with the one owner, in between. Peers have nothing in common but payloads, which are immutable once they
/// are shared.
package final class Router {
  private(set) var configuration: RouterConfiguration
  let peers = PeerTable()
  let outbox = Outbox()
  // Changed by the extensions, of which each has one kind of input: messages (`+Signalling`), joins (`+Admission`), commands
  // (`+Control`), services (`+RoomService`), snapshots (`RoomSnapshot`). Each of these is a value that keeps its own state together.
  var clients: [ClientID: Client] = [:]
  @exclusivity(unchecked) var rooms = RoomTable()
  var lobby = Lobby()
  @exclusivity(unchecked) var switchboard: Switchboard
  @exclusivity(unchecked) var random: SeededRandom
  let cluster: ClusterMembership?
  /// By recordings that the co-located recorder has under way: the names by which participants have come to their rooms.
  var recordings: [Recording: Set<String>] = [:]
  @exclusivity(unchecked) private var counts = RouterStatistics()

  package init(configuration: RouterConfiguration, random: SeededRandom, now: Tick) {
    self.configuration = configuration
    var random = random
    cluster = configuration.cluster.map { cluster in
      var cluster = cluster
      cluster.limits.rooms = configuration.limits.rooms
      return ClusterMembership(cluster, random: random.fork(), at: now)
    }
    self.random = random
    switchboard = Switchboard(outbox: outbox, node: configuration.cluster?.record.id)
    takeClusterOutputs(at: now)
  }

  deinit {
    for room in rooms.all { room.dissolve() }
  }

  // MARK: What a server does by itself (what clients say: `Router+Signalling`; commands: `Router+Control`)

  /// Sets the maximum number of participants in a room, for existing rooms too. Participants that are in a room stay.
  package func setParticipantLimit(_ limit: Int) { configuration.limits.participants = limit }

  func setAttendantOfNewRooms(_ attendant: RoomService?) { configuration.attendant = attendant }

  func countMessage() { counts.messages += 1 }

  /// The next message to a client.
  package func pollMessage() -> AddressedMessage? {
    while let item = outbox.popFirst() {
      guard let client = clients[item.recipient], !holdsBack(item.message, of: client) else { continue }
      return AddressedMessage(client: client.id, message: item.message, number: item.number)
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

  /// Replaces `handle` where a pool helps. Media is only stored for its peer; `handleArrivals` reads it, and must be called before
  /// any other method. Other datagrams (STUN, DTLS) may change the address of a peer, so the router handles them at once, after
  /// all stored media.
  package func store(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) {
    guard let first = datagram.readable.first, 128...191 ~= first,
      let slot = peers.find(datagram.readable, from: source)
    else {
      handleArrivals(by: nil, at: now)
      return handle(datagram, from: source, to: destination, at: now)
    }
    peers.keep(datagram, for: slot, from: source, to: destination)
  }

  package func handleArrivals(by pool: ForkJoinPool?, at now: Tick) {
    peers.handleArrivals(by: pool, at: now) { takeEvents(of: $0, at: now) }
  }

  private func takeEvents(of slot: PeerSlot, at now: Tick) {
    guard slot.peer.hasEvents else { return }
    if let room = slot.member?.room { takeEvents(of: slot, in: room, at: now) }
  }

  private func takeEvents(of slot: PeerSlot, in room: Room, at now: Tick) {
    room.takeEvents(of: slot, at: now)
    if room.needsSettling { settle(room, at: now) }
  }

  /// Addresses bound to a peer. Datagrams from any other address belong to no peer unless they are STUN. `sourceChanges` counts
  /// the changes of these addresses.
  package var sources: some Sequence<TransportAddress> { peers.sources }
  package var sourceChanges: Int { peers.changes }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    peers.poll(into: out, at: now)
  }

  /// Replaces `poll(into:at:)`: all workers of the pool write and send at once. A worker calls `send` on its own thread, once for each
  /// peer that may have datagrams; `send` polls that peer until nothing is due.
  package func poll(by pool: ForkJoinPool, at now: Tick, _ send: (_ departure: PeerOutput, _ worker: Int) -> Void) {
    peers.poll(by: pool, at: now, send)
  }

  // MARK: Time

  /// When `handleTimeout` next has work to do; it may turn out to have none.
  package var deadline: Tick? {
    peers.deadline.sooner(rooms.deadline).sooner(switchboard.deadline).sooner(cluster?.node.deadline)
  }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    let reason = soonestDeadline([
      "ringing": switchboard.deadline, "room": rooms.deadline, "peer": peers.deadline,
      "cluster": cluster?.node.deadline,
    ])
    switch reason {
    case "room": return "room: \(rooms.soonest?.deadlineReason ?? "an entry that is out of date")"
    case "peer": return "peer: \(peers.deadlineReason)"
    case "cluster": return "cluster: \(cluster?.node.reason ?? "")"
    default: return reason
    }
  }

  /// - Parameter pool: workers that share the timeouts of peers; nil: the caller's thread handles all of them.
  package func handleTimeout(by pool: ForkJoinPool? = nil, at now: Tick) {
    switchboard.handleTimeout(at: now)
    relayRings(at: now)
    peers.handleTimeouts(by: pool, at: now) { takeEvents(of: $0, at: now) }
    while let room = rooms.popDue(at: now) {
      room.handleTimeout(at: now)
      settle(room, at: now)
    }
    cluster?.node.handleTimeout(at: now)
    takeClusterOutputs(at: now)
  }

  /// Called after every change of a room: releases the clients of departed members, arms the room's timer, and removes the room
  /// when it is empty.
  func settle(_ room: Room, at now: Tick) {
    room.needsSettling = false
    record(room, at: now)
    for member in room.takeDeparted() {
      // The client stays, and may already be in another room.
      if let id = member.client, let client = clients[id], client.member === member {
        client.member = nil
      }
    }
    if room.members.isEmpty, !room.roster.isAwaiting, !isHeldOpen(room, at: now) {
      lobby.forgetPositions(at: room.name)
      counts.forwardedPackets += room.forwardedPackets
      counts.keyFrameRequests += room.keyFrameRequests
      room.permit = nil
      rooms.remove(room)
      closeInCluster(room, at: now)
    } else {
      rooms.arm(room)
    }
  }

  /// In a cluster a room is opened before its first participant enters, and has the lobby in which participants wait.
  private func isHeldOpen(_ room: Room, at now: Tick) -> Bool {
    room.log != nil && (room.isKeptOpen(at: now) || !lobby.knocks(at: room.name).isEmpty)
  }

  /// For tests.
  func room(of client: ClientID) -> Room? { clients[client]?.member?.room }

  /// For tests: the number of objects that the router holds, by kind. All are 0 once all clients have gone.
  package var holdings: [String: Int] {
    [
      "clients": clients.count, "rooms": rooms.count, "room numbers": rooms.numbers,
      "members": rooms.all.reduce(0) { $0 + $1.members.count },
      "knocks": lobby.count, "joins that wait": cluster?.waiting ?? 0, "devices and calls": switchboard.count,
      "messages": outbox.count,
    ].merging(peers.holdings) { $1 }
  }

  /// Forwarding statistics for each receiver and stream of a room.
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
    for room in rooms.all {
      result.participants += room.members.count
      result.forwardedPackets += room.forwardedPackets
      result.keyFrameRequests += room.keyFrameRequests
    }
    return result
  }
}
