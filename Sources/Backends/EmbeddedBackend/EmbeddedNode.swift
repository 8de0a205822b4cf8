import KoineBase
import KoineLedger
import KoineRouter
import KoineSignalingHost
import KoineTransport

/// Which nodes of a host have something to do, by their numbers: a cluster's other nodes cost a turn next to nothing. Used on the loop
/// only.
final class NodeSchedule {
  /// Nodes that something has happened to since they were last taken, in the order of their numbers.
  @exclusivity(unchecked) private(set) var touched: [Int] = []
  @exclusivity(unchecked) private var taken: [Int] = []
  /// In nanoseconds. A walk over the numbers costs less than a heap for as many nodes as a test has.
  @exclusivity(unchecked) private var deadlines: [Int64]
  /// The least of `deadlines`; nil: not known since one has changed.
  @exclusivity(unchecked) private var least: Int64?
  private static let never = Int64.max

  init(nodes count: Int) { deadlines = Array(repeating: Self.never, count: count) }

  /// - Parameter number: of a node that is not touched.
  func touch(_ number: Int) {
    touched.insert(number, at: touched.firstIndex { $0 > number } ?? touched.endIndex)
  }

  func takeTouched(_ body: (Int) -> Void) {
    swap(&touched, &taken)
    for number in taken { body(number) }
    taken.removeAll(keepingCapacity: true)
  }

  func setDeadline(_ deadline: Tick?, of number: Int) {
    let deadline = deadline?.nanoseconds ?? Self.never
    guard deadline != deadlines[number] else { return }
    deadlines[number] = deadline
    least = nil
  }

  var soonest: Tick? {
    let least = self.least ?? deadlines.reduce(Self.never) { $1 < $0 ? $1 : $0 }
    self.least = least
    return least == Self.never ? nil : Tick(nanoseconds: least)
  }

  /// The nodes with an expired deadline.
  func forEachDue(at now: Tick, _ body: (Int) -> Void) {
    guard let soonest, soonest <= now else { return }
    for number in deadlines.indices where deadlines[number] <= now.nanoseconds { body(number) }
  }
}

/// A router of an embedded backend, at an address: the only one, or a node of a cluster. Used on the loop only.
final class EmbeddedNode {
  enum State { case closed, open, frozen, dead }

  /// nil for the router that is alone.
  let name: String?
  /// Where clients reach the node of a cluster.
  let place: String?
  @exclusivity(unchecked) var state = State.closed { didSet { touch() } }
  var address = TransportAddress.loopback()
  /// The clients of connections.
  var owners: [ConnectionID: Int] = [:]
  var connection: MemoryLedger.Connection?
  /// What the ledger has answered while the node was frozen.
  var held: [LedgerEvent] = []
  private var starts = 0
  @exclusivity(unchecked) private var host: SignalingHost?
  private let number: Int
  private let schedule: NodeSchedule
  /// Whether the schedule knows that the node may have something to send.
  @exclusivity(unchecked) private var isTouched = false

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

  func touch() {
    guard !isTouched else { return }
    isTouched = true
    schedule.touch(number)
  }

  /// Of the host, without touching it.
  var deadline: Tick? { (host?.router.deadline).sooner(host?.deadline) }

  /// The schedule has named the node, and all that the host had to send has been taken.
  func drained() {
    isTouched = false
    schedule.setDeadline(state == .open ? deadline : nil, of: number)
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
