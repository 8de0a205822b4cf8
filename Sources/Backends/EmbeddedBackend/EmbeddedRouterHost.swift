import Koine
import KoineAdmissions
import KoineBase
import KoineLedger
import KoinePeer
import KoineRoomClient
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineSimulatedNetwork
import KoineTransport

/// A router, or the routers of a cluster with their ledger, and the other ends of all clients that are connected to them, on the
/// clients' network loop.
///
/// Clients and router share a thread and nothing else: everything that one sends the other crosses the link as datagrams,
/// signalling too, and suffers what the link does to them.
///
/// `@unchecked Sendable`: used on the loop only, except what says otherwise.
final class EmbeddedRouterHost: ClientTransports, @unchecked Sendable {
  /// Owns this.
  unowned let clients: ClientLoop
  let loop: any NetworkLoop
  var network: NetworkSpec?
  var participantLimit: Int?
  let refusals = Refusals()
  private let authorization: Authorization
  /// Looked at with each question and event, so that it acts on a router that is open already.
  let controlPlane = Lock<EmbeddedBackend.ControlPlane?>(nil)
  /// Co-located services, in the order in which they were added.
  let attendants = Lock<[(kind: String, service: RoomService)]>([])
  private let trace: EmbeddedBackend.Trace?
  private var random: SeededRandom
  /// One router, or the nodes of a cluster.
  let nodes: [EmbeddedNode]
  private let schedule: NodeSchedule
  private var nodesByAddress: [TransportAddress: EmbeddedNode] = [:]
  /// Of a cluster, while its nodes are open.
  private(set) var ledger: MemoryLedger?
  /// The nodes that are the homes of rooms, by the rooms' names.
  let homes = Lock<[String: String]>([:])
  /// That nodes have not handled.
  private var ledgerEvents: [(node: EmbeddedNode, event: LedgerEvent)] = []
  private let datagram = Bytes(capacity: 2_048)

  init(
    _ clients: ClientLoop, network: NetworkSpec?, random: SeededRandom, trace: EmbeddedBackend.Trace?,
    authorization: Authorization, nodes: Int?
  ) {
    let count = max(nodes ?? 1, 1)
    let schedule = NodeSchedule(nodes: count)
    self.schedule = schedule
    self.nodes = (0..<count).map { number in
      EmbeddedNode(name: nodes == nil ? nil : "n\(number + 1)", number: number, in: schedule)
    }
    (self.clients, loop) = (clients, clients.loop)
    self.network = network
    self.random = random
    self.trace = trace
    self.authorization = authorization
  }

  /// From any thread, while the backend's object exists.
  func post(_ work: @escaping @Sendable (EmbeddedRouterHost) -> Void) {
    loop.post { [self, clients] in
      work(self)
      clients.endTurn(at: loop.now)
    }
  }

  /// Those that are not dead.
  var routers: [Router] { nodes.compactMap(\.router) }

  /// The router that has the room; else the first one. A former home that is frozen may have it, too.
  func router(with room: String) -> Router? {
    let home = homes.withLock { $0[room] }
    if let node = nodes.first(where: { $0.name == home && home != nil }), let router = node.router { return router }
    let request = RoomRequest(.describe(room: room), by: CommandOrigin(.test, "embedded"))
    return routers.first { router in
      if case .success = router.execute(request, at: loop.now) { true } else { false }
    } ?? routers.first
  }

  // MARK: Connections

  /// Of a cluster. Clients begin with different nodes.
  func places(of client: Int) -> [String] {
    let places = nodes.compactMap(\.place)
    guard !places.isEmpty else { return [] }
    let first = client % places.count
    return Array(places[first...] + places[..<first])
  }

