package import KoineBase
package import KoineLedger

/// Takes a room from a home that is suspected to be dead: asks the ledger to evict the home, which it does only if the home has missed
/// two heartbeats. Everything but the ledger's answer is a suspicion; a wrong eviction does no harm, because of the fence.
package struct Takeover: Sendable {
  package enum Output: Hashable, Sendable {
    case request(LedgerRequest)
    /// The home has no lease: the room can be placed.
    case homeIsGone
    /// The home sends heartbeats.
    case homeIsAlive
  }

  package enum Rank: Hashable, Sendable {
    /// No other node is nearer to the room.
    case none
    /// A mirror of the room; the one with the most participants is the first (0).
    case mirror(Int)
    /// A node without a mirror, of a room that has mirrors.
    case behindMirrors

    var delay: Duration {
      switch self {
      case .none: .zero
      case .mirror(let rank): .milliseconds(50) * max(0, rank)
      case .behindMirrors: .milliseconds(400)
      }
    }
  }

  package let home: NodeID
  private let limits: ClusterLimits
  private var next: Tick?
  private let ends: Tick
  private var isAsked = false
  private var isConnected: Bool
  private var outputs: [Output] = []

  package init(
    of home: NodeID, rank: Rank = .none, isConnected: Bool, limits: ClusterLimits = .init(), at now: Tick
  ) {
    (self.home, self.isConnected, self.limits) = (home, isConnected, limits)
    next = now + rank.delay
    ends = now + rank.delay + limits.takeoverPatience
    ask(at: now)
  }

  package mutating func connected(at now: Tick) {
    isConnected = true
    if next != nil { next = now }
    ask(at: now)
  }

  package mutating func disconnected() { isConnected = false }

  /// - Parameter answer: to `LedgerRequest.evict`.
  package mutating func handle(_ answer: LedgerAnswer, at now: Tick) {
    guard isAsked else { return }
    isAsked = false
    switch answer {
    case .done: outputs.append(.homeIsGone)
    case .alive where now >= ends: outputs.append(.homeIsAlive)
    default: next = now + limits.takeoverRetry
    }
  }

  package var deadline: Tick? { isConnected && !isAsked ? next : nil }

  package mutating func handleTimeout(at now: Tick) { ask(at: now) }

  package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

  private mutating func ask(at now: Tick) {
    guard isConnected, !isAsked, let next, next <= now else { return }
    (isAsked, self.next) = (true, nil)
    outputs.append(.request(.evict(home)))
  }
}
