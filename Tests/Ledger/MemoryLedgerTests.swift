import KoineBase
import KoineLedger
import Testing

@Suite struct MemoryLedgerTests {
  private final class Node {
    var events: [LedgerEvent] = []
    var connection: MemoryLedger.Connection?
    let id: NodeID
    private var number: UInt64 = 0

    init(_ name: String) { id = NodeID("\(name)#a")! }

    @discardableResult func send(_ request: LedgerRequest, at now: Tick) -> UInt64 {
      number += 1
      connection?.send(request, number: number, at: now)
      return number
    }

    func answer(_ number: UInt64) -> LedgerAnswer? {
      for case .answered(number, let answer) in events { return answer }
      return nil
    }

    var isAlwaysAnsweredOnce: Bool {
      let numbers = events.compactMap { event -> UInt64? in
        if case .answered(let number, _) = event { return number }
        return nil
      }
      return numbers.count == Set(numbers).count
    }
  }

  private let ledger = MemoryLedger(seed: 7, at: .zero)
  private let a = Node("a")
  private let b = Node("b")

  private func connect(_ nodes: Node...) {
    for node in nodes { node.connection = ledger.connect(node.id, at: .zero) { node.events.append($0) } }
    run(to: .milliseconds(100))
    for node in nodes { node.send(.register(NodeRecord(id: node.id)), at: .zero + .milliseconds(100)) }
    run(to: .milliseconds(200))
  }

  /// Checks the law of deadlines on the way.
  private func run(to time: Duration) {
    let end = Tick.zero + time
    while let next = ledger.deadline, next <= end {
      ledger.advance(to: next)
      #expect(DeadlineLaw.check("MemoryLedger", deadline: ledger.deadline, at: next, because: "") == nil)
    }
    ledger.advance(to: end)
  }

  private func isAway(_ answer: LedgerAnswer?) -> Bool {
    if case .failed(.away) = answer { return true }
    return false
  }

  @Test func answersComeInTheOrderOfRequests() {
    connect(a)
    ledger.delays = .zero ... .milliseconds(50)
    let numbers = (0..<50).map { _ in a.send(.heartbeat(NodeRecord(id: a.id)), at: .zero + .milliseconds(200)) }
    run(to: .milliseconds(900))
    let answered = a.events.compactMap { event -> UInt64? in
      if case .answered(let number, .done) = event { return number }
      return nil
    }
    #expect(answered == numbers)
  }

  @Test func requestsWithoutAConnectionAreAnsweredAtOnce() {
    a.connection = ledger.connect(a.id, at: .zero) { [a] in a.events.append($0) }
    let number = a.send(.nodes, at: .zero)
    ledger.advance(to: .zero)
    #expect(isAway(a.answer(number)))
  }

  @Test func brokenConnectionAnswersWhatWasOnItsWayAndComesBack() {
    connect(a)
    let number = a.send(.nodes, at: .zero + .milliseconds(200))
    ledger.breakConnection(of: a.id, at: .zero + .milliseconds(200))
    #expect(isAway(a.answer(number)))
    #expect(a.events.last == .disconnected("connection reset"))
    run(to: .milliseconds(1300))
    #expect(a.events.last == .connected)
    #expect(a.isAlwaysAnsweredOnce)
  }

  @Test func requestOfABrokenConnectionMayBeExecutedLate() {
    var outcomes: Set<Bool> = []
    for seed in 0..<20 as Range<UInt64> {
      let (ledger, node) = (MemoryLedger(seed: seed, at: .zero), Node("a"))
      node.connection = ledger.connect(node.id, at: .zero) { node.events.append($0) }
      ledger.advance(to: .zero + .milliseconds(10))
      node.send(.register(NodeRecord(id: node.id)), at: .zero + .milliseconds(10))
      ledger.breakConnection(of: node.id, at: .zero + .milliseconds(10))
      ledger.advance(to: .zero + .seconds(4))
      outcomes.insert(ledger.state.isAlive(node.id, at: ledger.clock))
    }
    #expect(outcomes == [true, false])
  }

