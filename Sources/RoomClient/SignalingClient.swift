package import KoineBase
package import KoineSignaling

/// A client's signalling: its channel, the servers that it tries, and the times at which it connects again, gives an attempt up, or
/// gives up altogether. Sans-IO.
///
/// The owner makes the first connection before anything else. After each call it handles the events, sends the messages of
/// `pollMessage`, and makes a connection to `place` where `takeConnectionRequest` says so. When a connection breaks, or an attempt to
/// make one fails, the owner calls `connectionLost`; when a connection is open, `connectionMade`.
///
///     connecting ── joined, registered, waiting ──→ admitted ── connectionLost ──→ lost ── resumed, joined ──→ admitted
///         │  ↑                                        │                             ↑ │
///         │  └── not made: the next address           └── moved ──→ moving ── 2 s ──┘ └── patience ──→ over
///         └── none is left ──→ over                                   └── joined elsewhere ──→ admitted
///
/// `interrupted` is reported in the state lost, and not in the state moving: a planned move that takes less than `moveLimit` goes
/// unnoticed.
///
/// A class, because its owner asks it in each turn of the loop, through a protocol: a struct would be copied each time.
package final class SignalingClient {
  package enum Event {
    case message(ServerMessage)
    /// A message could not be sent.
    case failed(Failure)
    /// The router cannot be reached for now.
    case interrupted
    /// The router is reached again, and nothing is missing.
    case resumed
    /// A router is reached that does not know the client, which joins, or registers, again. `unacknowledged` messages may not have
    /// been received.
    case forgotten(unacknowledged: [ClientMessage])
    /// Nothing follows.
    case ended(EndReason)
  }

  /// Why a connection, or the attempt to make one, has ended.
  package enum Loss: Hashable, Sendable {
    case broken
    /// Nothing has come from the server for this time.
    case silent(Duration)
    /// No connection could be made.
    case notMade(String)

    fileprivate var ofPlace: ServerPlaces.Loss {
      switch self {
      case .broken: .broken
      case .silent: .silent
      case .notMade: .notMade
      }
    }
  }

  /// How long a connection may take to open, and then to be resumed, before it counts as lost.
  private static let attemptLimit = Duration.seconds(5)
  /// How long joining again may take: the answer brings the room's history.
  private static let entryLimit = Duration.seconds(15)
  /// How long the answer to `leave` may take.
  private static let leaveLimit = Duration.seconds(2)
  /// How long a planned move may take before it is reported as an interruption.
  private static let moveLimit = Duration.seconds(2)
  /// How many redirects in a row the client follows. Servers that send it from one to the other must not make it spin.
  private static let redirectLimit = 8
  /// So many redirects in a row are followed without a pause: a server that is not up to date names one that knows better.
  private static let promptRedirects = 3
  /// A redirect after a stay of this length is not one in a row.
  private static let steadyStay = Duration.seconds(5)

  private var channel = ClientSignalingChannel()
  private var backoff = Backoff()
  private var random: SeededRandom
  private let patience: Duration
  private var places = ServerPlaces()
  private var events: [Event] = []
  /// Set once the router has admitted the client.
  private var hasBegun = false
  /// Why the last attempt to connect has failed, if no connection has been open yet.
  private var firstFailure: String?
  private var hasEverOpened = false
  private var lostSince: Tick?
  /// Whether a server has sent the client away, and none has admitted it since.
  package private(set) var isMoving = false
  /// When a planned move is reported as an interruption.
  private var moveEnds: Tick?
  private var nextAttempt: Tick?
  private var attemptEnds: Tick?
  /// How long the present attempt may take.
  private var attemptTime = SignalingClient.entryLimit
  /// Redirects in a row.
  private var redirects = 0
  private var admittedAt: Tick?
  /// What the last server that admitted the client has said of its pings.
  package private(set) var times = ConnectionTimes()
  /// When a server last had the client, by what the client knows: nil before a server has admitted it, and while one has it.
  package private(set) var leftAt: Tick?
  /// Set once the end has been reported.
  package private(set) var isOver = false
  /// The client ends at this time, whether the router has answered or not.
  private var leaveEnds: Tick?
  private var leaveReason = EndReason.left

  /// - Parameter patience: how long a lost router is looked for.
  package init(random: SeededRandom, patience: Duration = .seconds(60)) {
    (self.random, self.patience) = (random, patience)
    places.advance()
  }

  /// Proves to the router, after it has forgotten the channel, that this is still the same client.
  package var formerKey: String? { channel.formerKey }

  /// The address of the server to which the present connection, or attempt, leads; nil: there is one router, which the owner knows.
  package var place: String? { places.current }
  /// Whether this round has addresses that were not tried.
  package var hasOtherPlaces: Bool { places.hasNext }
  /// Whether another server has sent the client to the present one.
  package var isRedirected: Bool { places.isRedirected }
  /// The place of the room's home, if the client has lost it, or could not reach it, and has come to another server.
  package var unreachableHome: String? { places.unreachableHome }

  package func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  // MARK: Messages

  package func send(_ message: ClientMessage) {
    do throws(SignalingError) { try channel.send(message) } catch {
      let failure = Failure(.tooLarge, "cannot be sent to the room: \(error)")
      if case .join = message { finish(.refused(failure)) } else { events.append(.failed(failure)) }
    }
  }

  /// The next message for the present connection, as JSON.
  package func pollMessage() -> [UInt8]? { channel.pollMessage() }

  /// A whole message of the router, as JSON.
  package func receive(_ json: [UInt8], at now: Tick) {
    guard !isOver, hasConnection else { return }
    guard let message = json.withUnsafeBytes({ try? ServerMessage(json: $0) }) else {
      return channel.receiveUnreadable()
    }
    switch channel.receive(message) {
    case .message(.moved(let places)): redirect(to: places, at: now)
    case .message(.refused(let failure, let places)) where failure.code == .moved:
      redirect(to: places, because: failure, at: now)
    // A server to which many clients return at once cannot check all of them at once: a client that was in a room tries again.
    case .message(.refused(let failure, _)) where failure.code == .tooMany && hasBegun:
      places.endRound()
      connectionLost(at: now)
    // A server without its ledger may not know where the room is. Another one may.
    case .message(.refused(let failure, _)) where failure.code == .unavailable && (hasBegun || places.hasNext):
      connectionLost(at: now)
    case .message(let message):
      if channel.state == .established || message == .waiting { admitted(by: message, at: now) }
      events.append(.message(message))
    case .resumed:
      established(at: now)
      events.append(.resumed)
    case .forgotten(let unacknowledged):
      attemptEnds = now + Self.entryLimit
      events.append(.forgotten(unacknowledged: unacknowledged))
    case .none: break
    }
  }

  private func admitted(by message: ServerMessage, at now: Tick) {
    established(at: now)
    switch message {
    case .joined(let joined):
      places.admitted(naming: joined.places)
      times = ConnectionTimes(pingSeconds: joined.pingSeconds, silenceSeconds: joined.silenceSeconds)
    case .registered(_, let names): places.admitted(naming: names)
    default: break
    }
  }

  private func established(at now: Tick) {
    hasBegun = true
    (lostSince, nextAttempt, attemptEnds, moveEnds, leftAt) = (nil, nil, nil, nil, nil)
    isMoving = false
    if admittedAt == nil { admittedAt = now }
    backoff.succeeded()
  }

  // MARK: Connections

  /// The connection, or the attempt to make one, has failed.
  package func connectionLost(at now: Tick, because loss: Loss = .broken) {
    guard !isOver else { return }
    guard leaveEnds == nil else { return finish(.left) }
    guard nextAttempt == nil else { return }  // of an attempt that was given up: the next one has its time
    let wasAdmitted = admittedAt != nil
    endStay(at: now)
    if wasAdmitted { places.lost(loss.ofPlace) } else { places.failed(loss.ofPlace) }
    if case .notMade(let reason) = loss, !hasEverOpened { firstFailure = reason }
    // Once all addresses have been tried, the first connection is not tried again: its app should learn soon that no server answers.
    guard hasBegun || places.hasNext else { return finish(firstEnd) }
    // Until a server has admitted the client, another place needs a join of its own.
    if hasBegun, !channel.isResumable, places.count > 1 { channel.abandon() } else { channel.connectionLost() }
    attemptEnds = nil
    scheduleAttempt(wasAdmitted: wasAdmitted, at: now)
    guard hasBegun, lostSince == nil else { return }
    lostSince = now
    if case .silent(let time) = loss { leftAt = now - time } else { leftAt = now }
    events.append(.interrupted)
  }

  private func endStay(at now: Tick) {
    if let admittedAt, now - admittedAt >= Self.steadyStay { redirects = 0 }
    admittedAt = nil
  }

  private var firstEnd: EndReason {
    guard !hasEverOpened, let firstFailure else { return .lost }
    return .refused(Failure(.unreachable, "the server cannot be reached: \(firstFailure)"))
  }

  /// The next place of a round follows at once, and the next round after a pause; the first round after a stay has none.
  private func scheduleAttempt(wasAdmitted: Bool, at now: Tick) {
    let isNewRound = wasAdmitted || !places.hasNext
    if !places.hasNext { places.beginRound() }
    nextAttempt = isNewRound ? now + backoff.next(jitter: makeJitter()) : now
  }

  private func makeJitter() -> Double { Double.random(in: 0...1, using: &random) }

  /// Whether the connection that was made last is still wanted; where it is not, the owner closes it.
  package var hasConnection: Bool { channel.state != .lost }

  /// Whether the owner should make a new connection now, to `place`, giving up the one it has or is making. True once per attempt.
  /// An attempt that neither opens nor fails in time counts as failed.
  package func takeConnectionRequest(at now: Tick) -> Bool {
    guard !isOver, let due = nextAttempt, due <= now else { return false }
    nextAttempt = nil
    places.advance()
    limitAttempt(to: Self.attemptLimit, at: now)
    return true
  }

  /// The owner begins to make the first connection, to `place`.
  /// - Parameter addresses: of the servers to try in turn. A single server that does not answer at all is given up after `entryLimit`.
  package func firstConnectionBegun(to addresses: [String] = [], at now: Tick) {
    places = ServerPlaces(addresses)
    places.advance()
    limitAttempt(to: places.count > 1 ? Self.attemptLimit : Self.entryLimit, at: now)
  }

  private func limitAttempt(to time: Duration, at now: Tick) {
    (attemptTime, attemptEnds) = (time, now + time)
  }

  package func connectionMade(at now: Tick) {
    nextAttempt = nil
    hasEverOpened = true
    places.connectionMade()
    if hasBegun {
      limitAttempt(to: Self.attemptLimit, at: now)
    } else if attemptTime != Self.entryLimit {
      limitAttempt(to: Self.entryLimit, at: now)
    }
    guard case .forgotten(let unacknowledged) = channel.connectionMade() else { return }
    limitAttempt(to: Self.entryLimit, at: now)
    events.append(.forgotten(unacknowledged: unacknowledged))
  }

  // MARK: Redirects

  /// A server has sent the client to other places.
  /// - Parameter failure: the refusal that says so; nil: the server had the client.
  private func redirect(to names: [String], because failure: Failure? = nil, at now: Tick) {
    if leaveEnds != nil {
      guard leaveReason == .lost else { return finish(.left) }
      leaveEnds = nil  // the media path was closed because of the move
    }
    let isStay = admittedAt != nil
    endStay(at: now)
    attemptEnds = nil
    redirects += 1
    if redirects > Self.redirectLimit {
      guard hasBegun else {
        return finish(.refused(Failure(.unreachable, "the servers send the client from one to another")))
      }
      places.passOver(afterStay: isStay)
    } else if !places.redirect(to: names), !hasBegun {
      places.endRound()
      return finish(.refused(failure ?? Failure(.unreachable, "the server sends the client away")))
    }
    channel.abandon()
    nextAttempt = now + takeRedirectPause()
    isMoving = true
    guard hasBegun, lostSince == nil else { return }
    (lostSince, leftAt, moveEnds) = (now, now, now + Self.moveLimit)
  }

  /// None for the first redirects in a row, then up to 0.5, 1, 2 and 4 s.
  private func takeRedirectPause() -> Duration {
    guard redirects > Self.promptRedirects else { return .zero }
    let pause = Duration.milliseconds(250) * (1 << min(redirects - Self.promptRedirects, 4))
    return pause * (0.5 + 0.5 * makeJitter())
  }

  // MARK: The end

  /// Waits for the router's last message, but not for long.
  /// - Parameter reason: of the end if none comes.
  package func expectEnd(_ reason: EndReason = .left, at now: Tick) {
    guard leaveEnds == nil else { return }
    leaveEnds = now + Self.leaveLimit
    leaveReason = reason
  }

  /// Reports the end, once.
  package func finish(_ reason: EndReason) {
    guard !isOver else { return }
    isOver = true
    try? channel.send(.bye)
    events.append(.ended(reason))
  }

  // MARK: Time

  package func handleTimeout(at now: Tick) {
    if let leaveEnds, now >= leaveEnds { finish(leaveReason) }
    if let lostSince, now - lostSince >= patience { finish(.lost) }
    if let attemptEnds, now >= attemptEnds { attemptTimedOut(at: now) }
    if let moveEnds, now >= moveEnds {
      self.moveEnds = nil
      if !isOver { events.append(.interrupted) }
    }
  }

  private func attemptTimedOut(at now: Tick) {
    let reason = "no answer within \(attemptTime.components.seconds) s"
    guard hasBegun || leaveEnds != nil || places.hasNext else {
      return finish(.refused(Failure(.unreachable, reason)))
    }
    connectionLost(at: now, because: .notMade(reason))
  }

  /// When `handleTimeout` next has work to do; nil once it is over.
  package var deadline: Tick? {
    isOver ? nil : leaveEnds.sooner(nextAttempt).sooner(attemptEnds).sooner(patienceEnds).sooner(moveEnds)
  }

  private var patienceEnds: Tick? { lostSince.map { $0 + patience } }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    soonestDeadline([
      "the router's goodbye": leaveEnds, "next connection attempt": nextAttempt,
      "end of a connection attempt": attemptEnds, "end of reconnecting": patienceEnds,
      "report of a slow move": moveEnds,
    ])
  }
}
