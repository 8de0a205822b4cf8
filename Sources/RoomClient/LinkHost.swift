package import KoineSignaling

/// Runs the ends of links, on one network loop. Called from any thread.
package protocol LinkHost: AnyObject, Sendable {
  /// Called once per batch: has the end's `carryOutOrders` run on the loop, soon.
  func hasOrders(_ number: Int)
  /// An endpoint says something.
  func say(_ message: ClientMessage, from number: Int)
  /// An endpoint goes.
  func dismiss(_ number: Int)
}
