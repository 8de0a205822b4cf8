import KoineBase

/// Pairs on which good checks have come to a lite agent, and when last; each for as long as that is consent.
struct ProvenPairs {
  private static let limit = 8
  private let lifetime: Duration
  private var pairs: [(local: SocketAddress, remote: SocketAddress, at: Tick)] = []

  init(lifetime: Duration) { self.lifetime = lifetime }

  mutating func note(_ pair: (local: SocketAddress, remote: SocketAddress), at now: Tick) {
    let lifetime = lifetime
    pairs.removeAll { ($0.local, $0.remote) == pair || now - $0.at >= lifetime }
    if pairs.count == Self.limit { pairs.removeFirst() }
    pairs.append((pair.local, pair.remote, now))
  }

  func contains(_ remote: SocketAddress, at now: Tick) -> Bool {
    pairs.contains { $0.remote == remote && now - $0.at < lifetime }
  }

  func latest(of pair: (local: SocketAddress, remote: SocketAddress), at now: Tick) -> Tick? {
    pairs.first { ($0.local, $0.remote) == pair && now - $0.at < lifetime }?.at
  }
}

/// Which checks have come, and on which pair: one that comes again on another pair was kept by somebody on the way, who
/// would turn the media to where it likes (RFC 8445 section 19.2 leaves that to the transaction, which nobody can guess).
///
/// Of the latest; a client that makes one every 5 s says so many in an hour and a half.
struct HeardChecks {
  private static let memory = 1_024
  private var pairs: [STUNMessage.TransactionID: (local: SocketAddress, remote: SocketAddress)] = [:]
  private var order: [STUNMessage.TransactionID] = []
  private var next = 0

  /// - Returns: false if it has come on another pair.
  mutating func isNew(
    _ transaction: STUNMessage.TransactionID, on pair: (local: SocketAddress, remote: SocketAddress)
  ) -> Bool {
    if let known = pairs[transaction] { return known == pair }
    pairs[transaction] = pair
    if order.count < Self.memory {
      order.append(transaction)
    } else {
      pairs[order[next]] = nil
      order[next] = transaction
      next = (next + 1) % Self.memory
    }
    return true
  }
}
