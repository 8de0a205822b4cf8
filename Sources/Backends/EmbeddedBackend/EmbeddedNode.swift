import KoineBase
import KoineLedger
import KoineRouter
import KoineSignalingHost
import KoineTransport

/// Which nodes of a host have something to do, by their numbers: a cluster's other nodes cost a turn nothing. Used on the loop only.
final class NodeSchedule {
  var nodes = PollSchedule()
}

/// A router of an embedded backend, at an address: the only one, or a node of a cluster. Used on the loop only.
final class EmbeddedNode {
  enum State { case closed, open, frozen, dead }

  /// nil for the router that is alone.
  let name: String?
  /// Where clients reach the node of a cluster.
  let place: String?
  var state = State.closed { didSet { touch() } }
  var address = TransportAddress.loopback()
  /// The clients of connections.
  var owners: [ConnectionID: Int] = [:]
  var connection: MemoryLedger.Connection?
  /// What the ledger has answered while the node was frozen.
  var held: [LedgerEvent] = []
  private var starts = 0
  private var host: SignalingHost?
  private let number: Int
  private let schedule: NodeSchedule
  /// Whether the schedule knows that the node may have something to send.
  private var isTouched = false

  /// - Parameter number: in the schedule.
  init(name: String?, number: Int, in schedule: NodeSchedule) {
    (self.name, place) = (name, name.map { "ws://\($0)" })
    (self.number, self.schedule) = (number, schedule)
  }

  /// Reading it touches the node.
  var signaling: SignalingHost? {
    get {
      touch()
      return host
    }
    set {
      touch()
      host = newValue
    }
  }

  var router: Router? { signaling?.router }

  private func touch() {
    guard !isTouched else { return }
    isTouched = true
    schedule.nodes.touch(number)
  }

  /// Of the host, without touching it.
  var deadline: Tick? { (host?.router.deadline).sooner(host?.deadline) }

  /// The schedule has named the node, and all that the host had to send has been taken.
  func drained() {
    isTouched = false
    schedule.nodes.setDeadline(state == .open ? deadline : nil, of: number)
  }

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
