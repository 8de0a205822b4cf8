import KoineBase
import KoineJSONCodec
import KoineLedger
import KoineRouter
import KoineVendorAPIs

/// Commands of `RoomControl`, and requests to the vendors' HTTP APIs, for rooms that may be at other nodes of the cluster.
///
///     command ─→ is the room here? ─ no ─→ `find` ─→ its home, over the home's channel ─→ answer, over this node's channel
///
/// A command has an id. It is sent again until it is answered, also to another home if the room has one by then, and each home executes
/// it once. A home that does not answer is suspected as by its participants (`LedgerRequest.evict`). After `patience` the command fails
/// with `unavailable`.
final class NodeCommands: Sendable {
  private let patience: Duration
  /// Until the command is sent again.
  private static let repetition = Duration.milliseconds(250)
  /// Until it is asked again where the room is.
  private static let pause = Duration.milliseconds(100)
  /// How long a home may be silent before it is suspected.
  private static let suspicion = Duration.seconds(1)
  /// After which the time of an earlier command counts no longer: the home may have been alive since, and have died again.
  private static let absenceMemory = Duration.seconds(600)
  /// Answers that are kept for repeated commands, and their bytes.
  private static let memory = 1_000
  private static let memoryBytes = 4 << 20

  /// A message between two nodes.
  struct Message: Codable, Sendable {
    /// Asks the room's home.
    struct Command: Codable, Sendable {
      var id: String
      var from: NodeID
      /// The home must know the registry up to this version before it executes the command.
      var version: UInt64
      var room: String
      /// One of these.
      var order: Order?
      var request: CarriedRequest?
    }

    /// A command of `RoomControl`.
    struct Order: Codable, Sendable {
      /// Of `CommandOrigin`.
      var kind: String
      var subject: String
      var control: ControlRequest
    }

    /// With the same member as its command, or with none: the room is not here.
    struct Answer: Codable, Sendable {
      var id: String
      var order: RoomReply?
      var request: CarriedResponse?

      var isExecuted: Bool { order != nil || request != nil }
    }

    var command: Command?
    var answer: Answer?

    /// nil: another message.
    init?(_ bytes: [UInt8]) {
      guard let message = try? JSONCodec.decode(Self.self, from: bytes, limits: ControlRequest.replyLimits),
        message.command != nil || message.answer != nil
      else { return nil }
      self = message
    }

    init(_ command: Command) { self.command = command }
    init(_ answer: Answer) { self.answer = answer }
  }

  /// The node of the commands.
  struct Node: Sendable {
    var id: NodeID
    var ask: @Sendable (LedgerRequest) async -> LedgerAnswer
    /// The newest version of the registry that the node has written.
    var version: @Sendable () -> UInt64
    /// Waits until the node knows the registry up to a version.
    /// - Returns: whether it does.
    var refresh: @Sendable (UInt64) async -> Bool
    /// The name of a room behind links, and whether the room is here.
    var locate: @Sendable (String) async -> (name: String, isHere: Bool)
    var execute: @Sendable (RoomRequest) async -> Result<RoomAnswer, RoomControlError>
    /// Answers a request to the vendors' HTTP APIs; nil: they are not served.
    var answer: @Sendable (APIRequest) async -> APIResponse?
  }

  private enum Execution {
    case underWay
    case done([UInt8])
  }

  /// A command of this node. Its answer may come between two of its sendings.
  private struct Own {
    var answer: Message.Answer?
    var waiting: CheckedContinuation<Message.Answer?, Never>?
    var sendings = 0
  }

  private struct State {
    var own: [String: Own] = [:]
    var executions: [String: Execution] = [:]
    var order: [String] = []
    var bytes = 0
    /// Rooms without a living home, and since when that is known.
    var absences: [String: (home: NodeID, since: ContinuousClock.Instant)] = [:]

