import KoineBase
import KoineSignaling

/// Names a client of a router.
package struct ClientID: Hashable, Sendable {
  package let value: Int
  package init(_ value: Int) { self.value = value }
}

/// A client of the router: a participant, a participant that waits to be admitted, a device that is registered for rings, or a client
/// that has not asked for anything yet. The router knows nothing of the connections that carry its messages (`SignalingHost`).
final class Client {
  let id: ClientID
  /// Proves to the router, when the client joins as another one, that both are the same program. A secret.
  let resumptionKey: String?
  /// Whether the client returns after its connection has been lost: then its participant survives the loss of its media path.
  var isResumable = false
  /// Whether the client has a connection, for reports.
  var isReachable = true
  var member: Member?
  /// What the app says about itself.
  var description: String?
  /// Made when the client first needs it.
  var broadcastLimiter: BroadcastRateLimiter?
  /// How the client's peer names things.
  var capabilities = MediaCapabilities.koine

  /// Messages of the room's history that the client has not been sent; and those that follow a `joined` that has not been polled.
  private(set) var history: HistoryCursor?
  var comingHistory: HistoryCursor?
  /// Data messages that wait until the history has been sent, and their size in bytes.
  private(set) var held: [ServerMessage] = []
  private(set) var heldBytes = 0

  init(_ id: ClientID, resumptionKey: String?) { (self.id, self.resumptionKey) = (id, resumptionKey) }

  /// `joined` is being sent.
  func beginHistory() {
    _ = endHistory()
    (history, comingHistory) = (comingHistory, nil)
  }

  /// - Parameter next: number in the room's order that the next page begins after; nil once the last page has been posted.
  func historyPosted(upTo next: UInt64?) { history?.after = next }

  func hold(_ message: ServerMessage) {
    held.append(message)
    heldBytes += message.weight
  }

  /// - Returns: the messages that were held back.
  @discardableResult
  func endHistory() -> [ServerMessage] {
    defer { (history, held, heldBytes) = (nil, [], 0) }
    return held
  }
}
