import KoineBase
import KoineLedger
import KoineSignaling

/// The identities that can be rung, their registered devices, and the rings under way.
///
/// Rings belong to identities, not to rooms: a ring only names the room that a callee joins after accepting. For each callee a ring
/// goes through
///
///     ringing ─→ accepted | declined | busy | unanswered | cancelled      unreachable where the callee is not registered
///
/// All devices of an identity ring; the first answer counts and silences the other devices. Where two identities ring each other,
/// both ring, and as soon as one accepts, the other call is over.
///
/// A router that is alone knows at once that a callee is not registered; a node first asks the others for a second. In a cluster a
/// call is at the caller's node, and the nodes with devices of its callees have a copy of it, which ends with the call
/// (`RingMessage`).
struct Switchboard {
  struct Limits: Hashable, Sendable {
    /// The most rings that one caller may have under way.
    var ringsPerCaller = 32
    /// The longest time that a callee is rung.
    var longest: Duration = .seconds(600)
    /// How often the other nodes are asked for devices of a callee, and how long each time.
    var asks = 2
    var askInterval: Duration = .milliseconds(500)
  }

  private struct Device {
    let client: ClientID
    let identity: String
    let name: String
  }

  /// A device, or a caller at another node.
  private struct Caller {
    let identity: String
    let name: String
    var client: ClientID?
    var node: NodeID?
  }

  private struct Callee {
    let identity: String
    var ringing: [ClientID] = []
    var isOver = false
    /// Other nodes with devices that ring.
    var nodes: Set<NodeID> = []
    /// While other nodes are asked: when the answers are due, and how often they are still asked.
    var asking: (due: Tick, left: Int)?
    /// Whether the caller knows that it rings.
    var isTold = false

    var isSilent: Bool { ringing.isEmpty && nodes.isEmpty && asking == nil }
  }

  private struct Call {
    let ring: RingRequest
    /// Counts the calls in the order in which they began.
    let number: Int
    var caller: Caller
    let deadline: Tick
    var callees: [Callee]

    var notice: Ring {
      Ring(
        id: ring.id, room: ring.room, caller: caller.identity, callerName: caller.name, callees: ring.to,
        hasVideo: ring.hasVideo, isIncoming: true)
    }
  }

  /// The answer of a device at this node to a call from another node. The caller may reconnect to a third node, which asks again.
  private struct Answer {
    let caller: String
    let state: Ring.State
    /// The deadline of the call.
    let ends: Tick
  }

  private struct AnswerName: Hashable { let id, identity: String }

  private static let answerLimit = 4_096

  private let limits: Limits
  private let outbox: Outbox
  /// nil: the router is alone.
  private var relay: RingRelay?
  private var devices: [ClientID: Device] = [:]
  /// In the order in which they registered.
  private var clients: [String: [ClientID]] = [:]
  /// By the rings' ids.
  private var calls: [String: Call] = [:]
  /// The ids of calls under way, in the order in which they began.
  private var callsFrom: [ClientID: [String]] = [:]
  private var callsTo: [String: [String]] = [:]
  private var answers: [AnswerName: Answer] = [:]
  private var nextNumber = 0
  /// When `handleTimeout` next has work to do; it may turn out to have none.
  private(set) var deadline: Tick?

  /// - Parameter node: of a cluster; nil: the router is alone.
  init(limits: Limits = Limits(), outbox: Outbox, node: NodeID? = nil) {
    (self.limits, self.outbox, relay) = (limits, outbox, node.map(RingRelay.init(node:)))
  }

  /// Devices, identities, calls and messages to other nodes.
  var count: Int {
    devices.count + clients.count + calls.count + callsFrom.count + callsTo.count + (relay?.count ?? 0)
  }

  // MARK: Devices

