package import Koine
package import KoineBase
package import KoineSignaling
package import KoineTransport

/// A client's own end of its link to a router: what participants and endpoints have in common. Sans-IO: whoever owns it
/// brings it messages, datagrams and the time, and takes from it what `pollMessage` and `poll` give.
///
/// The owner makes the first connection before anything else. After each call that takes a time it drains `poll`,
/// `pollMessage` and `takeConnectionRequest`, and calls `handleTimeout` no later than `deadline`. When a connection breaks, or
/// an attempt to make one fails, the owner calls `connectionLost`; when one is open, `connectionMade`. Messages that the
/// router has not acknowledged are sent again on the new connection (`ClientSignalingChannel`).
package class ClientEnd {
  /// How long a connection may take to open, and then to be resumed, before it counts as lost.
  private static let attemptLimit = Duration.seconds(5)
  /// How long the way in again may take: the answer brings the room's history.
  private static let entryLimit = Duration.seconds(15)
  /// How long it is tried.
  private static let patience = Duration.seconds(60)

  private var channel = ClientSignalingChannel()
  private var backoff = Backoff()
  var random: SeededRandom
  /// Set once the router has let it in.
  private var hasBegun = false
  private var lostSince: Tick?
  private var nextAttempt: Tick?
  private var attemptEnds: Tick?
  /// Set once the end has been told.
  package private(set) var isOver = false
  /// Goes by itself at this time, whether the router has answered or not.
  private var leaveLimit: Tick?
  private var leaveReason = EndReason.left

  init(random: SeededRandom) { self.random = random }

  /// Proves to the router, after it has forgotten the conversation, that this is still the same client.
  var formerKey: String? { channel.formerKey }

  // MARK: For the kinds of clients

  /// A message of the router.
  func hear(_ message: ServerMessage, at now: Tick) {}
  /// A datagram that is no signalling.
  package func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  {}
  /// One of its sockets has another address now.
  package func addressChanged(from old: TransportAddress, to new: TransportAddress, at now: Tick) {}
  package func carryOutOrders(at now: Tick) {}
  /// Tells whoever this end belongs to; called once.
  func tellEnd(_ reason: EndReason) {}
  func tell(_ failure: Failure) {}
  /// The router cannot be reached for now.
  func interrupted() {}
  /// It is reached again, and nothing is missing.
  func resumed(at now: Tick) {}
  /// It is reached again and knows nothing: to be begun anew.
  func beginAnew(unheard: [ClientMessage], at now: Tick) {}
  func handleMediaTimeout(at now: Tick) {}
  func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? { nil }
  var mediaDeadline: Tick? { nil }
  var mediaDeadlineReason: String { "media" }

  // MARK: Signalling

  package func send(_ message: ClientMessage) {
    do { try channel.send(message) } catch {
      let failure = Failure(.tooLarge, "cannot be said to the room: \(error)")
      if case .join = message { end(.refused(failure)) } else { tell(failure) }
    }
  }

  /// The next message for the present connection, as JSON.
  package func pollMessage() -> [UInt8]? { channel.pollMessage() }

  /// A whole message of the router, as JSON.
  package func handleMessage(_ json: [UInt8], at now: Tick) {
    guard !isOver, hasConnection else { return }
    guard let message = json.withUnsafeBytes({ try? ServerMessage(json: $0) }) else {
      return channel.receiveUnreadable()
    }
    switch channel.receive(message) {
    // A server to which many clients return at once cannot check all of them at once: a client that was in a room tries again.
    case .message(.refused(let failure)) where failure.code == .tooMany && hasBegun: connectionLost(at: now)
    case .message(let message):
      if channel.state == .established || message == .waiting { stands() }
      hear(message, at: now)
    case .resumed:
      stands()
      resumed(at: now)
    case .forgotten(let unheard):
      attemptEnds = now + Self.entryLimit
      beginAnew(unheard: unheard, at: now)
    case .none: break
    }
  }

  private func stands() {
    hasBegun = true
    (lostSince, nextAttempt, attemptEnds) = (nil, nil, nil)
    backoff.succeeded()
  }

  // MARK: Connections

  /// The connection, or the attempt to make one, has failed.
  package func connectionLost(at now: Tick) {
    guard !isOver else { return }
    // The first connection is not tried again: whoever wants in should hear soon that nobody answers.
    guard hasBegun, leaveLimit == nil else { return end(leaveLimit == nil ? .lost : .left) }
    channel.connectionLost()
    attemptEnds = nil
    nextAttempt = now + backoff.next(jitter: Double.random(in: 0...1, using: &random))
    guard lostSince == nil else { return }
    lostSince = now
    interrupted()
  }

  /// Whether the connection that was made last is still wanted; where it is not, the owner closes it.
  package var hasConnection: Bool { channel.state != .lost }

  /// Whether the owner should make a new connection now, giving up the one it has or is making. True once per attempt: an
  /// attempt that neither opens nor fails within `attemptLimit` counts as lost.
  package func takeConnectionRequest(at now: Tick) -> Bool {
    guard !isOver, let due = nextAttempt, due <= now else { return false }
    nextAttempt = nil
    attemptEnds = now + Self.attemptLimit
    return true
  }

  /// The owner has begun to make the first connection. A server that does not answer at all is given up after `entryLimit`.
  package func firstConnectionBegun(at now: Tick) { attemptEnds = now + Self.entryLimit }

  package func connectionMade(at now: Tick) {
    nextAttempt = nil
    if hasBegun { attemptEnds = now + Self.attemptLimit }
    channel.connectionMade()
  }

  /// Waits for the router's goodbye, but not for long.
  /// - Parameter reason: of the end if none comes.
  func expectEnd(_ reason: EndReason = .left, at now: Tick) {
    guard leaveLimit == nil else { return }
    leaveLimit = now + .seconds(2)
    leaveReason = reason
  }

  /// Tells the end once; nothing follows.
  package func end(_ reason: EndReason) {
    guard !isOver else { return }
    isOver = true
    try? channel.send(.bye)
    tellEnd(reason)
  }

  // MARK: Time and datagrams

  package func handleTimeout(at now: Tick) {
    handleMediaTimeout(at: now)
    if let leaveLimit, now >= leaveLimit { end(leaveReason) }  // nobody answers: gone all the same
    if let lostSince, now - lostSince >= Self.patience { end(.lost) }
    if let attemptEnds, now >= attemptEnds { attemptTimedOut(at: now) }
  }

  private func attemptTimedOut(at now: Tick) {
    guard hasBegun || leaveLimit != nil else {
      return end(.refused(Failure(.unreachable, "no answer within \(Self.entryLimit.components.seconds) s")))
    }
    connectionLost(at: now)
  }

  /// When `handleTimeout` next has work to do; nil once it is over.
  package var deadline: Tick? {
    if isOver { return nil }
    return mediaDeadline.sooner(leaveLimit).sooner(nextAttempt).sooner(attemptEnds).sooner(patienceEnds)
  }

  private var patienceEnds: Tick? { lostSince.map { $0 + Self.patience } }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    let reason = soonestDeadline([
      "media": mediaDeadline, "the router's goodbye": leaveLimit, "next connection attempt": nextAttempt,
      "end of a connection attempt": attemptEnds, "end of reconnecting": patienceEnds,
    ])
    return reason == "media" ? mediaDeadlineReason : reason
  }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    pollMedia(into: out, at: now)
  }
}