    mutating func forget(_ id: String) {
      if case .done(let answer) = executions.removeValue(forKey: id) { bytes -= answer.count }
    }

    /// Commands that are under way stay: their repetitions must not be executed.
    mutating func forgetOldest() {
      while order.count > NodeCommands.memory || bytes > NodeCommands.memoryBytes {
        let oldest = order.firstIndex { if case .done = executions[$0] { true } else { false } }
        guard let oldest else { return }
        forget(order.remove(at: oldest))
      }
    }
  }

  private let state = Lock(State())
  private let node: Node
  private let succession: Duration

  /// - Parameter succession: how long a room without a living home is waited for, over several commands. Its participants notice the
  ///   silence of a home that hangs after 6 s, and then bring the room to another node.
  init(_ node: Node, patience: Duration = .seconds(5), succession: Duration = .milliseconds(8_500)) {
    (self.node, self.patience, self.succession) = (node, patience, succession)
  }

  // MARK: At the node that has the command

  /// Carries out a command where its room is.
  func execute(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    switch request.command {
    case .listRooms, .closeAllRooms: return await node.execute(request)
    // Names mean the same at all nodes, which follow the registry.
    case .link: return await node.execute(request)
    case .unlink(let names):
      // Only a room's home knows by which names its participants have come.
      var rooms: [String: [String]] = [:]
      for name in names { rooms[await node.locate(name).name, default: []].append(name) }
      for (_, names) in rooms.sorted(by: { $0.key < $1.key }) {
        let result = await executeAtHome(RoomRequest(.unlink(names), by: request.origin, reason: request.reason))
        if case .failure = result { return result }
      }
      return await node.execute(request)
    case .describe, .remove, .close, .grant, .mute, .startRecording, .stopRecording:
      return await executeAtHome(request)
    }
  }

  private func executeAtHome(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    guard let room = request.command.room else { return await node.execute(request) }
    let order = Message.Order(
      kind: request.origin.kind.rawValue, subject: request.origin.subject,
      control: ControlRequest(request.command, reason: request.reason))
    switch await reach(room, order: order) {
    case .here: return await node.execute(request)
    case .answered(let answer):
      return answer.order?.result ?? .failure(RoomControlError(.unavailable, "the room's node does not serve that"))
    case .unreachable(let obstacle):
      return .failure(RoomControlError(.unavailable, "\(obstacle.rawValue): “\(room)”"))
    }
  }

  /// Has the room's home answer a request.
  /// - Returns: nil if it is answered here.
  func answer(_ request: APIRequest, room: String) async -> APIResponse? {
    switch await reach(room, request: CarriedRequest(request)) {
    case .here: return nil
    case .answered(let answer): return answer.request?.response
    case .unreachable(let obstacle): return .unavailable(obstacle.rawValue)
    }
  }

  /// Where a room is.
  func place(of asked: String) async -> RoomHomes.Place {
    let (room, isHere) = await node.locate(asked)
    if isHere { return .here }
    switch await node.ask(.find(room: room)) {
    case .found(nil, _): return .nowhere
    case .found(let place?, isAlive: true) where place.home != node.id: return .elsewhere
    // Participants may be on their way to it, or to another home.
    default: return .unknown
    }
  }

  private enum Outcome {
    case here
    case answered(Message.Answer)
    case unreachable(Obstacle)
  }

  private enum Obstacle: String {
    case home = "the node that has the room does not answer"
    case ledger = "the ledger does not answer, so it is not known which node has the room"
  }