  @Test func silentLedgerEndsTheConnectionAfterTwoSeconds() {
    connect(a)
    ledger.cut(a.id, true, at: .zero + .milliseconds(200))
    let number = a.send(.nodes, at: .zero + .milliseconds(200))
    run(to: .milliseconds(2199))
    #expect(a.answer(number) == nil)
    run(to: .milliseconds(2201))
    #expect(isAway(a.answer(number)))
    run(to: .seconds(10))
    #expect(a.events.last == .disconnected("no answer in time"))
    ledger.cut(a.id, false, at: .zero + .seconds(10))
    run(to: .seconds(12))
    #expect(a.events.last == .connected)
  }

  @Test func shortCutOnlyDelays() {
    connect(a)
    ledger.cut(a.id, true, at: .zero + .milliseconds(200))
    let number = a.send(.heartbeat(NodeRecord(id: a.id)), at: .zero + .milliseconds(200))
    run(to: .seconds(1))
    ledger.cut(a.id, false, at: .zero + .seconds(1))
    run(to: .milliseconds(1100))
    #expect(a.answer(number) == .done)
  }

  @Test func stoppedLedgerComesBackWithWhatItKnew() {
    connect(a)
    let place = PlaceRequest(room: "tea", candidate: a.id, nonce: "x", isOpening: true)
    a.send(.place(place), at: .zero + .milliseconds(200))
    run(to: .milliseconds(300))
    ledger.stop(at: .zero + .milliseconds(300))
    run(to: .seconds(2))
    #expect(isAway(a.answer(a.send(.nodes, at: .zero + .seconds(2)))) == false)
    run(to: .seconds(3))
    ledger.start()
    run(to: .seconds(5))
    #expect(a.events.last == .connected)
    #expect(ledger.state.place(of: "tea")?.home == a.id)
  }

  @Test func failoverLosesTheNewestChanges() throws {
    connect(a)
    ledger.replicationDelay = .milliseconds(500)
    for (room, time) in [("tea", 200), ("milk", 900)] {
      let place = PlaceRequest(room: room, candidate: a.id, nonce: "x", isOpening: true)
      run(to: .milliseconds(time))
      a.send(.place(place), at: .zero + .milliseconds(time))
    }
    run(to: .milliseconds(1000))
    #expect(ledger.state.place(of: "milk") != nil)
    let clock = ledger.clock
    ledger.failOver(skew: .milliseconds(-300), at: .zero + .milliseconds(1000))
    #expect(ledger.clock == clock - 300_000)
    #expect(ledger.state.place(of: "tea") != nil)
    #expect(ledger.state.place(of: "milk") == nil)
    run(to: .seconds(3))
    #expect(a.events.last == .connected)
  }

  @Test func refusingLedgerIsAwayWithoutABreak() {
    connect(a)
    ledger.isRefusing = true
    let number = a.send(.nodes, at: .zero + .milliseconds(200))
    run(to: .milliseconds(300))
    #expect(isAway(a.answer(number)))
    #expect(!a.events.contains { if case .disconnected = $0 { true } else { false } })
  }

  @Test func messagesReachTheirNodeOrAll() {
    connect(a, b)
    a.send(.publish(.node(b.id), [1]), at: .zero + .milliseconds(200))
    a.send(.publish(.all, [2]), at: .zero + .milliseconds(200))
    run(to: .milliseconds(300))
    #expect(b.events.suffix(2) == [.message(.node(b.id), [1]), .message(.all, [2])])
    #expect(a.events.contains(.message(.all, [2])))
    #expect(!a.events.contains(.message(.node(b.id), [1])))
  }

  @Test func runsRepeatFromTheirSeed() {
    func run(_ seed: UInt64) -> [LedgerEvent] {
      let (ledger, node) = (MemoryLedger(seed: seed, at: .zero), Node("a"))
      node.connection = ledger.connect(node.id, at: .zero) { node.events.append($0) }
      for step in 1...40 {
        let now = Tick.zero + .milliseconds(step * 100)
        ledger.advance(to: now)
        node.send(step % 2 == 0 ? .nodes : .register(NodeRecord(id: node.id)), at: now)
        if step % 7 == 0 { ledger.breakConnection(of: node.id, at: now) }
      }
      ledger.advance(to: .zero + .seconds(20))
      return node.events
    }
    #expect(run(3) == run(3))
    #expect(run(3) != run(4))
  }
}