  /// - Parameter places: where the device may connect if the router is lost.
  mutating func register(
    _ identity: String, name: String, on client: ClientID, places: [String] = [], at now: Tick
  ) {
    if let older = devices[client], older.identity != identity { close(client, at: now) }
    if devices.updateValue(Device(client: client, identity: identity, name: name), forKey: client) == nil {
      clients[identity, default: []].append(client)
    }
    outbox.post(.registered(identity: identity, places: places), to: client)
    if let node = relay?.node { relay?.send(RingMessage(.arrived, from: node, identity: identity), to: .all) }
    for id in callsTo[identity] ?? [] {
      guard let call = calls[id], let callee = call.callees.firstIndex(where: { $0.identity == identity }),
        !call.callees[callee].isOver, !call.callees[callee].ringing.contains(client)
      else { continue }
      calls[id]?.callees[callee].ringing.append(client)
      outbox.post(.incomingRing(call.notice), to: client)
    }
  }

  /// The device is gone: its own rings end. If it was the last ringing device of a callee, the caller is notified.
  mutating func close(_ client: ClientID, at now: Tick) {
    guard let device = devices.removeValue(forKey: client) else { return }
    clients[device.identity]?.removeAll { $0 == client }
    if clients[device.identity]?.isEmpty == true { clients[device.identity] = nil }
    for id in callsFrom[client] ?? [] { finish(id, as: .cancelled, at: now) }
    for id in callsTo[device.identity] ?? [] {
      guard let callee = calls[id]?.callees.firstIndex(where: { $0.ringing.contains(client) }) else { continue }
      calls[id]?.callees[callee].ringing.removeAll { $0 == client }
      if calls[id]?.callees[callee].isSilent == true { finish(callee, of: id, as: .unreachable, at: now) }
      forgetIfOver(id)
    }
  }

  func identity(of client: ClientID) -> String? { devices[client]?.identity }

  // MARK: Rings

  mutating func ring(_ ring: RingRequest, from client: ClientID, at now: Tick) -> Failure? {
    guard let caller = devices[client] else { return Failure(.wrongState, "register before ringing") }
    guard !ring.to.isEmpty, !ring.id.isEmpty, !ring.room.isEmpty else {
      return Failure(.malformed, "a ring needs an id, a room and a callee")
    }
    // The caller's former node is gone, and this one has a copy of the call for its own devices.
    if let copy = calls[ring.id], copy.caller.node != nil, copy.caller.identity == caller.identity {
      for callee in copy.callees { Self.remove(ring.id, from: &callsTo[callee.identity]) }
      calls[ring.id] = nil
    }
    guard calls[ring.id] == nil else { return Failure(.wrongState, "this ring is under way") }
    guard callsFrom[client]?.count ?? 0 < limits.ringsPerCaller else {
      return Failure(.tooMany, "at most \(limits.ringsPerCaller) rings at once")
    }
    let seconds = ring.timeoutSeconds.isFinite ? max(0, ring.timeoutSeconds) : 0
    let patience = min(Duration.seconds(min(seconds, 86_400)), limits.longest)
    var seen: Set<String> = []
    let callees = ring.to.filter { seen.insert($0).inserted }.map { Callee(identity: $0) }
    calls[ring.id] = Call(
      ring: ring, number: nextNumber,
      caller: Caller(identity: caller.identity, name: caller.name, client: client), deadline: now + patience,
      callees: callees)
    nextNumber += 1
    deadline = deadline.sooner(now + patience)
    callsFrom[client, default: []].append(ring.id)
    for (index, callee) in callees.enumerated() {
      callsTo[callee.identity, default: []].append(ring.id)
      let ringing = (clients[callee.identity] ?? []).filter { $0 != client }
      ask(index, of: ring.id, left: limits.asks, at: now)
      guard !ringing.isEmpty || ring.isRepeated || relay != nil else {
        finish(index, of: ring.id, as: .unreachable, at: now)
        continue
      }
      calls[ring.id]?.callees[index].ringing = ringing
      guard let call = calls[ring.id] else { continue }
      outbox.post(.incomingRing(call.notice), to: ringing)
      if !ringing.isEmpty || relay == nil { tellRinging(index, of: ring.id, at: now) }
    }
    forgetIfOver(ring.id)
    return nil
  }

