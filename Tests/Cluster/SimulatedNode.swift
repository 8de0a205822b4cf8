import KoineBase
import KoineCluster
import KoineLedger

/// A node's process: a `ClusterNode`, its connection to the ledger, and rooms.
final class SimulatedNode {
  let name: String
  private unowned let world: Simulation
  private(set) var id: NodeID
  private var incarnation = 0
  private var cluster: ClusterNode?
  private var connection: MemoryLedger.Connection?
  private var rooms: [String: SimulatedRoom] = [:]
  /// Of this node's clock.
  private var offset: Duration
  private var thawsAt: Tick?
  /// Messages that have arrived at a frozen process.
  private var inbox: [(inout ClusterNode, Tick) -> Void] = []
  private var isRestarting = false
  /// Joins that wait, by ticket.
  private var tickets: [UInt64: (person: SimulatedPerson, generation: Int, unreachable: NodeID?, seen: UInt64)] = [:]
  private var ticketCount: UInt64 = 0
  private var wake: Tick?

  init(_ name: String, in world: Simulation) {
    (self.name, self.world) = (name, world)
    id = NodeID(name: name, incarnation: "0")!
    offset = world.random.duration(in: .seconds(-20_000) ... .seconds(20_000))
    start()
  }

  var isAlive: Bool { cluster != nil }
  var isFrozen: Bool { thawsAt != nil }
  private var local: Tick { world.now + offset }

  // MARK: The process

  func start() {
    guard !isAlive else { return }
    incarnation += 1
    id = NodeID(name: name, incarnation: String(incarnation))!
    world.note("\(id) starts")
    var record = NodeRecord(id: id)
    record.publicAddress = "wss://" + name
    cluster = ClusterNode(
      record: record, rules: world.options.rules.cluster, random: world.random.fork(), at: local)
    let incarnation = incarnation
    connection = world.ledger.connect(id, at: world.now) { [unowned self] event in
      // Not inside the ledger's own work.
      world.schedule(at: world.now) { [unowned self] in
        guard incarnation == self.incarnation else { return }
        execute { $0.handle(event, at: $1) }
      }
    }
    execute { _, _ in }
  }

  func kill() {
    guard isAlive else { return }
    world.note("\(id) is killed")
    end()
  }

  private func end() {
    incarnation += 1
    cluster = nil
    connection?.close(at: world.now)
    connection = nil
    (rooms, tickets, inbox, thawsAt, wake) = ([:], [:], [], nil, nil)
    for person in world.people { person.lost(self, isKnown: true) }
  }

  func freeze(for duration: Duration) {
    guard isAlive, !isFrozen else { return }
    world.note("\(id) freezes for \(duration)")
    let end = world.now + duration
    thawsAt = end
    for person in world.people { person.lost(self, isKnown: false) }
    let incarnation = incarnation
    world.schedule(at: end) { [unowned self] in if incarnation == self.incarnation { thaw() } }
  }

  private func thaw() {
    guard isFrozen else { return }
    world.note("\(id) wakes")
    thawsAt = nil
    let waiting = inbox
    inbox = []
    for event in waiting { execute(event) }
    execute { _, _ in }
  }

  func heal() {
    thaw()
    world.ledger.cut(id, false, at: world.now)
    if isAlive { stopDraining() } else { start() }
  }

  func drain() {
    world.note("\(id) drains")
    execute { $0.drain(at: $1) }
  }

  func stopDraining() { execute { $0.serve(at: $1) } }

  /// Does something in the process: now, or when it wakes.
  private func execute(_ event: @escaping (inout ClusterNode, Tick) -> Void) {
    guard cluster != nil else { return }
    guard !isFrozen else { return inbox.append(event) }
    event(&cluster!, local)
    pump()
  }

  private func pump() {
    while let output = cluster?.poll() { handle(output) }
    guard let deadline = cluster?.deadline else { return wake = nil }
    let due = deadline - offset
    guard wake.map({ due < $0 || $0 < world.now }) ?? true else { return }
    wake = due
    let incarnation = incarnation
    world.schedule(at: due) { [unowned self] in
      guard incarnation == self.incarnation, isAlive, wake == due else { return }
      wake = nil
      if isFrozen { return inbox.append { [unowned self] in timeout(&$0, $1) } }
      timeout(&cluster!, local)
      pump()
      let reason = cluster?.reason ?? ""
      if let violation = DeadlineLaw.check("ClusterNode", deadline: cluster?.deadline, at: local, because: reason) {
        world.fail(violation)
      }
    }
  }

