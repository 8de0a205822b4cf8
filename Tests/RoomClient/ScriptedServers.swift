import Koine
import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRoomClient

/// Servers at addresses, as a test writes them, and one client that connects to them, in virtual time. Checks the deadline law after
/// each timeout.
final class ScriptedServers {
  enum Behaviour {
    case opens
    /// TCP answers with a reset.
    case refuses
    /// Nothing answers.
    case hangs
  }

  struct Attempt: Equatable {
    let place: String?
    /// Since the test's start, in milliseconds.
    let at: Int
  }

  struct Received {
    let place: String?
    let message: ClientMessage
  }

  static let start = Tick(nanoseconds: 1_000_000_000)

  private(set) var now = ScriptedServers.start
  let client: any RoomClient
  var behaviours: [String: Behaviour] = [:]
  /// Answers a message that has come to a server.
  var answer: (_ place: String?, ClientMessage) -> [ServerMessage] = { _, _ in [] }
  private(set) var attempts: [Attempt] = []
  private(set) var received: [Received] = []
  private(set) var isOpen = false
  private let scratch = Bytes(capacity: 2_048)

  init(_ client: any RoomClient) { self.client = client }

  var milliseconds: Int { Int((now - Self.start).inMilliseconds) }
  /// The servers to which the client has tried to connect, in order.
  var places: [String] { attempts.map { $0.place ?? "-" } }
  func messages(at place: String) -> [ClientMessage] { received.filter { $0.place == place }.map(\.message) }
  func joins(at place: String) -> [Join] {
    messages(at: place).compactMap { if case .join(let join) = $0 { join } else { nil } }
  }

  func forget() { (attempts, received) = ([], []) }

  func connect(to places: [String]) {
    client.signaling.firstConnectionBegun(to: places, at: now)
    attempt()
    settle()
  }

  private func attempt() {
    let place = client.signaling.place
    attempts.append(Attempt(place: place, at: milliseconds))
    isOpen = false
    switch place.map({ behaviours[$0] ?? .opens }) ?? .opens {
    case .opens:
      isOpen = true
      client.connectionMade(at: now)
    case .refuses: client.connectionLost(at: now, because: .notMade("connection refused"))
    case .hangs: break
    }
  }

  func lose(_ loss: SignalingClient.Loss = .broken) {
    isOpen = false
    client.connectionLost(at: now, because: loss)
    settle()
  }

  func say(_ messages: ServerMessage...) { say(messages) }

  private func say(_ messages: [ServerMessage]) {
    let connection = attempts.count
    for message in messages where isOpen && attempts.count == connection {
      guard let json = try? message.json() else { Issue.record("cannot be written"); continue }
      client.handleMessage(json, at: now)
      settle()
    }
  }

  func perform(_ work: (any RoomClient) -> Void) {
    work(client)
    client.executeCommands(at: now)
    settle()
  }

  /// As the loop does at the end of each turn.
  func settle() {
    if isOpen, !client.signaling.hasConnection || client.isOver { isOpen = false }
    while client.signaling.takeConnectionRequest(at: now) { attempt() }
    while isOpen, let json = client.signaling.pollMessage() {
      guard let message = json.withUnsafeBytes({ try? ClientMessage(json: $0) }) else {
        Issue.record("unreadable")
        continue
      }
      received.append(Received(place: client.signaling.place, message: message))
      say(answer(client.signaling.place, message))
    }
    while client.poll(into: scratch.writable, at: now) != nil {}
  }

  func run(for time: Duration) {
    let end = now + time
    while let due = client.deadline, due <= end {
      now = max(now, due)
      client.handleTimeout(at: now)
      settle()
      let violation = DeadlineLaw.check(
        "RoomClient", deadline: client.deadline, at: now, because: client.deadlineReason)
      if let violation {
        Issue.record("\(violation)")
        return
      }
    }
    now = end
  }
}

/// What an app would see.
final class EventRecorder: LinkReceiver, EndpointReceiver, Sendable {
  private let log = Lock<[String]>([])
  private let numbers = Lock<[UInt64]>([])

  var events: [String] { log.withLock { $0 } }
  /// The numbers of the messages, in the order of their arrival.
  var orders: [UInt64] { numbers.withLock { $0 } }
  func forget() {
    log.withLock { $0 = [] }
    numbers.withLock { $0 = [] }
  }

