import KoineBase

/// Asks a publisher for the key frames of one layer on behalf of all who wait for one.
///
/// At most one request per `interval`, and one in flight: whoever wants a key frame while one is under way is answered by
/// it. A request that is not answered is repeated, for a limited number of times.
struct KeyFrameRequests {
  static let interval: Duration = .milliseconds(300)
  static let attempts = 20

  private enum State {
    case idle
    /// Somebody wants one, but the last request was too recent.
    case held(until: Tick)
    case inFlight(repeatAt: Tick, attempts: Int)
  }

  private var state = State.idle
  private var lastSent: Tick?
  /// For statistics.
  private(set) var sent = 0

  /// When `handleTimeout` next has work to do.
  var deadline: Tick? {
    switch state {
    case .idle: nil
    case .held(let until): until
    case .inFlight(let repeatAt, _): repeatAt
    }
  }

  /// Somebody needs a key frame.
  /// - Returns: whether to ask the publisher now.
  mutating func wanted(at now: Tick) -> Bool {
    switch state {
    case .held, .inFlight: return false
    case .idle:
      if let lastSent, now < lastSent + Self.interval {
        state = .held(until: lastSent + Self.interval)
        return false
      }
      return send(at: now, attempts: 1)
    }
  }

  /// A key frame begins to arrive: all who wait are served.
  mutating func keyFrameArrived() { state = .idle }

  /// Nobody waits any more.
  mutating func cancel() { state = .idle }

  /// - Returns: whether to ask the publisher now.
  mutating func handleTimeout(at now: Tick) -> Bool {
    guard let deadline, deadline <= now else { return false }
    switch state {
    case .idle: return false
    case .held: return send(at: now, attempts: 1)
    case .inFlight(_, Self.attempts):
      state = .idle
      return false
    case .inFlight(_, let attempts): return send(at: now, attempts: attempts + 1)
    }
  }

  private mutating func send(at now: Tick, attempts: Int) -> Bool {
    state = .inFlight(repeatAt: now + Self.interval, attempts: attempts)
    lastSent = now
    sent += 1
    return true
  }
}
