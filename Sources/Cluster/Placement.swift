package import KoineBase
package import KoineLedger

/// Where rooms are, and where new ones go: the list of nodes, read once a second, the homes of rooms that this node knows, and the
/// choice of a node for a new room.
///
/// No clock of another node takes part: the ledger says how long each node has been silent.
package struct Placement: Sendable {
  private struct Seen {
    var record: NodeRecord
    /// When its last heartbeat was, by this node's clock.
    var heartbeat: Tick
  }

  private let node: NodeID
  private let limits: ClusterLimits
  private var random: SeededRandom
  private var nodes: [NodeID: Seen] = [:]
  private var homes: [String: (node: NodeID, until: Tick)] = [:]
  /// Rooms placed on a node in the last 20 s.
  private var recent: [(node: NodeID, at: Tick)] = []
  private var isConnected = false
  private var isAsked = false
  private var next: Tick?
  private var requests = 0

  package init(node: NodeID, limits: ClusterLimits = .init(), random: SeededRandom) {
    (self.node, self.limits, self.random) = (node, limits, random)
  }

  // MARK: The list

  package mutating func connected(at now: Tick) {
    isConnected = true
    refresh(at: now)
  }

  package mutating func disconnected() { isConnected = false }

  /// Reads the list soon: a node is not in it that should be.
  package mutating func refresh(at now: Tick) {
    next = now
    ask(at: now)
  }

  /// - Parameter answer: to `LedgerRequest.nodes`.
  package mutating func handle(_ answer: LedgerAnswer, at now: Tick) {
    isAsked = false
    // `refresh` may have been called in the meantime.
    next = next ?? now + limits.listInterval
    if case .nodes(let listed) = answer {
      nodes = [:]
      for item in listed { nodes[item.record.id] = Seen(record: item.record, heartbeat: now - item.silence) }
    }
    ask(at: now)
  }

  package var deadline: Tick? { isConnected && !isAsked ? next : nil }

  package mutating func handleTimeout(at now: Tick) { ask(at: now) }

  package mutating func poll() -> LedgerRequest? {
    guard requests > 0 else { return nil }
    requests -= 1
    return .nodes
  }

  private mutating func ask(at now: Tick) {
    guard isConnected, !isAsked, let next, next <= now else { return }
    isAsked = true
    self.next = nil
    requests += 1
  }

  // MARK: Nodes

  package func record(of id: NodeID) -> NodeRecord? { nodes[id]?.record }

  package var listed: Set<NodeID> { Set(nodes.keys) }

  package var livingNodes: [NodeRecord] { nodes.values.map(\.record).sorted { $0.id < $1.id } }

  package func node(at publicAddress: String) -> NodeID? {
    nodes.values.map(\.record).filter { $0.publicAddress == publicAddress }.map(\.id).min()
  }

  /// Whether the last heartbeat is recent.
  package func isSeen(_ id: NodeID, at now: Tick) -> Bool {
    nodes[id].map { now - $0.heartbeat < limits.seen } ?? false
  }

  /// The node is gone, as the ledger says.
  package mutating func forget(_ id: NodeID) { nodes[id] = nil }

  /// Living nodes in which a participant may try its luck, this node first: at most eight.
  package mutating func places(at now: Tick) -> [NodeRecord] {
    var others = nodes.values.filter { $0.record.takesRooms && $0.record.id != node && isSeen($0.record.id, at: now) }
      .map(\.record).sorted { $0.id < $1.id }
    others.shuffle(using: &random)
    return Array(((nodes[node].map { [$0.record] } ?? []) + others).prefix(8))
  }

  // MARK: Homes

  /// The room's home, if the ledger has named it a short time ago, and its heartbeats are seen.
  package func home(of room: String, at now: Tick) -> NodeID? {
    homes[room].flatMap { $0.until > now && isSeen($0.node, at: now) ? $0.node : nil }
  }

  package mutating func setHome(_ home: NodeID?, of room: String, at now: Tick) {
    if home != nil, homes[room] == nil, homes.count >= limits.knownRooms {
      homes = homes.filter { $0.value.until > now }
      if homes.count >= limits.knownRooms { homes = [:] }  // the ledger is asked again
    }
    homes[room] = home.map { ($0, now + limits.homeKnown) }
  }

  // MARK: The choice

  /// A node for a room: of two random ones of the region the one with the lower load; if none of the region has capacity left, the least
  /// loaded of all.
  /// - Parameters:
  ///   - excluded: nodes that are not asked again.
  ///   - mustHaveCapacity: the room has participants: a node that is full would refuse them.
  /// - Returns: nil if no node takes the room.
  package mutating func candidate(
    region: String, excluding excluded: Set<NodeID> = [], mustHaveCapacity: Bool = false, at now: Tick
  ) -> NodeID? {
    recent.removeAll { now - $0.at >= limits.rampUp }
    var all = expectedNodes(at: now).filter { !excluded.contains($0.id) }.sorted { $0.id < $1.id }
    if mustHaveCapacity { all = all.filter(\.hasCapacity) }
    var near = all.filter { $0.region == region && $0.hasCapacity }
    guard !near.isEmpty else { return all.min { $0.load.value < $1.load.value }?.id }
    let first = near.remove(at: Int.random(in: near.indices, using: &random))
    guard let second = near.randomElement(using: &random) else { return first.id }
    return second.load.value < first.load.value ? second.id : first.id
  }

  /// A room was placed on the node: a part of its load is still to come.
  package mutating func placed(on id: NodeID, at now: Tick) { recent.append((id, now)) }

  /// The living nodes that take rooms, each with the load that it will have with the rooms placed a short time ago, which may not be in
  /// the node's own count yet.
  private func expectedNodes(at now: Tick) -> [NodeRecord] {
    var expected = nodes.filter { $0.value.record.takesRooms && isSeen($0.key, at: now) }.mapValues(\.record)
    for (id, placedAt) in recent {
      expected[id]?.load.value += limits.expectedLoad
      if now - placedAt < limits.roomCounted { expected[id]?.load.rooms += 1 }
    }
    return Array(expected.values)
  }
}