  private func reach(
    _ asked: String, order: Message.Order? = nil, request: CarriedRequest? = nil
  ) async -> Outcome {
    let end = ContinuousClock.now + patience
    let id = (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    state.withLock { $0.own[id] = Own() }
    defer { state.withLock { _ = $0.own.removeValue(forKey: id) } }
    var silence: (home: NodeID, since: ContinuousClock.Instant)?
    var obstacle = Obstacle.home
    repeat {
      let (room, isHere) = await node.locate(asked)
      let found = isHere ? LedgerAnswer.found(nil, isAlive: false) : await node.ask(.find(room: room))
      if let answer = state.withLock({ $0.own[id]?.answer }) { return .answered(answer) }
      obstacle = if case .failed = found { .ledger } else { .home }
      switch found {
      case .found(nil, _):
        endAbsence(from: room)
        return .here
      case .found(let place?, isAlive: true):
        endAbsence(from: room)
        // Placed here, and not opened yet: the room has no participants.
        if place.home == node.id { return .here }
        if silence?.home != place.home { silence = (place.home, .now) }
        let command = Message.Command(
          id: id, from: node.id, version: node.version(), room: asked, order: order, request: request)
        if let answer = await exchange(command, with: place.home) {
          if answer.isExecuted { return .answered(answer) }
          silence = nil
        } else if let since = silence?.since, since.duration(to: .now) >= Self.suspicion {
          _ = await node.ask(.evict(place.home))
        }
      case .found(let place?, isAlive: false):
        if absence(of: place.home, from: room) >= succession, await replaceHome(of: room) { return .here }
      default: break
      }
      try? await Task.sleep(for: Self.pause)
    } while ContinuousClock.now < end
    return .unreachable(obstacle)
  }

  /// How long a room's home is known to be dead.
  private func absence(of home: NodeID, from room: String) -> Duration {
    let now = ContinuousClock.now
    return state.withLock { state in
      if let known = state.absences[room], known.home == home, known.since.duration(to: now) < Self.absenceMemory {
        return known.since.duration(to: now)
      }
      if state.absences.count >= Self.memory { state.absences = [:] }
      state.absences[room] = (home, now)
      return .zero
    }
  }

  private func endAbsence(from room: String) { state.withLock { $0.absences[room] = nil } }

  /// Gives a room whose home is dead to another node. If the home comes back, with participants that were cut off with it, it is not
  /// the home any more: they join anew, by the rules of the registry.
  private func replaceHome(of room: String) async -> Bool {
    guard case .nodes(let nodes) = await node.ask(.nodes), let next = nodes.map(\.record).first(where: \.takesRooms)
    else { return false }
    let nonce = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let request = PlaceRequest(room: room, candidate: next.id, nonce: nonce, isOpening: false)
    guard case .placed = await node.ask(.place(request)) else { return false }
    return true
  }

  /// - Returns: nil if no answer came until the command has to be sent again.
  private func exchange(_ command: Message.Command, with home: NodeID) async -> Message.Answer? {
    guard let bytes = try? JSONCodec.encode(Message(command)) else { return nil }
    return await withCheckedContinuation { done in
      let sending = state.withLock { state in
        state.own[command.id]?.waiting = done
        state.own[command.id]?.sendings += 1
        return state.own[command.id]?.sendings ?? 0
      }
      Task {
        _ = await node.ask(.publish(.node(home), bytes))
        try? await Task.sleep(for: Self.repetition)
        end(command.id, nil, sending: sending)
      }
    }
  }

  /// - Parameter sending: that this is the end of; nil: an answer has come.
  private func end(_ id: String, _ answer: Message.Answer?, sending: Int? = nil) {
    let waiting = state.withLock { state -> CheckedContinuation<Message.Answer?, Never>? in
      guard var own = state.own[id], sending == nil || sending == own.sendings else { return nil }
      if let answer, answer.isExecuted { own.answer = answer }
      let waiting = own.waiting
      own.waiting = nil
      state.own[id] = own
      return waiting
    }
    waiting?.resume(returning: answer)
  }

  // MARK: Messages

  /// - Returns: whether the message was one of these.
  func take(_ bytes: [UInt8]) -> Bool {
    guard let message = Message(bytes) else { return false }
    if let answer = message.answer { end(answer.id, answer) }
    if let command = message.command { Task { await execute(command) } }
    return true
  }

  private func execute(_ command: Message.Command) async {
    let earlier = state.withLock { state -> Execution? in
      let earlier = state.executions[command.id]
      if earlier == nil {
        state.executions[command.id] = .underWay
        state.order.append(command.id)
        state.forgetOldest()
      }
      return earlier
    }
    switch earlier {
    case .underWay: return
    case .done(let bytes): return await answer(command, bytes)
    case nil: break
    }
    guard await node.refresh(command.version) else { return forget(command.id) }
    var answer = Message.Answer(id: command.id)
    guard await isHome(of: command.room) else {
      forget(command.id)
      guard let bytes = try? JSONCodec.encode(Message(answer)) else { return }
      return await self.answer(command, bytes)
    }
    if let order = command.order, let kind = CommandOrigin.Kind(rawValue: order.kind) {
      let request = RoomRequest(
        order.control.command, by: CommandOrigin(kind, order.subject), reason: order.control.reason)
      answer.order = RoomReply(await node.execute(request))
    } else if let request = command.request?.request {
      answer.request = await node.answer(request).map(CarriedResponse.init)
    }
    let reply = Message(answer)
    guard let bytes = try? JSONCodec.encode(reply, limits: ControlRequest.replyLimits) else {
      return forget(command.id)
    }
    state.withLock { state in
      guard state.executions[command.id] != nil else { return }
      state.executions[command.id] = .done(bytes)
      state.bytes += bytes.count
      state.forgetOldest()
    }
    await self.answer(command, bytes)
  }

  /// Also of a room that was placed here and that no participant has entered.
  private func isHome(of asked: String) async -> Bool {
    let (room, isHere) = await node.locate(asked)
    if isHere { return true }
    guard case .found(let place?, _) = await node.ask(.find(room: room)) else { return false }
    return place.home == node.id
  }

  /// It may be sent again.
  private func forget(_ id: String) {
    state.withLock { state in
      state.forget(id)
      state.order.removeAll { $0 == id }
    }
  }

  private func answer(_ command: Message.Command, _ bytes: [UInt8]) async {
    _ = await node.ask(.publish(.node(command.from), bytes))
  }
}

extension RoomReply {
  /// The home's answer.
  fileprivate var result: Result<RoomAnswer, RoomControlError> {
    if let error { return .failure(error) }
    if let room { return .success(.room(room)) }
    if let rooms { return .success(.rooms(rooms)) }
    return ok ? .success(.done) : .failure(RoomControlError(.unavailable, "the room's node answers nothing"))
  }
}

/// An `APIRequest` between nodes.
struct CarriedRequest: Codable, Sendable {
  var method: String
  var target: String
  /// Names and values in turn.
  var headers: [String]
  /// In base64.
  var body: String
  var isEncrypted: Bool

  init(_ request: APIRequest) {
    (method, target, isEncrypted) = (request.method, request.target, request.isEncrypted)
    headers = request.headers.flatMap { [$0.name, $0.value] }
    body = Base64.encode(request.body)
  }

  var request: APIRequest? {
    guard let body = Base64.decode(body.utf8) else { return nil }
    return APIRequest(
      method: method, target: target, headers: CarriedResponse.pairs(headers), body: body, isEncrypted: isEncrypted)
  }
}

/// An `APIResponse` between nodes.
struct CarriedResponse: Codable, Sendable {
  var status: Int
  var headers: [String]
  var body: String

  init(_ response: APIResponse) {
    (status, headers) = (response.status, response.headers.flatMap { [$0.name, $0.value] })
    body = Base64.encode(response.body)
  }

  var response: APIResponse? {
    Base64.decode(body.utf8).map { APIResponse(status: status, headers: Self.pairs(headers), body: $0) }
  }

  static func pairs(_ texts: [String]) -> [(name: String, value: String)] {
    stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) }
  }
}
