package import KoineBase
import KoineCluster
package import KoineLedger
import KoineSignaling

// A router that is a node of a cluster. It admits participants to rooms of which it is the home, and sends the others to the nodes
// that are the homes of theirs. It records what its rooms keep before it acknowledges it.
//
//     join ─→ locate ─┬─→ here: admitted              ledger ─→ stored ─→ receipts
//                     └─→ elsewhere: `moved`                 └→ deposed ─→ `moved` to all participants

extension Router {
  // MARK: What the owner does

  /// The ledger has answered, or its connection has changed.
  package func handle(_ event: LedgerEvent, at now: Tick) {
    guard let cluster else { return }
    if case .message(_, let bytes) = event, let message = RingMessage(bytes) {
      switchboard.handle(message, at: now)
      relayRings(at: now)
    }
    cluster.node.handle(event, at: now)
    takeClusterOutputs(at: now)
  }

  /// Sends other nodes what the switchboard has for them.
  func relayRings(at now: Tick) {
    guard let cluster else { return }
    for (channel, content) in switchboard.takeRelayed() { cluster.node.publish(content, on: channel) }
    takeClusterOutputs(at: now)
  }

  /// Requests to the ledger since the last call, in order.
  package func takeLedgerRequests() -> [(number: UInt64, request: LedgerRequest)] { cluster?.takeRequests() ?? [] }

  package func takeClusterEvents() -> [ClusterEvent] { cluster?.takeEvents() ?? [] }

  /// Takes no more rooms, and hands over those that are here. `drained` follows.
  package func drain(at now: Tick) {
    cluster?.node.drain(at: now)
    takeClusterOutputs(at: now)
  }

  /// Takes rooms again.
  package func endDraining(at now: Tick) {
    cluster?.node.serve(at: now)
    takeClusterOutputs(at: now)
  }

  /// The node can serve rooms now (`NodeRecord.State.starting`).
  package func setReady(at now: Tick) {
    cluster?.node.setReady(at: now)
    takeClusterOutputs(at: now)
  }

  /// Gives one room to a node that has capacity for it. Without one, the room stays.
  package func handOver(_ room: String, at now: Tick) {
    cluster?.node.handOver(room, at: now)
    takeClusterOutputs(at: now)
  }

  /// Sends all participants to other nodes, leaves the rooms as they are in the ledger, and ends the lease: others take the rooms over
  /// at once. `released` follows.
  package func abandonRooms(at now: Tick) {
    guard let cluster else { return }
    let others = cluster.places(at: now).filter { $0 != cluster.configuration.record.publicAddress }
    cluster.successors = others
    for room in rooms.sorted { depose(room, to: others, at: now) }
    cluster.node.release(at: now)
    takeClusterOutputs(at: now)
  }

  /// Sends bytes to other nodes, or to a program that listens as one: at most once.
  package func publish(_ content: [UInt8], on channel: LedgerChannel, at now: Tick) {
    cluster?.node.publish(content, on: channel)
    takeClusterOutputs(at: now)
  }

  /// The node's load, for placement.
  package func setLoad(_ value: Double, at now: Tick) {
    guard let cluster else { return }
    let counts = statistics
    let load = NodeLoad(
      value: rooms.count >= configuration.limits.rooms ? max(1, value) : value, rooms: counts.rooms,
      participants: counts.participants, roomLimit: configuration.limits.rooms)
    cluster.node.update({ $0.load = load }, at: now)
    takeClusterOutputs(at: now)
  }

  /// The fields of `Joined` about the cluster: the addresses of nodes, beginning with this one, the interval of pings, and the silence
  /// after which a connection counts as lost, both in seconds. nil: the router is no node.
  package func nodeList(at now: Tick) -> (places: [String], ping: Int, silence: Int)? {
    cluster.map { ($0.places(at: now), $0.configuration.ping, $0.configuration.silence) }
  }

  /// Publishes a new digest of the node's keys (`NodeRecord.keysDigest`).
  package func setKeysDigest(_ digest: String?, at now: Tick) {
    cluster?.node.update({ $0.keysDigest = digest }, at: now)
    takeClusterOutputs(at: now)
  }

  /// nil: the router is no node.
  package var clusterStatistics: ClusterStatistics? {
    guard let cluster else { return nil }
    var counts = cluster.counts
    for room in rooms.all {
      guard let log = room.log else { continue }
      counts.rooms += 1
      counts.receipts += log.waiting
    }
    (counts.bytes, counts.joins) = (cluster.node.waitingBytes, cluster.waiting)
    counts.isUncertain = cluster.node.isUncertain
    for record in cluster.node.livingNodes {
      counts.nodes[record.state.rawValue, default: 0] += 1
      if let address = record.publicAddress { counts.addresses.append(address) }
    }
    return counts
  }

  /// How many participants are in the rooms of which the node is the home, without hidden ones.
  package var participantsOfHomes: [String: Int] {
    Dictionary(
      rooms.all.filter { $0.log != nil }.map { room in (room.name, room.members.count { !$0.grants.isHidden }) }
    ) { $1 }
  }

  /// The name of a room behind links, and whether this node has it: participants, or such that wait to enter.
  package func place(of asked: String) -> (name: String, isHere: Bool) {
    let name = rooms.name(of: asked)
    let isHome = cluster?.node.isServing(name) ?? true
    return (name, isHome && (rooms[name] != nil || !lobby.knocks(at: name).isEmpty))
  }

  // MARK: Joins

