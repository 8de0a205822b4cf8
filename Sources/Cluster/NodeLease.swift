package import KoineBase
package import KoineLedger

/// A node's lease: it registers, sends a heartbeat every 500 ms, and learns that its lease has ended.
///
/// ```
///  idle ── start ─→ registering ── registered ─→ held ── release ─→ releasing ── done ─→ released
///                     ↑    │                      │
///                     │    │ name taken for 10 s  │
///                     │    └──→ refused           │
///                     └──── evicted, unlisted ────┘
/// ```
///
/// The lease is uncertain after 4 s without an answer, counted from when the last answered request was sent: the ledger cannot
/// have received it sooner, so the lease, of 5 s, still stands then.
package struct NodeLease: Sendable {
  package enum Output: Hashable, Sendable {
    case request(LedgerRequest)
    /// - Parameter isAgain: the lease had ended; each room may have another home since.
    case registered(isAgain: Bool)
    /// Whether the node's lease stands is unknown, or known again.
    case uncertain(Bool)
    /// Another living node has the name: this one must end.
    case refused(by: NodeID)
    case released
  }

  private enum State: Hashable {
    case idle
    /// - Parameter since: when the name was first found taken.
    case registering(since: Tick?, holder: NodeID?)
    case held
    case refused
    case releasing, released
  }

  package private(set) var record: NodeRecord
  private let limits: ClusterLimits
  private let rules: ClusterRules
  private var state = State.idle
  private var wasRegistered = false
  private var isConnected = false
  /// When the request on its way was sent.
  private var asked: Tick?
  /// When the next request is due.
  private var next: Tick?
  /// When the last answered request was sent.
  private var confirmed: Tick?
  package private(set) var isUncertain = true
  private var outputs: [Output] = []

  package init(record: NodeRecord, limits: ClusterLimits = .init(), rules: ClusterRules = .init()) {
    (self.record, self.limits, self.rules) = (record, limits, rules)
  }

  package var isHeld: Bool { state == .held }

  // MARK: Input

  package mutating func start(at now: Tick) {
    guard state == .idle else { return }
    state = .registering(since: nil, holder: nil)
    next = now
    ask(at: now)
  }

  package mutating func connected(at now: Tick) {
    isConnected = true
    next = now
    ask(at: now)
  }

  package mutating func disconnected() { isConnected = false }

  /// The next heartbeat publishes the changes; a change of the state is published at once.
  package mutating func update(_ change: (inout NodeRecord) -> Void, at now: Tick) {
    let former = record.state
    change(&record)
    guard record.state != former, state == .held else { return }
    next = now
    ask(at: now)
  }

  /// The list of nodes lacks this node, although its lease stands: the ledger has lost a part of its data. The node registers after the
  /// time of a heartbeat: a list that goes on lacking it brings about no more requests than heartbeats would.
  package mutating func registerAgain(at now: Tick) {
    guard state == .held, rules.heedsEviction else { return }
    state = .registering(since: nil, holder: nil)
    next = now + LedgerTimes.heartbeat
  }

  /// The node exits in order.
  package mutating func release(at now: Tick) {
    guard state == .held else { return }
    state = .releasing
    next = now
    ask(at: now)
  }

  /// - Parameter request: one of the lease's own.
  package mutating func handle(_ answer: LedgerAnswer, to request: LedgerRequest, at now: Tick) {
    let sent = asked ?? now
    asked = nil
    switch (state, request, answer) {
    case (_, _, .failed): next = now + .milliseconds(200)
    case (.registering, .register, .registered):
      answered(sent)
      state = .held
      next = sent + LedgerTimes.heartbeat
      outputs.append(.registered(isAgain: wasRegistered))
      wasRegistered = true
    case (.registering(let since, _), .register, .nameTaken(let holder)):
      let since = since ?? now
      guard now - since < limits.namePatience else { return refuse(by: holder) }
      // The other one is perhaps dead: this name's process has been started again.
      state = .registering(since: since, holder: holder)
      next = now
    case (.registering(let since, _), .evict, _):
      state = .registering(since: since, holder: nil)
      next = answer == .done ? now : now + LedgerTimes.heartbeat
    case (.held, .heartbeat, .evicted) where rules.heedsEviction:
      state = .registering(since: nil, holder: nil)
      next = now
    case (.held, .heartbeat, _):
      answered(sent)
      next = max(sent + LedgerTimes.heartbeat, now + LedgerTimes.heartbeat / 2)
    case (.releasing, .unregister, _):
      state = .released
      next = nil
      outputs.append(.released)
    case (.idle, _, _), (.registering, _, _), (.held, _, _), (.refused, _, _), (.releasing, _, _), (.released, _, _):
      next = next ?? now  // the answer to a request of an earlier state
    }
    ask(at: now)
    watch(at: now)
  }

  private mutating func refuse(by holder: NodeID) {
    state = .refused
    next = nil
    outputs.append(.refused(by: holder))
  }

  private mutating func answered(_ sent: Tick) {
    confirmed = max(confirmed ?? sent, sent)
    guard isUncertain else { return }
    isUncertain = false
    outputs.append(.uncertain(false))
  }

  // MARK: Time

  package var deadline: Tick? {
    let uncertain = isUncertain ? nil : confirmed.map { $0 + limits.uncertain }
    return uncertain.sooner(isConnected && asked == nil && request() != nil ? next : nil)
  }

  package mutating func handleTimeout(at now: Tick) {
    ask(at: now)
    watch(at: now)
  }

  package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

  private mutating func watch(at now: Tick) {
    guard !isUncertain, let confirmed, now >= confirmed + limits.uncertain else { return }
    isUncertain = true
    outputs.append(.uncertain(true))
  }

  /// One request is on its way at a time: a slow ledger gets no more of them.
  private mutating func ask(at now: Tick) {
    guard isConnected, asked == nil, let next, next <= now, let request = request() else { return }
    asked = now
    self.next = nil
    outputs.append(.request(request))
  }

  private func request() -> LedgerRequest? {
    switch state {
    case .idle, .refused, .released: nil
    case .registering(_, let holder?): .evict(holder)
    case .registering(_, nil): .register(record)
    case .held: .heartbeat(record)
    case .releasing: .unregister(record.id)
    }
  }
}
