import KoineBase

/// For how long which of the reasons held.
struct QualityLimitation {
  private(set) var reason = VideoLimitation.none
  /// In seconds, up to the last call.
  private(set) var durations: [VideoLimitation: Double] = [:]
  private var since: Tick?
  private var hasTooLittle = false
  private var slowUntil = Tick.zero
  /// The encoder that was overtaken by a camera is called slow for so long.
  private static let memory = Duration.seconds(2)

  mutating func bandwidth(isTooLittle: Bool, at now: Tick) {
    settle(at: now)
    hasTooLittle = isTooLittle
    choose(at: now)
  }

  mutating func wasSlow(at now: Tick) {
    settle(at: now)
    slowUntil = now + Self.memory
    choose(at: now)
  }

  /// Adds up to now.
  mutating func settle(at now: Tick) {
    guard let since else {
      since = now
      return
    }
    // The memory of a slow moment may have ended in between.
    let end = reason == .cpu ? min(max(slowUntil, since), now) : now
    durations[reason, default: 0] += (end - since).inSeconds
    self.since = end
    if end < now {
      choose(at: now)
      durations[reason, default: 0] += (now - end).inSeconds
      self.since = now
    }
  }

  private mutating func choose(at now: Tick) { reason = now < slowUntil ? .cpu : hasTooLittle ? .bandwidth : .none }
}
