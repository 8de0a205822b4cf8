import KoineBase
import KoineCluster
import KoineLedger

/// A participant's program: joins, tries one node after the other, sends, repeats what has no receipt, and checks what it receives.
final class SimulatedPerson {
  enum Message {
    case joined(NodeID, RoomTerm, [(order: UInt64, id: MessageID)])
    case message(UInt64, MessageID)
    case receipt(MessageID, UInt64, isKept: Bool)
    case moved(NodeID?)
    case refused
  }

  private struct Sent {
    let id: MessageID
    let isKept: Bool
    var acknowledged: Tick?
  }

  let name: String
  let room: String
  private unowned let world: Simulation
  private(set) var isAlive = true
  /// Nodes that it does not reach. What is on its way waits, as in TCP.
  var cutFrom: Set<String> = [] { didSet { pass() } }
  /// What arrived during a cut, in both directions.
  private var held: [() -> Void] = []
  /// The node that it is connected to, and the connection's number.
  private var node: SimulatedNode?
  private var generation = 0
  private var term: RoomTerm?
  /// The home that it lost.
  private var formerHome: NodeID?
  private var nextNode: Int
  private var sent: [Sent] = []
  private var sentCount = 0
  /// When it was last at a home.
  private var left = Tick.zero
  private var received: [MessageID: UInt64] = [:]
  private var numbers: [UInt64: MessageID] = [:]
  private var seen: UInt64 = 0
  /// When the last message arrives that is on its way, in each direction: none overtakes another.
  private var lastUp = Tick.zero
  private var lastDown = Tick.zero

  init(_ name: String, room: String, in world: Simulation) {
    (self.name, self.room, self.world) = (name, room, world)
    nextNode = Int.random(in: world.nodes.indices, using: &world.random)
  }

  func start(after delay: Duration) {
    world.schedule(after: delay) { [unowned self] in
      connect(to: nil)
      keepSending()
    }
  }

  func die() {
    world.note("\(name) dies")
    isAlive = false
    disconnect()
  }

  private var delay: Duration { world.random.duration(in: .milliseconds(1) ... .milliseconds(30)) }

  // MARK: Connections

  private func disconnect() {
    node?.left(self)
    if term != nil { left = world.now }
    (node, term, held) = (nil, nil, [])
    generation += 1
  }

  private func pass() {
    guard let node, !cutFrom.contains(node.name) else { return }
    let waiting = held
    held = []
    for event in waiting { event() }
  }

  /// Something has arrived on a connection.
  private func arrive(_ generation: Int, _ event: @escaping () -> Void) {
    guard generation == self.generation, isAlive, let node else { return }
    guard !cutFrom.contains(node.name) else { return held.append { [unowned self] in arrive(generation, event) } }
    event()
  }

  /// - Parameter wanted: where the room is said to be; nil: the next of all nodes.
  private func connect(to wanted: NodeID?) {
    guard isAlive, node == nil else { return }
    let target: SimulatedNode
    if let wanted, let its = world.nodes.first(where: { $0.id == wanted }) {
      target = its
    } else {
      // After silence another place comes first.
      if world.nodes[nextNode % world.nodes.count].id == formerHome { nextNode += 1 }
      target = world.nodes[nextNode % world.nodes.count]
      nextNode += 1
    }
    generation += 1
    let generation = generation
    if !target.isAlive {
      if wanted != nil { formerHome = wanted }
      return world.schedule(after: delay + .milliseconds(50)) { [unowned self] in retry(generation) }
    }
    guard !cutFrom.contains(target.name) else {
      return world.schedule(after: .seconds(2)) { [unowned self] in retry(generation) }
    }
    node = target
    watch(generation)
    world.schedule(after: delay) { [unowned self] in
      arrive(generation) { [unowned self] in
        guard let node else { return }
        node.join(
          self, generation: generation, suspect: formerHome == node.id ? nil : formerHome, seen: seen,
          isMoved: wanted != nil)
      }
    }
  }

  private func retry(_ generation: Int) {
    guard generation == self.generation else { return }
    disconnect()
    connect(to: nil)
  }

  /// Silence of 6 s ends a connection, and so does the wait for an answer to `join`.
  private func watch(_ generation: Int) {
    world.schedule(after: .seconds(2)) { [unowned self] in
      guard generation == self.generation, let node else { return }
      if cutFrom.contains(node.name) || node.isFrozen { return silent(generation) }
      watch(generation)
    }
  }

  private func silent(_ generation: Int) {
    world.schedule(after: .seconds(4)) { [unowned self] in
      guard generation == self.generation, let node else { return }
      guard cutFrom.contains(node.name) || node.isFrozen else { return watch(generation) }
      world.note("\(name) loses \(node.name)")
      formerHome = node.id
      disconnect()
      connect(to: nil)
    }
  }

