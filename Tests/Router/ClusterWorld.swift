import KoineBase
import KoineCluster
import KoineLedger
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Routers that are the nodes of a cluster, their ledger and people who send data messages, in virtual time. There is no media.
final class ClusterWorld {
  /// A participant, who follows where it is sent.
  final class Person {
    let name: String
    let room: String
    fileprivate(set) var node: String?
    fileprivate(set) var client = ClientID(0)
    fileprivate(set) var messages: [ServerMessage] = []
    /// Of all messages that it has had, from whichever node.
    fileprivate(set) var heard: [ReceivedMessage] = []
    fileprivate(set) var receipts: [DataReceipt] = []
    fileprivate(set) var joined: [Joined] = []
    fileprivate(set) var moves = 0
    fileprivate(set) var failures: [Failure] = []
    fileprivate var epoch: String?
    fileprivate let description: PeerDescription

    fileprivate init(_ name: String, room: String, _ description: PeerDescription) {
      (self.name, self.room, self.description) = (name, room, description)
    }

    var highest: UInt64 { max(heard.map(\.order).max() ?? 0, receipts.compactMap(\.order).max() ?? 0) }
    var texts: [String] { heard.map { String(decoding: $0.payload, as: UTF8.self) } }
    func order(of id: String) -> UInt64? { receipts.last { $0.id == id }?.order }
  }

  /// A registered device of an identity.
  final class Device {
    let identity: String
    fileprivate let node: String
    fileprivate let client: ClientID
    fileprivate(set) var messages: [ServerMessage] = []

    fileprivate init(_ identity: String, node: String, _ client: ClientID) {
      (self.identity, self.node, self.client) = (identity, node, client)
    }
  }

  final class Node {
    let record: NodeRecord
    let router: Router
    fileprivate var connection: MemoryLedger.Connection?
    fileprivate(set) var events: [ClusterEvent] = []
    fileprivate(set) var isFrozen = false
    fileprivate var held: [LedgerEvent] = []

    fileprivate init(_ record: NodeRecord, _ router: Router) { (self.record, self.router) = (record, router) }
  }

  private(set) var now = Tick(nanoseconds: 1_000_000_000)
  let ledger: MemoryLedger
  private(set) var nodes: [String: Node] = [:]
  private(set) var people: [Person] = []
  private var devices: [ClientID: Device] = [:]
  /// By each connection that they have had; of two that came one after the other, each has its own id.
  private var peopleByClient: [ClientID: Person] = [:]
  private var random: SeededRandom
  private var clients = 0
  private var starts = 0
  private var events: [(Node, LedgerEvent)] = []
  /// Of nodes that start later.
  var change: (inout RouterConfiguration) -> Void = { _ in }

  init(seed: UInt64 = 1, nodes names: String...) throws {
    random = SeededRandom(seed: seed)
    ledger = MemoryLedger(seed: seed, at: now)
    for name in names { try start(name) }
    run(.seconds(2))
  }

