import KoineBase

/// Detects that the path of one receiver has been too narrow for the smallest choice of a video stream for a while, and that
/// it is wide enough again.
///
/// One for each subscription; `review` looks at all video streams of a receiver together whenever its bitrate is allocated.
/// Estimates waver, and the estimate of a new path grows from a low start. So a stream starves only after 4 s in which it did
/// not fit and the headroom did not grow by 10 %, and recovers after 2 s in which it would have fitted with a margin.
///
///                 does not fit                     for 4 s
///       fitting ───────────────→ short (since …) ──────────→ starved
///          ↑ ↑ ←──── fits ─────────────┘                      │ ↑ does not fit
///          │                  for 2 s                    fits ↓ │
///          └───────────────────────────────────── recovering (since …)
///
/// All rates are in bit/s.
struct StarvationDetector: Equatable {
  private enum State: Equatable {
    case fitting
    /// - most: the largest headroom since.
    case short(since: Tick, most: Double)
    /// - least: what the stream's smallest choice took when it began to starve.
    case starved(least: Double)
    case recovering(since: Tick, least: Double)
  }

  /// A video stream of a receiver.
  struct Stream {
    var detector: StarvationDetector
    /// What its smallest choice takes; 0 for a muted track.
    var least: Double
  }

  struct Decision: Equatable {
    /// Places of the streams that are forwarded again, those of the highest priority first.
    var resumed: [Int] = []
    /// The place of the stream that is paused: one at a time, that of the lowest priority first.
    var paused: Int?
  }

  private static let starvesAfter = Duration.seconds(4)
  private static let recoversAfter = Duration.seconds(2)
  /// While the headroom grows by so much, the path is still being measured.
  private static let growth = 1.1
  /// A publisher can often do with so much of its smallest choice.
  private static let enough = 0.8
  /// To recover, a stream needs so much more than its smallest choice.
  private static let margin = 1.2

  private var state = State.fitting

  var isStarved: Bool {
    switch state {
    case .fitting, .short: false
    case .starved, .recovering: true
    }
  }

  /// The headroom that the stream needs in order to go on.
  /// - Parameter least: what its smallest choice takes now.
  func need(_ least: Double) -> Double {
    switch state {
    case .fitting, .short: least * Self.enough
    case .starved(let then), .recovering(_, let then): min(least, then) * Self.margin
    }
  }

  /// Ends the starvation, because the receiver does not want the stream any more.
  /// - Returns: false where the stream did not starve.
  mutating func reset() -> Bool {
    defer { if isStarved { state = .fitting } }
    return isStarved
  }

  /// Decides which of a receiver's streams are paused and which go on.
  /// - Parameters:
  ///   - streams: by falling priority; their detectors are changed as decided.
  ///   - headroom: for all of them.
  ///   - isSilent: the receiver sends no feedback. An outage pauses no stream, because after it the path is as before.
  static func review(
    _ streams: inout [Stream], headroom: Double, isSilent: Bool, at now: Tick
  ) -> Decision {
    var (left, result) = (headroom, Decision())
    for index in streams.indices {
      let least = streams[index].least
      let wasStarved = streams[index].detector.isStarved
      let fits = streams[index].detector.need(least) <= left || isSilent && !wasStarved
      if streams[index].detector.observe(left, fits: fits, at: now) {
        if wasStarved { result.resumed.append(index) } else { result.paused = index }
      }
      if !streams[index].detector.isStarved { left -= least }
    }
    if let paused = result.paused {
      // With the room that this frees, the others may fit: their time begins again.
      for index in streams.indices { streams[index].detector.restartWait(at: now) }
      streams[paused].detector.state = .starved(least: streams[paused].least)
    }
    return result
  }

  /// - Returns: whether it is time to resume, which is done, or to pause, which is `review`'s decision.
  private mutating func observe(_ headroom: Double, fits: Bool, at now: Tick) -> Bool {
    switch state {
    case .fitting:
      if !fits { state = .short(since: now, most: max(headroom, 0)) }
      return false
    case .short(let since, let most):
      if fits {
        state = .fitting
      } else if headroom > most * Self.growth {
        state = .short(since: now, most: headroom)
      } else {
        return now - since >= Self.starvesAfter
      }
      return false
    case .starved(let least):
      if fits { state = .recovering(since: now, least: least) }
      return false
    case .recovering(let since, let least):
      guard fits else {
        state = .starved(least: least)
        return false
      }
      guard now - since >= Self.recoversAfter else { return false }
      state = .fitting
      return true
    }
  }

  private mutating func restartWait(at now: Tick) {
    if case .short(_, let most) = state { state = .short(since: now, most: most) }
  }
}
