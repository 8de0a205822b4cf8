import KoineBase
import KoineSignaling

/// The identities that can be rung, their registered devices, and the rings under way.
///
/// Rings belong to identities, not to rooms: a ring only names the room that a callee joins after accepting. For each callee a ring
/// goes through
///
///     ringing ─→ accepted | declined | busy | unanswered | cancelled      unreachable at once where the callee is not registered
///
/// All devices of an identity ring; the first answer counts and silences the other devices. Where two identities ring each other,
/// both ring, and as soon as one accepts, the other call is over.
struct Switchboard {
  struct Limits: Hashable, Sendable {
    /// The most rings that one caller may have under way.
    var ringsPerCaller = 32
    /// The longest time that a callee is rung.
    var longest: Duration = .seconds(600)
  }

  private struct Device {
    let client: ClientID
    let identity: String
    let name: String
  }

  private struct Callee {
    let identity: String
    var ringing: [ClientID] = []
    var isOver = false
  }

  private struct Call {
    let ring: RingRequest
    /// Counts the calls in the order in which they began.
    let number: Int
    let caller: Device
    let deadline: Tick
    var callees: [Callee]

    var notice: Ring {
      Ring(
        id: ring.id, room: ring.room, caller: caller.identity, callerName: caller.name, callees: ring.to,
        hasVideo: ring.hasVideo, isIncoming: true)
    }
  }

  private let limits: Limits
  private let outbox: Outbox
  private var devices: [ClientID: Device] = [:]
  /// In the order in which they registered.
  private var clients: [String: [ClientID]] = [:]
  /// By the rings' ids.
  private var calls: [String: Call] = [:]
  /// The ids of calls under way, in the order in which they began.
  private var callsFrom: [ClientID: [String]] = [:]
  private var callsTo: [String: [String]] = [:]
  private var nextNumber = 0
  /// When `handleTimeout` next has work to do; it may turn out to have none.
  private(set) var deadline: Tick?

  init(limits: Limits = Limits(), outbox: Outbox) { (self.limits, self.outbox) = (limits, outbox) }

  /// Devices, identities and calls.
  var count: Int { devices.count + clients.count + calls.count + callsFrom.count + callsTo.count }

  // MARK: Devices

  mutating func register(_ identity: String, name: String, on client: ClientID) {
    if let older = devices[client], older.identity != identity { close(client) }
    if devices.updateValue(Device(client: client, identity: identity, name: name), forKey: client) == nil {
      clients[identity, default: []].append(client)
    }
    outbox.post(.registered(identity: identity), to: client)
    for id in callsTo[identity] ?? [] {
      guard let call = calls[id], let callee = call.callees.firstIndex(where: { $0.identity == identity }),
        !call.callees[callee].isOver, !call.callees[callee].ringing.contains(client)
      else { continue }
      calls[id]?.callees[callee].ringing.append(client)
      outbox.post(.incomingRing(call.notice), to: client)
    }
  }

