import KoineBase
import KoineLedger
import KoineRedisLedger
import Logging
import NIOCore
import Testing

/// A ledger with its events, for tests: requests are answered one at a time.
final class LedgerProbe: Sendable {
  private struct State {
    var number: UInt64 = 0
    var events: [LedgerEvent] = []
    var answers: [UInt64: LedgerAnswer] = [:]
    /// Functions that are called with the answers to requests, by the requests' numbers.
    var waiting: [UInt64: @Sendable (LedgerAnswer) -> Void] = [:]
  }

  /// What a ledger has written into the log.
  final class Lines: Sendable {
    private let lines = Lock<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
    func count(containing text: String) -> Int { all.count { $0.contains(text) } }
  }

  let ledger: RedisLedger
  let lines = Lines()
  private let address: RedisAddress
  private let state: Lock<State>

  init(_ address: RedisAddress, node: NodeID? = nil, limits: RedisLedger.Limits = .patient) {
    let state = Lock(State())
    (self.state, self.address) = (state, address)
    let lines = lines
    ledger = RedisLedger(address, node: node, limits: limits, logger: Logger(label: "test") { _ in LineLog(lines) }) {
      event in
      let waiting: (@Sendable (LedgerAnswer) -> Void)? = state.withLock { state in
        state.events.append(event)
        guard case .answered(let number, let answer) = event else { return nil }
        if state.answers.updateValue(answer, forKey: number) != nil {
          Issue.record("request \(number) has two answers")
        }
        return state.waiting.removeValue(forKey: number)
      }
      if case .answered(_, let answer) = event { waiting?(answer) }
    }
    ledger.start()
  }

  convenience init(_ server: RedisServer, node: NodeID? = nil, limits: RedisLedger.Limits = .patient) throws {
    self.init(try RedisAddress("redis://127.0.0.1:\(server.port)"), node: node, limits: limits)
  }

  deinit { ledger.close() }

  /// A probe that is connected.
  static func connected(
    to server: RedisServer, node: NodeID? = nil, limits: RedisLedger.Limits = .patient
  ) async throws -> LedgerProbe {
    let probe = try LedgerProbe(server, node: node, limits: limits)
    try await probe.waitForConnections(1)
    return probe
  }

  var events: [LedgerEvent] { state.withLock { $0.events } }
  var connections: Int { events.count { $0 == .connected } }
  var breaks: Int { events.count { if case .disconnected = $0 { true } else { false } } }
  var messages: [[UInt8]] { events.compactMap { if case .message(_, let bytes) = $0 { bytes } else { nil } } }
  /// The numbers of the answered requests in the order of the answers.
  var answered: [UInt64] { events.compactMap { if case .answered(let number, _) = $0 { number } else { nil } } }

  func answer(to number: UInt64) -> LedgerAnswer? { state.withLock { $0.answers[number] } }

  func waitForConnections(_ count: Int, within limit: Duration = .seconds(60)) async throws {
    try await eventually("connection \(count): \(self.lines.all)", within: limit) { connections >= count }
  }

  /// Sends a request and does not wait for the answer.
  @discardableResult
  func send(_ request: LedgerRequest) -> UInt64 {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    ledger.send(request, number: number, at: Tick(nanoseconds: 0))
    return number
  }

  func ask(_ request: LedgerRequest) async -> LedgerAnswer {
    await withCheckedContinuation { continuation in send(request) { continuation.resume(returning: $0) } }
  }

  /// Sends requests of which none is answered before the last one is sent: on the thread that reads the answers.
  func sendTogether(_ requests: [LedgerRequest]) async -> [UInt64] {
    await withCheckedContinuation { continuation in
      send(.nodes) { [self] _ in continuation.resume(returning: requests.map { send($0) }) }
    }
  }

  private func send(_ request: LedgerRequest, _ completion: @escaping @Sendable (LedgerAnswer) -> Void) {
    let number = state.withLock { state in
      state.number += 1
      state.waiting[state.number] = completion
      return state.number
    }
    ledger.send(request, number: number, at: Tick(nanoseconds: 0))
  }

  // MARK: Frequent requests

  /// Registers a node. Its lease lasts an hour from here to its next heartbeat, so that a busy machine does not end it.
  @discardableResult
  func register(_ node: NodeID) async -> LedgerAnswer {
    let answer = await ask(.register(NodeRecord(id: node)))
    if case .server(let endpoint) = address.target, let connection = try? RawConnection(port: endpoint.port) {
      if let password = address.password { _ = try? connection.ask("AUTH \(address.user ?? "default") \(password)") }
      _ = try? connection.ask("PEXPIRE k:node:\(node) 3600000")
    }
    return answer
  }

  func place(
    _ room: String, on node: NodeID, nonce: String, isOpening: Bool = true, above: UInt64 = 0
  ) async -> Placed? {
    let request = PlaceRequest(room: room, candidate: node, nonce: nonce, isOpening: isOpening, above: above)
    guard case .placed(let placed) = await ask(.place(request)) else { return nil }
    return placed
  }

  func append(_ placed: Placed, _ room: String, after previous: UInt64, _ orders: [UInt64]) async -> LedgerAnswer {
    let entries = orders.map { LogEntry(order: $0, content: Array("message \($0)".utf8)) }
    return await ask(
      .append(AppendRequest(room: room, term: placed.place.term, previous: previous, entries: entries)))
  }

  /// The orders in the log up to `through`.
  func orders(_ placed: Placed, _ room: String, through: UInt64 = 1 << 52) async -> [UInt64]? {
    await entries(placed, room, through: through)?.map(\.entry.order)
  }

  func entries(_ placed: Placed, _ room: String, through: UInt64 = 1 << 52) async -> [StoredEntry]? {
    var (all, after): ([StoredEntry], UInt64) = ([], 0)
    while true {
      let request = LedgerRequest.read(room: room, term: placed.place.term, after: after, through: through)
      guard case .page(let page) = await ask(request) else { return nil }
      all += page.entries
      guard !page.isLast, let last = page.entries.last else { return all }
      after = last.entry.order
    }
  }
}

private struct LineLog: LogHandler {
  let lines: LedgerProbe.Lines
  var metadata = Logger.Metadata()
  var logLevel = Logger.Level.debug

  init(_ lines: LedgerProbe.Lines) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.append("\(event.level): \(event.message)") }
}

extension NodeID {
  /// A node of a test, as `n1#a`.
  static func named(_ text: String) -> NodeID {
    guard let node = NodeID(text) else { preconditionFailure("\(text) is no node") }
    return node
  }
}

/// `Issue.record` for `return`, which wants no value.
func recordIssue(_ text: Comment, _ location: SourceLocation = #_sourceLocation) {
  Issue.record(text, sourceLocation: location)
}

extension RedisLedger.Limits {
  /// For tests in which the server is not silent: on a busy machine it may take longer than the usual two seconds.
  static var patient: Self {
    var limits = Self()
    limits.silence = .seconds(20)
    return limits
  }
}
