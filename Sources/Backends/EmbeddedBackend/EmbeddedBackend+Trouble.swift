import Koine
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
}
