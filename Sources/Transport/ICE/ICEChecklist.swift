import KoineBase

/// One connectivity check: a request that is repeated, the same each time, until it is answered or given up
/// (RFC 8489, 6.2.1; the pauses are shorter than RFC 8445, 14.3 asks for, because one of our own calls begins with them).
struct ICECheck {
  static let limit = 9
  private static let firstPause = Duration.milliseconds(100)
  private static let longestPause = Duration.milliseconds(800)

  let transaction: STUNMessage.TransactionID
  /// The role the request names, which may not be the agent's any more when the answer comes.
  let asControlling: Bool
  let nominates: Bool
  private(set) var attempts = 0
  /// When it is sent again, or else given up.
  private(set) var next: Tick

  init(transaction: STUNMessage.TransactionID, asControlling: Bool, nominates: Bool, at now: Tick) {
    self.transaction = transaction
    self.asControlling = asControlling
    self.nominates = nominates
    next = now
  }

  func isDue(at now: Tick) -> Bool { now >= next && attempts < Self.limit }
  func isOver(at now: Tick) -> Bool { now >= next && attempts >= Self.limit }

  mutating func sent(at now: Tick) {
    next = now + min(Self.firstPause * (1 << min(attempts, 4)), Self.longestPause)
    attempts += 1
  }
}

/// The pairs an agent checks, the best first (RFC 8445, 6.1.2).
struct ICEChecklist {
  struct Pair {
    let local: TransportAddress
    let remote: TransportAddress
    /// RFC 8445, 6.1.2.3, but for the last bit, which only the role decides.
    let priority: UInt64
    var state = State.waiting
    /// The other end has chosen it.
    var isNominated = false
    /// The other end has reached us on it (RFC 8445, 7.3.1.4).
    var isTriggered = false

    enum State {
      case waiting
      case inProgress(ICECheck)
      case succeeded
      case failed
    }

    var hasFailed: Bool { if case .failed = state { true } else { false } }
    var hasSucceeded: Bool { if case .succeeded = state { true } else { false } }
    fileprivate var isWaiting: Bool { if case .waiting = state { true } else { false } }
  }

  /// Which pairs are checked at all.
  enum Choice {
    case all, nominated, none

    fileprivate func takes(_ pair: Pair) -> Bool {
      switch self {
      case .all: true
      case .nominated: pair.isNominated
      case .none: false
      }
    }
  }

  private static let limit = 100
  /// Between the first checks of two pairs: RFC 8445, 14.2.
  private static let pacing = Duration.milliseconds(50)

  private(set) var pairs: [Pair] = []
  private var nextStart: Tick

  init(now: Tick) { nextStart = now }

  subscript(index: Int) -> Pair {
    get { pairs[index] }
    set { pairs[index] = newValue }
  }

  var haveAllFailed: Bool { !pairs.isEmpty && pairs.allSatisfy(\.hasFailed) }

  mutating func add(_ local: TransportAddress, _ remote: TransportAddress, remotePriority: UInt32) {
    guard pairs.count < Self.limit, index(local, remote) == nil else { return }
    let own = UInt64(ICECandidate(host: local).priority)
    let theirs = UInt64(remotePriority)
    let pair = Pair(local: local, remote: remote, priority: min(own, theirs) << 32 + 2 * max(own, theirs))
    pairs.insert(pair, at: pairs.firstIndex { $0.priority < pair.priority } ?? pairs.endIndex)
  }

  /// The same with another address of ours, nothing of it tried yet.
  func moved(from old: TransportAddress, to new: TransportAddress, at now: Tick) -> ICEChecklist {
    var result = ICEChecklist(now: now)
    result.pairs = pairs.map { pair in
      Pair(local: pair.local == old ? new : pair.local, remote: pair.remote, priority: pair.priority)
    }
    return result
  }

  func index(_ local: TransportAddress, _ remote: TransportAddress) -> Int? {
    pairs.firstIndex { $0.local == local && $0.remote == remote }
  }

  func index(of transaction: STUNMessage.TransactionID) -> (index: Int, check: ICECheck)? {
    for (index, pair) in pairs.enumerated() {
      if case .inProgress(let check) = pair.state, check.transaction == transaction { return (index, check) }
    }
    return nil
  }

  // MARK: Time

  func deadline(_ now: Tick, of choice: Choice) -> Tick? {
    var soonest: Tick?
    for pair in pairs where choice.takes(pair) {
      switch pair.state {
      case .waiting: soonest = soonest.sooner(max(now, nextStart))
      case .inProgress(let check): soonest = soonest.sooner(check.next)
      case .succeeded, .failed: break
      }
    }
    return soonest
  }

  mutating func giveUp(at now: Tick) {
    for index in pairs.indices {
      if case .inProgress(let check) = pairs[index].state, check.isOver(at: now) { pairs[index].state = .failed }
    }
  }

  /// The next request that is due: retransmissions first, then triggered checks (the other end has reached us on the pair), then the
  /// other pairs.
  mutating func next(
    at now: Tick, of choice: Choice, makeCheck: () -> ICECheck
  ) -> (check: ICECheck, local: TransportAddress, remote: TransportAddress)? {
    for index in pairs.indices where choice.takes(pairs[index]) {
      if case .inProgress(let check) = pairs[index].state, check.isDue(at: now) { return send(check, index, at: now) }
    }
    guard now >= nextStart else { return nil }
    let waiting = pairs.indices.filter { pairs[$0].isWaiting && choice.takes(pairs[$0]) }
    guard let index = waiting.first(where: { pairs[$0].isTriggered }) ?? waiting.first else { return nil }
    nextStart = now + Self.pacing
    return send(makeCheck(), index, at: now)
  }

  private mutating func send(
    _ check: ICECheck, _ index: Int, at now: Tick
  ) -> (check: ICECheck, local: TransportAddress, remote: TransportAddress) {
    var check = check
    check.sent(at: now)
    pairs[index].state = .inProgress(check)
    return (check, pairs[index].local, pairs[index].remote)
  }
}
