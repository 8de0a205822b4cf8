import KoineBase
import KoineCluster
import KoineLedger

/// Nodes, their ledger and participants in virtual time, with faults that a seed chooses. All of it repeats from the seed.
///
/// The nodes are those of `Cluster`; their rooms are a small model of the router's (`SimulatedRoom`), and the participants one of
/// the clients (`SimulatedPerson`). Each node has a clock of its own, hours away from the others.
final class Simulation {
  /// Rules that are taken out, one at a time, to see that the checks find what follows.
  struct Rules {
    var ledger = LedgerState.Rules()
    var cluster = ClusterRules()
    /// A new home knows the ids of the messages in the log.
    var checksDuplicates = true
    /// A home that a participant has outrun opens the room again.
    var reopens = true
  }

  struct Options {
    var nodes = 3
    var rooms = 2
    /// In each room.
    var people = 4
    /// While faults happen.
    var duration = Duration.seconds(40)
    var rules = Rules()
  }

  let seed: UInt64
  let options: Options
  let ledger: MemoryLedger
  private(set) var now = Tick.zero
  var random: SeededRandom
  private(set) var nodes: [SimulatedNode] = []
  private(set) var people: [SimulatedPerson] = []
  private var heap = TimerHeap()
  private var events: [Int: () -> Void] = [:]
  private var eventCount = 0
  private(set) var steps = 0
  private(set) var violations: [String] = []
  /// Of all that happened: equal runs have equal hashes.
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  var isFaulty = true
  private(set) var failovers = 0
  private(set) var faults = 0
  /// For a closer look at a seed.
  var trace: ((String) -> Void)?

  /// Messages with a receipt that are kept, by room.
  private(set) var acknowledged: [String: Set<MessageID>] = [:]
  private var receipts: [String: [UInt64: MessageID]] = [:]
  private(set) var figures = Figures()

  struct Figures {
    var acknowledged = 0, repeatedReceipts = 0, opened = 0, deposed = 0, late = 0, moved = 0, evicted = 0, messages = 0
    var isolation = Duration.zero
  }

  init(seed: UInt64, options: Options = Options()) {
    (self.seed, self.options) = (seed, options)
    random = SeededRandom(seed: seed)
    ledger = MemoryLedger(seed: seed &* 31, rules: options.rules.ledger, at: .zero)
    for index in 0..<options.nodes { nodes.append(SimulatedNode("n\(index + 1)", in: self)) }
    for room in 0..<options.rooms {
      for index in 0..<options.people { _ = addPerson("p\(room)\(index)", room: "room\(room)") }
    }
  }

  func addPerson(_ name: String, room: String) -> SimulatedPerson {
    let person = SimulatedPerson(name, room: room, in: self)
    people.append(person)
    person.start(after: random.duration(in: .milliseconds(1) ... .seconds(2)))
    return person
  }

  // MARK: Events

  func schedule(after delay: Duration, _ event: @escaping () -> Void) { schedule(at: now + delay, event) }

  func schedule(at time: Tick, _ event: @escaping () -> Void) {
    eventCount += 1
    events[eventCount] = event
    heap.push(eventCount, at: max(time, now))
  }

  func note(_ text: @autoclosure () -> String) {
    let line = text()
    for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    hash = (hash ^ UInt64(bitPattern: now.nanoseconds)) &* 0x0000_0100_0000_01B3
    trace?("\(now) \(line)")
  }

  func fail(_ text: String) {
    note("VIOLATION " + text)
    if violations.count < 5 { violations.append("\(now): \(text)") }
  }

  func run(for duration: Duration) {
    let end = now + duration
    while violations.count < 5 {
      guard let next = heap.soonest.sooner(ledger.deadline), next <= end else { break }
      now = max(now, next)
      steps += 1
      guard steps < 200_000 else { return fail("nothing comes to rest") }
      ledger.advance(to: now)
      while let entry = heap.popDue(at: now) { events.removeValue(forKey: entry.owner)?() }
    }
    now = max(now, end)
  }

  // MARK: The run

  /// Faults, then none, and then all must be well.
  func run() {
    run(for: .seconds(5))
    scheduleFault()
    run(for: options.duration)
    isFaulty = false
    note("healing")
    heal()
    run(for: .seconds(20))
    for person in people where person.isAlive { person.checkIsAtHome() }
    for person in people where person.isAlive { person.send(isKept: true) }
    let guests = (0..<options.rooms).map { addPerson("guest\($0)", room: "room\($0)") }
    run(for: .seconds(6))
    for person in people where person.isAlive { person.checkHasAll(isGuest: guests.contains { $0 === person }) }
    for room in 0..<options.rooms { checkLog(of: "room\(room)") }
  }

  private func heal() {
    ledger.start()
    ledger.isRefusing = false
    ledger.delays = .microseconds(100) ... .milliseconds(2)
    for node in nodes { node.heal() }
    for person in people { person.cutFrom = [] }
  }

