package import KoineBase
package import KoineLedger

/// A room at the node that is its home, or is about to be.
///
/// ```
///  placing ── placed ─→ reading ── log read ─→ serving ── handOver ─→ handing over
///     │                    │                    │   ↑                   │      │
///     │ another home       │ fenced             │   └── not taken ──────┘      │
///     ↓                    ↓                    │ fenced                       ↓
///  elsewhere ←─────────────┴────────────────────┴──────────────────────────────┘
/// ```
///
/// A room that is elsewhere has come to its end at this node; the next opening is another value. Nodes do not put terms in order:
/// the ledger alone says that the room has another home.
package struct RoomOwnership: Sendable {
  package enum Output: Hashable, Sendable {
    case request(LedgerRequest)
    /// The room is this node's. Its numbers are above `base`, and its history is `entries`.
    case opened(term: RoomTerm, base: UInt64, entries: [StoredEntry])
    /// All entries up to this order are stored: their receipts may go out.
    case stored(through: UInt64)
    /// The receipt has waited too long. The entry is still on its way.
    case late(order: UInt64)
    /// The ledger lacks entries that it had confirmed. The room calls `supply` with those that it has.
    case needsEntries(after: UInt64, through: UInt64)
    /// The node to which the room was to be handed over is gone. The room is served on.
    case handOverFailed(to: NodeID)
    /// The room has another home, or none (nil).
    case elsewhere(RoomPlace?, Cause)
  }

  package enum Cause: Hashable, Sendable {
    /// The room was not opened here.
    case notOpened
    case fenced
    case handedOver
    /// A participant knows more of the room than this home: the ledger had forgotten that home's term, and found it again.
    case outrun
  }

  private enum State: Sendable {
    case placing
    case reading(Placed, entries: [StoredEntry])
    case serving(LogWriter)
    /// First the ledger confirms the entries that are on their way. Then the request is sent (`isSent`), and repeated if its answer is
    /// lost. From then on the other node may be the home.
    case handingOver(LogWriter, to: NodeID, nonce: String, isSent: Bool)
    case elsewhere
  }

  package let room: String
  private let node: NodeID
  /// Of the opening.
  private let nonce: String
  private let above: UInt64
  private let limits: ClusterLimits
  private var random: SeededRandom
  private var state = State.placing
  private var isConnected: Bool
  /// A request of opening or handing over is on its way.
  private var isAsked = false
  private var retry: Tick?
  private var backoff = Backoff()
  private var gapIsReported = false
  private var outputs: [Output] = []

  /// - Parameters:
  ///   - above: the highest number of the room that is known here.
  ///   - isConnected: whether the ledger can be asked.
  package init(
    room: String, node: NodeID, above: UInt64 = 0, isConnected: Bool, limits: ClusterLimits = .init(),
    random: SeededRandom, at now: Tick
  ) {
    (self.room, self.node, self.above, self.isConnected) = (room, node, above, isConnected)
    (self.limits, self.random) = (limits, random)
    nonce = self.random.makeID()
    ask(at: now)
  }

  // MARK: State

  /// Whether this node is certainly the home of the room.
  package var isServing: Bool {
    switch state {
    case .serving, .handingOver(_, _, _, isSent: false): true
    case .handingOver(_, _, _, isSent: true), .placing, .reading, .elsewhere: false
    }
  }
  package var isHandingOver: Bool { if case .handingOver = state { true } else { false } }
  package var isOpening: Bool {
    switch state {
    case .placing, .reading: true
    case .serving, .handingOver, .elsewhere: false
    }
  }
  package var term: RoomTerm? { writer?.term }
  /// Bytes that wait for the ledger.
  package var waitingBytes: Int { writer?.waitingBytes ?? 0 }

  private var writer: LogWriter? {
    switch state {
    case .serving(let writer), .handingOver(let writer, _, _, _): writer
    case .placing, .reading, .elsewhere: nil
    }
  }

  /// Calls `body` with the writer, and keeps what it does to it.
  private mutating func withWriter<Value>(_ body: (inout LogWriter, inout SeededRandom) -> Value) -> Value? {
    switch state {
    case .serving(var writer):
      state = .elsewhere  // so that the arrays of the writer have one owner
      defer { state = .serving(writer) }
      return body(&writer, &random)
    case .handingOver(var writer, let to, let nonce, let isSent):
      state = .elsewhere
      defer { state = .handingOver(writer, to: to, nonce: nonce, isSent: isSent) }
      return body(&writer, &random)
    case .placing, .reading, .elsewhere: return nil
    }
  }

  // MARK: Entries

  /// Stores an entry. While the room is being handed over, entries wait: they are stored if the room stays. Else they get no receipt,
  /// and their senders repeat them to the new home.
  /// - Parameter entry: with an order above those before.
  package mutating func append(_ entry: LogEntry, at now: Tick) {
    _ = withWriter { writer, _ in writer.append(entry, at: now) }
    ask(at: now)
  }

  /// The room does not need these entries any more.
  package mutating func remove(_ orders: [UInt64], at now: Tick) {
    _ = withWriter { writer, _ in writer.remove(orders, at: now) }
    ask(at: now)
  }

  /// Answers `needsEntries`.
  package mutating func supply(_ entries: [LogEntry], at now: Tick) {
    _ = withWriter { writer, _ in writer.supply(entries) }
    gapIsReported = false
    ask(at: now)
  }

  // MARK: The node

  package mutating func connected(at now: Tick) {
    (isConnected, retry) = (true, nil)
    _ = withWriter { writer, _ in writer.connected() }
    ask(at: now)
  }

  package mutating func disconnected() {
    isConnected = false
    _ = withWriter { writer, _ in writer.disconnected() }
    // The request was not sent, so the room has no other home.
    if case .handingOver(_, _, _, isSent: false) = state { stay() }
  }

  /// The node's lease had ended, and has begun again.
  package mutating func check(at now: Tick) {
    retry = nil
    _ = withWriter { writer, _ in writer.check() }
    ask(at: now)
  }

  /// Gives the room to another node.
  package mutating func handOver(to other: NodeID, at now: Tick) {
    guard case .serving(var writer) = state else { return }
    writer.hold()
    state = .handingOver(writer, to: other, nonce: random.makeID(), isSent: false)
    ask(at: now)
  }

  /// The room is not handed over after all.
  private mutating func stay() {
    guard case .handingOver(var writer, _, _, _) = state else { return }
    writer.release()
    state = .serving(writer)
  }

  /// A participant knows a higher number than the room: a failover of the ledger has brought an earlier home back. The room has to
  /// be opened again.
  package mutating func giveUp() { end(nil, .outrun) }

  private mutating func end(_ place: RoomPlace?, _ cause: Cause) {
    if case .elsewhere = state { return }
    let cause = isOpening ? .notOpened : cause
    (state, retry) = (.elsewhere, nil)
    outputs.append(.elsewhere(place, cause))
  }

  // MARK: Answers

  /// - Parameter request: one of the room's own.
  package mutating func handle(_ answer: LedgerAnswer, to request: LedgerRequest, at now: Tick) {
    switch request {
    case .place: placed(answer, at: now)
    case .read(_, let term, let after, _): read(answer, term, after: after, at: now)
    case .append(let append): appended(answer, append, at: now)
    case .handOver(_, _, let other, let nonce): handedOver(answer, to: other, nonce, at: now)
    default: break
    }
    ask(at: now)
  }

  private mutating func placed(_ answer: LedgerAnswer, at now: Tick) {
    isAsked = false
    guard case .placing = state else { return }
    switch answer {
    case .placed(let placed) where placed.place.home == node && placed.isNew:
      backoff.reset()
      state = .reading(placed, entries: [])
    case .placed(let placed): end(placed.place, .notOpened)
    default: retry = now + backoff.next(&random)  // also without a lease: the node is about to register again
    }
  }

  private mutating func read(_ answer: LedgerAnswer, _ term: RoomTerm, after: UInt64, at now: Tick) {
    isAsked = false
    guard case .reading(let placed, var entries) = state, placed.place.term == term,
      after == entries.last?.entry.order ?? 0
    else { return }
    switch answer {
    case .page(let page):
      backoff.reset()
      state = .elsewhere
      entries += page.entries
      guard page.isLast || page.entries.isEmpty else { return state = .reading(placed, entries: entries) }
      state = .serving(
        LogWriter(room: room, term: term, base: placed.last, limits: limits, isConnected: isConnected, at: now))
      outputs.append(.opened(term: term, base: placed.last, entries: entries))
    case .fenced(let place): end(place, .notOpened)
    default: retry = now + backoff.next(&random)
    }
  }

  private mutating func appended(_ answer: LedgerAnswer, _ request: AppendRequest, at now: Tick) {
    guard writer?.term == request.term else { return }
    if case .fenced(let place) = answer { return end(place, .fenced) }
    let hasMore = withWriter { writer, random in writer.handle(answer, at: now, &random) }
    if hasMore == true, let writer { outputs.append(.stored(through: writer.confirmed)) }
  }

  private mutating func handedOver(_ answer: LedgerAnswer, to other: NodeID, _ nonce: String, at now: Tick) {
    isAsked = false
    guard case .handingOver(_, other, nonce, isSent: true) = state else { return }
    switch answer {
    case .placed(let placed): end(placed.place, .handedOver)
    case .fenced(let place):
      // Perhaps by an earlier answer to the same request, which was lost.
      end(place, place.map { $0.term.nonce == nonce } ?? false ? .handedOver : .fenced)
    case .gone:
      stay()
      outputs.append(.handOverFailed(to: other))
    default: retry = now + backoff.next(&random)
    }
  }

  // MARK: Time

  package var deadline: Tick? {
    var soonest = writer?.deadline
    if case .handingOver(let writer, _, _, isSent: true) = state { soonest = writer.lateDeadline }
    guard isConnected, !isAsked else { return soonest }
    return soonest.sooner(retry)
  }

  package mutating func handleTimeout(at now: Tick) {
    _ = withWriter { writer, _ in writer.handleTimeout(at: now) }
    ask(at: now)
  }

  package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

  /// Sends what may be sent.
  private mutating func ask(at now: Tick) {
    switch state {
    case .placing:
      ask(
        .place(PlaceRequest(room: room, candidate: node, nonce: nonce, isOpening: true, above: above)), at: now)
    case .reading(let placed, let entries):
      ask(
        .read(
          room: room, term: placed.place.term, after: entries.last?.entry.order ?? 0, through: placed.last), at: now)
    case .serving: write(at: now)
    case .handingOver(_, let other, let nonce, let isSent):
      if isSent { tellLate() } else { write(at: now) }
      guard isConnected, case .handingOver(let writer, _, _, _) = state, isSent || writer.isDone else { return }
      state = .handingOver(writer, to: other, nonce: nonce, isSent: true)
      ask(.handOver(room: room, term: writer.term, to: other, nonce: nonce), at: now)
    case .elsewhere: break
    }
  }

  /// A request of which one is on its way at a time.
  private mutating func ask(_ request: LedgerRequest, at now: Tick) {
    guard isConnected, !isAsked, retry.map({ $0 <= now }) ?? true else { return }
    (isAsked, retry) = (true, nil)
    outputs.append(.request(request))
  }

  private mutating func write(at now: Tick) {
    let requests = withWriter { writer, _ in
      var requests: [AppendRequest] = []
      while let request = writer.nextRequest(at: now) { requests.append(request) }
      return requests
    }
    for request in requests ?? [] { outputs.append(.request(.append(request))) }
    tellLate()
    guard let gap = writer?.gap else { return gapIsReported = false }
    guard !gapIsReported else { return }
    gapIsReported = true
    outputs.append(.needsEntries(after: gap.after, through: gap.through))
  }

  private mutating func tellLate() {
    for order in withWriter({ writer, _ in writer.takeLate() }) ?? [] { outputs.append(.late(order: order)) }
  }
}