  /// - Parameter isTrusted: whether the participant may enter without being admitted: what others say of the room's numbers does not
  ///   count.
  /// - Returns: whether the join waits until it is known where its room is, or has been answered.
  func locate(
    _ join: Join, _ verdict: CredentialVerdict?, isTrusted: Bool, for client: Client, at now: Tick
  ) -> Bool {
    guard let cluster else { return false }
    let name = rooms.name(of: join.room)
    if let successors = cluster.successors {
      let code: Failure.Code = successors.isEmpty ? .unavailable : .moved
      outbox.post(.refused(Failure(code, "the node stops"), places: successors), to: client.id)
      return true
    }
    let isHere = rooms[name] != nil && cluster.node.isServing(name)
    let seen = isTrusted ? join.seen : 0
    if isHere, seen <= rooms[name]?.data.order ?? 0 { return false }
    if isHere, !cluster.node.reopen(name, seen: seen, at: now) { return false }
    // Without one, only a room of others is entered.
    let permit = isHere ? nil : configuration.roomPermit?(client.id)
    let ticket = cluster.wait(.init(client: client.id, join: join, verdict: verdict, permit: permit))
    let unreachable = join.unreachable.flatMap { cluster.node.node(at: $0) }
    cluster.node.locate(
      name, ticket: ticket, unreachable: unreachable, seen: seen, isMoved: join.isMoved, at: now)
    takeClusterOutputs(at: now)
    return true
  }

  private func located(_ ticket: UInt64, _ location: ClusterNode.Location, at now: Tick) {
    guard let cluster, let waiting = cluster.take(ticket), let client = clients[waiting.client] else { return }
    switch location {
    case .here:
      if let room = rooms[waiting.join.room], room.permit == nil { room.permit = waiting.permit }
      admit(waiting.join, waiting.verdict, on: client, at: now)
    case .at(let home):
      let places = cluster.places(home: home, at: now)
      cluster.counts.moved += 1
      outbox.post(.refused(Failure(.moved, "the room is at another node"), places: places), to: client.id)
    case .full: outbox.post(.refused(Failure(.roomFull, "the node has as many rooms as it may have")), to: client.id)
    case .nowhere: outbox.post(.refused(Failure(.unavailable, "no node takes rooms")), to: client.id)
    case .unavailable:
      outbox.post(.refused(Failure(.unavailable, "it is not known where the room is")), to: client.id)
    }
  }

  // MARK: Rooms

  /// Has the ledger store what the room keeps.
  func record(_ room: Room, at now: Tick) {
    guard let cluster, room.log != nil else { return }
    var isRefused = false
    for entry in room.log?.takeOutgoing() ?? [] {
      if !isRefused, cluster.node.append(entry, to: room.name, at: now) { continue }
      isRefused = true  // the log is in order: no later entry may overtake a waiting one
      if room.data.isOwn(entry.order) {
        room.log?.record(entry)
      } else {
        room.failed(entry.order)
      }
    }
    let dropped = room.data.takeDropped()
    if !dropped.isEmpty { cluster.node.remove(dropped, from: room.name, at: now) }
    takeClusterOutputs(at: now)
  }

  /// The room is over for the whole cluster.
  func closeInCluster(_ room: Room, at now: Tick) {
    guard let cluster, room.log != nil else { return }
    cluster.tell(.closed(room: room.name))
    cluster.node.close(room.name, at: now)
    takeClusterOutputs(at: now)
  }

  private func open(_ name: String, base: UInt64, _ entries: [StoredEntry], at now: Tick) {
    let room = makeRoom(named: name, at: now)
    room.open(base: base, entries, at: now)
    cluster?.tell(.opened(room: name, entries: entries.count))
    if !entries.isEmpty { cluster?.counts.takeovers += 1 }
    settle(room, at: now)
  }

  private func depose(_ room: Room, to places: [String], at now: Tick) {
    room.log = nil
    room.attendant?.roomMoved(room.name)
    cluster?.counts.moved += room.members.count
    room.depose(to: places)
    for knock in lobby.knocks(at: room.name) {
      _ = lobby.remove(knock.client)
      outbox.post(.refused(Failure(.moved, "the room is at another node"), places: places), to: knock.client)
    }
    settle(room, at: now)
  }

  // MARK: The node

  func takeClusterOutputs(at now: Tick) {
    guard let cluster, !cluster.isTaking else { return }
    cluster.isTaking = true
    defer { cluster.isTaking = false }
    while let output = cluster.node.poll() {
      switch output {
      case .request(let number, let request): cluster.send(number, request)
      case .located(let ticket, let location): located(ticket, location, at: now)
      case .opened(let room, _, let base, let entries): open(room, base: base, entries, at: now)
      case .stored(let room, let order): rooms[room]?.stored(through: order)
      case .late(let room, let order): rooms[room]?.isLate(order)
      case .needsEntries(let room, let after, let last):
        cluster.node.supply(rooms[room]?.data.entries(after: after, through: last) ?? [], to: room, at: now)
      case .deposed(let name, let home, let cause):
        cluster.tell(.deposed(room: name, home: home?.id, cause))
        cluster.counts.deposed["\(cause)", default: 0] += 1
        // Without a home the participants come back to this node, or to any.
        if let room = rooms[name] { depose(room, to: cluster.places(home: home, at: now), at: now) }
      case .uncertain(let isUncertain): cluster.tell(.uncertain(isUncertain))
      case .nameTaken(let other): cluster.tell(.nameTaken(by: other))
      case .drained: cluster.tell(.drained)
      case .released: cluster.tell(.released)
      }
    }
  }
}
