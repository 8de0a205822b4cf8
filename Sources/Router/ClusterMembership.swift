import KoineBase
package import KoineCluster
package import KoineLedger
import KoineSignaling

/// With what a router is one node of a cluster.
package struct ClusterConfiguration: Sendable {
  package var record: NodeRecord
  package var limits = ClusterLimits()
  package var rules = ClusterRules()
  /// In seconds: how often clients ask whether the connection is alive, and the silence after which it is not.
  package var ping = 2
  package var silence = 6

  package init(record: NodeRecord) {
    self.record = record
    // Less than a server's own limit for the first join of a connection, 10 s: the client is told why.
    limits.joinPatience = .seconds(8)
  }
}

/// What the owner of a router must know of its node.
package enum ClusterEvent: Hashable, Sendable {
  /// Whether the node's lease stands is unknown, or known again. Receipts of kept messages wait meanwhile.
  case uncertain(Bool)
  /// Another living node has this node's name: the process must end.
  case nameTaken(by: NodeID)
  /// The room's participants went to another home, nil: they come back here.
  case deposed(room: String, home: NodeID?, RoomOwnership.Cause)
  /// The room is here now, with so many messages of an earlier home.
  case opened(room: String, entries: Int)
  /// The room has ended for the whole cluster.
  case closed(room: String)
  /// All rooms are handed over.
  case drained
  /// The lease has ended.
  case released
}

/// For `/metrics`.
package struct ClusterStatistics: Hashable, Sendable {
  /// Rooms of which the node is the home.
  package var rooms = 0
  /// Receipts that wait for the ledger, and bytes.
  package var receipts = 0
  package var bytes = 0
  /// Joins that wait until it is known where their rooms are.
  package var joins = 0
  package var isUncertain = false
  /// Since the start: rooms that were opened with messages of an earlier home.
  package var takeovers = 0
  /// Rooms that went to other homes, by `RoomOwnership.Cause`.
  package var deposed: [String: Int] = [:]
  /// Participants that were sent to other nodes, at joining or later.
  package var moved = 0
  /// Living nodes by state.
  package var nodes: [String: Int] = [:]
  /// Where the living nodes are reached.
  package var addresses: [String] = []

  package init() {}
}

/// A router's part in a cluster: its node, and the joins that wait until it is known where their rooms are.
final class ClusterMembership {
  struct WaitingJoin {
    let client: ClientID
    let join: Join
    let verdict: CredentialVerdict?
    /// What a room counts by that is opened for the join.
    let permit: AnyObject?
  }

  var node: ClusterNode
  let configuration: ClusterConfiguration
  private var joins: [UInt64: WaitingJoin] = [:]
  private var tickets: [ClientID: UInt64] = [:]
  private var lastTicket: UInt64 = 0
  private var requests: [(number: UInt64, request: LedgerRequest)] = []
  private var events: [ClusterEvent] = []
  var counts = ClusterStatistics()
  /// Outputs are being taken: what that brings about is taken by the same loop.
  var isTaking = false
  /// The node gives up its rooms: participants go to these places.
  var successors: [String]?

  init(_ configuration: ClusterConfiguration, random: SeededRandom, at now: Tick) {
    self.configuration = configuration
    node = ClusterNode(
      record: configuration.record, limits: configuration.limits, rules: configuration.rules, random: random, at: now)
  }

  // MARK: Joins

  var waiting: Int { joins.count }

  func isWaiting(_ client: ClientID) -> Bool { tickets[client] != nil }

  /// - Returns: the ticket under which the node answers.
  func wait(_ join: WaitingJoin) -> UInt64 {
    lastTicket += 1
    (joins[lastTicket], tickets[join.client]) = (join, lastTicket)
    return lastTicket
  }

  func take(_ ticket: UInt64) -> WaitingJoin? {
    guard let join = joins.removeValue(forKey: ticket) else { return nil }
    tickets[join.client] = nil
    return join
  }

  /// The client waits no longer.
  /// - Returns: whether it waited.
  @discardableResult func forget(_ client: ClientID) -> Bool { tickets[client].flatMap(take) != nil }

  // MARK: Places

  /// Addresses where participants may try, those of `home` first.
  func places(home: NodeRecord? = nil, at now: Tick) -> [String] {
    var places = home?.publicAddress.map { [$0] } ?? []
    for place in node.places(at: now).compactMap(\.publicAddress) where !places.contains(place) { places.append(place) }
    return Array(places.prefix(SignalingLimits.places))
  }

  func describe(_ joined: inout Joined, at now: Tick) {
    joined.places = places(at: now)
    (joined.pingSeconds, joined.silenceSeconds) = (configuration.ping, configuration.silence)
  }

  // MARK: Outputs

  func send(_ number: UInt64, _ request: LedgerRequest) { requests.append((number, request)) }
  func tell(_ event: ClusterEvent) { events.append(event) }

  func takeRequests() -> [(number: UInt64, request: LedgerRequest)] {
    defer { requests = [] }
    return requests
  }

  func takeEvents() -> [ClusterEvent] {
    defer { events = [] }
    return events
  }
}