  /// Starts a node, which may have been killed.
  func start(_ name: String) throws {
    starts += 1
    var record = NodeRecord(id: try #require(NodeID(name: name, incarnation: "i\(starts)")))
    record.publicAddress = Self.address(of: name)
    var configuration = RouterConfiguration(
      certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)])
    configuration.limits.connectTimeout = .seconds(3600)
    configuration.cluster = ClusterConfiguration(record: record)
    change(&configuration)
    let node = Node(record, Router(configuration: configuration, random: random.fork(), now: now))
    node.connection = ledger.connect(record.id, at: now) { [weak self, weak node] event in
      if let node { self?.events.append((node, event)) }
    }
    nodes[name] = node
  }

  static func address(of node: String) -> String { "ws://\(node):80" }

  // MARK: Trouble

  /// The process ends. Its people lose their connections.
  func kill(_ name: String) {
    guard let node = nodes.removeValue(forKey: name) else { return }
    node.connection?.close(at: now)
    for person in people where person.node == name { person.node = nil }
  }

  func freeze(_ name: String) { nodes[name]?.isFrozen = true }

  func thaw(_ name: String) {
    guard let node = nodes[name] else { return }
    node.isFrozen = false
    events += node.held.map { (node, $0) }
    node.held = []
  }

  /// The person's program gives up its connection: its node does not answer.
  func disconnect(_ person: Person) {
    if let name = person.node { nodes[name]?.router.close(person.client, at: now) }
    person.node = nil
  }

  /// The person's program gives up its connection without a word to its node, which is frozen.
  func forget(_ person: Person) { person.node = nil }

  // MARK: People

  func person(_ name: String, in room: String, at node: String) throws -> Person {
    let peer = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: try Certificate.shared()), random: random.fork(),
      now: now)
    let person = Person(name, room: room, peer.localDescription)
    people.append(person)
    join(person, at: node)
    return person
  }

  /// - Parameters:
  ///   - seen: the highest number that the person says it has seen; nil: the truth.
  ///   - key: with which the person says that it was in the room; nil: its own.
  func join(
    _ person: Person, at name: String, isMoved: Bool = false, unreachable: String? = nil, seen: UInt64? = nil,
    key: String? = nil
  ) {
    guard let node = nodes[name] else { return }
    clients += 1
    (person.node, person.client) = (name, ClientID(clients))
    peopleByClient[person.client] = person
    node.router.open(person.client, resumptionKey: person.name, at: now)
    var join = Join(
      room: person.room, participantID: person.name, name: person.name, description: person.description,
      returningTo: person.epoch, resumptionKey: key ?? person.name)
    (join.seen, join.isMoved) = (seen ?? person.highest, isMoved)
    join.unreachable = unreachable.map(Self.address)
    node.router.handle(.join(join), from: person.client, at: now)
  }

  func admit(_ guest: String, by person: Person) {
    person.node.flatMap { nodes[$0] }?.router.handle(
      .answerKnock(participant: guest, admitted: true), from: person.client, at: now)
  }

  func send(_ text: String, from person: Person, lifetime: Duration? = .seconds(600)) {
    guard let node = person.node.flatMap({ nodes[$0] }) else { return }
    let message = DataMessage(topic: "chat", payload: Array(text.utf8), lifetime: lifetime)
    node.router.handle(.data(SendData(message, id: text)), from: person.client, at: now)
  }

  /// Sends a service an order. The order's id is its topic.
  func order(_ topic: String, _ text: String, to service: String, from person: Person) {
    guard let node = person.node.flatMap({ nodes[$0] }) else { return }
    let message = DataMessage(topic: topic, payload: Array(text.utf8), to: [service])
    node.router.handle(.data(SendData(message, id: topic)), from: person.client, at: now)
  }

  // MARK: Devices

  func device(_ identity: String, at node: String) -> Device {
    clients += 1
    let device = Device(identity, node: node, ClientID(clients))
    devices[device.client] = device
    nodes[node]?.router.open(device.client, at: now)
    send(.register(Register(identity: identity)), from: device)
    return device
  }

  func close(_ device: Device) { nodes[device.node]?.router.close(device.client, at: now) }

  func ring(_ id: String, to identities: [String], from device: Device, isRepeated: Bool = false) {
    send(.ring(RingRequest(id: id, room: "tea", to: identities, isRepeated: isRepeated)), from: device)
  }

  func cancel(_ id: String, from device: Device) { send(.cancelRing(id: id), from: device) }
  func answer(_ id: String, _ state: Ring.State, from device: Device) { send(.answerRing(id: id, state), from: device) }

  private func send(_ message: ClientMessage, from device: Device) {
    nodes[device.node]?.router.handle(message, from: device.client, at: now)
  }

  // MARK: Time

  func run(_ time: Duration) {
    let end = now + time
    while true {
      drain()
      var next = ledger.deadline
      for node in nodes.values where !node.isFrozen { next = next.sooner(node.router.deadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      ledger.advance(to: now)
      for node in living where !node.isFrozen {
        node.router.handleTimeout(at: now)
        let law = DeadlineLaw.check(
          "Router", deadline: node.router.deadline, at: now, because: node.router.deadlineReason)
        if let law {
          Issue.record("\(law)")
          return
        }
      }
    }
    now = end
    ledger.advance(to: now)
    drain()
  }

  private var living: [Node] { nodes.values.sorted { $0.record.id < $1.record.id } }

  private func drain() {
    var isMoving = true
    while isMoving {
      isMoving = false
      for (node, event) in events.drained() {
        isMoving = true
        if node.isFrozen { node.held.append(event) } else { node.router.handle(event, at: now) }
      }
      for node in living where !node.isFrozen {
        for (number, request) in node.router.takeLedgerRequests() {
          node.connection?.send(request, number: number, at: now)
        }
        node.events += node.router.takeClusterEvents()
        while let message = node.router.pollMessage() {
          isMoving = true
          deliver(message.message, to: message.client, from: node)
        }
      }
    }
  }

  private func deliver(_ message: ServerMessage, to client: ClientID, from node: Node) {
    if let device = devices[client], device.node == node.record.id.name { device.messages.append(message) }
    guard let person = peopleByClient[client], person.client == client, person.node == node.record.id.name
    else { return }
    person.messages.append(message)
    switch message {
    case .joined(let joined):
      person.joined.append(joined)
      person.epoch = joined.epoch
      hear(joined.history, person)
    case .history(let page): hear(page.messages, person)
    case .data(let data): hear([data], person)
    case .dataReceipt(let receipt): person.receipts.append(receipt)
    case .moved(let places): follow(places, person)
    case .refused(let failure, let places):
      if failure.code == .moved { follow(places, person) } else { person.failures.append(failure) }
    default: break
    }
  }

  private func follow(_ places: [String], _ person: Person) {
    person.moves += 1
    disconnect(person)
    let names = nodes.keys.sorted()
    let place = places.lazy.compactMap { place in names.first { Self.address(of: $0) == place } }.first
    if let place { join(person, at: place, isMoved: true) }
  }

  /// As clients do: what a message's sender and id say is not shown twice.
  private func hear(_ messages: [ReceivedMessage], _ person: Person) {
    for message in messages
    where !person.heard.contains(where: { $0.sender == message.sender && $0.id == message.id }) {
      person.heard.append(message)
    }
  }
}

extension Array {
  fileprivate mutating func drained() -> [Element] {
    defer { self = [] }
    return self
  }
}
