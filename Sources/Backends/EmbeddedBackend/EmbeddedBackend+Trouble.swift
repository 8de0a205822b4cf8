package import Koine
package import KoineRouter
public import KoineSimulatedNetwork

/// Trouble on purpose, for tests: what networks and servers do to calls.
extension EmbeddedBackend {
  /// Cuts a client's network for a time, in both directions: none of its datagrams arrive, and none reach it.
  /// - Parameter name: a participant's id or name, or an endpoint's identity; nil: all clients.
  public func cutNetwork(of name: String? = nil, for duration: Duration) { host.cutNetwork(of: name, for: duration) }

  /// Gives a client another address, as when a telephone goes from one network to another. It is told, as the system would
  /// tell it.
  /// - Parameter name: a participant's id or name, or an endpoint's identity.
  public func changeAddress(of name: String) { host.changeAddress(of: name) }

  /// The router goes down without a word and comes up again at once, knowing nothing.
  public func restartRouter() { host.restartRouter() }

  // Of a cluster: nodes are `n1`, `n2` and so on.

  /// A node's process ends without a word.
  public func kill(node: String) { host.kill(node: node) }

  /// A node that was killed starts again, and knows nothing.
  public func start(node: String) { host.start(node: node) }

  /// A node's process stands still, or goes on.
  public func freeze(node: String, _ isFrozen: Bool = true) { host.freeze(node: node, isFrozen) }

  /// A node hands its rooms over to the others, and takes no more.
  public func drain(node: String) { host.drain(node: node) }

  /// Nothing passes between a client, or all of them (nil), and a node, until it is called with false.
  public func cut(_ name: String?, from node: String, _ isCut: Bool = true) { host.cut(name, from: node, isCut) }

  /// Nothing passes between a node and the ledger until it is called with false; nil: the ledger is down.
  public func cutLedger(of node: String?, _ isCut: Bool = true) { host.cutLedger(of: node, isCut) }

  /// The node that is the home of a room; nil: there is none, or it is being taken over.
  public func home(of room: String) -> String? { host.homes.withLock { $0[room] } }

  /// What links do to datagrams becomes another thing; the times in `spec` begin now.
  /// - Parameter name: a participant's id or name, or an endpoint's identity; nil: all clients, present and future.
  public func setNetwork(_ spec: NetworkSpec, of name: String? = nil) { host.setNetwork(spec, of: name) }

  /// What the router itself has counted; `completion` is called on the network loop.
  package func routerStatistics(
    of room: String, _ completion: @escaping @Sendable (RouterStatistics, [ForwardingStatistics]) -> Void
  ) {
    host.routerStatistics(of: room, completion)
  }

  /// A participant in the router's roster of a room.
  package struct RosterMember: Sendable, Hashable {
    package let id: Koine.Participant.ID
    package let name: String
    /// The kinds of the tracks that the participant publishes and that are not muted.
    package let sending: Set<Track.Kind>
    /// What the app says about itself.
    package let client: String?
  }

  /// The router's roster of a room in the order of joining, without hidden participants, and empty for a room that does not exist.
  /// `completion` is called on the network loop.
  package func roster(of room: String, _ completion: @escaping @Sendable ([RosterMember]) -> Void) {
    host.roster(of: room, completion)
  }
}