  func linkDidChange(_ event: LinkEvent) {
    let text: String? =
      switch event {
      case .joined: "joined"
      case .rejoined: "rejoined"
      case .reconnecting: "reconnecting"
      case .reconnected: "reconnected"
      case .waiting: "waiting"
      case .failed(let failure): "failed \(failure.code.rawValue)"
      case .ended(let reason): "ended \(reason)"
      case .message(let message): "message \(message.id) \(String(decoding: message.payload, as: UTF8.self))"
      default: nil
      }
    if case .message(let message) = event { numbers.withLock { $0.append(message.order) } }
    if let text { log.withLock { $0.append(text) } }
  }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}

  func endpointDidChange(_ event: EndpointLinkEvent) {
    let text: String? =
      switch event {
      case .registered: "registered"
      case .ended(let reason): "ended \(reason)"
      case .failed(let failure): "failed \(failure.code.rawValue)"
      case .invited(let ring): "invited \(ring.id)"
      case .answered: nil
      }
    if let text { log.withLock { $0.append(text) } }
  }
}

/// Ana, whose client a test connects to scripted servers.
struct Ana {
  let servers: ScriptedServers
  let link: RoomLink
  let recorder = EventRecorder()

  init(patience: Duration = .seconds(60)) throws {
    link = RoomLink(number: 1) {}
    var request = JoinRequest(room: "tea", participantID: "ana", name: "Ana")
    request.reconnectTimeout = patience
    servers = ScriptedServers(
      try ParticipantClient(
        link: link, request: request, receiver: recorder, addresses: [], random: SeededRandom(seed: 1),
        now: ScriptedServers.start))
  }

  /// She is in the room at the first of these places; the servers have named all of them.
  static func joined(_ places: [String], patience: Duration = .seconds(60)) throws -> Ana {
    let ana = try Ana(patience: patience)
    ana.servers.connect(to: [places[0]])
    ana.servers.say(.resumable(key: "k1", graceSeconds: 30), .joined(welcome("e1", places)))
    ana.recorder.forget()
    ana.servers.forget()
    return ana
  }

  static func welcome(
    _ epoch: String, _ places: [String] = [], history: [ReceivedMessage] = [], continues: Bool = false
  ) -> Joined {
    var joined = Joined(
      local: Participant(id: "ana", name: "Ana"),
      description: PeerDescription(
        ice: ICECredentials(ufrag: "abcd", password: "0123456789012345678901"), candidates: [],
        fingerprint: Fingerprint(value: "AA:BB"), isLite: true, setup: .passive),
      history: history, epoch: epoch)
    (joined.places, joined.continues) = (places, continues)
    return joined
  }

  /// Servers that admit her: to a new conversation each time, and to no former one.
  func admit(
    places: [String] = ["ws://n1", "ws://n2", "ws://n3"], as epoch: @escaping (String) -> String,
    continues: Bool = true, history: [ReceivedMessage] = []
  ) {
    servers.answer = { place, message in
      switch message {
      case .resumeConversation: [.refused(Failure(.unknownConversation, ""))]
      case .join:
        [
          .resumable(key: "k of \(place ?? "")", graceSeconds: 30),
          .joined(Self.welcome(epoch(place ?? ""), places, history: history, continues: continues)),
        ]
      default: []
      }
    }
  }

  func send(_ text: String, isKept: Bool = true) {
    link.send(DataMessage(topic: "chat", payload: Array(text.utf8), lifetime: isKept ? .seconds(60) : nil))
    servers.perform { _ in }
  }

  /// The texts of her messages that a server has received.
  func sent(to place: String) -> [String] {
    servers.messages(at: place).compactMap {
      if case .data(let data) = $0 { String(decoding: data.message.payload, as: UTF8.self) } else { nil }
    }
  }

  /// The ids of her messages, in the order in which they were sent first.
  var ids: [String] {
    var ids: [String] = []
    for case .data(let data) in servers.received.map(\.message) where !ids.contains(data.id) { ids.append(data.id) }
    return ids
  }
}

func message(_ id: String, _ order: UInt64, from sender: String = "ben", _ text: String = "") -> ReceivedMessage {
  ReceivedMessage(sender: sender, topic: "chat", payload: Array(text.utf8), id: id, order: order)
}
