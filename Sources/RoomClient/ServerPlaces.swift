/// The addresses of servers that a client tries in turn. Sans-IO.
///
/// A round tries each address once. Which address comes first depends on how the round begins:
///
///     first connection            the configured addresses, in order
///     after a broken connection   the room's home, then the other places of the last server, then those of the configuration
///     after silence               the other places, then the silent one
///     after a redirect            the places of the redirect, then the others, at last the server that redirects and a home that is down
///
/// A later round tries a home that could not be reached last, if the round before has reached another server; otherwise the fault is more
/// likely the client's own network, and the home, which may still wait for the client, comes first again. A client without addresses, whose transport knows the one router there
/// is, has one nameless place.
struct ServerPlaces: Hashable {
  /// How a connection, or the attempt to make one, has ended.
  enum Loss: Hashable { case broken, silent, notMade }

  /// Places of a redirect are kept in front of those that are known. More than two messages name are of no use.
  private static let limit = 16

  private let configured: [String]
  /// The places of the last server that has named some, the room's home first; empty: none has.
  private var named: [String] = []
  /// The places that this round has not tried yet, in order.
  private var round: [String] = []
  /// The place of the present connection, or of the last attempt to make one; nil for the nameless place.
  private(set) var current: String?
  /// The place of the room's home, as a server has named it; nil where no server of a cluster has.
  private var home: String?
  /// The home, once it has fallen silent or could not be reached.
  private var suspect: String?
  /// Whether this round has reached a server.
  private var hasReached = false
  /// The places of the last redirect, until a server has admitted the client.
  private var targets: [String] = []

  /// Begins the first round.
  init(_ configured: [String] = []) {
    self.configured = configured
    round = known
  }

  /// The configured addresses come last: a server that has just joined its cluster may have named none but itself.
  private var known: [String] {
    named + configured.filter { place in !named.contains { Self.isSame($0, place) } }
  }

  /// Servers and configurations write one address with and without the default path and port. Servers know a place in the form in which
  /// they name it.
  private static func isSame(_ a: String, _ b: String) -> Bool { a == b || address(of: a) == address(of: b) }

  private static func address(of place: String) -> [Substring] {
    guard let colon = place.firstRange(of: "://") else { return [place[...]] }
    let (scheme, rest) = (place[..<colon.lowerBound], place[colon.upperBound...])
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var (authority, path) = (rest[..<slash], rest[slash...])
    if path == "/" || path == "/signaling" { path = "" }
    let port = scheme == "wss" ? ":443" : ":80"
    if authority.hasSuffix(port) { authority = authority.dropLast(port.count) }
    return [scheme, authority, path]
  }

  /// The present place in the form in which a server has named it.
  private mutating func renameCurrent() {
    if let current, let name = named.first(where: { Self.isSame($0, current) }) { self.current = name }
  }

  /// How many attempts a round makes.
  var count: Int { max(known.count, 1) }

  /// Whether the round has a place that it has not tried.
  private(set) var hasNext = true

  /// Takes the next place of the round as the present one.
  mutating func advance() {
    current = round.isEmpty ? nil : round.removeFirst()
    hasNext = !round.isEmpty
  }

  /// Gives up the rest of the round.
  mutating func endRound() { (round, hasNext) = ([], false) }

  /// Begins a round after one in which no place was of use.
  mutating func beginRound() {
    if !hasReached { suspect = nil }
    begin(last: [suspect])
  }

  private mutating func begin(first: [String] = [], last: [String?] = []) {
    let last = last.compactMap { $0 }.filter { !first.contains($0) }
    let rest = known.filter { !first.contains($0) }
    round = first + rest.filter { !last.contains($0) } + rest.filter { last.contains($0) }
    (hasNext, hasReached) = (true, false)
  }

  // MARK: Connections

  /// A connection on which the server had admitted the client is gone: begins a round.
  mutating func lost(_ loss: Loss) {
    // A client that has come by another address of the server, as of a load balancer, is at the room's home.
    let serving = named.isEmpty ? current ?? known.first : current.flatMap { named.contains($0) ? $0 : nil } ?? named[0]
    switch loss {
    case .silent:
      if home != nil { suspect = serving }
      begin(last: [serving])
    case .broken, .notMade: begin(first: named.isEmpty ? [serving].compactMap { $0 } : [])
    }
  }

  /// An attempt has failed: the round goes on.
  mutating func failed(_ loss: Loss) {
    if loss != .broken, let current, current == home { suspect = current }
  }

  mutating func connectionMade() {
    hasReached = true
    if suspect == current { suspect = nil }
  }

  /// A server has admitted the client, and has named places, or none.
  mutating func admitted(naming places: [String]) {
    targets = []
    suspect = nil
    let places = acceptable(places)
    guard let first = places.first else { return }
    named = places
    home = first
    renameCurrent()
  }

  /// The server sends the client elsewhere: begins a round.
  /// - Returns: false if it names no place that may be used.
  @discardableResult
  mutating func redirect(to places: [String]) -> Bool {
    targets = acceptable(places)
    if let first = targets.first {
      let others = known.filter { place in !targets.contains { Self.isSame($0, place) } }
      named = Array((targets + others).prefix(Self.limit))
      home = first
      renameCurrent()
    }
    begin(first: targets, last: [current, suspect])
    return !targets.isEmpty
  }

  /// The server sends the client elsewhere, once too often: the round goes on, or another one begins after a stay.
  mutating func passOver(afterStay isStay: Bool) {
    targets = []
    if isStay || !hasNext { begin(last: [current, suspect]) }
  }

  /// Without TLS only where the configuration has such an address, so that no server leads a client out of it.
  private func acceptable(_ places: [String]) -> [String] {
    let isSecure = !configured.isEmpty && configured.allSatisfy { $0.hasPrefix("wss://") }
    return isSecure ? places.filter { $0.hasPrefix("wss://") } : places
  }

  // MARK: For the join

  /// Whether the client comes to the present place because another server has sent it there.
  var isRedirected: Bool { current.map(targets.contains) ?? false }

  /// The home's place, if the client suspects that it is down and asks elsewhere.
  var unreachableHome: String? { suspect == current ? nil : suspect }
}
