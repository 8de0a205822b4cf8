package import KoineBase
package import KoineSignaling

/// A client's signalling: its channel, and the times at which it connects again, gives an attempt up, or gives up altogether.
/// Sans-IO.
///
/// The owner makes the first connection before anything else. After each call it handles the events, sends the messages of
/// `pollMessage`, and makes a connection where `takeConnectionRequest` says so. When a connection breaks, or an attempt to make one
/// fails, the owner calls `connectionLost`; when a connection is open, `connectionMade`.
package struct SignalingClient {
  package enum Event {
    case message(ServerMessage)
    /// A message could not be sent.
    case failed(Failure)
    /// The router cannot be reached for now.
    case interrupted
    /// The router is reached again, and nothing is missing.
    case resumed
    /// The router is reached again and does not know the client, which joins, or registers, again. `unacknowledged` messages may not
    /// have been received.
    case forgotten(unacknowledged: [ClientMessage])
    /// Nothing follows.
    case ended(EndReason)
  }

  /// How long a connection may take to open, and then to be resumed, before it counts as lost.
  private static let attemptLimit = Duration.seconds(5)
  /// How long joining again may take: the answer brings the room's history.
  private static let entryLimit = Duration.seconds(15)
  /// How long the answer to `leave` may take.
  private static let leaveLimit = Duration.seconds(2)

  private var channel = ClientSignalingChannel()
  private var backoff = Backoff()
  private var random: SeededRandom
  private let patience: Duration
  private var events: [Event] = []
  /// Set once the router has admitted the client.
  private var hasBegun = false
  private var lostSince: Tick?
  private var nextAttempt: Tick?
  private var attemptEnds: Tick?
  /// Set once the end has been reported.
  package private(set) var isOver = false
  /// The client ends at this time, whether the router has answered or not.
  private var leaveEnds: Tick?
  private var leaveReason = EndReason.left

  /// - Parameter patience: how long a lost router is looked for.
  package init(random: SeededRandom, patience: Duration = .seconds(60)) {
    (self.random, self.patience) = (random, patience)
  }

  /// Proves to the router, after it has forgotten the channel, that this is still the same client.
  package var formerKey: String? { channel.formerKey }

  package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  // MARK: Messages

  package mutating func send(_ message: ClientMessage) {
    do throws(SignalingError) { try channel.send(message) } catch {
      let failure = Failure(.tooLarge, "cannot be sent to the room: \(error)")
      if case .join = message { finish(.refused(failure)) } else { events.append(.failed(failure)) }
    }
  }

  /// The next message for the present connection, as JSON.
  package mutating func pollMessage() -> [UInt8]? { channel.pollMessage() }

  /// A whole message of the router, as JSON.
  package mutating func receive(_ json: [UInt8], at now: Tick) {
    guard !isOver, hasConnection else { return }
    guard let message = json.withUnsafeBytes({ try? ServerMessage(json: $0) }) else {
      return channel.receiveUnreadable()
    }
    switch channel.receive(message) {
    // A server to which many clients return at once cannot check all of them at once: a client that was in a room tries again.
    case .message(.refused(let failure, _)) where failure.code == .tooMany && hasBegun: connectionLost(at: now)
    case .message(let message):
      if channel.state == .established || message == .waiting { established() }
      events.append(.message(message))
    case .resumed:
      established()
      events.append(.resumed)
    case .forgotten(let unacknowledged):
      attemptEnds = now + Self.entryLimit
      events.append(.forgotten(unacknowledged: unacknowledged))
    case .none: break
    }
  }

  private mutating func established() {
    hasBegun = true
    (lostSince, nextAttempt, attemptEnds) = (nil, nil, nil)
    backoff.succeeded()
  }

  // MARK: Connections

  /// The connection, or the attempt to make one, has failed.
  package mutating func connectionLost(at now: Tick) {
    guard !isOver else { return }
    // The first connection is not tried again: its app should learn soon that no server answers.
    guard hasBegun, leaveEnds == nil else { return finish(leaveEnds == nil ? .lost : .left) }
    channel.connectionLost()
    attemptEnds = nil
    nextAttempt = now + backoff.next(jitter: Double.random(in: 0...1, using: &random))
    guard lostSince == nil else { return }
    lostSince = now
    events.append(.interrupted)
  }

  /// Whether the connection that was made last is still wanted; where it is not, the owner closes it.
  package var hasConnection: Bool { channel.state != .lost }

  /// Whether the owner should make a new connection now, giving up the one it has or is making. True once per attempt: an
  /// attempt that neither opens nor fails within `attemptLimit` counts as lost.
  package mutating func takeConnectionRequest(at now: Tick) -> Bool {
    guard !isOver, let due = nextAttempt, due <= now else { return false }
    nextAttempt = nil
    attemptEnds = now + Self.attemptLimit
    return true
  }

  /// The owner has begun to make the first connection. A server that does not answer at all is given up after `entryLimit`.
  package mutating func firstConnectionBegun(at now: Tick) { attemptEnds = now + Self.entryLimit }

  package mutating func connectionMade(at now: Tick) {
    nextAttempt = nil
    if hasBegun { attemptEnds = now + Self.attemptLimit }
    channel.connectionMade()
  }

  // MARK: The end

  /// Waits for the router's last message, but not for long.
  /// - Parameter reason: of the end if none comes.
  package mutating func expectEnd(_ reason: EndReason = .left, at now: Tick) {
    guard leaveEnds == nil else { return }
    leaveEnds = now + Self.leaveLimit
    leaveReason = reason
  }

  /// Reports the end, once.
  package mutating func finish(_ reason: EndReason) {
    guard !isOver else { return }
    isOver = true
    try? channel.send(.bye)
    events.append(.ended(reason))
  }

  // MARK: Time

  package mutating func handleTimeout(at now: Tick) {
    if let leaveEnds, now >= leaveEnds { finish(leaveReason) }
    if let lostSince, now - lostSince >= patience { finish(.lost) }
    if let attemptEnds, now >= attemptEnds { attemptTimedOut(at: now) }
  }

  private mutating func attemptTimedOut(at now: Tick) {
    guard hasBegun || leaveEnds != nil else {
      return finish(.refused(Failure(.unreachable, "no answer within \(Self.entryLimit.components.seconds) s")))
    }
    connectionLost(at: now)
  }

  /// When `handleTimeout` next has work to do; nil once it is over.
  package var deadline: Tick? {
    isOver ? nil : leaveEnds.sooner(nextAttempt).sooner(attemptEnds).sooner(patienceEnds)
  }

  private var patienceEnds: Tick? { lostSince.map { $0 + patience } }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    soonestDeadline([
      "the router's goodbye": leaveEnds, "next connection attempt": nextAttempt,
      "end of a connection attempt": attemptEnds, "end of reconnecting": patienceEnds,
    ])
  }
}