  /// The process of the node has ended (`isKnown`: a reset comes at once), or is frozen.
  func lost(_ lost: SimulatedNode, isKnown: Bool) {
    guard node === lost, isKnown else { return }
    let generation = generation
    world.schedule(after: delay) { [unowned self] in
      guard generation == self.generation, let node else { return }
      formerHome = term == nil ? formerHome : node.id
      if term != nil, let id = lastHome { formerHome = id }
      disconnect()
      connect(to: nil)
    }
  }

  private var lastHome: NodeID?

  // MARK: Messages out

  private func keepSending() {
    world.schedule(after: world.random.duration(in: .milliseconds(150) ... .milliseconds(1200))) { [unowned self] in
      guard isAlive, world.isFaulty else { return }
      send(isKept: Int.random(in: 0..<10, using: &world.random) < 7)
      keepSending()
    }
  }

  func send(isKept: Bool) {
    sentCount += 1
    sent.append(Sent(id: MessageID(sender: name, number: sentCount), isKept: isKept))
    world.count(\.messages)
    transmit(sent[sent.count - 1])
  }

  private func transmit(_ message: Sent) {
    guard term != nil, let node else { return }
    let generation = generation
    lastUp = max(lastUp, world.now + delay)
    world.schedule(at: lastUp) { [unowned self] in
      arrive(generation) { [unowned self] in
        node.receive(message.id, isKept: message.isKept, room: room, from: self, generation: generation)
      }
    }
  }

  // MARK: Messages in

  func deliver(_ message: Message, generation: Int, from node: SimulatedNode) {
    lastDown = max(lastDown, world.now + delay)
    world.schedule(at: lastDown) { [unowned self] in
      arrive(generation) { [unowned self] in receive(message) }
    }
  }

  private func receive(_ message: Message) {
    switch message {
    case .joined(let home, let term, let history):
      world.note("\(name) joins \(home) under \(term)")
      (self.term, lastHome, formerHome) = (term, home, nil)
      (joined, joins) = (world.now, joins + 1)
      for entry in history { note(entry.order, entry.id, isLive: false) }
      // Messages without a receipt, and those whose receipt came in the last 10 s at the former home. They wait for a
      // receipt again: the ledger may lose them once more.
      for index in sent.indices where sent[index].acknowledged.map({ left - $0 < .seconds(10) }) ?? true {
        sent[index].acknowledged = nil
        transmit(sent[index])
      }
    case .message(let order, let id): note(order, id, isLive: true)
    case .receipt(let id, let order, let isKept):
      seen = max(seen, order)
      check(order, id)
      world.record(receipt: id, order, isKept: isKept, room: room)
      if let index = sent.firstIndex(where: { $0.id == id }), sent[index].acknowledged == nil {
        sent[index].acknowledged = world.now
        world.note("\(id) is #\(order)")
      }
    case .moved(let home):
      disconnect()
      connect(to: home)
    case .refused:
      refusals += 1
      disconnect()
      world.schedule(after: .milliseconds(200)) { [unowned self] in if node == nil { connect(to: nil) } }
    }
  }

  private func note(_ order: UInt64, _ id: MessageID, isLive: Bool) {
    guard id.sender != name else { return }
    check(order, id)
    defer { seen = max(seen, order) }
    guard received[id] == nil else { return }  // a repetition is dropped
    if isLive, order <= seen { world.fail("\(name): #\(order) of \(id) comes after #\(seen)") }
    received[id] = order
    world.note("\(name) has \(id)")
  }

  private func check(_ order: UInt64, _ id: MessageID) {
    if let other = numbers[order], other != id { world.fail("\(name): #\(order) is \(other) and \(id)") }
    numbers[order] = id
  }

  // MARK: For checks

  var isJoined: Bool { term != nil }
  /// The name of the node at which it is.
  var place: String? { term == nil ? nil : node?.name }
  /// When it last joined a room.
  private(set) var joined = Tick.zero
  /// How often it has joined.
  private(set) var joins = 0
  private(set) var refusals = 0
  var unacknowledged: Int { sent.count { $0.isKept && $0.acknowledged == nil } }

  func checkIsAtHome() {
    guard term != nil, let node else { return world.fail("\(name) has not come back to \(room)") }
    let place = world.ledger.state.place(of: room)
    if place?.home != node.id {
      world.fail("\(name) is at \(node.id), and \(room) at \(place?.home.description ?? "-")")
    }
    if place?.term != term { world.fail("\(name) has joined \(room) under a former term") }
  }

  func checkHasAll(isGuest: Bool) {
    for id in world.acknowledged[room, default: []].sorted() where id.sender != name && received[id] == nil {
      if !world.mayBeLost(id) { world.fail("lost: \(name) has no \(id) of \(room)") }
    }
    guard !isGuest else { return }
    for message in sent where message.isKept && message.acknowledged == nil {
      world.fail("\(name) has no receipt of \(message.id)")
    }
  }
}