  mutating func cancel(_ id: String, by client: ClientID, at now: Tick) {
    if calls[id]?.caller.client == client { finish(id, as: .cancelled, at: now) }
  }

  /// A device with a late or foreign answer is notified that the ring is over.
  mutating func answer(_ id: String, _ answer: Ring.State, by client: ClientID, at now: Tick) {
    guard [.accepted, .declined, .busy].contains(answer) else { return }
    guard let call = calls[id], let callee = call.callees.firstIndex(where: { $0.ringing.contains(client) }) else {
      return outbox.post(.ringEnded(id: id, .cancelled), to: client)
    }
    outbox.post(.ringEnded(id: id, answer), to: client)
    for other in call.callees[callee].ringing where other != client {
      outbox.post(.ringEnded(id: id, .handledElsewhere), to: other)
    }
    calls[id]?.callees[callee].ringing = []
    finish(callee, of: id, as: answer, at: now)
    if answer == .accepted, let own = identity(of: client) {
      endOwnRing(of: own, to: call.caller.identity, at: now)
    }
    forgetIfOver(id)
  }

  /// Both rang each other, and one has accepted: the other call is not needed any more.
  private mutating func endOwnRing(of identity: String, to other: String, at now: Tick) {
    for id in callsTo[other] ?? [] where calls[id]?.caller.identity == identity {
      guard let callee = calls[id]?.callees.firstIndex(where: { $0.identity == other }) else { continue }
      finish(callee, of: id, as: .cancelled, at: now)
      forgetIfOver(id)
    }
  }

  mutating func handleTimeout(at now: Tick) {
    guard let deadline, deadline <= now else { return }
    let due = calls.values.filter { $0.deadline <= now }.sorted { $0.number < $1.number }
    for call in due { finish(call.ring.id, as: .unanswered, at: now) }
    relay?.handleTimeout(at: now)
    for call in calls.values.sorted(by: { $0.number < $1.number }) {
      for index in call.callees.indices { checkAsking(index, of: call.ring.id, at: now) }
      forgetIfOver(call.ring.id)
    }
    self.deadline = calls.values.reduce(relay?.deadline) { soonest, call in
      call.callees.reduce(soonest.sooner(call.deadline)) { $0.sooner($1.asking?.due) }
    }
  }

  // MARK: Other nodes

  /// Messages to other nodes since the last call.
  mutating func takeRelayed() -> [(channel: LedgerChannel, content: [UInt8])] {
    guard relay != nil else { return [] }
    deadline = deadline.sooner(relay?.deadline)
    return relay?.takeOutgoing() ?? []
  }

  private mutating func ask(_ index: Int, of id: String, left: Int, at now: Tick) {
    guard let node = relay?.node, let call = calls[id], call.caller.node == nil else { return }
    var message = RingMessage(.ask, from: node, id: id, identity: call.callees[index].identity)
    message.call = RingMessage.Call(
      room: call.ring.room, caller: call.caller.identity, callerName: call.caller.name, callees: call.ring.to,
      hasVideo: call.ring.hasVideo, milliseconds: (call.deadline - now).nanoseconds / 1_000_000)
    relay?.send(message, to: .all)
    calls[id]?.callees[index].asking = (now + limits.askInterval, left - 1)
    deadline = deadline.sooner(now + limits.askInterval)
  }

  private mutating func checkAsking(_ index: Int, of id: String, at now: Tick) {
    guard let callee = calls[id]?.callees[index], let asking = callee.asking, asking.due <= now, !callee.isOver else {
      return
    }
    calls[id]?.callees[index].asking = nil
    guard callee.nodes.isEmpty else { return }
    guard asking.left == 0 else { return ask(index, of: id, left: asking.left, at: now) }
    if callee.ringing.isEmpty, calls[id]?.ring.isRepeated == false {
      finish(index, of: id, as: .unreachable, at: now)
    } else {
      tellRinging(index, of: id, at: now)
    }
  }

