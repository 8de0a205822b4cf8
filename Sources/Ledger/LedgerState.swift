import KoineBase

/// What a ledger knows, and the scripts that change it. Each request is one step. The time is the ledger's clock, in microseconds
/// since 1970.
///
/// The reference for the scripts of `RedisLedger`: `Tests/Cluster/RoomLog.pml` is the model of them.
package struct LedgerState: Sendable {
  /// Rules that tests take out, one at a time, to see that their checks find what follows.
  package struct Rules: Hashable, Sendable {
    /// An append, a read, a handover and a closing compare the term.
    package var comparesTerms = true
    /// A new term begins its numbers at the clock, not at the last number of the log.
    package var beginsAtClock = true
    /// An append compares the number before its entries.
    package var comparesPrevious = true

    package init() {}
  }

  private struct Node {
    var record: NodeRecord
    var heartbeat: UInt64
    /// When the lease ends.
    var expires: UInt64
  }

  private struct Stored {
    let entry: LogEntry
    let stored: UInt64
  }

  private struct Room {
    var place: RoomPlace?
    var count: UInt64 = 0
    var last: UInt64 = 0
    /// In order.
    var log: [Stored] = []
    /// When the ledger forgets the room.
    var expires: UInt64 = 0
  }

  private struct Job {
    let content: [UInt8]
    var owner: NodeID?
    var renewed: UInt64
  }

  private static let pageEntries = 512
  private static let pageBytes = 1024 * 1024
  private static let closedRoom = Duration.seconds(86_400)

  package var rules = Rules()
  private var nodes: [NodeID: Node] = [:]
  /// In order: all nodes, unless one has come since they were listed, and maybe some that have gone.
  private var listedNodes: [NodeID] = []
  private var rooms: [String: Room] = [:]
  /// In the order in which they came.
  private var jobs: [(id: String, job: Job)] = []
  private var jobCount = 0
  private var registry = RegistryState()

  package init() {}

  // MARK: Requests

  /// Executes a request, but for publishing, which leaves nothing behind.
  package mutating func execute(_ request: LedgerRequest, clock: UInt64) -> LedgerAnswer {
    expire(at: clock)
    switch request {
    case .register(let record): return register(record, clock)
    case .heartbeat(let record):
      guard nodes[record.id] != nil else { return .evicted }
      beat(record, clock)
      return .done
    case .unregister(let id):
      nodes[id] = nil
      return .done
    case .evict(let id):
      if let node = nodes[id], clock < node.heartbeat + LedgerTimes.suspicion.microseconds { return .alive }
      nodes[id] = nil
      return .done
    case .nodes:
      return .nodes(list(clock))
    case .place(let request): return place(request, clock)
    case .handOver(let room, let term, let other, let nonce):
      if let fenced = fence(room, term) { return fenced }
      guard nodes[other] != nil else { return .gone(other) }
      return begin(room, other, nonce: nonce, above: 0, clock)
    case .append(let request): return append(request, clock)
    case .read(let room, let term, let after, let through):
      if let fenced = fence(room, term) { return fenced }
      return .page(page(of: rooms[room]?.log ?? [], after: after, through: through, clock))
    case .close(let room, let term):
      if let fenced = fence(room, term) { return fenced }
      rooms[room]?.place = nil
      rooms[room]?.log = []
      rooms[room]?.expires = clock + Self.closedRoom.microseconds
      return .done
    case .publish: return .done
    case .jobs(let request): return execute(request, clock)
    case .rooms:
      let listed = rooms.sorted { $0.key < $1.key }.compactMap { room, state in
        state.place.map { RoomListing(room: room, place: $0) }
      }
      return .rooms(listed, next: nil)
    case .find(let room):
      let place = rooms[room]?.place
      return .found(place, isAlive: place.map { nodes[$0.home] != nil } ?? false)
    case .registry(let request): return .registry(registry.execute(request, clock: clock))
    }
  }

  /// Leases end, and orphaned rooms.
  private mutating func expire(at clock: UInt64) {
    if nodes.values.contains(where: { $0.expires <= clock }) { nodes = nodes.filter { $0.value.expires > clock } }
    if rooms.values.contains(where: { $0.expires <= clock }) { rooms = rooms.filter { $0.value.expires > clock } }
  }

  // MARK: Nodes

  /// In the order of their ids. Each node asks for it each second, and the order seldom changes.
  private mutating func list(_ clock: UInt64) -> [ListedNode] {
    func known() -> [ListedNode] {
      listedNodes.compactMap { id in
        nodes[id].map { ListedNode($0.record, silence: .microseconds(clock &- $0.heartbeat)) }
      }
    }
    let listed = known()
    guard listed.count != nodes.count else { return listed }
    listedNodes = nodes.keys.sorted()
    return known()
  }

  private mutating func register(_ record: NodeRecord, _ clock: UInt64) -> LedgerAnswer {
    if let other = nodes.keys.filter({ $0.name == record.id.name && $0 != record.id }).min() {
      return .nameTaken(by: other)
    }
    beat(record, clock)
    return .registered(clock: clock)
  }

  private mutating func beat(_ record: NodeRecord, _ clock: UInt64) {
    nodes[record.id] = Node(record: record, heartbeat: clock, expires: clock + LedgerTimes.lease.microseconds)
  }

  // MARK: Rooms

  private mutating func place(_ request: PlaceRequest, _ clock: UInt64) -> LedgerAnswer {
    if let room = rooms[request.room], let place = room.place {
      if place.term.nonce == request.nonce { return .placed(Placed(place, isNew: true, last: room.last)) }
      let isOpenedAgain = place.home == request.candidate && request.isOpening
      if nodes[place.home] != nil, !isOpenedAgain { return .placed(Placed(place, isNew: false, last: room.last)) }
    }
    guard nodes[request.candidate] != nil else { return .gone(request.candidate) }
    let life = request.isOpening ? LedgerTimes.orphan : LedgerTimes.unopened
    return begin(request.room, request.candidate, nonce: request.nonce, above: request.above, life: life, clock)
  }

  /// Begins a term.
  /// - Parameter life: of the room, if it had not more before.
  private mutating func begin(
    _ name: String, _ home: NodeID, nonce: String, above: UInt64, life: Duration = LedgerTimes.orphan, _ clock: UInt64
  ) -> LedgerAnswer {
    var room = rooms[name] ?? Room()
    room.count += 1
    let place = RoomPlace(home: home, term: RoomTerm(count: room.count, nonce: nonce))
    room.place = place
    // A participant may have named the number: it does not move the room's numbers out of range.
    let known = min(above, clock + LedgerTimes.aboveLimit.microseconds)
    if rules.beginsAtClock { room.last = max(clock, room.last + 1, known + 1) }
    room.expires = max(room.expires, clock + life.microseconds)
    rooms[name] = room
    return .placed(Placed(place, isNew: true, last: room.last))
  }

  private func fence(_ room: String, _ term: RoomTerm) -> LedgerAnswer? {
    guard rules.comparesTerms || rooms[room]?.place == nil else { return nil }
    return rooms[room]?.place?.term == term ? nil : .fenced(rooms[room]?.place)
  }

  private mutating func append(_ request: AppendRequest, _ clock: UInt64) -> LedgerAnswer {
    if let fenced = fence(request.room, request.term) { return fenced }
    guard var room = rooms.removeValue(forKey: request.room) else { return .fenced(nil) }
    defer { rooms[request.room] = room }
    if rules.comparesPrevious, room.last < request.previous { return .behind(last: room.last) }
    for entry in request.entries where entry.order > room.last {
      room.log.append(Stored(entry: entry, stored: clock))
      room.last = entry.order
    }
    if !request.removing.isEmpty {
      let removed = Set(request.removing)
      room.log.removeAll { removed.contains($0.entry.order) }
    }
    if request.entries.isEmpty { room.expires = clock + LedgerTimes.orphan.microseconds }
    return .appended
  }

  private func page(of log: [Stored], after: UInt64, through: UInt64, _ clock: UInt64) -> LogPage {
    var (low, high) = (0, log.count)
    while low < high {
      let middle = (low + high) / 2
      if log[middle].entry.order > after { high = middle } else { low = middle + 1 }
    }
    var (entries, bytes) = ([StoredEntry](), 0)
    for stored in log[low...] {
      guard stored.entry.order <= through else { break }
      bytes += stored.entry.content.count
      guard entries.isEmpty || (entries.count < Self.pageEntries && bytes <= Self.pageBytes) else {
        return LogPage(entries, isLast: false)
      }
      // The clock may have gone back since, at a failover.
      entries.append(StoredEntry(stored.entry, age: .microseconds(clock > stored.stored ? clock - stored.stored : 0)))
    }
    return LogPage(entries, isLast: true)
  }

  // MARK: Jobs

  private mutating func execute(_ request: JobsRequest, _ clock: UInt64) -> LedgerAnswer {
    switch request {
    case .add(let content):
      jobCount += 1
      jobs.append((String(jobCount), Job(content: content, renewed: clock)))
      return .jobs([LedgerJob(id: String(jobCount), content: content)])
    case .take(let node):
      let patience = LedgerTimes.jobPatience.microseconds
      guard let index = jobs.firstIndex(where: { $0.job.owner == nil || $0.job.renewed + patience <= clock }) else {
        return .jobs([])
      }
      (jobs[index].job.owner, jobs[index].job.renewed) = (node, clock)
      return .jobs([LedgerJob(id: jobs[index].id, content: jobs[index].job.content)])
    case .renew(let id, let node):
      guard let index = jobs.firstIndex(where: { $0.id == id && $0.job.owner == node }) else { return .jobs([]) }
      jobs[index].job.renewed = clock
      return .jobs([LedgerJob(id: id, content: jobs[index].job.content)])
    case .finish(let id):
      jobs.removeAll { $0.id == id }
      return .done
    }
  }

  // MARK: For tests

  /// The entries of a room's log.
  package func log(of room: String) -> [LogEntry] { rooms[room]?.log.map(\.entry) ?? [] }

  package func place(of room: String) -> RoomPlace? { rooms[room]?.place }

  package func isAlive(_ id: NodeID, at clock: UInt64) -> Bool { nodes[id].map { $0.expires > clock } ?? false }
}

extension Duration {
  /// In whole microseconds; negative durations are zero.
  var microseconds: UInt64 { UInt64(max(0, nanoseconds / 1000)) }
}
