package import KoineBase
import KoineRTP

/// Finds a path to the other end and watches over it (RFC 8445; consent after RFC 7675).
///
/// One component; host and peer-reflexive candidates. The full agent checks every pair of a local address and a remote
/// candidate of the same family; controlling, it nominates the first pair that answers. The lite agent only answers and
/// follows the latest nomination, so that a participant may change its address.
package struct ICEAgent {
  package enum Role: Sendable, Hashable {
    case full(controlling: Bool)
    case lite
  }

  package enum Event: Sendable, Hashable {
    case connected
    case pairChanged
    /// No consent for 30 s.
    case disconnected
    /// No pair answered.
    case failed
  }

  private struct Pair {
    let local: SocketAddress
    let remote: SocketAddress
    var state = State.waiting
    var nominated = false

    enum State: Equatable {
      case waiting
      case inProgress(STUNMessage.TransactionID, attempts: Int, next: Tick)
      case succeeded
      case failed
    }
  }

  private struct Reply {
    let message: STUNMessage
    let key: String?
    let source: SocketAddress
    let destination: SocketAddress
  }

  private static let checkLimit = 9
  private static let firstRetransmission = Duration.milliseconds(100)
  private static let slowestRetransmission = Duration.milliseconds(800)
  private static let consentInterval = Duration.seconds(5)
  private static let consentLimit = Duration.seconds(30)

  private let role: Role
  private var isControlling: Bool
  private let local: ICECredentials
  private var remote: ICECredentials?
  private var random: SeededRandom
  private let tieBreaker: UInt64
  private var localAddresses: [SocketAddress] = []
  private var pairs: [Pair] = []
  private var replies: [Reply] = []
  private var events: [Event] = []
  private var now: Tick
  private var lastConsent: Tick
  private var nextConsentCheck: Tick?
  private var consentTransactions: [STUNMessage.TransactionID] = []
  private var hasFailed = false
  package private(set) var selected: (local: SocketAddress, remote: SocketAddress)?

  package init(role: Role, local: ICECredentials, random: SeededRandom, now: Tick) {
    self.role = role
    self.local = local
    self.random = random
    self.now = now
    lastConsent = now
    if case .full(let controlling) = role { isControlling = controlling } else { isControlling = false }
    tieBreaker = self.random.next()
  }

  package mutating func addLocal(_ address: SocketAddress) {
    guard !localAddresses.contains(address) else { return }
    localAddresses.append(address)
  }

  package mutating func setRemote(_ credentials: ICECredentials) { remote = credentials }

  package mutating func addRemote(_ candidate: ICECandidate) {
    guard role != .lite, let address = candidate.address else { return }
    for local in localAddresses where local.family == address.family { addPair(local, address) }
  }

  private mutating func addPair(_ local: SocketAddress, _ remote: SocketAddress) {
    guard pairs.count < 100, !pairs.contains(where: { $0.local == local && $0.remote == remote }) else { return }
    pairs.append(Pair(local: local, remote: remote))
  }

  // MARK: In

  package mutating func handle(
    _ bytes: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress, at now: Tick
  ) {
    self.now = now
    guard let message = try? STUNMessage(parsing: bytes) else { return }
    switch message.kind {
    case .request: handleRequest(message, bytes, from: source, to: destination)
    case .success: handleSuccess(message, bytes, from: source, to: destination)
    case .failure: handleFailure(message, bytes)
    case .indication: break
    }
  }

  private mutating func handleRequest(
    _ request: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress
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
        return replies.append(Reply(message: refusal, key: local.password, source: destination, destination: source))
      }
      isControlling.toggle()
    }
    var answer = STUNMessage(.success, request.transaction)
    answer.mappedAddress = source
    replies.append(Reply(message: answer, key: local.password, source: destination, destination: source))
    if role == .lite {
      lastConsent = now
      if request.usesCandidate || selected == nil { select(destination, source) }
    } else {
      trigger(destination, source, nominated: request.usesCandidate && !isControlling)
    }
  }

  private func isConflict(_ request: STUNMessage) -> Bool {
    guard role != .lite else { return false }
    return isControlling ? request.controlling != nil : request.controlled != nil
  }

  /// RFC 8445, 7.3.1.4: who reaches us can perhaps be reached.
  private mutating func trigger(_ local: SocketAddress, _ remote: SocketAddress, nominated: Bool) {
    addPair(local, remote)
    guard let index = pairs.firstIndex(where: { $0.local == local && $0.remote == remote }) else { return }
    if nominated { pairs[index].nominated = true }
    switch pairs[index].state {
    case .succeeded: if pairs[index].nominated { select(local, remote) }
    case .failed: pairs[index].state = .waiting
    case .waiting, .inProgress: break
    }
  }

  private mutating func handleSuccess(
    _ answer: STUNMessage, _ bytes: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress
  ) {
    guard let remote, answer.verify(bytes, key: remote.password) else { return }
    if consentTransactions.contains(answer.transaction) {
      lastConsent = now
      consentTransactions.removeAll(keepingCapacity: true)
      return
    }
    guard let index = index(of: answer.transaction), pairs[index].remote == source, pairs[index].local == destination
    else {
      return
    }
    pairs[index].state = .succeeded
    if isControlling || pairs[index].nominated {
      pairs[index].nominated = true
      if selected == nil || pairs[index].nominated { select(pairs[index].local, pairs[index].remote) }
    }
  }

  private mutating func handleFailure(_ answer: STUNMessage, _ bytes: UnsafeRawBufferPointer) {
    guard let remote, answer.verify(bytes, key: remote.password), let index = index(of: answer.transaction) else {
      return
    }
    if answer.errorCode == 487 {
      isControlling.toggle()
      pairs[index].state = .waiting
    } else {
      pairs[index].state = .failed
    }
  }

  private func index(of transaction: STUNMessage.TransactionID) -> Int? {
    pairs.firstIndex { if case .inProgress(transaction, _, _) = $0.state { true } else { false } }
  }

  private mutating func select(_ local: SocketAddress, _ remote: SocketAddress) {
    let isFirst = selected == nil
    if let selected, selected == (local, remote) { return }
    // The first that answers stays.
    if let selected, isControlling, role != .lite, selected != (local, remote) { return }
    selected = (local, remote)
    lastConsent = now
    nextConsentCheck = now + Self.consentInterval
    events.append(isFirst ? .connected : .pairChanged)
  }

  // MARK: Time

  package var deadline: Tick? {
    if hasFailed { return nil }
    var soonest: Tick?
    if selected != nil {
      soonest = lastConsent + Self.consentLimit
      if role != .lite { soonest = soonest.sooner(nextConsentCheck) }
      return soonest
    }
    guard remote != nil else { return nil }
    for pair in pairs {
      switch pair.state {
      case .waiting: return now
      case .inProgress(_, _, let next): soonest = soonest.sooner(next)
      case .succeeded, .failed: break
      }
    }
    return soonest
  }

  package mutating func handleTimeout(at now: Tick) {
    self.now = now
    guard !hasFailed else { return }
    if selected != nil, now - lastConsent >= Self.consentLimit {
      hasFailed = true
      events.append(.disconnected)
      return
    }
    guard selected == nil, remote != nil, role != .lite else { return }
    for index in pairs.indices {
      if case .inProgress(_, let attempts, let next) = pairs[index].state, now >= next, attempts >= Self.checkLimit {
        pairs[index].state = .failed
      }
    }
    if !pairs.isEmpty, pairs.allSatisfy({ $0.state == .failed }) {
      hasFailed = true
      events.append(.failed)
    }
  }

  // MARK: Out

  package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  package mutating func poll(into out: UnsafeMutableRawBufferPointer) -> Transmit? {
    while !replies.isEmpty {
      let reply = replies.removeFirst()
      guard let count = reply.message.write(into: out, key: reply.key) else { continue }
      return Transmit(count: count, source: reply.source, destination: reply.destination)
    }
    guard let remote, role != .lite, !hasFailed else { return nil }
    if let selected {
      guard let due = nextConsentCheck, now >= due else { return nil }
      // RFC 7675, 5.1: between 0.8 and 1.2 times the interval.
      nextConsentCheck = now + Self.consentInterval * Double.random(in: 0.8...1.2, using: &random)
      let transaction = makeTransaction()
      consentTransactions.append(transaction)
      if consentTransactions.count > 8 { consentTransactions.removeFirst() }
      return write(
        request(transaction, nominating: isControlling, to: remote), into: out, selected.local, selected.remote)
    }
    for index in pairs.indices {
      let attempts: Int
      switch pairs[index].state {
      case .waiting: attempts = 0
      case .inProgress(_, let made, let next) where now >= next && made < Self.checkLimit: attempts = made
      case .inProgress, .succeeded, .failed: continue
      }
      let transaction = makeTransaction()
      let wait = min(Self.firstRetransmission * (1 << min(attempts, 4)), Self.slowestRetransmission)
      pairs[index].state = .inProgress(transaction, attempts: attempts + 1, next: now + wait)
      return write(
        request(transaction, nominating: isControlling, to: remote), into: out, pairs[index].local, pairs[index].remote)
    }
    return nil
  }

  private func write(
    _ message: STUNMessage, into out: UnsafeMutableRawBufferPointer, _ source: SocketAddress,
    _ destination: SocketAddress
  ) -> Transmit? {
    guard let remote, let count = message.write(into: out, key: remote.password) else { return nil }
    return Transmit(count: count, source: source, destination: destination)
  }

  private func request(
    _ transaction: STUNMessage.TransactionID, nominating: Bool, to remote: ICECredentials
  ) -> STUNMessage {
    var message = STUNMessage(.request, transaction)
    message.username = "\(remote.ufrag):\(local.ufrag)"
    message.priority = ICECandidate.priority(.prflx, preference: 0xFFFF)
    message.usesCandidate = nominating
    if isControlling { message.controlling = tieBreaker } else { message.controlled = tieBreaker }
    return message
  }

  private mutating func makeTransaction() -> STUNMessage.TransactionID {
    STUNMessage.TransactionID(high: UInt32(truncatingIfNeeded: random.next()), low: random.next())
  }
}
