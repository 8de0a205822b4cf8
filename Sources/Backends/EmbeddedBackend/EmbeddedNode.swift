import KoineBase
import KoineLedger
import KoineRouter
import KoineSignalingHost
import KoineTransport

/// A router of an embedded backend, at an address: the only one, or a node of a cluster. Used on the loop only.
final class EmbeddedNode {
  enum State { case closed, open, frozen, dead }

  /// nil for the router that is alone.
  let name: String?
  /// Where clients reach the node of a cluster.
  let place: String?
  var state = State.closed
  var signaling: SignalingHost?
  var address = TransportAddress.loopback()
  /// The clients of connections.
  var owners: [ConnectionID: Int] = [:]
  var connection: MemoryLedger.Connection?
  /// What the ledger has answered while the node was frozen.
  var held: [LedgerEvent] = []
  private var starts = 0

  init(name: String?) { (self.name, place) = (name, name.map { "ws://\($0)" }) }

  var router: Router? { signaling?.router }

  /// Of the next start, which is another incarnation.
  func nextRecord() -> NodeRecord? {
    starts += 1
    guard let name, var record = NodeID(name: name, incarnation: "\(starts)").map(NodeRecord.init(id:)) else {
      return nil
    }
    record.publicAddress = place
    return record
  }

  func end(_ state: State) {
    (self.state, signaling, owners, connection, held) = (state, nil, [:], nil, [])
  }
}