  private func checkLog(of room: String) {
    let ids = ledger.state.log(of: room).compactMap { MessageID($0.content) }
    if ids.count != Set(ids).count { fail("doubled in the log of \(room)") }
    for id in acknowledged[room, default: []].sorted() where !ids.contains(id) {
      let isSenderAlive = people.first { $0.name == id.sender }?.isAlive ?? false
      if isSenderAlive || failovers == 0 { fail("lost: \(id) of \(room) is not in the log") }
    }
  }

  func record(receipt id: MessageID, _ order: UInt64, isKept: Bool, room: String) {
    if let other = receipts[room]?[order], other != id { fail("\(room) #\(order): receipts of \(other) and \(id)") }
    receipts[room, default: [:]][order] = id
    guard isKept else { return }
    if acknowledged[room, default: []].insert(id).inserted {
      figures.acknowledged += 1
    } else {
      figures.repeatedReceipts += 1
    }
  }

  func count(_ path: WritableKeyPath<Figures, Int>) { figures[keyPath: path] += 1 }

  /// A message with a receipt can be lost only if the ledger has failed over and its sender is dead.
  func mayBeLost(_ id: MessageID) -> Bool {
    failovers > 0 && !(people.first { $0.name == id.sender }?.isAlive ?? false)
  }

  // MARK: Faults

  private func scheduleFault() {
    schedule(after: random.duration(in: .milliseconds(300) ... .milliseconds(3500))) { [unowned self] in
      guard isFaulty else { return }
      inject()
      scheduleFault()
    }
  }

  private func inject() {
    faults += 1
    let node = nodes[Int.random(in: nodes.indices, using: &random)]
    let short = random.duration(in: .milliseconds(200) ... .milliseconds(2500))
    let long = random.duration(in: .milliseconds(500) ... .seconds(12))
    let kind = Int.random(in: 0..<13, using: &random)
    switch kind {
    case 0, 1:
      node.kill()
      // At once, by a supervisor, or later.
      schedule(after: kind == 0 ? short : long) { [unowned self] in if isFaulty { node.start() } }
    case 2, 3: node.freeze(for: kind == 2 ? short : long)
    case 4: cutLedger(from: node, for: long)
    case 5: ledger.breakConnection(of: node.id, at: now)
    case 6:
      note("ledger stops")
      ledger.stop(at: now)
      schedule(after: kind % 2 == 0 ? long : short) { [unowned self] in ledger.start() }
    case 7: failOver()
    case 8:
      note("ledger refuses")
      ledger.isRefusing = true
      schedule(after: short) { [unowned self] in ledger.isRefusing = false }
    case 9:
      note("ledger is slow")
      ledger.delays = .milliseconds(100) ... .milliseconds(900)
      schedule(after: long) { [unowned self] in ledger.delays = .microseconds(100) ... .milliseconds(2) }
    case 10:
      node.drain()
      schedule(after: long) { [unowned self] in if isFaulty { node.stopDraining() } }
    case 11:
      let person = people[Int.random(in: people.indices, using: &random)]
      note("\(person.name) is cut from \(node.name)")
      person.cutFrom.insert(node.name)
      schedule(after: long) { person.cutFrom.remove(node.name) }
    default:
      let person = people[Int.random(in: people.indices, using: &random)]
      // One of a room stays.
      guard person.isAlive, people.count(where: { $0.isAlive && $0.room == person.room }) > 2 else { return }
      person.die()
      if Bool.random(using: &random) { _ = addPerson("new\(faults)", room: person.room) }
    }
  }

  private func cutLedger(from node: SimulatedNode, for duration: Duration) {
    note("\(node.name) is cut from the ledger")
    let id = node.id
    ledger.cut(id, true, at: now)
    schedule(after: duration) { [unowned self] in ledger.cut(id, false, at: now) }
  }

  /// A home has opened a room: now and then, the copy does not know it yet when it becomes the ledger.
  func opened() {
    count(\.opened)
    guard isFaulty, Int.random(in: 0..<8, using: &random) == 0 else { return }
    schedule(after: random.duration(in: .milliseconds(50) ... .milliseconds(600))) { [unowned self] in
      if isFaulty { failOver() }
    }
  }

  private func failOver() {
    // The next one: what it loses must be within the 10 s for which senders repeat.
    ledger.failOver(skew: random.duration(in: .milliseconds(-300) ... .milliseconds(300)), at: now)
    ledger.replicationDelay = random.duration(in: .milliseconds(1) ... .milliseconds(800))
    failovers += 1
    note("failover")
  }
}

/// A message by its sender and the sender's number of it.
struct MessageID: Hashable, Comparable, CustomStringConvertible {
  let sender: String
  let number: Int

  init(sender: String, number: Int) { (self.sender, self.number) = (sender, number) }

  /// As in a log entry.
  init?(_ content: [UInt8]) {
    let halves = String(decoding: content, as: UTF8.self).split(separator: "/")
    guard halves.count == 2, let number = Int(halves[1]) else { return nil }
    self.init(sender: String(halves[0]), number: number)
  }

  var description: String { "\(sender)/\(number)" }
  var content: [UInt8] { Array(description.utf8) }

  static func < (a: MessageID, b: MessageID) -> Bool { (a.sender, a.number) < (b.sender, b.number) }
}
