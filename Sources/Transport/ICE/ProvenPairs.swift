import KoineBase

/// Pairs on which good checks have come to a lite agent, each for as long as that is consent (30 s).
///
/// A good check authenticates its sender, but its source address may be forged. A pair is *validated* once the remote agent has
/// answered one of our checks, with MESSAGE-INTEGRITY and a transaction id that cannot be guessed, or the DTLS handshake has
/// completed on the pair. Until then we send at most three times the bytes received on the pair (as RFC 9000, 8.1).
struct ProvenPairs {
  struct Pair {
    let local: TransportAddress
    let remote: TransportAddress
    /// When the last good check came.
    fileprivate(set) var checked: Tick
    fileprivate(set) var isValidated = false
    fileprivate var question: Question
    /// In bytes, while it is not validated.
    fileprivate var received = 0
    fileprivate var sent = 0

    fileprivate func isOn(_ pair: (local: TransportAddress, remote: TransportAddress)?) -> Bool {
      pair.map { (local, remote) == $0 } ?? false
    }
  }

  /// The check of ours that is to be answered: sent up to three times for each good check that comes.
  fileprivate struct Question {
    let transaction: STUNMessage.TransactionID
    var left = 0
    var next: Tick

    static let attempts = 3
    static let firstPause = Duration.milliseconds(100)
  }

  private static let limit = 8
  private static let amplification = 3
  private let lifetime: Duration
  private var pairs: [Pair] = []

  init(lifetime: Duration) { self.lifetime = lifetime }

  /// A good check has come.
  /// - Parameter selected: the pair in use. It is never forgotten, because the limit on what it is sent must hold.
  mutating func checkArrived(
    on pair: (local: TransportAddress, remote: TransportAddress),
    keeping selected: (local: TransportAddress, remote: TransportAddress)?,
    using random: inout SeededRandom, at now: Tick
  ) {
    let lifetime = lifetime
    pairs.removeAll { !$0.isOn(pair) && !$0.isOn(selected) && now - $0.checked >= lifetime }
    let known = index(pair)
    var entry =
      known.map { pairs.remove(at: $0) }
      ?? Pair(
        local: pair.local, remote: pair.remote, checked: now,
        question: Question(transaction: .random(using: &random), next: now))
    entry.checked = now
    if !entry.isValidated {
      if entry.question.left == 0 { entry.question.next = now }
      entry.question.left = Question.attempts
    }
    if pairs.count == Self.limit, let oldest = pairs.firstIndex(where: { !$0.isOn(selected) }) {
      pairs.remove(at: oldest)
    }
    pairs.append(entry)
  }

  /// - Returns: whether a response on that pair is the answer to our check; the pair is validated then.
  mutating func answerArrived(
    _ transaction: STUNMessage.TransactionID, on pair: (local: TransportAddress, remote: TransportAddress)
  ) -> Bool {
    guard let index = index(pair), pairs[index].question.transaction == transaction else { return false }
    pairs[index].isValidated = true
    pairs[index].question.left = 0
    return true
  }

  mutating func validate(_ pair: (local: TransportAddress, remote: TransportAddress)) {
    guard let index = index(pair) else { return }
    pairs[index].isValidated = true
    pairs[index].question.left = 0
  }

  func isValidated(_ pair: (local: TransportAddress, remote: TransportAddress)) -> Bool {
    index(pair).map { pairs[$0].isValidated } ?? false
  }

  func isValidated(_ remote: TransportAddress) -> Bool { pairs.contains { $0.remote == remote && $0.isValidated } }

  func contains(_ remote: TransportAddress, at now: Tick) -> Bool {
    pairs.contains { $0.remote == remote && now - $0.checked < lifetime }
  }

  /// When the last good check came on a validated pair.
  func latest(of pair: (local: TransportAddress, remote: TransportAddress), at now: Tick) -> Tick? {
    guard let index = index(pair), pairs[index].isValidated, now - pairs[index].checked < lifetime else { return nil }
    return pairs[index].checked
  }

  /// Transaction ids of our unanswered checks to `remote`.
  func questions(to remote: TransportAddress) -> [STUNMessage.TransactionID] {
    pairs.filter { $0.remote == remote && !$0.isValidated }.map(\.question.transaction)
  }

  // MARK: Bytes

  mutating func received(_ count: Int, on pair: (local: TransportAddress, remote: TransportAddress)) {
    guard let index = index(pair), !pairs[index].isValidated else { return }
    pairs[index].received &+= count
  }

  mutating func sent(_ count: Int, on pair: (local: TransportAddress, remote: TransportAddress)) {
    guard let index = index(pair), !pairs[index].isValidated else { return }
    pairs[index].sent &+= count
  }

  /// Whether `count` more bytes may be sent on the pair; false for an unknown pair.
  func admits(_ count: Int, on pair: (local: TransportAddress, remote: TransportAddress)) -> Bool {
    guard let index = index(pair) else { return false }
    return pairs[index].isValidated || pairs[index].sent + count <= pairs[index].received * Self.amplification
  }

  // MARK: Our checks

  /// Whether a check of ours is still to be sent.
  var isAsking: Bool { pairs.contains { $0.question.left > 0 } }

  var deadline: Tick? {
    pairs.reduce(nil) { ($0 as Tick?).sooner($1.question.left > 0 ? $1.question.next : nil) }
  }

  /// The next check that is due.
  mutating func nextCheck(
    at now: Tick
  ) -> (transaction: STUNMessage.TransactionID, local: TransportAddress, remote: TransportAddress)? {
    guard let index = pairs.firstIndex(where: { $0.question.left > 0 && $0.question.next <= now }) else { return nil }
    let question = pairs[index].question
    pairs[index].question.left -= 1
    pairs[index].question.next = now + Question.firstPause * (1 << (Question.attempts - question.left))
    return (question.transaction, pairs[index].local, pairs[index].remote)
  }

  private func index(_ pair: (local: TransportAddress, remote: TransportAddress)) -> Int? {
    pairs.firstIndex { $0.isOn(pair) }
  }
}

/// The checks that have arrived, and their pairs. An attacker on the path can keep a check and send it again on another pair, in
/// order to redirect the media (RFC 8445 section 19.2 relies on transaction ids, which an attacker off the path cannot guess).
///
/// The latest 1,024 checks are remembered; a client that makes one every 5 s makes so many in an hour and a half.
struct HeardChecks {
  private static let memory = 1_024
  private var pairs: [STUNMessage.TransactionID: (local: TransportAddress, remote: TransportAddress)] = [:]
  private var order: [STUNMessage.TransactionID] = []
  private var next = 0

  /// - Returns: false if the check has arrived before on another pair.
  mutating func isNew(
    _ transaction: STUNMessage.TransactionID, on pair: (local: TransportAddress, remote: TransportAddress)
  ) -> Bool {
    if let known = pairs[transaction] { return known == pair }
    pairs[transaction] = pair
    if order.count < Self.memory {
      order.append(transaction)
    } else {
      pairs[order[next]] = nil
      order[next] = transaction
      next = (next + 1) % Self.memory
    }
    return true
  }
}