  private func timeout(_ cluster: inout ClusterNode, _ now: Tick) { cluster.handleTimeout(at: now) }

  // MARK: Outputs

  private func handle(_ output: ClusterNode.Output) {
    switch output {
    case .request(let number, let request): connection?.send(request, number: number, at: world.now)
    case .located(let ticket, let location): located(ticket, location)
    case .opened(let name, let term, let base, let entries):
      world.note("\(id) opens \(name) under \(term) from #\(base) with \(entries.count)")
      world.opened()
      rooms[name] = SimulatedRoom(
        name, term: term, base: base, entries: entries, knowsIDs: world.options.rules.checksDuplicates, in: world)
      watch(name)
    case .stored(let room, let order): rooms[room]?.stored(through: order, on: self)
    case .late: world.count(\.late)
    case .needsEntries(let room, let after, let through):
      world.note("\(id) sends \(room) above #\(after) again")
      cluster!.supply(rooms[room]?.kept(after: after, through: through) ?? [], to: room, at: local)
    case .deposed(let name, let home, let cause):
      world.note("\(id) is deposed from \(name) (\(cause)), \(home?.id.description ?? "-")")
      world.count(\.deposed)
      let room = rooms.removeValue(forKey: name)
      for member in room?.members ?? [] { send(.moved(home?.id), to: member.person, member.generation) }
    case .uncertain(let isUncertain): world.note("\(id) \(isUncertain ? "is uncertain" : "is certain")")
    case .nameTaken(let other):
      world.note("\(id) ends for \(other)")
      end()
      world.schedule(after: .seconds(1)) { [unowned self] in start() }
    case .drained: world.note("\(id) is drained")
    case .released: break
    }
  }

  /// Ends a room that has had no members for 30 s.
  private func watch(_ name: String) {
    let (incarnation, term) = (incarnation, rooms[name]?.term)
    world.schedule(after: .seconds(10)) { [unowned self] in
      guard incarnation == self.incarnation, let room = rooms[name], room.term == term else { return }
      if !isFrozen, room.emptySince.map({ world.now - $0 >= .seconds(30) }) ?? false {
        world.note("\(id) closes \(name)")
        rooms[name] = nil
        execute { $0.close(name, at: $1) }
      } else {
        watch(name)
      }
    }
  }

  // MARK: Participants

  /// A participant has connected, and wants to join.
  /// - Parameters:
  ///   - suspect: its former home.
  ///   - seen: the highest number that it has.
  func join(_ person: SimulatedPerson, generation: Int, suspect: NodeID?, seen: UInt64, isMoved: Bool) {
    // This node tries to connect to the suspect: a dead process refuses, and, now and then, a living one.
    let other = world.nodes.first { $0.id == suspect }
    let isRefused =
      suspect != nil && suspect != id && (other?.isAlive != true || Int.random(in: 0..<20, using: &world.random) == 0)
    locate(person, generation, unreachable: isRefused ? suspect : nil, seen: seen, isMoved: isMoved)
  }

  private func locate(_ person: SimulatedPerson, _ generation: Int, unreachable: NodeID?, seen: UInt64, isMoved: Bool) {
    ticketCount += 1
    let ticket = ticketCount
    tickets[ticket] = (person, generation, unreachable, seen)
    execute { $0.locate(person.room, ticket: ticket, unreachable: unreachable, seen: seen, isMoved: isMoved, at: $1) }
  }

  private func located(_ ticket: UInt64, _ location: ClusterNode.Location) {
    guard let join = tickets.removeValue(forKey: ticket) else { return }
    switch location {
    case .here:
      guard let room = rooms[join.person.room] else {
        return world.fail("\(id) is the home of \(join.person.room) without having opened it")
      }
      if join.seen > room.top, world.options.rules.reopens, cluster!.reopen(room.name, seen: join.seen, at: local) {
        return world.schedule(at: world.now) { [unowned self] in
          locate(join.person, join.generation, unreachable: nil, seen: join.seen, isMoved: false)
        }
      }
      room.join(join.person, generation: join.generation, on: self)
    case .at(let record):
      world.count(\.moved)
      send(.moved(record.id), to: join.person, join.generation)
    case .full, .nowhere, .unavailable: send(.refused, to: join.person, join.generation)
    }
  }