  /// A message of another node, or of this one to all.
  mutating func handle(_ message: RingMessage, at now: Tick) {
    guard let node = relay?.node, message.from != node else { return }
    relay?.acknowledge(message)
    switch message.ring {
    case .heard: relay?.heard(message)
    case .ask: askedForDevices(message, at: now)
    case .arrived:
      for id in callsTo[message.identity] ?? [] {
        guard let index = callee(message.identity, of: id) else { continue }
        ask(index, of: id, left: 1, at: now)
      }
    case .ringing:
      guard let index = callee(message.identity, of: message.id) else {
        return sendEnded(message.id, message.identity, .cancelled, to: message.from, at: now)
      }
      calls[message.id]?.callees[index].nodes.insert(message.from)
      tellRinging(index, of: message.id, at: now)
    case .answer: answered(message, at: now)
    case .ended:
      guard let index = callee(message.identity, of: message.id), calls[message.id]?.caller.node == message.from
      else { return }
      finish(index, of: message.id, as: message.state ?? .cancelled, at: now)
      forgetIfOver(message.id)
    }
  }

  /// The index of a callee for which the call is not over.
  private func callee(_ identity: String, of id: String) -> Int? {
    calls[id]?.callees.firstIndex { $0.identity == identity && !$0.isOver }
  }

  /// The caller's node asks whether a callee has devices here.
  private mutating func askedForDevices(_ message: RingMessage, at now: Tick) {
    guard let node = relay?.node, let info = message.call, let ringing = clients[message.identity], !message.id.isEmpty
    else { return }
    if let answer = answers[AnswerName(id: message.id, identity: message.identity)], answer.ends > now,
      answer.caller == info.caller
    {
      return sendAnswer(answer, to: message.id, of: message.identity, for: message.from, at: now)
    }
    let patience = min(Duration.milliseconds(max(0, min(info.milliseconds, 86_400_000))), limits.longest)
    if calls[message.id] == nil {
      let request = RingRequest(id: message.id, room: info.room, to: info.callees, hasVideo: info.hasVideo)
      calls[message.id] = Call(
        ring: request, number: nextNumber,
        caller: Caller(identity: info.caller, name: info.callerName, node: message.from), deadline: now + patience,
        callees: [])
      nextNumber += 1
      deadline = deadline.sooner(now + patience)
    }
    guard let caller = calls[message.id]?.caller, caller.node != nil, caller.identity == info.caller else { return }
    // The caller may have come to another node since.
    calls[message.id]?.caller.node = message.from
    guard let known = calls[message.id]?.callees.first(where: { $0.identity == message.identity }) else {
      calls[message.id]?.callees.append(Callee(identity: message.identity, ringing: ringing, isTold: true))
      callsTo[message.identity, default: []].append(message.id)
      if let call = calls[message.id] { outbox.post(.incomingRing(call.notice), to: ringing) }
      return answerAsk(message, node)
    }
    if !known.isOver { answerAsk(message, node) }
  }

  private mutating func answerAsk(_ message: RingMessage, _ node: NodeID) {
    let answer = RingMessage(.ringing, from: node, id: message.id, identity: message.identity)
    relay?.send(answer, to: .node(message.from))
  }