  /// - Throws: for a node whose process has ended, as a machine refuses a connection.
  func node(at place: String?) throws -> EmbeddedNode {
    guard let node = nodes.first(where: { place == nil || $0.place == place }), node.router != nil else {
      throw Failure(.unreachable, "nothing listens at \(place ?? "the router's address")")
    }
    return node
  }

  func makeTransport(for client: ClientDescription, at now: Tick) throws -> any ClientTransport {
    try openRouters(at: now)
    let address = try loop.open()
    func conditioner(_ seed: Int) -> LinkConditioner<SimulatedLinkEnd.Route>? {
      client.isInside ? nil : network.map { LinkConditioner(spec: $0, seed: UInt64(seed), start: now) }
    }
    return EmbeddedTransport(
      client.number, names: client.names, address: address, host: self,
      ends: (SimulatedLinkEnd(conditioner(client.number * 2)), SimulatedLinkEnd(conditioner(client.number * 2 + 1))))
  }

  /// A connection for a client's signalling, which both ends have the key of.
  /// - Parameter isFirst: the first connection has the client's own number.
  func openConnection(
    of number: Int, at node: EmbeddedNode, isFirst: Bool, at now: Tick
  ) -> (id: ConnectionID, key: [UInt8]) {
    let id = ConnectionID(isFirst ? number : clients.takeNumber())
    let key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    node.owners[id] = number
    node.signaling?.open(id, at: now)
    return (id, key)
  }

  func receive(_ message: [UInt8], on connection: ConnectionID, at node: EmbeddedNode, at now: Tick) {
    switch message.withUnsafeBytes(ClientMessage.reading) {
    case .success(let message): node.signaling?.receive(message, on: connection, at: now)
    case .failure(let unreadable): node.signaling?.receive(unreadable, on: connection)
    }
  }

  private func transport(_ number: Int) -> EmbeddedTransport? { clients.transport(number) as? EmbeddedTransport }

  /// In the order of their numbers.
  var transports: [EmbeddedTransport] { clients.all.compactMap { $0.transport as? EmbeddedTransport } }

  // MARK: The routers' life: from the first client to the last

  private func openRouters(at now: Tick) throws {
    guard nodes.allSatisfy({ $0.state == .closed }) else { return }
    if nodes[0].name != nil { ledger = MemoryLedger(seed: random.next(), at: now) }
    for node in nodes {
      node.address = try loop.open()
      nodesByAddress[node.address] = node
      try open(node, at: now)
    }
  }

  private func open(_ node: EmbeddedNode, at now: Tick) throws {
    let record = node.nextRecord()
    node.signaling = try makeRouter(at: node.address, record, at: now)
    node.state = .open
    guard let record, let ledger else { return }
    node.connection = ledger.connect(record.id, at: now) { [unowned self, unowned node] event in
      ledgerEvents.append((node, event))
    }
  }

  private func makeRouter(at address: TransportAddress, _ record: NodeRecord?, at now: Tick) throws -> SignalingHost {
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [address])
    configuration.authorization = controlPlane.authorization(after: authorization)
    configuration.admission = refusals.policy
    controlPlane.hooks.apply(to: &configuration)
    configuration.attendant = attendant
    configuration.cluster = record.map { ClusterConfiguration(record: $0) }
    if let participantLimit { configuration.limits.participants = participantLimit }
    if let trace { configuration.tracesPlaintext = { trace("router", $0) } }
    return SignalingHost(
      router: Router(configuration: configuration, random: random.fork(), now: now),
      configuration: .init(resumeGrace: configuration.limits.resumeGrace))
  }

  /// All routers lose their memory; clients find out by the resets of their connections.
  func restart(at now: Tick) {
    for node in nodes where node.router != nil {
      kill(node, at: now)
      start(node, at: now)
    }
  }

  /// The process ends without a word. Its machine resets the connections.
  func kill(_ node: EmbeddedNode, at now: Tick) {
    guard node.router != nil else { return }
    node.connection?.close(at: now)
    node.end(.dead)
    homes.withLock { homes in homes = homes.filter { $0.value != node.name } }
    for transport in transports { transport.resetConnections(to: node, at: now) }
  }

  func start(_ node: EmbeddedNode, at now: Tick) {
    if node.state == .dead { try? open(node, at: now) }
  }

  func rest() {
    for node in nodes where node.state != .closed {
      node.connection?.close(at: loop.now)
      node.end(.closed)
      loop.close(node.address)
      nodesByAddress[node.address] = nil
    }
    (ledger, ledgerEvents) = (nil, [])
  }

  /// For tests: the number of entries in each table; once every client has left there is nothing but an idle host.
  var holdings: [String: Int] {
    var holdings = clients.holdings.merging(["owners": 0]) { $0 + $1 }
    for node in nodes {
      holdings["owners", default: 0] += node.owners.count
      holdings.merge(node.signaling?.holdings ?? [:]) { $0 + $1 }
      holdings.merge(node.router?.holdings ?? [:]) { $0 + $1 }
    }
    return holdings
  }

