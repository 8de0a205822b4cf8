import KoineBase
import KoineSignaling

/// Who can be rung, and who rings whom.
///
/// Rings belong to identities, not to rooms: a ring only names the room where those who accept go to. For each one who is
/// rung a ring goes through
///
///     ringing ─→ accepted | declined | busy | unanswered | cancelled      unreachable at once where nobody is registered
///
/// All devices of an identity ring; the first answer counts and silences the others. Where two ring each other, both ring,
/// and as soon as one accepts, the other call is over.
struct Switchboard {
  struct Limits: Hashable, Sendable {
    /// Rings under way of one caller.
    var ringsPerCaller = 32
    /// The longest that anybody is rung.
    var longest: Duration = .seconds(600)
  }

  private struct Device {
    let connection: ConnectionID
    let identity: String
    let name: String
  }

  private struct Callee {
    let identity: String
    var ringing: [ConnectionID] = []
    var isOver = false
  }

  private struct Call {
    let ring: Ring
    let caller: Device
    let deadline: Tick
    var callees: [Callee]

    var notice: IncomingRing {
      IncomingRing(
        id: ring.id, room: ring.room, from: caller.identity, fromName: caller.name, to: ring.to,
        hasVideo: ring.hasVideo)
    }
  }

  private let limits: Limits
  private let outbox: Outbox
  private var devices: [Device] = []
  /// In the order in which they began.
  private var calls: [Call] = []

  init(limits: Limits = Limits(), outbox: Outbox) { (self.limits, self.outbox) = (limits, outbox) }

  /// When `handleTimeout` next has work to do.
  var deadline: Tick? { calls.reduce(nil) { ($0 as Tick?).sooner($1.deadline) } }

  // MARK: Devices

  mutating func register(_ identity: String, name: String, on connection: ConnectionID) {
    devices.removeAll { $0.connection == connection }
    devices.append(Device(connection: connection, identity: identity, name: name))
    outbox.post(.registered(identity: identity), to: connection)
    for index in calls.indices {
      for callee in calls[index].callees.indices
      where calls[index].callees[callee].identity == identity && !calls[index].callees[callee].isOver {
        calls[index].callees[callee].ringing.append(connection)
        outbox.post(.incomingRing(calls[index].notice), to: connection)
      }
    }
  }

  /// The device is gone: its own rings end; where it was the last that rang, the caller is told.
  mutating func close(_ connection: ConnectionID) {
    guard devices.contains(where: { $0.connection == connection }) else { return }
    devices.removeAll { $0.connection == connection }
    for call in calls where call.caller.connection == connection { cancel(call.ring.id, by: connection) }
    for index in calls.indices {
      for callee in calls[index].callees.indices where calls[index].callees[callee].ringing.contains(connection) {
        calls[index].callees[callee].ringing.removeAll { $0 == connection }
        if calls[index].callees[callee].ringing.isEmpty { finish(callee, of: index, as: .unreachable) }
      }
    }
    forgetFinished()
  }

  func identity(of connection: ConnectionID) -> String? { device(connection)?.identity }

  private func device(_ connection: ConnectionID) -> Device? { devices.first { $0.connection == connection } }

  // MARK: Rings

  mutating func ring(_ ring: Ring, from connection: ConnectionID, at now: Tick) -> Failure? {
    guard let caller = device(connection) else { return Failure(.wrongState, "register before ringing") }
    guard !ring.to.isEmpty, !ring.id.isEmpty, !ring.room.isEmpty else {
      return Failure(.malformed, "a ring names itself, a room and somebody")
    }
    guard !calls.contains(where: { $0.ring.id == ring.id }) else {
      return Failure(.wrongState, "this ring is under way")
    }
    guard calls.count(where: { $0.caller.connection == connection }) < limits.ringsPerCaller else {
      return Failure(.tooMany, "at most \(limits.ringsPerCaller) rings at once")
    }
    let seconds = ring.timeoutSeconds.isFinite ? max(0, ring.timeoutSeconds) : 0
    let patience = min(Duration.seconds(min(seconds, 86_400)), limits.longest)
    var seen: Set<String> = []
    let callees = ring.to.filter { seen.insert($0).inserted }.map { Callee(identity: $0) }
    calls.append(Call(ring: ring, caller: caller, deadline: now + patience, callees: callees))
    let index = calls.count - 1
    for callee in callees.indices {
      let ringing = devices.filter { $0.identity == callees[callee].identity && $0.connection != connection }
      guard !ringing.isEmpty || ring.isRepeated else {
        finish(callee, of: index, as: .unreachable)
        continue
      }
      calls[index].callees[callee].ringing = ringing.map(\.connection)
      for device in ringing { outbox.post(.incomingRing(calls[index].notice), to: device.connection) }
      tell(callees[callee].identity, of: index, .ringing)
    }
    forgetFinished()
    return nil
  }

  mutating func cancel(_ id: String, by connection: ConnectionID) {
    guard let index = calls.firstIndex(where: { $0.ring.id == id && $0.caller.connection == connection }) else {
      return
    }
    end(index, as: .cancelled)
    forgetFinished()
  }

  /// A late or foreign answer is told that it is over.
  mutating func answer(_ id: String, _ answer: RingState, by connection: ConnectionID) {
    guard [.accepted, .declined, .busy].contains(answer) else { return }
    guard let index = calls.firstIndex(where: { $0.ring.id == id }),
      let callee = calls[index].callees.firstIndex(where: { $0.ringing.contains(connection) })
    else {
      return outbox.post(.ringEnded(id: id, .cancelled), to: connection)
    }
    calls[index].callees[callee].ringing.removeAll { $0 == connection }
    outbox.post(.ringEnded(id: id, answer), to: connection)
    for other in calls[index].callees[callee].ringing { outbox.post(.ringEnded(id: id, .handledElsewhere), to: other) }
    calls[index].callees[callee].ringing = []
    let (caller, own) = (calls[index].caller.identity, device(connection)?.identity)
    finish(callee, of: index, as: answer)
    if answer == .accepted, let own { endOwnRing(of: own, to: caller) }
    forgetFinished()
  }

  /// Both rang each other, and one has accepted: the other call is not needed any more.
  private mutating func endOwnRing(of identity: String, to other: String) {
    for index in calls.indices where calls[index].caller.identity == identity {
      for callee in calls[index].callees.indices where calls[index].callees[callee].identity == other {
        finish(callee, of: index, as: .cancelled)
      }
    }
  }

  mutating func handleTimeout(at now: Tick) {
    for index in calls.indices where calls[index].deadline <= now { end(index, as: .unanswered) }
    forgetFinished()
  }

  // MARK: Ends

  private mutating func end(_ index: Int, as state: RingState) {
    for callee in calls[index].callees.indices { finish(callee, of: index, as: state) }
  }

  private mutating func finish(_ callee: Int, of index: Int, as state: RingState) {
    guard !calls[index].callees[callee].isOver else { return }
    for connection in calls[index].callees[callee].ringing {
      outbox.post(.ringEnded(id: calls[index].ring.id, state), to: connection)
    }
    calls[index].callees[callee].ringing = []
    calls[index].callees[callee].isOver = true
    tell(calls[index].callees[callee].identity, of: index, state)
  }

  private func tell(_ identity: String, of index: Int, _ state: RingState) {
    outbox.post(
      .ringProgress(RingProgress(id: calls[index].ring.id, identity: identity, state: state)),
      to: calls[index].caller.connection)
  }

  private mutating func forgetFinished() { calls.removeAll { $0.callees.allSatisfy(\.isOver) } }
}