  /// A device at another node has answered, or the last one there is gone.
  private mutating func answered(_ message: RingMessage, at now: Tick) {
    guard let index = callee(message.identity, of: message.id), let state = message.state, state.isOver,
      let caller = calls[message.id]?.caller, caller.node == nil
    else { return }
    calls[message.id]?.callees[index].nodes.remove(message.from)
    if state == .unreachable {
      if calls[message.id]?.callees[index].isSilent == true {
        finish(index, of: message.id, as: .unreachable, at: now)
      }
    } else {
      let others = calls[message.id]?.callees[index]
      calls[message.id]?.callees[index].ringing = []
      calls[message.id]?.callees[index].nodes = []
      outbox.post(.ringEnded(id: message.id, .handledElsewhere), to: others?.ringing ?? [])
      for node in (others?.nodes ?? []).sorted() {
        sendEnded(message.id, message.identity, .handledElsewhere, to: node, at: now)
      }
      finish(index, of: message.id, as: state, at: now)
      if state == .accepted { endOwnRing(of: message.identity, to: caller.identity, at: now) }
    }
    forgetIfOver(message.id)
  }

  private mutating func sendEnded(
    _ id: String, _ identity: String, _ state: Ring.State, to other: NodeID, at now: Tick
  ) {
    guard let node = relay?.node else { return }
    relay?.sendUntilHeard(
      RingMessage(.ended, from: node, id: id, identity: identity, state: state), to: other, at: now)
  }

  // MARK: Ends

  private mutating func finish(_ id: String, as state: Ring.State, at now: Tick) {
    for callee in calls[id]?.callees.indices ?? 0..<0 { finish(callee, of: id, as: state, at: now) }
    forgetIfOver(id)
  }

  private mutating func finish(_ callee: Int, of id: String, as state: Ring.State, at now: Tick) {
    guard let call = calls[id], !call.callees[callee].isOver else { return }
    let entry = call.callees[callee]
    outbox.post(.ringEnded(id: id, state), to: entry.ringing)
    for node in entry.nodes.sorted() { sendEnded(id, entry.identity, state, to: node, at: now) }
    calls[id]?.callees[callee] = Callee(identity: entry.identity, isOver: true)
    tellCaller(entry.identity, of: call, state, at: now)
  }

  private mutating func tellRinging(_ index: Int, of id: String, at now: Tick) {
    guard let call = calls[id], !call.callees[index].isTold else { return }
    calls[id]?.callees[index].isTold = true
    tellCaller(call.callees[index].identity, of: call, .ringing, at: now)
  }

  private mutating func tellCaller(_ identity: String, of call: Call, _ state: Ring.State, at now: Tick) {
    if let client = call.caller.client {
      outbox.post(.ringProgress(RingProgress(id: call.ring.id, identity: identity, state: state)), to: client)
    } else if let other = call.caller.node, state.isOver {
      let isByDevice = [.accepted, .declined, .busy].contains(state)
      let answer = Answer(caller: call.caller.identity, state: state, ends: isByDevice ? call.deadline : now)
      if isByDevice { remember(answer, to: call.ring.id, of: identity, at: now) }
      sendAnswer(answer, to: call.ring.id, of: identity, for: other, at: now)
    }
  }

  private mutating func remember(_ answer: Answer, to id: String, of identity: String, at now: Tick) {
    answers = answers.filter { $0.value.ends > now }
    guard answers.count < Self.answerLimit else { return }
    answers[AnswerName(id: id, identity: identity)] = answer
  }

  private mutating func sendAnswer(
    _ answer: Answer, to id: String, of identity: String, for other: NodeID, at now: Tick
  ) {
    guard let node = relay?.node else { return }
    let message = RingMessage(.answer, from: node, id: id, identity: identity, state: answer.state)
    relay?.sendUntilHeard(message, to: other, while: answer.ends, at: now)
  }

  private mutating func forgetIfOver(_ id: String) {
    guard let call = calls[id], call.callees.allSatisfy(\.isOver) else { return }
    calls[id] = nil
    if let client = call.caller.client { Self.remove(id, from: &callsFrom[client]) }
    for callee in call.callees { Self.remove(id, from: &callsTo[callee.identity]) }
  }

  private static func remove(_ id: String, from list: inout [String]?) {
    list?.removeAll { $0 == id }
    if list?.isEmpty == true { list = nil }
  }
}
