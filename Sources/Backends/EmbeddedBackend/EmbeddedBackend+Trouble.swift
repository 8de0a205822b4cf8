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
