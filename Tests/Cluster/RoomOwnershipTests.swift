import KoineBase
import KoineCluster
import KoineLedger
import Testing

@Suite struct RoomOwnershipTests {
  private let own = NodeID("n1#a")!
  private let other = NodeID("n2#a")!
  private let start = Tick(nanoseconds: 5_000_000_000)
  private let term = RoomTerm(count: 1, nonce: "x")
  private var room: RoomOwnership
  private var limits = ClusterLimits()

  init() {
    room = RoomOwnership(
      room: "tea", node: own, isConnected: true, random: SeededRandom(seed: 1), at: Tick(nanoseconds: 5_000_000_000))
  }

  private func at(_ milliseconds: Int) -> Tick { start + .milliseconds(milliseconds) }

  private mutating func outputs(at milliseconds: Int = 0) -> [RoomOwnership.Output] {
    room.handleTimeout(at: at(milliseconds))
    var outputs: [RoomOwnership.Output] = []
    while let output = room.poll() { outputs.append(output) }
    #expect(DeadlineLaw.check("RoomOwnership", deadline: room.deadline, at: at(milliseconds), because: "") == nil)
    return outputs
  }

  private mutating func requests(at milliseconds: Int = 0) -> [LedgerRequest] {
    outputs(at: milliseconds).compactMap { if case .request(let request) = $0 { request } else { nil } }
  }

  private func append(_ previous: UInt64, _ orders: UInt64..., removing: [UInt64] = []) -> LedgerRequest {
    .append(
      AppendRequest(room: "tea", term: term, previous: previous, entries: orders.map(entry), removing: removing))
  }

  private func entry(_ order: UInt64) -> LogEntry { LogEntry(order: order, content: [UInt8(order)]) }

  /// Opens the room with numbers above 10.
  private mutating func open() {
    guard case .place(let place)? = requests().first else {
      Issue.record("no placement")
      return
    }
    #expect(place.isOpening)
    #expect(place.candidate == own)
    let placed = Placed(RoomPlace(home: own, term: term), isNew: true, last: 10)
    room.handle(.placed(placed), to: .place(place), at: at(0))
    let read = LedgerRequest.read(room: "tea", term: term, after: 0, through: 10)
    #expect(requests() == [read])
    room.handle(.page(LogPage([StoredEntry(entry(4), age: .seconds(1))], isLast: true)), to: read, at: at(0))
    #expect(outputs() == [.opened(term: term, base: 10, entries: [StoredEntry(entry(4), age: .seconds(1))])])
    #expect(room.isServing)
  }

  @Test mutating func openedRoomHasTheLogsEntries() { open() }

  @Test mutating func placementIsRepeatedWithTheSameNonce() {
    let first = requests()
    room.handle(.failed(.away("")), to: first[0], at: at(0))
    #expect(requests(at: 1000) == first)
  }

  @Test mutating func longLogIsReadInPages() {
    guard case .place(let place)? = requests().first else {
      Issue.record("no placement")
      return
    }
    let placed = Placed(RoomPlace(home: own, term: term), isNew: true, last: 10)
    room.handle(.placed(placed), to: .place(place), at: at(0))
    let (first, second) = (StoredEntry(entry(3), age: .zero), StoredEntry(entry(7), age: .zero))
    room.handle(.page(LogPage([first], isLast: false)), to: requests()[0], at: at(0))
    #expect(requests() == [.read(room: "tea", term: term, after: 3, through: 10)])
    room.handle(
      .page(LogPage([second], isLast: true)), to: .read(room: "tea", term: term, after: 3, through: 10), at: at(0))
    #expect(outputs() == [.opened(term: term, base: 10, entries: [first, second])])
  }

  @Test mutating func roomOfAnotherHomeIsElsewhere() {
    guard case .place(let place)? = requests().first else {
      Issue.record("no placement")
      return
    }
    let home = RoomPlace(home: other, term: RoomTerm(count: 4, nonce: "z"))
    room.handle(.placed(Placed(home, isNew: false, last: 10)), to: .place(place), at: at(0))
    #expect(outputs() == [.elsewhere(home, .notOpened)])
    #expect(room.deadline == nil)
  }

  @Test mutating func receiptsComeWhenTheLedgerHasConfirmed() {
    open()
    room.append(entry(11), at: at(0))
    room.append(entry(13), at: at(0))
    #expect(requests() == [append(10, 11), append(11, 13)])
    room.handle(.appended, to: append(10, 11), at: at(1))
    #expect(outputs(at: 1) == [.stored(through: 11)])
    room.handle(.appended, to: append(11, 13), at: at(2))
    #expect(outputs(at: 2) == [.stored(through: 13)])
  }

  @Test mutating func requestsOnTheirWayAreBounded() {
    open()
    for order in 11...200 as ClosedRange<UInt64> { room.append(entry(order), at: at(0)) }
    let sent = requests()
    #expect(sent.count == 4)
    room.handle(.appended, to: sent[0], at: at(1))
    guard case .append(let next)? = requests(at: 1).first else {
      Issue.record("no request")
      return
    }
    #expect(next.entries.count == 64)
    #expect(next.previous == 14)
  }