  /// The device is gone: its own rings end. If it was the last ringing device of a callee, the caller is notified.
  mutating func close(_ client: ClientID) {
    guard let device = devices.removeValue(forKey: client) else { return }
    clients[device.identity]?.removeAll { $0 == client }
    if clients[device.identity]?.isEmpty == true { clients[device.identity] = nil }
    for id in callsFrom[client] ?? [] { finish(id, as: .cancelled) }
    for id in callsTo[device.identity] ?? [] {
      guard let callee = calls[id]?.callees.firstIndex(where: { $0.ringing.contains(client) }) else { continue }
      calls[id]?.callees[callee].ringing.removeAll { $0 == client }
      if calls[id]?.callees[callee].ringing.isEmpty == true { finish(callee, of: id, as: .unreachable) }
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
    guard calls[ring.id] == nil else { return Failure(.wrongState, "this ring is under way") }
    guard callsFrom[client]?.count ?? 0 < limits.ringsPerCaller else {
      return Failure(.tooMany, "at most \(limits.ringsPerCaller) rings at once")
    }
    let seconds = ring.timeoutSeconds.isFinite ? max(0, ring.timeoutSeconds) : 0
    let patience = min(Duration.seconds(min(seconds, 86_400)), limits.longest)
    var seen: Set<String> = []
    let callees = ring.to.filter { seen.insert($0).inserted }.map { Callee(identity: $0) }
    calls[ring.id] = Call(ring: ring, number: nextNumber, caller: caller, deadline: now + patience, callees: callees)
    nextNumber += 1
    deadline = deadline.sooner(now + patience)
    callsFrom[client, default: []].append(ring.id)
    for (index, callee) in callees.enumerated() {
      callsTo[callee.identity, default: []].append(ring.id)
      let ringing = (clients[callee.identity] ?? []).filter { $0 != client }
      guard !ringing.isEmpty || ring.isRepeated else {
        finish(index, of: ring.id, as: .unreachable)
        continue
      }
      calls[ring.id]?.callees[index].ringing = ringing
      guard let call = calls[ring.id] else { continue }
      outbox.post(.incomingRing(call.notice), to: ringing)
      sendState(callee.identity, of: call, .ringing)
    }
    forgetIfOver(ring.id)
    return nil
  }

  mutating func cancel(_ id: String, by client: ClientID) {
    if calls[id]?.caller.client == client { finish(id, as: .cancelled) }
  }

  /// A device with a late or foreign answer is notified that the ring is over.
  mutating func answer(_ id: String, _ answer: Ring.State, by client: ClientID) {
    guard [.accepted, .declined, .busy].contains(answer) else { return }
    guard let call = calls[id], let callee = call.callees.firstIndex(where: { $0.ringing.contains(client) }) else {
      return outbox.post(.ringEnded(id: id, .cancelled), to: client)
    }
    outbox.post(.ringEnded(id: id, answer), to: client)
    for other in call.callees[callee].ringing where other != client {
      outbox.post(.ringEnded(id: id, .handledElsewhere), to: other)
    }
    calls[id]?.callees[callee].ringing = []
    finish(callee, of: id, as: answer)
    if answer == .accepted, let own = identity(of: client) { endOwnRing(of: own, to: call.caller.identity) }
    forgetIfOver(id)
  }

  /// Both rang each other, and one has accepted: the other call is not needed any more.
  private mutating func endOwnRing(of identity: String, to other: String) {
    for id in callsTo[other] ?? [] where calls[id]?.caller.identity == identity {
      guard let callee = calls[id]?.callees.firstIndex(where: { $0.identity == other }) else { continue }
      finish(callee, of: id, as: .cancelled)
      forgetIfOver(id)
    }
  }

  mutating func handleTimeout(at now: Tick) {
    guard let deadline, deadline <= now else { return }
    let due = calls.values.filter { $0.deadline <= now }.sorted { $0.number < $1.number }
    for call in due { finish(call.ring.id, as: .unanswered) }
    self.deadline = calls.values.reduce(nil) { ($0 as Tick?).sooner($1.deadline) }
  }

  // MARK: Ends

  private mutating func finish(_ id: String, as state: Ring.State) {
    for callee in calls[id]?.callees.indices ?? 0..<0 { finish(callee, of: id, as: state) }
    forgetIfOver(id)
  }

  private mutating func finish(_ callee: Int, of id: String, as state: Ring.State) {
    guard let call = calls[id], !call.callees[callee].isOver else { return }
    outbox.post(.ringEnded(id: id, state), to: call.callees[callee].ringing)
    calls[id]?.callees[callee].ringing = []
    calls[id]?.callees[callee].isOver = true
    sendState(call.callees[callee].identity, of: call, state)
  }

  private func sendState(_ identity: String, of call: Call, _ state: Ring.State) {
    outbox.post(
      .ringProgress(RingProgress(id: call.ring.id, identity: identity, state: state)), to: call.caller.client)
  }

  private mutating func forgetIfOver(_ id: String) {
    guard let call = calls[id], call.callees.allSatisfy(\.isOver) else { return }
    calls[id] = nil
    Self.remove(id, from: &callsFrom[call.caller.client])
    for callee in call.callees { Self.remove(id, from: &callsTo[callee.identity]) }
  }

  private static func remove(_ id: String, from list: inout [String]?) {
    list?.removeAll { $0 == id }
    if list?.isEmpty == true { list = nil }
  }
}