  func receive(_ id: MessageID, isKept: Bool, room: String, from person: SimulatedPerson, generation: Int) {
    execute { [unowned self] cluster, now in
      guard let state = rooms[room], state.isMember(person, generation) else { return }
      guard let entry = state.receive(id, isKept: isKept, from: person, on: self) else { return }
      if !cluster.append(entry, to: room, at: now) { world.fail("too many bytes wait") }
    }
  }

  func left(_ person: SimulatedPerson) {
    execute { [unowned self] _, _ in for room in rooms.values { room.leave(person) } }
  }

  func send(_ message: SimulatedPerson.Message, to person: SimulatedPerson, _ generation: Int) {
    person.deliver(message, generation: generation, from: self)
  }

  // MARK: For checks

  func isHome(of room: String) -> Bool { rooms[room] != nil }
  var homes: [String] { rooms.keys.sorted() }
  var isUncertain: Bool { cluster?.isUncertain ?? true }
  /// Sent to the ledger by this process.
  var requests: Int { connection?.requests ?? 0 }
  func members(of room: String) -> [String] { rooms[room]?.members.map(\.person.name) ?? [] }
}

/// What the router's room does with messages, as far as the log is concerned.
final class SimulatedRoom {
  let name: String
  let term: RoomTerm
  private unowned let world: Simulation
  private(set) var top: UInt64
  private var confirmed: UInt64
  /// In order.
  private var history: [(order: UInt64, id: MessageID)] = []
  private var orders: [MessageID: UInt64] = [:]
  /// Senders that wait for a receipt.
  private var waiting: [UInt64: (id: MessageID, person: SimulatedPerson)] = [:]
  private(set) var members: [(person: SimulatedPerson, generation: Int)] = []
  private(set) var emptySince: Tick?

  init(
    _ name: String, term: RoomTerm, base: UInt64, entries: [StoredEntry], knowsIDs: Bool, in world: Simulation
  ) {
    (self.name, self.term, self.world, top, confirmed) = (name, term, world, base, base)
    emptySince = world.now
    for stored in entries {
      guard let id = MessageID(stored.entry.content) else { continue }
      history.append((stored.entry.order, id))
      if history.count > 1, history[history.count - 2].order >= stored.entry.order {
        world.fail("the log of \(name) is not in order")
      }
      if history.dropLast().contains(where: { $0.id == id }) { world.fail("\(id) is twice in the log of \(name)") }
      if knowsIDs { orders[id] = stored.entry.order }
    }
  }

  func isMember(_ person: SimulatedPerson, _ generation: Int) -> Bool {
    members.contains { $0.person === person && $0.generation == generation }
  }

  func join(_ person: SimulatedPerson, generation: Int, on node: SimulatedNode) {
    members.removeAll { $0.person === person }
    members.append((person, generation))
    emptySince = nil
    node.send(.joined(node.id, term, history.map { ($0.order, $0.id) }), to: person, generation)
  }

  func leave(_ person: SimulatedPerson) {
    members.removeAll { $0.person === person }
    if members.isEmpty { emptySince = world.now }
  }

  /// - Returns: an entry to store.
  func receive(_ id: MessageID, isKept: Bool, from person: SimulatedPerson, on node: SimulatedNode) -> LogEntry? {
    if let order = orders[id] {
      if !isKept || order <= confirmed { receipt(id, order, isKept, person, node) }
      return nil
    }
    top += 1
    orders[id] = top
    for member in members where member.person !== person {
      node.send(.message(top, id), to: member.person, member.generation)
    }
    guard isKept else {
      receipt(id, top, false, person, node)
      return nil
    }
    history.append((top, id))
    waiting[top] = (id, person)
    return LogEntry(order: top, content: id.content)
  }

  func stored(through order: UInt64, on node: SimulatedNode) {
    confirmed = max(confirmed, order)
    for (order, item) in waiting.filter({ $0.key <= order }).sorted(by: { $0.key < $1.key }) {
      waiting[order] = nil
      receipt(item.id, order, true, item.person, node)
    }
  }

  private func receipt(
    _ id: MessageID, _ order: UInt64, _ isKept: Bool, _ person: SimulatedPerson, _ node: SimulatedNode
  ) {
    guard let member = members.first(where: { $0.person === person }) else { return }
    node.send(.receipt(id, order, isKept: isKept), to: person, member.generation)
  }

  func kept(after: UInt64, through: UInt64) -> [LogEntry] {
    history.filter { $0.order > after && $0.order <= through }.map { LogEntry(order: $0.order, content: $0.id.content) }
  }
}
