import KoineBase
import KoineLedger
import Testing

/// The scripts, one by one, as `RedisLedger` has to implement them.
@Suite struct LedgerStateTests {
  private var state = LedgerState()
  private let start: UInt64 = 1_800_000_000_000_000
  private let n1 = NodeID("n1#a")!
  private let n2 = NodeID("n2#a")!

  init() {
    for node in [n1, n2] { _ = state.execute(.register(NodeRecord(id: node)), clock: start) }
  }

  private mutating func place(
    _ candidate: NodeID, _ nonce: String, isOpening: Bool = true, above: UInt64 = 0, clock: UInt64? = nil
  ) throws -> Placed {
    let request = PlaceRequest(
      room: "tea", candidate: candidate, nonce: nonce, isOpening: isOpening, above: above)
    guard case .placed(let placed) = state.execute(.place(request), clock: clock ?? start) else {
      throw Unexpected()
    }
    return placed
  }

  private struct Unexpected: Error {}

  private mutating func append(_ term: RoomTerm, previous: UInt64, _ orders: UInt64..., removing: [UInt64] = [])
    -> LedgerAnswer
  {
    let entries = orders.map { LogEntry(order: $0, content: [UInt8(truncatingIfNeeded: $0)]) }
    return state.execute(
      .append(
        AppendRequest(room: "tea", term: term, previous: previous, entries: entries, removing: removing)),
      clock: start)
  }

  // MARK: Leases

  @Test mutating func leaseEndsWithoutHeartbeats() {
    #expect(state.execute(.heartbeat(NodeRecord(id: n1)), clock: start + 4_000_000) == .done)
    #expect(state.execute(.heartbeat(NodeRecord(id: n2)), clock: start + 5_000_000) == .evicted)
    #expect(state.execute(.heartbeat(NodeRecord(id: n1)), clock: start + 8_999_999) == .done)
  }

  @Test mutating func livingNodeKeepsItsName() {
    let other = NodeRecord(id: NodeID("n1#b")!)
    #expect(state.execute(.register(other), clock: start + 1) == .nameTaken(by: n1))
    #expect(state.execute(.register(NodeRecord(id: n1)), clock: start + 2) == .registered(clock: start + 2))
    #expect(state.execute(.register(other), clock: start + 6_000_000) == .registered(clock: start + 6_000_000))
  }

  @Test mutating func nodeIsEvictedOnlyAfterTwoMissingHeartbeats() {
    #expect(state.execute(.evict(n1), clock: start + 999_999) == .alive)
    #expect(state.isAlive(n1, at: start + 999_999))
    #expect(state.execute(.evict(n1), clock: start + 1_000_000) == .done)
    #expect(!state.isAlive(n1, at: start + 1_000_000))
    #expect(state.execute(.heartbeat(NodeRecord(id: n1)), clock: start + 1_000_001) == .evicted)
    #expect(state.execute(.evict(n1), clock: start + 1_000_002) == .done)
  }

  @Test mutating func listSaysHowLongNodesAreSilent() {
    _ = state.execute(.heartbeat(NodeRecord(id: n2)), clock: start + 400_000)
    guard case .nodes(let nodes) = state.execute(.nodes, clock: start + 500_000) else {
      Issue.record("no list")
      return
    }
    #expect(nodes.map(\.record.id) == [n1, n2])
    #expect(nodes.map(\.silence) == [.milliseconds(500), .milliseconds(100)])
  }

  // MARK: Places

  @Test mutating func concurrentPlacementsOfOneNameReturnOneHome() throws {
    let first = try place(n1, "x")
    let second = try place(n2, "y")
    #expect(first.isNew)
    #expect(!second.isNew)
    #expect(second.place == first.place)
    #expect(first.place.term == RoomTerm(count: 1, nonce: "x"))
  }

  @Test mutating func repeatedPlacementIsAnsweredWithTheSameTerm() throws {
    let first = try place(n1, "x")
    #expect(try place(n1, "x") == first)
  }

  @Test mutating func eachOpeningHasATermOfItsOwn() throws {
    let first = try place(n1, "x")
    #expect(try place(n1, "y", isOpening: false).place == first.place)
    let second = try place(n1, "z")
    #expect(second.isNew)
    #expect(second.place.term != first.place.term)
    #expect(second.last > first.last)
    #expect(append(first.place.term, previous: first.last) == .fenced(second.place))
  }

  @Test mutating func roomOfADeadNodeGetsAnotherHome() throws {
    let first = try place(n1, "x")
    _ = state.execute(.heartbeat(NodeRecord(id: n2)), clock: start + 4_000_000)
    let second = try place(n2, "y", clock: start + 5_000_000)
    #expect(second.place.home == n2)
    #expect(append(first.place.term, previous: first.last) == .fenced(second.place))
  }

  @Test mutating func roomIsNotPlacedOnADeadNode() {
    let request = PlaceRequest(room: "tea", candidate: NodeID("n3#a")!, nonce: "x", isOpening: false)
    #expect(state.execute(.place(request), clock: start) == .gone(NodeID("n3#a")!))
  }

  @Test mutating func numbersOfATermBeginAboveAllThatIsKnown() throws {
    #expect(try place(n1, "x").last == start)
    #expect(try place(n1, "y", clock: start - 5).last == start + 1)
    #expect(try place(n1, "z", above: start + 100).last == start + 101)
  }

