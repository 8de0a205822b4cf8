import KoineBase
import KoineJSONCodec
import KoineLedger
import KoineSignaling

/// What the nodes of a cluster say to each other about rings, over the ledger's channels, which deliver at most once.
///
/// ```
///  the caller's node                        the nodes with the callee's devices
///       ask ─────────── to all ──────────────→   the devices ring
///           ←────────── ringing ──────────────
///           ←────────── answer ───────────────   a device has answered, or the last one is gone
///       ended ────────────────────────────────→   the devices stop ringing
///           ←────────── arrived ── to all ─────   a device has registered: is it being rung?
/// ```
///
/// `answer` and `ended` are repeated until they are `heard`. All of them do no harm when they come twice.
struct RingMessage: Codable, Equatable {
  enum Kind: String, Codable { case ask, ringing, answer, ended, arrived, heard }

  /// A call as its devices show it.
  struct Call: Codable, Equatable {
    var room: String
    var caller: String
    var callerName: String
    var callees: [String]
    var hasVideo: Bool
    /// For how long it still rings.
    var milliseconds: Int64
  }

  var ring: Kind
  var from: NodeID
  /// Of the ring.
  var id = ""
  /// Of the callee.
  var identity = ""
  var state: Ring.State?
  var call: Call?
  /// Of a message that is repeated until it is heard.
  var number: UInt64?

  private static let limits = JSONCodec.Limits(depth: 5, size: SignalingLimits.clientMessage, values: 8_192)

  init(_ ring: Kind, from node: NodeID, id: String = "", identity: String = "", state: Ring.State? = nil) {
    (self.ring, from, self.id, self.identity, self.state) = (ring, node, id, identity, state)
  }

  /// - Returns: nil for bytes that are no message about rings.
  init?(_ bytes: [UInt8]) {
    guard let message = try? JSONCodec.decode(RingMessage.self, from: bytes, limits: Self.limits) else { return nil }
    self = message
  }

  var bytes: [UInt8]? { try? JSONCodec.encode(self, limits: Self.limits) }
}

/// Sends a node's messages about rings, some of them until they are heard. Sans-IO.
struct RingRelay {
  private struct Unheard {
    let message: RingMessage
    let node: NodeID
    let began, ends: Tick
    var due: Tick
  }

  /// The pause between two attempts. After `patience` the pause is as long as `patience`.
  private static let pause = Duration.milliseconds(500)
  private static let patience = Duration.seconds(5)
  /// Further messages are sent once.
  private static let unheardLimit = 4_096

  let node: NodeID
  private var unheard: [UInt64: Unheard] = [:]
  private var lastNumber: UInt64 = 0
  private var outgoing: [(channel: LedgerChannel, content: [UInt8])] = []

  init(node: NodeID) { self.node = node }

  /// Messages since the last call, in order.
  mutating func takeOutgoing() -> [(channel: LedgerChannel, content: [UInt8])] {
    defer { outgoing = [] }
    return outgoing
  }

  mutating func send(_ message: RingMessage, to channel: LedgerChannel) {
    if let bytes = message.bytes { outgoing.append((channel, bytes)) }
  }

  /// Repeats the message until the other node has acknowledged it, for 5 s, or until `end` if that is later.
  mutating func sendUntilHeard(_ message: RingMessage, to node: NodeID, while end: Tick? = nil, at now: Tick) {
    lastNumber += 1
    var message = message
    message.number = lastNumber
    if unheard.count < Self.unheardLimit {
      unheard[lastNumber] = Unheard(
        message: message, node: node, began: now, ends: max(now + Self.patience, end ?? now), due: now + Self.pause)
    }
    send(message, to: .node(node))
  }

  /// Acknowledges a message that is repeated.
  mutating func acknowledge(_ message: RingMessage) {
    guard let number = message.number else { return }
    var answer = RingMessage(.heard, from: node)
    answer.number = number
    send(answer, to: .node(message.from))
  }

  mutating func heard(_ message: RingMessage) {
    if let number = message.number, unheard[number]?.node == message.from { unheard[number] = nil }
  }

  var count: Int { unheard.count }

  var deadline: Tick? { unheard.values.reduce(nil) { $0.sooner($1.due) } }

  mutating func handleTimeout(at now: Tick) {
    for (number, entry) in unheard.filter({ $0.value.due <= now }).sorted(by: { $0.key < $1.key }) {
      send(entry.message, to: .node(entry.node))
      let next = now + (now < entry.began + Self.patience ? Self.pause : Self.patience)
      if next < entry.ends { unheard[number]?.due = next } else { unheard[number] = nil }
    }
  }
}
