import KoineBase

/// Where participants reach the nodes of the cluster: those that are alive, and those that were within the last day. A page outlives the
/// node from which it was loaded, and connects to the others then. A page that is loaded while a node is away may have to connect to that
/// node later.
struct KnownNodes: Sendable {
  static let memory = Duration.seconds(24 * 3600)
  /// Of nodes that are not alive.
  static let limit = 256

  /// Address → when the node was last alive.
  private var seen: [String: Tick] = [:]
  /// In alphabetical order.
  private(set) var addresses: [String] = []
  /// The origins of the nodes' pages, in lower case.
  private(set) var origins: Set<String> = []

  mutating func update(living: [String], at now: Tick) {
    for address in living { seen[address] = now }
    seen = seen.filter { now - $0.value < Self.memory }
    let gone = seen.filter { $0.value < now }.sorted { $0.value > $1.value }
    for (address, _) in gone.dropFirst(Self.limit) { seen[address] = nil }
    addresses = seen.keys.sorted()
    origins = Set(addresses.map(Self.origin))
  }

  /// Of the pages of a node that is reached at this address, as browsers write it: `wss://n1.example.com:443/calls` has those of
  /// `https://n1.example.com` (RFC 6454, section 6.2).
  private static func origin(ofNodeAt address: String) -> String {
    var origin = "http" + address.dropFirst(2).lowercased()
    let scheme = origin.hasPrefix("https:") ? "https://" : "http://"
    if let path = origin.dropFirst(scheme.count).firstIndex(of: "/") { origin = String(origin[..<path]) }
    let port = scheme == "https://" ? ":443" : ":80"
    return origin.hasSuffix(port) ? String(origin.dropLast(port.count)) : origin
  }
}
