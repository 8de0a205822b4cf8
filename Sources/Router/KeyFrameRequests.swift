import KoineBase

/// Asks a publisher for the key frames of one layer on behalf of all receivers that wait for one.
///
/// One request is in flight at a time: it also answers receivers that want a key frame in the meantime. A request without an
/// answer is repeated after 300 ms, then after pauses that double up to 8 s, so that a publisher that cannot answer is hardly
/// troubled. The pauses hold across `cancel`; an answer, or packets after a silence, end them.
struct KeyFrameRequests {
  static let interval: Duration = .milliseconds(300)
  static let longestPause: Duration = .seconds(8)

  private enum State {
    case idle
    /// A receiver wants one, but the last request was too recent.
    case held(until: Tick)
    case inFlight(repeatAt: Tick)
  }

  private var state = State.idle
  private var lastSent: Tick?
  /// Requests since the last key frame.
  private var unanswered = 0
  /// For statistics.
  private(set) var sent = 0

  /// When `handleTimeout` next has work to do.
  var deadline: Tick? {
    switch state {
    case .idle: nil
    case .held(let until): until
    case .inFlight(let repeatAt): repeatAt
    }
  }

  /// A receiver needs a key frame.
  /// - Returns: whether to ask the publisher now.
  mutating func wanted(at now: Tick) -> Bool {
    switch state {
    case .held, .inFlight: return false
    case .idle:
      if let lastSent, now < lastSent + pause {
        state = .held(until: lastSent + pause)
        return false
      }
      return send(at: now)
    }
  }

  /// A key frame begins to arrive: all receivers that wait are served.
  mutating func keyFrameArrived() {
    state = .idle
    unanswered = 0
  }

  /// Packets arrive after a silence: the publisher can answer again.
  mutating func sourceResumed() {
    unanswered = 0
    if case .inFlight = state { state = .idle }
  }

  /// No receiver waits any more.
  mutating func cancel() { state = .idle }

  /// - Returns: whether to ask the publisher now.
  mutating func handleTimeout(at now: Tick) -> Bool {
    guard let deadline, deadline <= now else { return false }
    return send(at: now)
  }

  private mutating func send(at now: Tick) -> Bool {
    lastSent = now
    sent += 1
    unanswered += 1
    state = .inFlight(repeatAt: now + pause)
    return true
  }

  /// From one request to the next: 300, 300, 600, 1,200 ms, …
  private var pause: Duration { min(Self.interval * (1 << min(max(unanswered - 2, 0), 10)), Self.longestPause) }
}
