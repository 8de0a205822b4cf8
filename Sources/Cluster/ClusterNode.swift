package import KoineBase
package import KoineLedger

/// A node's part in the cluster, sans-IO: its lease, where rooms are, the rooms of which it is the home, and their logs.
///
/// ```
///  LedgerEvent ─→ handle ─┐             ┌─→ .request: to the ledger, by its number
///  joins ───────→ locate ─┼→ ClusterNode ┼─→ .located: here, or at another node
///  entries ─────→ append ─┘             └─→ .opened, .stored, .deposed …: to the room
/// ```
///
/// After each call the host drains `poll()`, and calls `handleTimeout(at:)` at `deadline`. The time is the node's own: nothing is
/// decided by a clock of another node.
package struct ClusterNode: Sendable {
  package enum Output: Hashable, Sendable {
    case request(number: UInt64, LedgerRequest)
    case located(ticket: UInt64, Location)
    /// The node is the room's home now. Its numbers are above `base`, and its history is `entries`.
    case opened(room: String, term: RoomTerm, base: UInt64, entries: [StoredEntry])
    /// Entries up to this order are stored: their receipts may go out.
    case stored(room: String, through: UInt64)
    case late(room: String, order: UInt64)
    /// The ledger lacks entries that it had confirmed: the host calls `supply` with those that the room still has.
    case needsEntries(room: String, after: UInt64, through: UInt64)
    /// The node is not the room's home any more. Its participants go to `home`; if that is nil or this node, they come back here.
    case deposed(room: String, home: NodeRecord?, RoomOwnership.Cause)
    /// Whether the node's lease stands is unknown, or known again.
    case uncertain(Bool)
    /// Another living node has this node's name: the process must end.
    case nameTaken(by: NodeID)
    /// All rooms are handed over.
    case drained
    case released
  }

  package enum Location: Hashable, Sendable {
    case here
    case at(NodeRecord)
    /// The node that was chosen has as many rooms as it may have.
    case full
    /// No node takes rooms: all drain, or have no address.
    case nowhere
    /// The ledger is away, or the home does not answer participants and sends heartbeats.
    case unavailable
  }

  private struct Room {
    var ownership: RoomOwnership
    /// Another one with each opening.
    let generation: Int
    /// The highest number that was known when the room was opened.
    let above: UInt64
    /// When it was opened; nil: it is not open yet.
    var opened: Tick?
    /// How often in a row it was opened again (`reopen`).
    let reopenings: Int
    /// As counted in `ClusterNode.waitingBytes`.
    var waitingBytes = 0
  }

  /// A join that waits.
  private struct Ticket {
    let number: UInt64
    let ends: Tick
    /// The participant says that it cannot reach the home.
    let isCutOff: Bool
  }

  /// A look-up of a room's home.
  private struct Search {
    enum Step {
      case waiting(until: Tick)
      case placing(nonce: String)
      /// No node takes rooms: the ledger is asked whether the room is open somewhere.
      case finding
      case opening
      case takingOver(Takeover)
    }

    var tickets: [Ticket]
    let region: String
    /// Homes that a participant has not reached.
    var unreachable: NodeID?
    /// The highest number of the room that a participant knows.
    var seen: UInt64
    var step: Step
    var excluded: Set<NodeID> = []
    var backoff = Backoff()
  }

  private enum Owner { case lease, list, search(String), room(String, generation: Int), closing, message }

  private let limits: ClusterLimits
  private let rules: ClusterRules
  private var random: SeededRandom
  private var lease: NodeLease
  private var placement: Placement
  private var rooms: [String: Room] = [:]
  /// The deadlines of rooms, by their generations.
  private var schedule = PollSchedule()
  private var roomOf: [Int: String] = [:]
  /// Bytes that wait for the ledger.
  package private(set) var waitingBytes = 0
  private var searches: [String: Search] = [:]
  /// Rooms that are about to be opened again, and how often that has been in a row.
  private var reopenings: [String: Int] = [:]
  /// Rooms that have ended here: the ledger does not know it yet.
  private var closings: [String: (term: RoomTerm, retry: Tick?)] = [:]
  private var flying: [UInt64: (request: LedgerRequest, owner: Owner)] = [:]
  private var requests: UInt64 = 0
  private var generations = 0
  private var isConnected = false
  /// When the present connection to the ledger, or the last one, began.
  private var connectedAt: Tick?
  private let began: Tick
  /// When this node registered after an outage of the ledger. The leases of other nodes have ended in the outage, too. Until they
  /// register again, the homes of their rooms seem to be dead.
  private var returned: Tick?
  /// Nodes that were listed before the outage: only they can register again. Nil if the list was never read.
  private var expected: Set<NodeID>?
  private var isDraining = false
  private var isDrained = false
  private var isReady: Bool
  /// Rooms for which no node had capacity are tried again.
  private var nextHandOver: Tick?
  private var outputs: [Output] = []
  private var head = 0
  /// Parts that have something to say.
  private var touched: Set<String> = []

  package init(
    record: NodeRecord, limits: ClusterLimits = .init(), rules: ClusterRules = .init(), random: SeededRandom,
    at now: Tick
  ) {
    (self.limits, self.rules, self.random, began) = (limits, rules, random, now)
    isReady = record.state != .starting
    lease = NodeLease(record: record, limits: limits, rules: rules)
    placement = Placement(node: record.id, limits: limits, random: self.random.fork())
    lease.start(at: now)
  }

  package var id: NodeID { lease.record.id }
  package var isUncertain: Bool { lease.isUncertain }
  package var isRegistered: Bool { lease.isHeld }
  package var roomNames: [String] { rooms.keys.sorted() }
  package func isServing(_ room: String) -> Bool { rooms[room]?.ownership.isServing ?? false }
  package func term(of room: String) -> RoomTerm? { rooms[room]?.ownership.term }

  // MARK: The ledger

  package mutating func handle(_ event: LedgerEvent, at now: Tick) {
    switch event {
    case .connected: connected(at: now)
    case .disconnected: disconnected(at: now)
    case .answered(let number, let answer):
      guard let (request, owner) = flying.removeValue(forKey: number) else { break }
      handle(answer, to: request, of: owner, at: now)
    case .message: break  // the host's
    }
    settle(at: now)
  }

  private mutating func connected(at now: Tick) {
    (isConnected, connectedAt) = (true, now)
    lease.connected(at: now)
    placement.connected(at: now)
    for room in rooms.keys.sorted() {
      rooms[room]?.ownership.connected(at: now)
      touched.insert(room)
    }
    for room in closings.keys { closings[room]?.retry = now }
    for room in searches.keys.sorted() {
      if case .takingOver(var takeover) = searches[room]?.step {
        takeover.connected(at: now)
        searches[room]?.step = .takingOver(takeover)
      } else if case .waiting = searches[room]?.step {
        searches[room]?.step = .waiting(until: now)
      }
    }
  }

  private mutating func disconnected(at now: Tick) {
    isConnected = false
    expectListedNodes(at: now)
    lease.disconnected()
    placement.disconnected()
    for room in rooms.keys { rooms[room]?.ownership.disconnected() }
    for room in searches.keys {
      guard case .takingOver(var takeover) = searches[room]?.step else { continue }
      takeover.disconnected()
      searches[room]?.step = .takingOver(takeover)
    }
  }

  /// In an outage, and until all nodes have registered again, the list may lack nodes.
  private mutating func expectListedNodes(at now: Tick) {
    let listed = placement.listed
    guard !listed.isEmpty else { return }
    expected = lease.isHeld && !isSettling(at: now) ? listed : expected?.union(listed)
  }

  private mutating func handle(_ answer: LedgerAnswer, to request: LedgerRequest, of owner: Owner, at now: Tick) {
    switch owner {
    case .lease: lease.handle(answer, to: request, at: now)
    case .list:
      expectListedNodes(at: now)  // the ledger may also forget them without the loss of a connection
      placement.handle(answer, at: now)
      if case .nodes = answer, !placement.listed.contains(id) { lease.registerAgain(at: now) }
    case .search(let room): searched(room, answer, to: request, at: now)
    case .room(let room, let generation):
      guard rooms[room]?.generation == generation else { break }
      rooms[room]?.ownership.handle(answer, to: request, at: now)
      touched.insert(room)
    case .closing:
      guard case .close(let room, let term) = request, closings[room]?.term == term else { break }
      if case .failed = answer { closings[room]?.retry = now + .seconds(1) } else { closings[room] = nil }
    case .message: break
    }
  }

  private mutating func send(_ request: LedgerRequest, of owner: Owner) {
    requests += 1
    flying[requests] = (request, owner)
    outputs.append(.request(number: requests, request))
  }

  /// Sends bytes to other nodes: at most once.
  package mutating func publish(_ content: [UInt8], on channel: LedgerChannel) {
    send(.publish(channel, content), of: .message)
  }

  // MARK: Joins

  /// Looks for the home of a room, and makes one if there is none alive. `located` is the answer, with the ticket.
  /// - Parameters:
  ///   - region: of the participant; nil: this node's.
  ///   - unreachable: a home that the participant, or this node, could not connect to.
  ///   - seen: the highest number of the room that the participant has; 0: none.
  ///   - isMoved: another node has named this one as the home: what this node believes of the home is old.
  package mutating func locate(
    _ room: String, ticket: UInt64, region: String? = nil, unreachable: NodeID? = nil, seen: UInt64 = 0,
    isMoved: Bool = false, at now: Tick
  ) {
    if isMoved { placement.setHome(nil, of: room, at: now) }
    // Other participants may reach a home that one cannot reach.
    if unreachable == nil, case .takingOver(let takeover)? = searches[room]?.step,
      let record = livingRecord(of: takeover.home, at: now)
    {
      outputs.append(.located(ticket: ticket, .at(record)))
      return
    }
    var search =
      searches[room]
      ?? Search(
        tickets: [], region: region ?? lease.record.region, unreachable: nil, seen: 0, step: .waiting(until: now))
    search.tickets.append(
      Ticket(number: ticket, ends: now + limits.joinPatience, isCutOff: unreachable != nil))
    search.unreachable = unreachable ?? search.unreachable
    search.seen = max(search.seen, seen)
    if case .waiting = search.step { search.step = .waiting(until: now) }
    searches[room] = search
    settle(at: now)
  }

  /// The first step of a search, and the next one after each pause.
  private mutating func search(_ room: String, at now: Tick) {
    guard let search = searches[room] else { return }
    if let ownership = rooms[room]?.ownership {
      if ownership.isServing { return found(room, .here) }
      searches[room]?.step = .opening  // or it is being handed over
      return
    }
    if let home = placement.home(of: room, at: now), home != search.unreachable {
      if home == id { return open(room, at: now) }
      if let record = placement.record(of: home) { return found(room, .at(record)) }
    }
    if let home = search.unreachable, home == placement.home(of: room, at: now) {
      return homeIs(home, room, at: now)
    }
    place(room, at: now)
  }

  private mutating func place(_ room: String, at now: Tick) {
    guard isConnected else { return pause(room, at: now) }
    guard isSettling(at: now) else { return choose(room, at: now) }
    // The ledger may name a living home.
    searches[room]?.step = .finding
    send(.find(room: room), of: .search(room))
  }

  private func isSettling(at now: Tick) -> Bool { returned.map { now < $0 + limits.settling } ?? false }

  /// Whether a node that seems to be dead may be about to register again.
  private func mayReturn(_ node: NodeID) -> Bool { expected?.contains(node) ?? true }

  private mutating func choose(_ room: String, at now: Tick) {
    guard let search = searches[room] else { return }
    let excluded = search.excluded.union(isDraining ? [id] : [])
    guard let candidate = placement.candidate(region: search.region, excluding: excluded, at: now) else {
      placement.refresh(at: now)
      // This node itself is soon in the list.
      let isSoonServing = lease.record.publicAddress != nil && lease.record.state != .draining
      if isSoonServing && !excluded.contains(id) || isSettling(at: now) { return pause(room, at: now) }
      searches[room]?.step = .finding
      return send(.find(room: room), of: .search(room))
    }
    guard candidate != id else { return open(room, at: now) }
    let nonce = random.makeID()
    searches[room]?.step = .placing(nonce: nonce)
    let request = PlaceRequest(
      room: room, candidate: candidate, nonce: nonce, isOpening: false, above: search.seen)
    send(.place(request), of: .search(room))
  }

  private mutating func open(_ room: String, at now: Tick) {
    guard rooms.count < limits.rooms else { return found(room, .full) }
    generations += 1
    searches[room]?.step = .opening
    let above = searches[room]?.seen ?? 0
    let ownership = RoomOwnership(
      room: room, node: id, above: above, isConnected: isConnected, limits: limits,
      random: random.fork(), at: now)
    rooms[room] = Room(
      ownership: ownership, generation: generations, above: above, reopenings: reopenings.removeValue(forKey: room) ?? 0
    )
    roomOf[generations] = room
    touched.insert(room)
  }

  private mutating func pause(_ room: String, at now: Tick) {
    guard let pause = searches[room]?.backoff.next(&random) else { return }
    searches[room]?.step = .waiting(until: now + pause)
  }

  private mutating func searched(_ room: String, _ answer: LedgerAnswer, to request: LedgerRequest, at now: Tick) {
    guard let search = searches[room] else { return }
    switch (search.step, request) {
    case (.takingOver(var takeover), .evict(let home)) where home == takeover.home:
      takeover.handle(answer, at: now)
      searches[room]?.step = .takingOver(takeover)
    case (.placing(let nonce), .place(let place)) where place.nonce == nonce:
      switch answer {
      case .placed(let placed): foundPlace(room, placed, at: now)
      case .gone(let candidate):
        placement.forget(candidate)
        searches[room]?.excluded.insert(candidate)
        searches[room]?.step = .waiting(until: now)
      default: pause(room, at: now)
      }
    case (.finding, .find):
      switch answer {
      case .found(let place?, isAlive: true): homeIs(place.home, room, at: now)
      case .found(let place?, _) where isSettling(at: now) && mayReturn(place.home): pause(room, at: now)
      case .found where isSettling(at: now): choose(room, at: now)
      case .found where connectedAt.map({ now < $0 + limits.settling }) ?? true: pause(room, at: now)
      case .found: found(room, .nowhere)
      default: pause(room, at: now)
      }
    default: break
    }
  }

  private mutating func foundPlace(_ room: String, _ placed: Placed, at now: Tick) {
    let home = placed.place.home
    if placed.isNew { placement.placed(on: home, at: now) }
    homeIs(home, room, at: now)
  }

  /// The ledger has named the home.
  private mutating func homeIs(_ home: NodeID, _ room: String, at now: Tick) {
    placement.setHome(home, of: room, at: now)
    guard let search = searches[room] else { return }
    if home == id { return open(room, at: now) }
    if home == search.unreachable {
      if let record = livingRecord(of: home, at: now) {
        for ticket in search.tickets where !ticket.isCutOff {
          outputs.append(.located(ticket: ticket.number, .at(record)))
        }
        searches[room]?.tickets.removeAll { !$0.isCutOff }
      }
      searches[room]?.step = .takingOver(Takeover(of: home, isConnected: isConnected, limits: limits, at: now))
      return
    }
    guard let record = livingRecord(of: home, at: now) else {
      placement.refresh(at: now)
      return pause(room, at: now)
    }
    found(room, .at(record))
  }

  private func livingRecord(of node: NodeID, at now: Tick) -> NodeRecord? {
    placement.isSeen(node, at: now) ? placement.record(of: node) : nil
  }

  private mutating func found(_ room: String, _ location: Location) {
    guard let search = searches.removeValue(forKey: room) else { return }
    if location != .here { reopenings[room] = nil }
    for ticket in search.tickets { outputs.append(.located(ticket: ticket.number, location)) }
  }

  // MARK: Rooms

  /// Whether the room is being handed over. The next home will lack new entries of the log.
  package func isLeaving(_ room: String) -> Bool { rooms[room]?.ownership.isHandingOver ?? false }

  /// Stores an entry of a room of which this node is the home. `stored` follows.
  /// - Parameter entry: with an order above those before.
  /// - Returns: false if too much waits for the ledger; the entry is not stored.
  package mutating func append(_ entry: LogEntry, to room: String, at now: Tick) -> Bool {
    guard waitingBytes + entry.content.count <= limits.waitingBytes else { return false }
    rooms[room]?.ownership.append(entry, at: now)
    touched.insert(room)
    settle(at: now)
    return true
  }

  /// A room does not need entries any more: they leave the log later, when no sender repeats them.
  package mutating func remove(_ orders: [UInt64], from room: String, at now: Tick) {
    rooms[room]?.ownership.remove(orders, at: now)
    touched.insert(room)
    settle(at: now)
  }

  /// Answers `needsEntries`.
  package mutating func supply(_ entries: [LogEntry], to room: String, at now: Tick) {
    rooms[room]?.ownership.supply(entries, at: now)
    touched.insert(room)
    settle(at: now)
  }

  /// A participant has a higher number than the room: a failover of the ledger has brought an earlier home back. The room is
  /// `deposed`, and opened again at the next `locate`.
  /// - Parameter seen: the participant's number. It may be a lie. Participants of an earlier home come back soon after the opening,
  ///   so later numbers are lies, and so are more and more of them.
  /// - Returns: false if the room stays.
  package mutating func reopen(_ room: String, seen: UInt64, at now: Tick) -> Bool {
    guard let state = rooms[room], seen > state.above, let opened = state.opened, now < opened + limits.recovery,
      state.reopenings < limits.reopenings
    else { return false }
    reopenings[room] = state.reopenings + 1
    rooms[room]?.ownership.giveUp()
    touched.insert(room)
    settle(at: now)
    return true
  }

  /// The last participant has left.
  package mutating func close(_ room: String, at now: Tick) {
    guard let ownership = forget(room) else { return }
    placement.setHome(nil, of: room, at: now)
    if let term = ownership.term { closings[room] = (term, now) }
    if case .opening = searches[room]?.step { searches[room]?.step = .waiting(until: now) }
    settle(at: now)
  }

  private mutating func forget(_ room: String) -> RoomOwnership? {
    guard let former = rooms.removeValue(forKey: room) else { return nil }
    waitingBytes -= former.waitingBytes
    schedule.remove(former.generation)
    roomOf[former.generation] = nil
    return former.ownership
  }

  private mutating func pollRoom(_ room: String, at now: Tick) {
    while let (output, generation) = pollOwnership(room) {
      switch output {
      case .request(let request): send(request, of: .room(room, generation: generation))
      case .opened(let term, let base, let entries):
        placement.setHome(id, of: room, at: now)
        rooms[room]?.opened = now
        outputs.append(.opened(room: room, term: term, base: base, entries: entries))
        found(room, .here)
        guard isDraining else { break }
        // A node with an old list of nodes has placed the room here.
        isDrained = false
        nextHandOver = nextHandOver ?? now + .seconds(1)
        giveAway(room, at: now)
      case .stored(let order): outputs.append(.stored(room: room, through: order))
      case .late(let order): outputs.append(.late(room: room, order: order))
      case .needsEntries(let after, let through):
        outputs.append(.needsEntries(room: room, after: after, through: through))
      case .handOverFailed(let other):
        placement.forget(other)
        if searches[room] != nil { searches[room]?.step = .waiting(until: now) }
        if isDraining { giveAway(room, at: now) }
      case .elsewhere(let place, let cause): left(room, for: place, cause, at: now)
      }
    }
    guard let state = rooms[room] else { return }
    schedule.setDeadline(state.ownership.deadline, of: state.generation)
    waitingBytes += state.ownership.waitingBytes - state.waitingBytes
    rooms[room]?.waitingBytes = state.ownership.waitingBytes
  }

  private mutating func pollOwnership(_ room: String) -> (RoomOwnership.Output, Int)? {
    guard let generation = rooms[room]?.generation, let output = rooms[room]?.ownership.poll() else { return nil }
    return (output, generation)
  }

  /// The room has another home, or none.
  private mutating func left(
    _ room: String, for place: RoomPlace?, _ cause: RoomOwnership.Cause, at now: Tick
  ) {
    guard forget(room) != nil else { return }
    placement.setHome(place?.home == id ? nil : place?.home, of: room, at: now)
    if cause != .notOpened {
      let home = place.flatMap { $0.home == id ? nil : placement.record(of: $0.home) }
      outputs.append(.deposed(room: room, home: home, cause))
    }
    guard searches[room] != nil else { return }
    if let home = place?.home, home != id { return homeIs(home, room, at: now) }
    pause(room, at: now)
  }

  // MARK: Draining

  /// Takes no more rooms, and hands over those that are here. `drained` follows.
  package mutating func drain(at now: Tick) {
    guard !isDraining else {
      isDrained = false
      handOverAll(at: now)
      return settle(at: now)
    }
    isDraining = true
    // With the rooms of this moment: who waits until there are none must not read an earlier count.
    let homes = rooms.count
    lease.update({ ($0.state, $0.load.rooms) = (.draining, homes) }, at: now)
    handOverAll(at: now)
    settle(at: now)
  }

  private mutating func handOverAll(at now: Tick) {
    nextHandOver = now + .seconds(1)
    for room in rooms.keys.sorted() { giveAway(room, at: now) }
  }

  /// Takes rooms again.
  package mutating func serve(at now: Tick) {
    (isDraining, isDrained, nextHandOver) = (false, false, nil)
    lease.update({ [isReady] in $0.state = isReady ? .serving : .starting }, at: now)
    settle(at: now)
  }

  /// The node can serve rooms now. Until then none are placed on it.
  package mutating func setReady(at now: Tick) {
    guard !isReady else { return }
    isReady = true
    if !isDraining { serve(at: now) }
  }

  /// Hands a room over to a node that has capacity for it. Without one, the room stays.
  package mutating func handOver(_ room: String, at now: Tick) {
    giveAway(room, at: now)
    settle(at: now)
  }

  private mutating func giveAway(_ room: String, at now: Tick) {
    guard isConnected, let ownership = rooms[room]?.ownership, ownership.isServing, !ownership.isHandingOver,
      let other = placement.candidate(
        region: lease.record.region, excluding: [id], mustHaveCapacity: true, at: now)
    else { return }
    placement.placed(on: other, at: now)
    rooms[room]?.ownership.handOver(to: other, at: now)
    touched.insert(room)
  }

  /// Ends the lease, after the node is drained.
  package mutating func release(at now: Tick) {
    lease.release(at: now)
    settle(at: now)
  }

  /// Changes what the node publishes about itself.
  package mutating func update(_ change: (inout NodeRecord) -> Void, at now: Tick) {
    lease.update(change, at: now)
    settle(at: now)
  }

  /// Nodes in which a participant may try its luck.
  package mutating func places(at now: Tick) -> [NodeRecord] { placement.places(at: now) }

  /// As the list has them.
  package var livingNodes: [NodeRecord] { placement.livingNodes }

  /// The node that participants reach at this address, as the list has it.
  package func node(at publicAddress: String) -> NodeID? { placement.node(at: publicAddress) }

  /// A living node, as the list has it.
  package func record(of id: NodeID) -> NodeRecord? { placement.record(of: id) }

  // MARK: Time

  package var deadline: Tick? {
    mutating get { soonest().deadline }
  }

  /// The event that the deadline belongs to.
  package var reason: String {
    mutating get { soonest().reason }
  }

  private mutating func soonest() -> (deadline: Tick?, reason: String) {
    var search: Tick?, closing: Tick?
    for state in searches.values {
      search = search.sooner(state.tickets.first?.ends)
      switch state.step {
      case .waiting(let until): search = search.sooner(until)
      case .takingOver(let takeover): search = search.sooner(takeover.deadline)
      case .placing, .finding, .opening: break
      }
    }
    if isConnected { closing = closings.values.reduce(nil) { $0.sooner($1.retry) } }
    let room = schedule.soonest()?.deadline
    let deadline = lease.deadline.sooner(placement.deadline).sooner(search).sooner(closing).sooner(room)
      .sooner(nextHandOver)
    return (
      deadline,
      soonestDeadline([
        "lease": lease.deadline, "list": placement.deadline, "search": search, "closing": closing, "room": room,
        "draining": nextHandOver,
      ])
    )
  }

  package mutating func handleTimeout(at now: Tick) {
    lease.handleTimeout(at: now)
    placement.handleTimeout(at: now)
    for generation in schedule.takeDue(at: now) {
      guard let room = roomOf[generation] else { continue }
      rooms[room]?.ownership.handleTimeout(at: now)
      touched.insert(room)
    }
    _ = schedule.takeTouched()
    if let nextHandOver, nextHandOver <= now { handOverAll(at: now) }
    for room in searches.keys.sorted() {
      expireTickets(room, at: now)
      guard case .takingOver(var takeover) = searches[room]?.step else { continue }
      takeover.handleTimeout(at: now)
      searches[room]?.step = .takingOver(takeover)
    }
    settle(at: now)
  }

  private mutating func expireTickets(_ room: String, at now: Tick) {
    guard let search = searches[room], let first = search.tickets.first, first.ends <= now else { return }
    for ticket in search.tickets where ticket.ends <= now {
      outputs.append(.located(ticket: ticket.number, .unavailable))
    }
    searches[room]?.tickets.removeAll { $0.ends <= now }
    if searches[room]?.tickets.isEmpty == true { searches[room] = nil }
  }

  package mutating func poll() -> Output? {
    guard head < outputs.count else { return nil }
    defer {
      head += 1
      if head == outputs.count { (outputs, head) = ([], 0) }
    }
    return outputs[head]
  }

  /// Carries out the decisions of the parts, until there are none.
  private mutating func settle(at now: Tick) {
    var isMoving = true
    while isMoving {
      isMoving = pollLease(at: now)
      while let request = placement.poll() { send(request, of: .list) }
      for room in touched.sorted() {
        touched.remove(room)
        pollRoom(room, at: now)
        isMoving = true
      }
      for room in searches.keys.sorted() where stepSearch(room, at: now) { isMoving = true }
    }
    sendClosings(at: now)
    if isDraining, !isDrained, rooms.isEmpty {
      (isDrained, nextHandOver) = (true, nil)
      outputs.append(.drained)
    }
  }

  private mutating func pollLease(at now: Tick) -> Bool {
    var hasMoved = false
    while let output = lease.poll() {
      hasMoved = true
      switch output {
      case .request(let request): send(request, of: .lease)
      case .registered(let isAgain):
        placement.refresh(at: now)
        if isAgain || now >= began + limits.settling { returned = now }
        guard isAgain else { break }
        for room in rooms.keys {
          rooms[room]?.ownership.check(at: now)
          touched.insert(room)
        }
      case .uncertain(let isUncertain): outputs.append(.uncertain(isUncertain))
      case .refused(let other): outputs.append(.nameTaken(by: other))
      case .released: outputs.append(.released)
      }
    }
    return hasMoved
  }

  private mutating func stepSearch(_ room: String, at now: Tick) -> Bool {
    guard let search = searches[room] else { return false }
    switch search.step {
    case .waiting(let until) where until <= now:
      self.search(room, at: now)
      return true
    case .takingOver(var takeover):
      guard let output = takeover.poll() else { return false }
      searches[room]?.step = .takingOver(takeover)
      switch output {
      case .request(let request): send(request, of: .search(room))
      case .homeIsGone:
        placement.forget(takeover.home)
        searches[room]?.unreachable = nil
        searches[room]?.step = .waiting(until: now)
      case .homeIsAlive: found(room, .unavailable)
      }
      return true
    case .opening where rooms[room] == nil:
      searches[room]?.step = .waiting(until: now)
      return true
    case .waiting, .placing, .finding, .opening: return false
    }
  }

  private mutating func sendClosings(at now: Tick) {
    guard isConnected else { return }
    for room in closings.keys.sorted() {
      guard let closing = closings[room], let retry = closing.retry, retry <= now else { continue }
      closings[room]?.retry = nil
      send(.close(room: room, term: closing.term), of: .closing)
    }
  }
}