  /// Time has ended.
  func dissolve() {
    for node in nodes { node.end(.closed) }
    (ledger, ledgerEvents) = (nil, [])
    let gone = attendants.withLock { attendants in
      defer { attendants = [] }
      return attendants
    }
    withExtendedLifetime(gone) {}  // let go of outside the lock
  }

  // MARK: Datagrams and time

  func receive(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) -> Bool
  {
    guard let node = nodesByAddress[destination], node.state != .closed else { return false }
    let transport = clients.number(at: source).flatMap(transport)
    if datagram.readable.first != SignalStream.firstByte {
      // The reset that a restart sends may be lost: each datagram gets another one until the client has a new connection.
      transport?.resetIfUnknown(to: node, at: now)
      if node.state == .frozen { return true }
      node.router?.handle(datagram, from: source, to: destination, at: now)
    } else if let transport {
      clients.touch(transport.number)
      transport.receiveAtRouter(datagram.readable, at: node, at: now)
    }
    return true
  }

  func handleTimeout(at now: Tick) {
    ledger?.advance(to: now)
    handleLedgerEvents(at: now)
    schedule.forEachDue(at: now) { nodes[$0].touch() }
    for number in schedule.touched where nodes[number].state == .open {
      nodes[number].signaling?.handleTimeout(at: now)
      nodes[number].router?.handleTimeout(at: now)
    }
  }

  private func handleLedgerEvents(at now: Tick) {
    let events = ledgerEvents
    ledgerEvents = []
    for (node, event) in events {
      if node.state == .frozen { node.held.append(event) } else { node.router?.handle(event, at: now) }
    }
  }

  /// A request without a connection is answered at once, which may lead to another one; a node then pauses.
  private func carryToLedger(at now: Tick) {
    repeat {
      handleLedgerEvents(at: now)
      for number in schedule.touched where nodes[number].state == .open {
        let node = nodes[number]
        for (number, request) in node.router?.takeLedgerRequests() ?? [] {
          node.connection?.send(request, number: number, at: now)
        }
        for event in node.router?.takeClusterEvents() ?? [] { note(event, of: node) }
      }
      ledger?.advance(to: now)
    } while !ledgerEvents.isEmpty
  }

  private func note(_ event: ClusterEvent, of node: EmbeddedNode) {
    switch event {
    case .opened(let room, _): homes.withLock { $0[room] = node.name }
    case .deposed(let room, _, _), .closed(let room):
      homes.withLock { homes in if homes[room] == node.name { homes[room] = nil } }
    case .uncertain, .nameTaken, .drained, .released: break
    }
  }

  var deadline: Tick? {
    var deadline = (ledger?.deadline).sooner(schedule.soonest)
    // Of nodes that were touched after `poll`, the schedule has an old one.
    for number in schedule.touched where nodes[number].state == .open {
      deadline = deadline.sooner(nodes[number].deadline)
    }
    return deadline
  }

  var deadlineReason: String {
    let soonest = deadline
    if let node = nodes.first(where: { $0.state == .open && $0.router?.deadline == soonest }) {
      return node.router?.deadlineReason ?? "none"
    }
    return ledger?.deadline == soonest ? "ledger" : "end of a lost connection"
  }

  func poll(at now: Tick) {
    if ledger != nil { carryToLedger(at: now) }
    schedule.takeTouched { number in
      if nodes[number].state == .open { poll(nodes[number], at: now) }
      nodes[number].drained()
    }
  }

  private func poll(_ node: EmbeddedNode, at now: Tick) {
    while let outgoing = node.signaling?.pollMessage(at: now) {
      guard let transport = node.owners[outgoing.connection].flatMap(transport) else { continue }
      clients.touch(transport.number)
      if let json = outgoing.message.json { transport.sendFromRouter(json, on: outgoing.connection) }
    }
    while node.signaling?.pollEvent() != nil {}  // a stream that its client has left falls silent, and breaks
    while let transmit = node.router?.poll(into: datagram.writable, at: now) {
      guard let transport = clients.number(at: transmit.destination).flatMap(transport) else { continue }
      clients.touch(transport.number)
      transport.routerEnd.emit(
        UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]),
        (transmit.source, transmit.destination), over: loop, at: now)
    }
  }
}
