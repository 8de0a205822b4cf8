import KoineBase
import KoineLedger
import KoineSignaling

/// Checks the permission to send a data message, numbers the messages of a room, chooses the recipients of each, and keeps the
/// messages that later participants receive.
///
/// One for each room. A message takes two steps, because what it costs is counted in between: `check` (may the sender send it),
/// then `route`, which answers with a `Delivery` that `Room` carries out. `send` does the same for a service beside the
/// router, which needs no permission. `page` gives a participant that joins what the room keeps for it.
///
/// For some time after a router has lost its memory (`recover`), every message is kept for the participants that are still
/// on their way back, and directed messages may name participants that are not there yet.
struct DataRouter: Codable {
  struct Delivery: Equatable {
    var message: ReceivedMessage
    /// Participants that get the message if they are in the room; nil: all but the sender.
    var recipients: Set<Participant.ID>?
    var includesSender: Bool
    /// Whether a co-located service gets the message.
    var isForService: Bool
    /// As the room's log keeps it; nil for a message that is not kept, and in a room without a log.
    var logged: LoggedMessage?

    func reaches(_ id: Participant.ID) -> Bool {
      if id == message.sender, includesSender { return true }
      return recipients?.contains(id) ?? (id != message.sender)
    }
  }

  /// The number of the last message; the first is 1.
  private(set) var order: UInt64 = 0
  private var history: DataHistory
  /// The last message of each service to all participants, by its name, while it stands.
  private var status: [String: DataHistory.Kept] = [:]
  /// The services' last reports in the log, by their names.
  private var reports: [String: LoggedMessage] = [:]
  /// The log entries of the admitted guests in the room.
  private var admissions: [Participant.ID: LoggedMessage] = [:]
  /// The newest entries about ended admissions, which the ledger may not have stored yet.
  private var endedAdmissions: [LoggedMessage] = []
  /// Numbers of outdated reports and admissions, which the log should drop.
  private var dropped: [UInt64] = []
  /// Services with jobs that the room's former home has not ended. Removed when the jobs continue.
  private var formerJobs: Set<String> = []
  /// Until then participants may be on their way back.
  private var recovers: Tick

  init(limits: DataHistory.Limits, now: Tick) { (history, recovers) = (DataHistory(limits: limits), now) }

  // MARK: Messages

  /// Whether the sender may send the message.
  /// - Parameter services: names of the co-located services.
  func check(_ message: DataMessage, grants: Grants, services: [String]) throws(Failure) {
    guard grants.canSendData else { throw Failure(.forbidden, "not allowed to send data") }
    // The recipient's program obeys an order: it cannot know what the sender is allowed to do.
    let isForServicesOnly = message.recipients.map { $0.allSatisfy(services.contains) && !services.isEmpty } ?? false
    guard grants.canModerate || !DataOrder.isOrder(message.topic) || isForServicesOnly else {
      throw Failure(.forbidden, "not allowed to moderate")
    }
    guard message.payload.count <= SignalingLimits.payload else {
      throw Failure(.tooLarge, "at most \(SignalingLimits.payload) bytes")
    }
  }

  /// Gives a message that has been checked the next number, and keeps it where it has a lifetime.
  /// - Parameter openServices: the services to which participants may write without the permission to record.
  mutating func route(
    _ sent: SendData, from sender: Participant.ID, in roster: Roster, services: [String],
    openServices: Set<String> = [], at now: Tick
  ) throws(Failure) -> Delivery {
    let message = sent.message
    let names = message.recipients.map(Set.init)
    let isForService = names.map { !$0.isDisjoint(with: services) } ?? false
    if let names {
      let isRestricted = services.contains { names.contains($0) && !openServices.contains($0) }
      guard !isRestricted || roster[sender]?.grants.canRecord == true else {
        throw Failure(.forbidden, "not allowed to record the room")
      }
      let isKept = message.isPersistent || (message.lifetime ?? .zero) > .zero
      guard isKept || isForService || now < recovers || names.contains(where: { roster[$0] != nil }) else {
        throw Failure(.unknownParticipant, "none of the addressees is in the room")
      }
    }
    order += 1
    let data = ReceivedMessage(
      sender: sender, topic: message.topic, payload: message.payload, id: sent.id, order: order,
      isDirected: names != nil)
    let logged = keep(data, message, in: roster, at: now) ?? (isForService ? end(orderedBy: data) : nil)
    return Delivery(
      message: data, recipients: names, includesSender: sent.echo, isForService: isForService,
      logged: history.isLogged ? logged : nil)
  }

