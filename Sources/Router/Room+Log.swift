import KoineBase
import KoineLedger
import KoineSignaling

// The room of a cluster at its home: messages that it keeps are recorded before they are acknowledged.

extension Room {
  /// Begins with what the ledger has of the room.
  /// - Parameters:
  ///   - base: the numbers of new messages are above it.
  ///   - entries: in order.
  func open(base: UInt64, _ entries: [StoredEntry], at now: Tick) {
    var log = RoomLog(base: base)
    let messages = entries.compactMap { stored in
      LoggedMessage(stored.entry).map { (message: $0, age: stored.age) }
    }
    for (logged, age) in messages { log.remember(logged.message, age: age, at: now) }
    data.restore(messages, base: base, at: now)
    self.log = log
    // Those of an earlier home are on their way here.
    let wait = entries.isEmpty ? Self.firstJoinLimit : limits.recovery
    if !entries.isEmpty { data.recover(until: now + limits.recovery) }
    keptOpenUntil = now + wait
    isNew = entries.isEmpty
  }

  /// A participant of the room's former home is back. The services here continue the jobs that the former home has not ended.
  /// A job without a service here has ended: participants learn it because the room keeps no report.
  func continueJobs(at now: Tick) {
    for (service, job, report) in data.continueJobs(at: now) {
      guard let attendant, attendant.names.contains(service) else {
        send(.init([], as: service, stands: false, in: name), at: now)
        continue
      }
      var message = RoomService.Message(room: name, sender: job.sender, topic: service, payload: job.payload)
      message.continuing = report
      attendant.handle(message)
    }
  }

  /// Records the end of a service's job: it was stopped, or no participant of the former home has come back.
  func endJob(of service: String) {
    guard let entry = data.endJob(of: service, id: random.makeID())?.entry else { return }
    log?.record(entry)
    needsSettling = true
  }

  /// Records that a guest was admitted from the lobby, so that the next home of the room lets the guest in.
  func recordAdmission(of guest: Participant.ID, key: String) { record(data.admit(guest, key: key)) }

  /// Records that a participant, perhaps a guest, has left the room.
  func endAdmission(of id: Participant.ID) { record(data.endAdmission(of: id)) }

  /// Whether a participant can be removed now. A guest cannot be removed during a hand-over: the next home of the room would not learn of
  /// the removal, and would let the guest in.
  func mayRemove(_ member: Member) -> Bool { isLeaving?() != true || !data.guests.contains(member.id) }

  private func record(_ admission: LoggedMessage?) {
    guard let entry = admission?.entry else { return }
    log?.record(entry)
    needsSettling = true
  }

  /// How long a new room waits for the participant for which it was opened.
  private static let firstJoinLimit = Duration.seconds(15)

  /// Answers the sender of a message: at once, or when the ledger has stored it.
  func acknowledge(_ delivery: DataRouter.Delivery, to member: Member, at now: Tick) {
    let message = delivery.message
    if let logged = delivery.logged, let entry = logged.entry {
      log?.remember(message, at: now)
      log?.record(entry)
      needsSettling = true
      guard log?.isStored(message.order, id: message.id, of: member) ?? true else { return }
    }
    outbox.post(.dataReceipt(DataReceipt(id: message.id, order: message.order)), to: member.client)
  }

  /// Answers the sender of a message that it has sent before.
  /// - Returns: false if the message is new.
  func acknowledgeAgain(_ id: String, of member: Member, at now: Tick) -> Bool {
    guard let order = log?.order(of: id, from: member.id, at: now) else { return false }
    guard log?.isWaiting(order, of: member) == false else { return true }
    if log?.isStored(order, id: id, of: member) ?? true {
      outbox.post(.dataReceipt(DataReceipt(id: id, order: order)), to: member.client)
    }
    return true
  }

  /// The ledger has stored all messages up to this number.
  func stored(through order: UInt64) { post(log?.store(through: order) ?? []) }

  /// The ledger has not stored a message in time. It may do so yet.
  func isLate(_ order: UInt64) {
    post(log?.failure(of: order, Failure(.unavailable, "the message is not stored yet")) ?? [])
  }

  /// A message will not be stored: too much waits for the ledger.
  func failed(_ order: UInt64) {
    post(log?.failure(of: order, Failure(.tooMany, "too much waits to be stored")) ?? [])
    log?.forget(order)
  }

  private func post(_ receipts: [(receipt: DataReceipt, member: Member)]) {
    for (receipt, sender) in receipts where member(sender.id) === sender {
      outbox.post(.dataReceipt(receipt), to: sender.client)
    }
  }

  /// Whether the room stays although no participant is in it.
  func isKeptOpen(at now: Tick) -> Bool { keptOpenUntil.map { $0 > now } ?? false }

  func checkKeptOpen(at now: Tick) {
    guard let end = keptOpenUntil, end <= now else { return }
    keptOpenUntil = nil
    for service in data.takeFormerJobs() { endJob(of: service) }
    // Guests of the former home that have not rejoined in time.
    for guest in data.guests where member(guest) == nil { endAdmission(of: guest) }
    needsSettling = true
  }
}