  @Test mutating func homeThatLostItsLeaseCannotAcknowledge() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    let home = RoomPlace(home: other, term: RoomTerm(count: 2, nonce: "y"))
    room.handle(.fenced(home), to: append(10, 11), at: at(1))
    #expect(outputs(at: 1) == [.elsewhere(home, .fenced)])
    room.handle(.appended, to: append(10, 11), at: at(2))
    #expect(outputs(at: 2) == [])
  }

  @Test mutating func receiptIsLateAfterTenSecondsAndTheEntryIsStoredAllTheSame() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    room.handle(.failed(.away("")), to: append(10, 11), at: at(5))
    room.disconnected()
    #expect(outputs(at: 9_999) == [])
    #expect(outputs(at: 10_000) == [.late(order: 11)])
    #expect(outputs(at: 11_000) == [])
    room.connected(at: at(12_000))
    #expect(requests(at: 12_000) == [append(10, 11)])
    room.handle(.appended, to: append(10, 11), at: at(12_001))
    #expect(outputs(at: 12_001) == [.stored(through: 11)])
  }

  @Test mutating func newConnectionIsCheckedByAnEmptyAppend() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    room.handle(.appended, to: append(10, 11), at: at(1))
    _ = outputs(at: 1)
    room.disconnected()
    room.connected(at: at(2))
    #expect(requests(at: 2) == [append(11)])
    room.handle(.appended, to: append(11), at: at(3))
    #expect(outputs(at: 3) == [])
  }

  @Test mutating func evictedHomeAsksWhetherTheRoomIsStillItsOwn() {
    open()
    room.check(at: at(5))
    #expect(requests(at: 5) == [append(10)])
  }

  @Test mutating func entriesThatTheLedgerLostAreSentAgain() {
    open()
    room.append(entry(11), at: at(0))
    room.append(entry(12), at: at(0))
    _ = outputs()
    room.handle(.appended, to: append(10, 11), at: at(1))
    room.handle(.appended, to: append(11, 12), at: at(1))
    room.append(entry(14), at: at(1))
    #expect(outputs(at: 1).contains(.request(append(12, 14))))
    room.handle(.behind(last: 11), to: append(12, 14), at: at(2))
    #expect(outputs(at: 2) == [.needsEntries(after: 11, through: 13)])
    room.supply([entry(12)], at: at(2))
    #expect(requests(at: 2) == [append(11, 12, 14)])
    room.handle(.appended, to: append(11, 12, 14), at: at(3))
    #expect(outputs(at: 3) == [.stored(through: 14)])
  }

  @Test mutating func entriesAreRemovedWhenTheirSendersRepeatThemNoLonger() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    room.handle(.appended, to: append(10, 11), at: at(1))
    _ = outputs(at: 1)
    room.remove([11], at: at(100))
    #expect(requests(at: 120_099) == [])
    #expect(requests(at: 120_100) == [append(11, removing: [11])])
    room.handle(.failed(.away("")), to: append(11, removing: [11]), at: at(120_101))
    #expect(requests(at: 121_200) == [append(11, removing: [11])])
  }

  @Test mutating func quietRoomIsRenewedOnceAnHour() {
    open()
    #expect(room.deadline == at(3_600_000))
    #expect(requests(at: 3_600_000) == [append(10)])
  }

  @Test mutating func roomIsHandedOverAfterItsReceipts() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    room.handOver(to: other, at: at(0))
    #expect(outputs() == [])
    room.handle(.appended, to: append(10, 11), at: at(1))
    let made = outputs(at: 1)
    guard made.count == 2, made[0] == .stored(through: 11), case .request(let request) = made[1],
      case .handOver("tea", term, other, let nonce) = request
    else {
      Issue.record("\(made)")
      return
    }
    #expect(!room.isServing)
    room.append(entry(12), at: at(2))  // its sender repeats it to the new home
    #expect(outputs(at: 2) == [])
    // The answer is lost, and the request repeated: the first one was executed.
    room.handle(.failed(.away("")), to: request, at: at(3))
    #expect(requests(at: 1003) == [request])
    let home = RoomPlace(home: other, term: RoomTerm(count: 2, nonce: nonce))
    room.handle(.fenced(home), to: request, at: at(1004))
    #expect(outputs(at: 1004) == [.elsewhere(home, .handedOver)])
  }

  @Test mutating func roomIsServedOnIfTheOtherNodeIsGone() {
    open()
    room.handOver(to: other, at: at(0))
    let request = requests()[0]
    room.handle(.gone(other), to: request, at: at(1))
    #expect(outputs(at: 1) == [.handOverFailed(to: other)])
    #expect(room.isServing)
  }

  @Test mutating func messageThatComesDuringTheHandOverIsStoredIfTheRoomStays() {
    open()
    room.append(entry(11), at: at(0))
    #expect(requests() == [append(10, 11)])
    room.handOver(to: other, at: at(0))
    room.append(entry(12), at: at(0))
    #expect(outputs() == [], "later entries do not delay the hand-over")
    #expect(room.isServing, "participants may join until the request is out")
    room.handle(.appended, to: append(10, 11), at: at(1))
    let made = outputs(at: 1)
    guard made.count == 2, made[0] == .stored(through: 11), case .request(let request) = made[1] else {
      Issue.record("\(made)")
      return
    }
    room.handle(.failed(.away("")), to: request, at: at(2))
    #expect(outputs(at: 10_000).contains(.late(order: 12)))
    room.handle(.gone(other), to: request, at: at(10_001))
    #expect(outputs(at: 10_001) == [.handOverFailed(to: other), .request(append(11, 12))])
  }

  @Test mutating func roomIsServedOnIfTheLedgerIsLostBeforeTheHandOverIsSent() {
    open()
    room.append(entry(11), at: at(0))
    _ = outputs()
    room.handOver(to: other, at: at(0))
    room.append(entry(12), at: at(0))
    room.disconnected()
    #expect(room.isServing && !room.isHandingOver)
    room.handle(.failed(.away("")), to: append(10, 11), at: at(1))
    room.connected(at: at(500))
    #expect(requests(at: 500) == [append(10, 11, 12)])
  }

  @Test mutating func outrunHomeGivesUp() {
    open()
    room.giveUp()
    #expect(outputs() == [.elsewhere(nil, .outrun)])
  }
}
