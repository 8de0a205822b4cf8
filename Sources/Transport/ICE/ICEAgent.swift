package import KoineBase
import KoineRTP

/// Finds a path to the other end and watches over it (RFC 8445; consent after RFC 7675).
///
/// One component; host and peer-reflexive candidates. The full agent checks every pair of a local address and a remote
/// candidate of the same family; controlling, it takes the first pair that answers and nominates it. The lite agent answers,
/// takes the first pair it is reached on and then follows the latest nomination, so that a participant may change its
/// address. Beyond RFC 8445 it sends checks of its own, which every WebRTC client answers: source addresses can be forged, so
/// it changes to another pair only once that is validated (`ProvenPairs`).
///
/// Two departures: when every pair has failed the agent gives up at once, without waiting for peer-reflexive candidates
/// as RFC 8863 would; and requests without valid integrity are not answered at all.
///
/// A class, because its peer asks it for its deadline after every packet: as a value it was copied each time.
package final class ICEAgent {
  package enum Role: Sendable, Hashable {
    case full(controlling: Bool)
    case lite
  }

  package enum Event: Sendable, Hashable {
    case connected
    case pairChanged
    /// No consent for 30 s. Nothing follows.
    case disconnected
    /// No pair answered. Nothing follows.
    case failed
  }

  private struct Reply {
    let message: STUNMessage
    let source: TransportAddress
    let destination: TransportAddress
  }

  private static let consentInterval = Duration.seconds(5)
  private static let consentLimit = Duration.seconds(30)
  /// How long a nomination is waited for, or an address of a family that we have: RFC 8863, section 4.
  private static let patience = Duration.milliseconds(39_500)

  private let role: Role
  @exclusivity(unchecked) private var isControlling: Bool
  private let local: ICECredentials
  @exclusivity(unchecked) private var remote: ICECredentials?
  /// Asked after every packet: to look at `remote` would copy it.
  @exclusivity(unchecked) private var hasRemote = false
  @exclusivity(unchecked) private var random: SeededRandom
  private let tieBreaker: UInt64
  @exclusivity(unchecked) private var localAddresses: [TransportAddress] = []
  @exclusivity(unchecked) private var checklist: ICEChecklist
  @exclusivity(unchecked) private var replies: [Reply] = []
  @exclusivity(unchecked) private var events: [Event] = []
  @exclusivity(unchecked) private var now: Tick
  @exclusivity(unchecked) private var patienceEnds: Tick?
  /// The nomination of the selected pair, until it is answered.
  @exclusivity(unchecked) private var nomination: ICECheck?
  @exclusivity(unchecked) private var lastConsent: Tick
  @exclusivity(unchecked) private var nextConsentCheck: Tick?
  @exclusivity(unchecked) private var consentChecks: [ICECheck] = []
  @exclusivity(unchecked) private var isOver = false
  /// Lite: pairs on which good checks have come, and whether they are validated.
  @exclusivity(unchecked) private var proven = ProvenPairs(lifetime: consentLimit)
  /// Lite: checks that have come.
  @exclusivity(unchecked) private var heard = HeardChecks()
  /// Lite: the pair nominated last, if it was not validated then.
  @exclusivity(unchecked) private var nominated: (local: TransportAddress, remote: TransportAddress)?
  @exclusivity(unchecked) package private(set) var selected: (local: TransportAddress, remote: TransportAddress)?

  package init(role: Role, local: ICECredentials, random: SeededRandom, now: Tick) {
    self.role = role
    self.local = local
    self.random = random
    self.now = now
    lastConsent = now
    checklist = ICEChecklist(now: now)
    if case .full(let controlling) = role { isControlling = controlling } else { isControlling = false }
    tieBreaker = self.random.next()
  }

  package func addLocal(_ address: TransportAddress) {
    guard !localAddresses.contains(address) else { return }
    localAddresses.append(address)
  }

  /// An address of ours has become another: the path is looked for again from there, with the same credentials. The other
  /// end, if it is lite, follows the nomination; no restart (RFC 8445, 9) is needed between programs that know this.
  package func moveLocal(from old: TransportAddress, to new: TransportAddress, at now: Tick) {
    self.now = now
    guard role != .lite, !isOver, let index = localAddresses.firstIndex(of: old) else { return }
    localAddresses[index] = new
    checklist = checklist.moved(from: old, to: new, at: now)
    selected = nil
    nomination = nil
    nextConsentCheck = nil
    consentChecks.removeAll(keepingCapacity: true)
    patienceEnds = nil
  }

  /// Checks the selected path at once if its last checks were not answered. Call it after an interruption, when signalling has
  /// reached the other end on another connection. Until the next regular check, up to 6 s later, consent could expire although
  /// the path works again. RFC 7675, 5.1, limits the rate of regular checks; this is one transaction for an interruption.
  package func confirmSelected(at now: Tick) {
    self.now = now
    guard role != .lite, !isOver, selected != nil, !consentChecks.isEmpty else { return }
    if isControlling { nomination = makeCheck(nominating: true) } else { nextConsentCheck = now }
  }

  package func setRemote(_ credentials: ICECredentials) { (remote, hasRemote) = (credentials, true) }

  package func addRemote(_ candidate: ICECandidate) {
    guard role != .lite, let address = candidate.address else { return }
    for local in localAddresses where local.transport == address.transport && local.family == address.family {
      checklist.add(local, address, remotePriority: candidate.priority)
    }
  }

  private func isSelected(_ local: TransportAddress, _ remote: TransportAddress) -> Bool {
    selected.map { $0 == (local, remote) } ?? false
  }

  // MARK: In

  package func handle(
    _ bytes: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {
    self.now = now
    guard !isOver, let message = try? STUNMessage(parsing: bytes) else { return }
    if role == .lite, message.kind == .success || message.kind == .failure {
      return handleValidation(message, bytes, from: source, to: destination)
    }
    switch message.kind {
    case .request: handleRequest(message, bytes, from: source, to: destination)
    case .success: handleSuccess(message, bytes, from: source, to: destination)
    case .failure: handleFailure(message, bytes, from: source, to: destination)
    case .indication: break
    }
  }

  private func handleRequest(
    _ request: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: TransportAddress,
    to destination: TransportAddress
  ) {
    guard request.username?.hasPrefix(local.ufrag + ":") == true, request.verify(bytes, key: local.password) else {
      return
    }
    if isConflict(request) {
      // RFC 8445, 7.3.1.1: the larger tie breaker keeps its role.
      let theirs = request.controlling ?? request.controlled ?? 0
      if (tieBreaker >= theirs) == isControlling {
        var refusal = STUNMessage(.failure, request.transaction)
        refusal.errorCode = 487
        return replies.append(Reply(message: refusal, source: destination, destination: source))
      }
      takeRole(controlling: !isControlling)
    }
    if role == .lite, !heard.isNew(request.transaction, on: (destination, source)) { return }
    var answer = STUNMessage(.success, request.transaction)
    answer.mappedAddress = source.socketAddress
    replies.append(Reply(message: answer, source: destination, destination: source))
    if role == .lite {
      proven.checkArrived(on: (destination, source), keeping: selected, using: &random, at: now)
      proven.received(bytes.count, on: (destination, source))
      authenticated += 1
      if selected == nil || request.usesCandidate && proven.isValidated((destination, source)) {
        select(destination, source)
      } else if request.usesCandidate {
        nominated = (destination, source)
      }
      if isSelected(destination, source) { lastConsent = now }
    } else {
      trigger(destination, source, request)
    }
  }

  /// Lite: a response to a check of ours. Only the other end makes one with integrity, so an error (487, role conflict) shows
  /// as well as a success that our check has arrived there. A response without integrity shows nothing: STUN servers and
  /// other WebRTC clients answer every check with its transaction id, as with 400 and 401 (RFC 8489, 9.1.3).
  private func handleValidation(
    _ answer: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: TransportAddress,
    to destination: TransportAddress
  ) {
    guard let remote, answer.verify(bytes, key: remote.password),
      proven.answerArrived(answer.transaction, on: (destination, source))
    else { return }
    authenticated += 1
    guard let nominated, nominated == (destination, source) else { return }
    select(destination, source)
  }

  /// Lite: checks and answers that only the other end can have sent.
  @exclusivity(unchecked) private(set) var authenticated = 0

  /// Lite: what the other end did on the selected pair depends on what it received there.
  package func validateSelected() { if role == .lite, let selected { proven.validate(selected) } }

  /// Lite: whether what we send to that address has been shown to arrive at the other end.
  package func isValidated(_ remote: TransportAddress) -> Bool { proven.isValidated(remote) }

  /// Lite: transaction ids of our unanswered checks to `remote`.
  func questions(to remote: TransportAddress) -> [STUNMessage.TransactionID] { proven.questions(to: remote) }

  /// Lite: a datagram other than STUN has come; counts towards what an unvalidated pair may be sent.
  func received(_ count: Int, from source: TransportAddress, to destination: TransportAddress) {
    if role == .lite { proven.received(count, on: (destination, source)) }
  }

  /// Lite: whether `count` bytes may be sent on the selected pair.
  func admits(_ count: Int) -> Bool {
    guard role == .lite, let selected else { return true }
    return proven.admits(count, on: selected)
  }

  func sent(_ count: Int) { if role == .lite, let selected { proven.sent(count, on: selected) } }

  /// Lite: whether good checks have come from there lately.
  package func isProven(_ remote: TransportAddress) -> Bool { proven.contains(remote, at: now) }

  /// Lite: authenticated media arrived on this pair; only the other end has the keys. Where several pairs are nominated, the other
  /// end uses the pair with the highest priority in its own view (RFC 5245 section 8.1.1.2), and its media is the only sign of that
  /// choice. Media is no consent: only checks give consent (RFC 7675, 5.1).
  package func used(from source: TransportAddress, to destination: TransportAddress, at now: Tick) {
    guard role == .lite, !isOver, !isSelected(destination, source) else { return }
    self.now = now
    guard let proof = proven.latest(of: (destination, source), at: now) else { return }
    select(destination, source)
    lastConsent = proof
  }

  private func isConflict(_ request: STUNMessage) -> Bool {
    guard role != .lite else { return false }
    return isControlling ? request.controlling != nil : request.controlled != nil
  }

  private func takeRole(controlling: Bool) {
    guard isControlling != controlling else { return }
    isControlling = controlling
    nomination = nil
    guard controlling, selected == nil, let pair = checklist.pairs.first(where: \.hasSucceeded) else { return }
    select(pair.local, pair.remote)
  }

  /// Makes a triggered check (RFC 8445, 7.3.1.4): an address that reaches us can perhaps be reached.
  private func trigger(_ local: TransportAddress, _ remote: TransportAddress, _ request: STUNMessage) {
    let priority = request.priority ?? ICECandidate.priority(.prflx, preference: 0xFFFF)
    checklist.add(local, remote, remotePriority: priority)
    guard let index = checklist.index(local, remote) else { return }
    checklist[index].isTriggered = true
    if request.usesCandidate, !isControlling { checklist[index].isNominated = true }
    switch checklist[index].state {
    case .succeeded: if !isControlling, request.usesCandidate { select(local, remote) }
    case .failed: checklist[index].state = .waiting
    case .waiting, .inProgress: break
    }
  }

  private func handleSuccess(
    _ answer: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: TransportAddress,
    to destination: TransportAddress
  ) {
    guard let remote, answer.verify(bytes, key: remote.password) else { return }
    // An answer counts only on the way its request went (RFC 8445, 7.2.5.2.1; RFC 7675, 5.1).
    if isSelected(destination, source), isWatch(answer.transaction) {
      lastConsent = now
      consentChecks.removeAll(keepingCapacity: true)
      nomination = nil
      return
    }
    guard let (index, _) = checklist.index(of: answer.transaction), checklist[index].remote == source,
      checklist[index].local == destination
    else { return }
    checklist[index].state = .succeeded
    if isControlling ? selected == nil : checklist[index].isNominated { select(destination, source) }
  }

  /// Does the transaction confirm the selected pair?
  private func isWatch(_ transaction: STUNMessage.TransactionID) -> Bool {
    nomination?.transaction == transaction || consentChecks.contains { $0.transaction == transaction }
  }

  private func handleFailure(
    _ answer: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: TransportAddress,
    to destination: TransportAddress
  ) {
    guard let remote, answer.verify(bytes, key: remote.password) else { return }
    if isSelected(destination, source), isWatch(answer.transaction) {
      let check = consentChecks.first { $0.transaction == answer.transaction } ?? nomination
      if answer.errorCode == 487, let check { takeRole(controlling: !check.asControlling) }
      return
    }
    guard let (index, check) = checklist.index(of: answer.transaction), checklist[index].remote == source,
      checklist[index].local == destination
    else { return }
    guard answer.errorCode == 487 else {
      checklist[index].state = .failed
      return
    }
    // RFC 8445, 7.2.5.1: the opposite of the role that the request named, so that a second refusal does not undo the first.
    checklist[index].state = .waiting
    checklist[index].isTriggered = true
    takeRole(controlling: !check.asControlling)
  }

  private func select(_ local: TransportAddress, _ remote: TransportAddress) {
    guard !isSelected(local, remote) else { return }
    events.append(selected == nil ? .connected : .pairChanged)
    selected = (local, remote)
    nominated = nil
    lastConsent = now
    nextConsentCheck = now + Self.consentInterval
    consentChecks.removeAll(keepingCapacity: true)
    if isControlling { nomination = makeCheck(nominating: true) }
  }

  // MARK: Time

  package var deadline: Tick? {
    if isOver { return nil }
    var soonest: Tick? = selected == nil ? nil : lastConsent + Self.consentLimit
    guard role != .lite, hasRemote else {
      return hasRemote && proven.isAsking ? soonest.sooner(proven.deadline) : soonest
    }
    if selected == nil {
      soonest = patienceEnds ?? now
    } else {
      soonest = soonest.sooner(nextConsentCheck).sooner(nomination?.next)
    }
    return soonest.sooner(checklist.deadline(now, of: checked))
  }

  /// Once there is a pair, only what the other end chooses instead is checked.
  private var checked: ICEChecklist.Choice { selected == nil ? .all : isControlling ? .none : .nominated }

  package func handleTimeout(at now: Tick) {
    self.now = now
    guard !isOver else { return }
    if selected != nil, now - lastConsent >= Self.consentLimit { return finish(.disconnected) }
    guard role != .lite, remote != nil else { return }
    checklist.giveUp(at: now)
    if nomination?.isOver(at: now) == true { nomination = nil }  // consent checks nominate, too
    guard selected == nil else { return }
    let patienceEnds = patienceEnds ?? now + Self.patience
    self.patienceEnds = patienceEnds
    if checklist.haveAllFailed || now >= patienceEnds { finish(.failed) }
  }

  private func finish(_ event: Event) {
    isOver = true
    replies.removeAll()
    events.append(event)
  }

  // MARK: Out

  package func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  package func poll(into out: UnsafeMutableRawBufferPointer) -> Transmit? {
    while !replies.isEmpty {
      let reply = replies.removeFirst()
      guard let count = reply.message.write(into: out, key: local.password) else { continue }
      // Smaller than three times its request, so it is always admitted.
      if role == .lite { proven.sent(count, on: (reply.source, reply.destination)) }
      return Transmit(count: count, source: reply.source, destination: reply.destination)
    }
    if role == .lite, !proven.isAsking { return nil }
    guard !isOver, let remote else { return nil }
    if role == .lite { return pollValidation(to: remote, into: out) }
    if let selected, let check = nextWatch() {
      return write(check, to: remote, into: out, selected.local, selected.remote)
    }
    var random = random
    let isControlling = isControlling
    let next = checklist.next(at: now, of: checked) {
      ICECheck(transaction: .random(using: &random), asControlling: isControlling, nominates: false, at: now)
    }
    self.random = random
    guard let next else { return nil }
    return write(next.check, to: remote, into: out, next.local, next.remote)
  }

  private func pollValidation(to remote: ICECredentials, into out: UnsafeMutableRawBufferPointer) -> Transmit? {
    while let check = proven.nextCheck(at: now) {
      var message = STUNMessage(.request, check.transaction)
      message.username = "\(remote.ufrag):\(local.ufrag)"
      message.priority = ICECandidate.priority(.prflx, preference: 0xFFFF)
      message.controlled = tieBreaker
      guard let count = message.write(into: out, key: remote.password),
        proven.admits(count, on: (check.local, check.remote))
      else { continue }
      proven.sent(count, on: (check.local, check.remote))
      return Transmit(count: count, source: check.local, destination: check.remote)
    }
    return nil
  }

  /// The request that is due on the selected pair.
  private func nextWatch() -> ICECheck? {
    if var check = nomination, check.isDue(at: now) {
      check.sent(at: now)
      nomination = check
      return check
    }
    guard let due = nextConsentCheck, now >= due else { return nil }
    // RFC 7675, 5.1: between 0.8 and 1.2 times the interval, each in a transaction of its own.
    nextConsentCheck = now + Self.consentInterval * Double.random(in: 0.8...1.2, using: &random)
    let check = makeCheck(nominating: isControlling)
    consentChecks.append(check)
    if consentChecks.count > 8 { consentChecks.removeFirst() }
    return check
  }

  private func makeCheck(nominating: Bool) -> ICECheck {
    ICECheck(transaction: .random(using: &random), asControlling: isControlling, nominates: nominating, at: now)
  }

  private func write(
    _ check: ICECheck, to remote: ICECredentials, into out: UnsafeMutableRawBufferPointer, _ source: TransportAddress,
    _ destination: TransportAddress
  ) -> Transmit? {
    var message = STUNMessage(.request, check.transaction)
    message.username = "\(remote.ufrag):\(local.ufrag)"
    message.priority = ICECandidate.priority(.prflx, preference: 0xFFFF)
    message.usesCandidate = check.nominates
    if check.asControlling { message.controlling = tieBreaker } else { message.controlled = tieBreaker }
    guard let count = message.write(into: out, key: remote.password) else { return nil }
    return Transmit(count: count, source: source, destination: destination)
  }
}