  @Test mutating func roomIsHandedOverToALivingNodeOnly() throws {
    let first = try place(n1, "x")
    let dead = NodeID("n3#a")!
    #expect(
      state.execute(.handOver(room: "tea", term: first.place.term, to: dead, nonce: "y"), clock: start) == .gone(dead)
    )
    guard
      case .placed(let second) = state.execute(
        .handOver(room: "tea", term: first.place.term, to: n2, nonce: "y"), clock: start)
    else {
      Issue.record("not handed over")
      return
    }
    #expect(second.place.home == n2)
    #expect(
      state.execute(.handOver(room: "tea", term: first.place.term, to: n2, nonce: "y"), clock: start)
        == .fenced(second.place))
  }

  // MARK: The log

  @Test mutating func repeatedEntriesAreStoredOnce() throws {
    let placed = try place(n1, "x")
    let (term, base) = (placed.place.term, placed.last)
    #expect(append(term, previous: base, base + 1, base + 5) == .appended)
    #expect(append(term, previous: base, base + 1, base + 5, base + 6) == .appended)
    #expect(state.log(of: "tea").map(\.order) == [base + 1, base + 5, base + 6])
  }

  @Test mutating func appendAfterALostOneIsBehind() throws {
    let placed = try place(n1, "x")
    let (term, base) = (placed.place.term, placed.last)
    _ = append(term, previous: base, base + 1)
    #expect(append(term, previous: base + 2, base + 3) == .behind(last: base + 1))
    #expect(append(term, previous: base + 2) == .behind(last: base + 1))
    #expect(state.log(of: "tea").map(\.order) == [base + 1])
  }

  @Test mutating func removedEntriesLeaveTheLastOrder() throws {
    let placed = try place(n1, "x")
    let (term, base) = (placed.place.term, placed.last)
    _ = append(term, previous: base, base + 1, base + 2)
    #expect(append(term, previous: base + 2, removing: [base + 2]) == .appended)
    #expect(state.log(of: "tea").map(\.order) == [base + 1])
    #expect(append(term, previous: base + 2, base + 3) == .appended)
  }

  @Test mutating func logIsReadInPagesUpToANumber() throws {
    let placed = try place(n1, "x")
    let (term, base) = (placed.place.term, placed.last)
    let entries = (1...600).map { LogEntry(order: base + $0, content: []) }
    _ = state.execute(
      .append(AppendRequest(room: "tea", term: term, previous: base, entries: entries)), clock: start)
    func read(after: UInt64, through: UInt64) -> LogPage? {
      var state = state
      let request = LedgerRequest.read(room: "tea", term: term, after: after, through: through)
      guard case .page(let page) = state.execute(request, clock: start + 3) else { return nil }
      return page
    }
    let first = try #require(read(after: 0, through: base + 590))
    #expect(first.entries.count == 512)
    #expect(!first.isLast)
    #expect(first.entries.allSatisfy { $0.age == .microseconds(3) })
    let second = try #require(read(after: base + 512, through: base + 590))
    #expect(second.entries.map(\.entry.order) == Array((base + 513)...(base + 590)))
    #expect(second.isLast)
  }

  @Test mutating func closedRoomIsForgotten() throws {
    let placed = try place(n1, "x")
    let (term, base) = (placed.place.term, placed.last)
    _ = append(term, previous: base, base + 1)
    #expect(state.execute(.close(room: "tea", term: term), clock: start) == .done)
    #expect(state.execute(.close(room: "tea", term: term), clock: start) == .fenced(nil))
    #expect(state.log(of: "tea").isEmpty)
    let next = try place(n2, "y", clock: start - 100)
    #expect(next.place.term.count == 2)
    #expect(next.last > base)
  }

  @Test mutating func orphanedRoomExpires() throws {
    let placed = try place(n1, "x")
    let week: UInt64 = 7 * 86_400 * 1_000_000
    _ = state.execute(.nodes, clock: start + week - 1)
    #expect(state.place(of: "tea") == placed.place)
    _ = state.execute(.nodes, clock: start + week)
    #expect(state.place(of: "tea") == nil)
  }

  // MARK: Jobs

  @Test mutating func jobOfASilentNodeIsTakenByAnother() {
    guard case .jobs(let added) = state.execute(.jobs(.add([7])), clock: start), let job = added.first else {
      Issue.record("no job")
      return
    }
    #expect(state.execute(.jobs(.take(by: n1)), clock: start) == .jobs([job]))
    #expect(state.execute(.jobs(.take(by: n2)), clock: start + 9_000_000) == .jobs([]))
    #expect(state.execute(.jobs(.renew(id: job.id, by: n1)), clock: start + 9_000_000) == .jobs([job]))
    #expect(state.execute(.jobs(.take(by: n2)), clock: start + 18_999_999) == .jobs([]))
    #expect(state.execute(.jobs(.take(by: n2)), clock: start + 19_000_000) == .jobs([job]))
    #expect(state.execute(.jobs(.renew(id: job.id, by: n1)), clock: start + 19_000_001) == .jobs([]))
    #expect(state.execute(.jobs(.finish(id: job.id)), clock: start + 19_000_002) == .done)
    #expect(state.execute(.jobs(.take(by: n1)), clock: start + 60_000_000) == .jobs([]))
  }
}
