import KoineBase

/// Counts refused credentials by address: an address that has had too many refused gets no more of them checked for a while.
///
/// An address is remembered until its budget is full again.
struct RefusedCredentials {
  /// Refused credentials of one address: at once, and then per second.
  static let burst = 20.0
  static let perSecond = 5.0
  /// After so many refused joins, registrations and renewals a connection is closed.
  static let perConnection = 5

  private static let sweepInterval = Duration.seconds(10)

  private var budgets: [SocketAddress?: Budget] = [:]
  private var swept = Tick.zero

  /// Whether a credential of this address is checked at all.
  func mayAsk(_ address: SocketAddress?, at now: Tick) -> Bool { budgets[address]?.holds(at: now) ?? true }

  mutating func refused(_ address: SocketAddress?, at now: Tick) {
    if now - swept >= Self.sweepInterval {
      swept = now
      budgets = budgets.filter { !$0.value.isFull(at: now) }
    }
    _ = budgets[address, default: Budget(burst: Self.burst, perSecond: Self.perSecond, now: now)].take(at: now)
  }

  /// For tests.
  var remembered: Int { budgets.count }
}
