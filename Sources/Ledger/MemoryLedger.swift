package import KoineBase

/// A ledger in memory, for virtual time, with the faults of a real one. All of it repeats from the seed.
///
/// `advance(to:)` executes all that is due, and `deadline` says when there is more. Each node has a `Connection`. Requests and
/// answers take time on the way, in order. These faults are injected:
///
/// - `breakConnection(of:)`: requests and answers on their way are lost, or the requests arrive late, after those of the next connection;
/// - `cut(_:_:)`: nothing passes between one node and the ledger;
/// - `stop()`, `start()`: the ledger is away, and comes back with what it knew;
/// - `failOver(skew:)`: a copy takes over, without the newest changes and with a clock of its own;
/// - `isRefusing`: the ledger answers that it cannot work;
/// - `delays`: the way is slow.
package final class MemoryLedger {
  package final class Connection: Ledger {
    fileprivate enum State { case connecting, connected, closed }

    package let node: NodeID
    fileprivate let receive: (LedgerEvent) -> Void
    private unowned let ledger: MemoryLedger
    fileprivate var state = State.connecting
    /// Of the connection that is up: what is on its way belongs to one.
    fileprivate var generation = 0
    /// Sent and not answered, in order.
    fileprivate var waiting: [(number: UInt64, sent: Tick)] = []
    /// No request and no answer overtakes the one before.
    fileprivate var lastRequest = Tick.zero
    fileprivate var lastAnswer = Tick.zero
    fileprivate var isCut = false
    /// What arrived while the node was cut off.
    fileprivate var held: [Event] = []
    package fileprivate(set) var requests = 0

    fileprivate init(node: NodeID, ledger: MemoryLedger, receive: @escaping (LedgerEvent) -> Void) {
      (self.node, self.ledger, self.receive) = (node, ledger, receive)
    }

    package func send(_ request: LedgerRequest, number: UInt64, at now: Tick) {
      ledger.send(request, number, of: self, at: now)
    }

    /// The node's process has ended: no further events come, and requests on their way arrive or do not.
    package func close(at now: Tick) { ledger.close(self, at: now) }
  }

  fileprivate enum Event {
    case request(LedgerRequest, number: UInt64, Connection, generation: Int)
    /// Of a connection that has broken since.
    case lateRequest(LedgerRequest)
    case answer(LedgerAnswer, number: UInt64, Connection, generation: Int)
    /// To a request without a connection.
    case refusal(number: UInt64, Connection)
    case message(LedgerChannel, [UInt8], Connection, generation: Int)
    case attempt(Connection)
    case patienceEnds(Connection, generation: Int)
    case replication(LedgerRequest, clock: UInt64)
  }

  /// Of a request, and of an answer.
  package var delays: ClosedRange<Duration> = .microseconds(100) ... .milliseconds(2)
  /// How far the copy is behind.
  package var replicationDelay = Duration.milliseconds(20)
  /// The ledger answers all requests with `away`.
  package var isRefusing = false
  package private(set) var isStopped = false
  package private(set) var state = LedgerState()
  /// What a copy knows.
  private var copy = LedgerState()
  private var replications = 0
  /// Requests executed, for the cost of a cluster.
  package private(set) var executed = 0

  private var random: SeededRandom
  private var now: Tick
  /// The ledger's clock when that of virtual time is zero, in microseconds.
  private var clockStart: UInt64
  private var connections: [Connection] = []
  private var heap = TimerHeap()
  private var events: [Int: Event] = [:]
  private var eventCount = 0

  /// - Parameter clock: at `now`, in microseconds since 1970.
  package init(seed: UInt64, clock: UInt64 = 1_800_000_000_000_000, rules: LedgerState.Rules = .init(), at now: Tick) {
    random = SeededRandom(seed: seed)
    (self.now, clockStart) = (now, clock &- UInt64(bitPattern: now.nanoseconds / 1000))
    (state.rules, copy.rules) = (rules, rules)
  }

  package var clock: UInt64 { clockStart &+ UInt64(bitPattern: now.nanoseconds / 1000) }

  /// - Parameter receive: gets all events of the connection, out of `advance(to:)`.
  package func connect(_ node: NodeID, at now: Tick, receive: @escaping (LedgerEvent) -> Void) -> Connection {
    let connection = Connection(node: node, ledger: self, receive: receive)
    connections.append(connection)
    schedule(.attempt(connection), at: now + delay())
    return connection
  }

  // MARK: Time

  package var deadline: Tick? { heap.soonest }

  package func advance(to time: Tick) {
    while let entry = heap.popDue(at: time) {
      now = max(now, entry.at)
      if let event = events.removeValue(forKey: entry.owner) { handle(event) }
    }
    now = max(now, time)
  }

  private func schedule(_ event: Event, at time: Tick) {
    eventCount += 1
    events[eventCount] = event
    heap.push(eventCount, at: time)
  }

  private func delay() -> Duration { random.duration(in: delays) }

  // MARK: Requests

  private func send(_ request: LedgerRequest, _ number: UInt64, of connection: Connection, at time: Tick) {
    connection.requests += 1
    guard connection.state == .connected else {
      if connection.state == .connecting { schedule(.refusal(number: number, connection), at: time) }
      return
    }
    connection.waiting.append((number, time))
    if connection.waiting.count == 1 { watch(connection, from: time) }
    connection.lastRequest = max(time + delay(), connection.lastRequest)
    schedule(
      .request(request, number: number, connection, generation: connection.generation), at: connection.lastRequest)
  }

  private func watch(_ connection: Connection, from time: Tick) {
    schedule(.patienceEnds(connection, generation: connection.generation), at: time + LedgerTimes.answer)
  }

  private func handle(_ event: Event) {
    if let connection = connection(of: event), connection.isCut {
      connection.held.append(event)
      return
    }
    switch event {
    case .request(let request, let number, let connection, let generation):
      guard connection.state == .connected, connection.generation == generation else { return }
      let answer = execute(request, from: connection.node)
      connection.lastAnswer = max(now + delay(), connection.lastAnswer)
      schedule(.answer(answer, number: number, connection, generation: generation), at: connection.lastAnswer)
    case .lateRequest(let request): if !isStopped { _ = execute(request, from: nil) }
    case .answer(let answer, let number, let connection, let generation):
      guard connection.state == .connected, connection.generation == generation else { return }
      connection.waiting.removeAll { $0.number == number }
      connection.receive(.answered(number: number, answer))
    case .refusal(let number, let connection):
      guard connection.state != .closed else { return }
      connection.receive(.answered(number: number, .failed(.away("no connection"))))
    case .message(let channel, let content, let connection, let generation):
      guard connection.state == .connected, connection.generation == generation else { return }
      connection.receive(.message(channel, content))
    case .attempt(let connection): attempt(connection)
    case .patienceEnds(let connection, let generation): checkPatience(connection, generation)
    case .replication(let request, let clock):
      replications += 1
      _ = copy.execute(request, clock: clock)
    }
  }

  /// The connection on which the event travels.
  private func connection(of event: Event) -> Connection? {
    switch event {
    case .request(_, _, let connection, _), .answer(_, _, let connection, _), .message(_, _, let connection, _):
      connection
    case .lateRequest, .refusal, .attempt, .patienceEnds, .replication: nil
    }
  }

  private func execute(_ request: LedgerRequest, from node: NodeID?) -> LedgerAnswer {
    executed += 1
    guard !isRefusing else { return .failed(.away("OOM command not allowed")) }
    if case .publish(let channel, let content) = request {
      publish(content, on: channel)
      return .done
    }
    schedule(.replication(request, clock: clock), at: now + replicationDelay)
    let answer = state.execute(request, clock: clock)
    if RegistryNotice.follows(request, answer) { publish(RegistryNotice.bytes, on: .all) }
    return answer
  }

  private func publish(_ content: [UInt8], on channel: LedgerChannel) {
    for connection in connections where connection.state == .connected {
      guard channel == .all || channel == .node(connection.node) else { continue }
      connection.lastAnswer = max(now + delay(), connection.lastAnswer)
      schedule(
        .message(channel, content, connection, generation: connection.generation), at: connection.lastAnswer)
    }
  }

  // MARK: Connections

  private func attempt(_ connection: Connection) {
    guard connection.state == .connecting else { return }
    guard !isStopped, !connection.isCut else {
      return schedule(
        .attempt(connection), at: now + random.duration(in: .milliseconds(100)...LedgerTimes.backoff))
    }
    connection.state = .connected
    connection.generation += 1
    connection.receive(.connected)
  }

  private func checkPatience(_ connection: Connection, _ generation: Int) {
    guard connection.state == .connected, connection.generation == generation, let oldest = connection.waiting.first
    else { return }
    guard oldest.sent + LedgerTimes.answer <= now else { return watch(connection, from: oldest.sent) }
    breakConnection(connection, because: "no answer in time")
  }

  /// - Parameter mayArriveLate: requests on their way may be executed later.
  private func breakConnection(_ connection: Connection, because reason: String, mayArriveLate: Bool = true) {
    guard connection.state == .connected else { return }
    if mayArriveLate { delayRequests(of: connection) }
    connection.state = .connecting
    connection.held = []
    let unanswered = connection.waiting
    connection.waiting = []
    for request in unanswered { connection.receive(.answered(number: request.number, .failed(.away(reason)))) }
    connection.receive(.disconnected(reason))
    schedule(.attempt(connection), at: now + random.duration(in: .milliseconds(10)...LedgerTimes.backoff))
  }

  /// Each request on its way arrives late, or never. Their order stays as it was.
  private func delayRequests(of connection: Connection) {
    let flying = events.sorted { $0.key < $1.key }.map(\.value) + connection.held
    var last = now
    for case .request(let request, _, let its, let generation) in flying {
      guard its === connection, generation == connection.generation, random.next() % 2 == 0 else { continue }
      last = max(last, now + random.duration(in: .milliseconds(1) ... .seconds(3)))
      schedule(.lateRequest(request), at: last)
    }
  }

  private func close(_ connection: Connection, at time: Tick) {
    now = max(now, time)
    if connection.state == .connected { delayRequests(of: connection) }
    connection.state = .closed
    connection.waiting = []
    connections.removeAll { $0 === connection }
  }

  // MARK: Faults

  /// The connection of a node breaks, with what is on its way.
  package func breakConnection(of node: NodeID, at time: Tick) {
    now = max(now, time)
    for connection in connections where connection.node == node {
      breakConnection(connection, because: "connection reset")
    }
  }

  /// Nothing passes between a node and the ledger, or everything does again.
  package func cut(_ node: NodeID, _ isCut: Bool, at time: Tick) {
    now = max(now, time)
    for connection in connections where connection.node == node {
      connection.isCut = isCut
      guard !isCut else { continue }
      let held = connection.held
      connection.held = []
      for event in held { schedule(event, at: now + delays.upperBound) }
    }
  }

  /// The ledger's process ends. What it has acknowledged is on its disk.
  package func stop(at time: Tick) {
    now = max(now, time)
    isStopped = true
    breakAll(because: "connection refused")
  }

  /// - Parameter data: older data, in place of the newest.
  package func start(with data: LedgerState? = nil) {
    isStopped = false
    if let data { (state, copy) = (data, data) }
  }

  /// The copy takes the place of the ledger. Changes that it has not received are lost.
  /// - Parameter skew: how far the copy's clock is before the ledger's.
  package func failOver(skew: Duration, at time: Tick) {
    now = max(now, time)
    for (number, event) in events {
      if case .replication = event { events[number] = nil }
      if case .lateRequest = event { events[number] = nil }
    }
    state = copy
    clockStart &+= UInt64(bitPattern: skew.nanoseconds / 1000)
    isStopped = false
    breakAll(because: "failover")
  }

  private func breakAll(because reason: String) {
    for connection in connections { breakConnection(connection, because: reason, mayArriveLate: false) }
  }
}

extension SeededRandom {
  /// A duration in whole nanoseconds of the range.
  package mutating func duration(in range: ClosedRange<Duration>) -> Duration {
    .nanoseconds(Int64.random(in: range.lowerBound.nanoseconds...range.upperBound.nanoseconds, using: &self))
  }
}
