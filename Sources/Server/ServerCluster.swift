import Glibc
import KoineBase
package import KoineLedger
import NIOCore

/// With what a server is a node of a cluster.
package struct ServerCluster: Sendable {
  /// A connection to the ledger, and how it is closed.
  package struct Connection: Sendable {
    package var ledger: any Ledger & Sendable
    package var close: @Sendable () -> Void

    package init(_ ledger: any Ledger & Sendable, close: @escaping @Sendable () -> Void) {
      (self.ledger, self.close) = (ledger, close)
    }
  }

  package typealias Connect =
    @Sendable (_ node: NodeID, _ receive: @escaping @Sendable (LedgerEvent) -> Void) -> Connection

  package var record: NodeRecord
  /// Begins to connect to the ledger. Apart from the server, so that an app's tests link no engine.
  package var connect: Connect
  /// Called on the network loop when another living node has this node's name: the process must end.
  package var nameTaken: @Sendable (NodeID) -> Void

  package init(
    record: NodeRecord, connect: @escaping Connect, nameTaken: @escaping @Sendable (NodeID) -> Void
  ) {
    (self.record, self.connect, self.nameTaken) = (record, connect, nameTaken)
  }
}

/// An order of an operator to a node (`koine cluster`), as a message of the ledger: it may be lost, or come twice.
package struct NodeOrder: Codable, Sendable {
  package enum Act: String, Codable, Sendable {
    /// Hands all rooms over and takes no more; takes rooms again; hands one room over; says how many are in each room.
    case drain, serve, move, report
  }

  package var order: Act
  package var room: String?
  /// Where the report goes.
  package var to: NodeID?

  package init(_ order: Act, room: String? = nil, to reader: NodeID? = nil) {
    (self.order, self.room, to) = (order, room, reader)
  }
}

/// A part of a node's answer to `NodeOrder.Act.report`.
package struct NodeReport: Codable, Sendable {
  static let limit = 1_000

  package var node: NodeID
  /// How many participants are in the rooms of which the node is the home.
  package var rooms: [String: Int]
  package var isLast: Bool
}

/// Whether a node takes participants, for `/readyz`.
struct Readiness: Sendable {
  /// The ledger's answer has to be more recent.
  static let patience = Duration.seconds(2)

  private var lastAnswer: Tick?
  private var isRegistered = false
  private var isNameTaken = false
  /// How long nodes that are started together may take until all are in the list.
  private static let start = Duration.milliseconds(900)

  private var firstRegistration: Tick?
  /// Whether the list of nodes was read when those that started with this one were in it: the page that this one serves may connect
  /// to those that it knows.
  private var knowsNodes = false
  var isDraining = false
  var knowsRegistry = false

  /// A ledger that cannot write, as with a full disk, still answers what is only read: that does not count.
  mutating func answered(_ answer: LedgerAnswer, at now: Tick) {
    switch answer {
    case .nodes:
      if let firstRegistration, now - firstRegistration >= Self.start { knowsNodes = true }
      return
    case .failed, .page, .jobs, .rooms, .found, .registry: return
    case .registered:
      (isRegistered, isNameTaken) = (true, false)
      firstRegistration = firstRegistration ?? now
    case .nameTaken: (isRegistered, isNameTaken) = (false, true)
    case .evicted: isRegistered = false
    case .done, .placed, .appended, .alive, .gone, .fenced, .behind: break
    }
    lastAnswer = now
  }

  /// - Returns: why the node is not ready; nil if it is.
  func obstacle(at now: Tick) -> String? {
    if isDraining { return "draining" }
    guard let lastAnswer else { return "the ledger has not answered yet" }
    if isNameTaken {
      return "another living node has the name, or this node's former process has ended less than 5 s ago"
    }
    if !isRegistered { return "the node is not in the list of nodes yet" }
    if !knowsRegistry { return "the registry has not been read yet" }
    if !knowsNodes { return "the nodes that have started with this one may not be known yet" }
    let silence = now - lastAnswer
    return silence <= Self.patience
      ? nil : "the ledger has not answered for \(Int(silence.inSeconds)) s: rooms go on, joins to new rooms wait"
  }
}

/// The CPU time that the process takes, as a part of what it may take.
struct LoadMeter {
  static let interval = Duration.seconds(1)
  /// Above this part of all cores a node is full.
  private static let full = 0.8

  private var last: (used: Duration, at: Tick)?
  private(set) var deadline: Tick?

  init(at now: Tick) { deadline = now + Self.interval }

  /// - Returns: 1 if the node is full; nil until there is a first interval.
  mutating func measure(at now: Tick) -> Double? {
    deadline = now + Self.interval
    let used = Self.processTime()
    defer { last = (used, now) }
    guard let last, now > last.at else { return nil }
    return (used - last.used).inSeconds / (now - last.at).inSeconds / Double(System.coreCount) / Self.full
  }

  private static func processTime() -> Duration {
    var usage = rusage()
    guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return .zero }
    func duration(_ time: timeval) -> Duration {
      .seconds(time.tv_sec) + .microseconds(Int64(time.tv_usec))
    }
    return duration(usage.ru_utime) + duration(usage.ru_stime)
  }
}

/// How long the ledger takes to answer, for `/metrics`.
struct LedgerMeter: Sendable {
  /// Upper bounds in seconds (Prometheus: `le`).
  static let bounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]

  /// Answers by bound, and those above all bounds.
  private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
  private(set) var sum = 0.0
  private var sent: [UInt64: Tick] = [:]

  mutating func sent(_ number: UInt64, at now: Tick) { sent[number] = now }

  /// - Parameter isAnswer: false for a request that came to nothing.
  mutating func answered(_ number: UInt64, isAnswer: Bool, at now: Tick) {
    guard let start = sent.removeValue(forKey: number), isAnswer else { return }
    let seconds = (now - start).inSeconds
    sum += seconds
    counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
  }
}
