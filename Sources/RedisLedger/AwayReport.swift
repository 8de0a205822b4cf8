/// Decides which failures of a ledger are logged: the first of each kind, and the end of the last one. A request that fails is no
/// reason for a line of its own.
struct AwayReport {
  /// Kinds of failures that are remembered.
  private static let limit = 16

  /// The kinds of requests that the server refuses at present, with the codes of the refusals: two rooms may be refused differently.
  private var refusals: [String: Set<RedisCode>] = [:]
  /// The reasons that have been logged since a request was executed; nil: the last one was.
  private var reasons: Set<String>? = []

  /// There is no connection, or no new one. A connection on which nothing is executed does not end the time of being away.
  /// - Returns: whether to log it.
  mutating func away(_ failure: RedisDialer.Failure) -> Bool {
    var known = reasons ?? []
    defer { reasons = known }
    guard known.count < Self.limit else { return false }
    return known.insert(failure.code?.rawValue ?? failure.description).inserted
  }

  /// The server has refused a request.
  /// - Returns: whether to log it.
  mutating func refused(_ kind: String, _ code: RedisCode) -> Bool {
    let isKnown = refusals.values.contains { $0.contains(code) }
    if isKnown || refusals[kind]?.count ?? 0 < Self.limit { refusals[kind, default: []].insert(code) }
    return !isKnown && refusals[kind]?.contains(code) == true
  }

  /// The server has executed a request.
  /// - Returns: whether it was away, and the codes of refusals that are over.
  mutating func executed(_ kind: String) -> (isBack: Bool, over: [RedisCode]) {
    defer { reasons = nil }
    let ended = refusals.removeValue(forKey: kind) ?? []
    let over = ended.filter { code in !refusals.values.contains { $0.contains(code) } }
    return (reasons != nil, over.sorted { $0.rawValue < $1.rawValue })
  }
}
