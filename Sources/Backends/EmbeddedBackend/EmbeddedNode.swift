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
  var address = TransportAddress.loopback()
  /// The clients of connections.
  var owners: [ConnectionID: Int] = [:]
  var connection: MemoryLedger.Connection?
  /// What the ledger has answered while the node was frozen.
  var held: [LedgerEvent] = []
  private var starts = 0
  private var host: SignalingHost?
  /// As the host had it when the node was drained.
  private var drainedDeadline: Tick?
  /// Whether the host may have changed since the node was drained. A cluster's other nodes cost a turn nothing.
  private(set) var isTouched = false

  init(name: String?) { (self.name, place) = (name, name.map { "ws://\($0)" }) }

  /// Reading it touches the node.
  var signaling: SignalingHost? {
    get {
      isTouched = true
      return host
    }
    set { (isTouched, host) = (true, newValue) }
  }

  var router: Router? { signaling?.router }

  var deadline: Tick? { isTouched ? hostDeadline : drainedDeadline }

  private var hostDeadline: Tick? { (host?.router.deadline).sooner(host?.deadline) }

  /// All that the host had to send has been taken.
  func drained() { (isTouched, drainedDeadline) = (false, hostDeadline) }

  /// Whether it has something to do.
  func isDue(at now: Tick) -> Bool { isTouched || drainedDeadline.map { $0 <= now } ?? false }

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
