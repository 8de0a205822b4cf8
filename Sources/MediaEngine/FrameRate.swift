import KoineBase

/// How many frames there were in the last second.
struct FrameRate {
  /// More frames than a second has; the older half is left out when it is full.
  private static let limit = 240
  private var times: [Tick] = []

  mutating func countFrame(at now: Tick) {
    if times.capacity < Self.limit { times.reserveCapacity(Self.limit) }
    if times.count == Self.limit { times.removeFirst(Self.limit / 2) }
    times.append(now)
  }

  func framesPerSecond(at now: Tick) -> Double { Double(times.count { now - $0 < .seconds(1) }) }
}