  /// - Returns: the message as a log keeps it; nil if later participants do not get it.
  private mutating func keep(
    _ data: ReceivedMessage, _ message: DataMessage, in roster: Roster, at now: Tick
  ) -> LoggedMessage? {
    // Of the kinds that the ids are of now, or were when their participants left.
    let addressees = message.recipients?.map { DataHistory.Addressee(id: $0, kind: roster.kind(of: $0)) }
    if message.isRetained, message.recipients == nil {
      history.retain(data, at: now)
      return LoggedMessage(data, lifetime: nil, recipients: nil, isRetained: true)
    }
    if message.isPersistent {
      guard history.keep(data, for: addressees, at: now) else { return nil }
      return LoggedMessage(data, lifetime: nil, recipients: addressees)
    }
    if let lifetime = message.lifetime {
      guard history.keep(data, lifetime: lifetime.inSeconds, for: addressees, at: now) else { return nil }
      return LoggedMessage(data, lifetime: lifetime, recipients: addressees)
    }
    if now < recovers {
      history.keep(data, lifetime: (recovers - now).inSeconds, for: addressees, isForReturning: true, at: now)
    }
    return nil
  }

  /// A message of a service beside the router. To all participants, it stands until the service's next one, and
  /// later participants receive it, too.
  mutating func send(_ answer: RoomService.Answer, id: String, at now: Tick) -> Delivery {
    order += 1
    let data = ReceivedMessage(
      sender: answer.name, topic: answer.name, payload: answer.payload, id: id, order: order,
      isDirected: answer.participant != nil)
    var logged: LoggedMessage?
    if answer.participant == nil {
      status[answer.name] = answer.stands ? DataHistory.Kept(data, received: now) : nil
      logged = log(data, on: answer.stands ? answer.job : nil)
    }
    return Delivery(
      message: data, recipients: answer.participant.map { [$0] }, includesSender: false, isForService: false,
      logged: logged)
  }

  /// - Parameter job: the subject of the service's report; nil: no job is under way.
  /// - Returns: the report, if the log needs it.
  private mutating func log(_ message: ReceivedMessage, on job: RoomService.Job?) -> LoggedMessage? {
    guard history.isLogged, job != nil || reports[message.sender]?.job != nil else { return nil }
    let report = LoggedMessage(message, reporting: job.map { .underWay($0) } ?? .ended)
    replaceReport(with: report)
    return report
  }

  /// A job that a participant stops has ended as soon as that is acknowledged, whatever becomes of this home before the service says so.
  private mutating func end(orderedBy message: ReceivedMessage) -> LoggedMessage? {
    guard message.topic == DataOrder.stop else { return nil }
    let service = String(decoding: message.payload, as: UTF8.self)
    return log(
      ReceivedMessage(sender: service, topic: service, payload: [], id: message.id, order: message.order), on: nil)
  }

  /// Ends a job for the log only.
  mutating func endJob(of service: String, id: String) -> LoggedMessage? {
    guard reports[service]?.job != nil else { return nil }
    order += 1
    return log(ReceivedMessage(sender: service, topic: service, payload: [], id: id, order: order), on: nil)
  }

  private mutating func replaceReport(with report: LoggedMessage) {
    formerJobs.remove(report.message.sender)
    guard let former = reports.updateValue(report, forKey: report.message.sender) else { return }
    dropped.append(former.message.order)
  }

  // MARK: Guests

  /// A guest has been admitted from the lobby.
  /// - Returns: the entry for the log; nil in a room without a log.
  mutating func admit(_ guest: Participant.ID, key: String) -> LoggedMessage? {
    guard history.isLogged else { return nil }
    order += 1
    let admission = LoggedMessage(.granted(key: key), of: guest, order: order)
    if let former = admissions.updateValue(admission, forKey: guest) { dropped.append(former.message.order) }
    return admission
  }

  /// A guest has left the room, or was removed. The end gets an entry of its own, because the log drops the admission only later.
  mutating func endAdmission(of guest: Participant.ID) -> LoggedMessage? {
    guard let former = admissions.removeValue(forKey: guest) else { return nil }
    order += 1
    dropped += [former.message.order, order]
    let end = LoggedMessage(.ended, of: guest, order: order)
    if endedAdmissions.count >= Self.endedLimit { endedAdmissions.removeFirst() }
    endedAdmissions.append(end)
    return end
  }

  private static let endedLimit = 256
  /// An older admission does not count at the next home of the room. (The ledger keeps the log of a dead home for days.)
  private static let admissionLife = Duration.seconds(3600)

  /// Whether the guest was in the room at this home or at an earlier one.
  func isAdmitted(_ guest: Participant.ID, key: String) -> Bool { admissions[guest]?.admission == .granted(key: key) }

  /// The admitted guests, in alphabetical order.
  var guests: [Participant.ID] { admissions.keys.sorted() }

  private var ownEntries: [LoggedMessage] { Array(reports.values) + admissions.values + endedAdmissions }

  /// Whether the entry with this number is a report or an admission. Unlike a message, no client sends it again.
  func isOwn(_ order: UInt64) -> Bool {
    ownEntries.contains { $0.message.order == order }
  }

  /// What services are carrying out, by their names: `status(of:)` has the last report on each.
  var jobs: [String: RoomService.Job] { reports.compactMapValues(\.job) }

  /// The last message of a service to all participants, while it stands.
  func status(of service: String) -> [UInt8]? { status[service]?.data.message.payload }

  // MARK: The log of a room of a cluster

  /// Begins with what the room's log has.
  /// - Parameters:
  ///   - base: the numbers of new messages are above it.
  ///   - messages: in order, with their ages.
  mutating func restore(_ messages: [(message: LoggedMessage, age: Duration)], base: UInt64, at now: Tick) {
    (order, history.isLogged) = (base, true)
    for (logged, age) in messages {
      let (message, received) = (logged.message, now - age)
      if let admission = logged.admission {
        let isValid = admission != .ended && age < Self.admissionLife
        let former = admissions.removeValue(forKey: message.sender)
        if isValid { admissions[message.sender] = logged }
        dropped += [former?.message.order, isValid ? nil : message.order].compactMap(\.self)
      } else if logged.report != nil {
        replaceReport(with: logged)
        if logged.job != nil { formerJobs.insert(message.sender) }
      } else if logged.isRetained {
        history.retain(message, at: received)
      } else {
        history.keep(message, lifetime: logged.lifetime?.inSeconds, for: logged.recipients, at: received)
      }
    }
  }

  /// A participant of the former home is back: the last reports on its jobs stand again.
  /// - Returns: the services, with their jobs and these reports.
  mutating func continueJobs(at now: Tick) -> [(service: String, job: RoomService.Job, report: [UInt8])] {
    defer { formerJobs = [] }
    return formerJobs.sorted().compactMap { service in
      guard let report = reports[service], let job = report.job else { return nil }
      status[service] = DataHistory.Kept(report.message, received: now)
      return (service, job, report.message.payload)
    }
  }

  /// No participant of the former home has come back.
  mutating func takeFormerJobs() -> [String] {
    defer { formerJobs = [] }
    return formerJobs.sorted()
  }

  /// Numbers of messages that the log need not keep any more, since the last call.
  mutating func takeDropped() -> [UInt64] {
    defer { dropped = [] }
    return history.takeDropped() + dropped
  }

  /// The kept messages with numbers in this range, the services' last reports and the guests, as entries of the log.
  func entries(after order: UInt64, through last: UInt64) -> [LogEntry] {
    let messages =
      history.logged(after: order, through: last)
      + ownEntries.filter { $0.message.order > order && $0.message.order <= last }
    return messages.sorted { $0.message.order < $1.message.order }.compactMap(\.entry)
  }

  // MARK: Snapshots

  /// Reports and admissions are not part of it: a room of a cluster begins with its log.
  private enum CodingKeys: String, CodingKey { case order, history, status, recovers }

  // MARK: Later participants

  /// Participants may be on their way back until then, after the router has lost its memory.
  mutating func recover(until end: Tick) { recovers = end }

  /// The participants of a restored room that have not returned are given up.
  mutating func endRecovery() { history.forgetUnread() }

  /// Keeps messages that participants have not acknowledged, by their ids, for the time until they return to the room's
  /// snapshot.
  mutating func keepUnread(_ messages: [Participant.ID: [ReceivedMessage]], until end: Tick, at now: Tick) {
    let messages = messages.mapValues { $0.filter { status[$0.sender]?.order != $0.order } }
    history.keepUnread(messages, until: end, at: now)
  }

  mutating func shiftTimes(by difference: Duration) {
    history.shiftTimes(by: difference)
    status = status.mapValues { DataHistory.shifted($0, by: difference) }
    recovers += difference
  }

  /// The next page of the messages that are kept for a participant, oldest first.
  /// - Parameters:
  ///   - after: number that the page begins after.
  ///   - through: number that ends the last page.
  /// - Returns: `next` is the number that the page after this one begins after, nil where this is the last.
  func page(
    for reader: DataHistory.Reader, after: UInt64, through: UInt64, at now: Tick
  ) -> (entries: [HistoryPage.Entry], next: UInt64?) {
    history.page(
      for: reader, after: after, through: through, bytes: SignalingLimits.historyPage, with: Array(status.values),
      at: now)
  }
}
