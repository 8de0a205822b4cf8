import KoineBase

/// Counts the turns that a loop makes for deadlines alone, second by second, and notices once when there are too many.
struct SpinDetector {
  private var second = Tick.zero
  private var turns = 0
  private var hasReported = false

  /// - Returns: how many turns there have been within this second, the first time that they are more than the limit.
  mutating func turnedForDeadline(at now: Tick) -> Int? {
    if now - second >= .seconds(1) { (second, turns) = (now, 0) }
    turns += 1
    guard turns > UDPLoop.spinLimit, !hasReported else { return nil }
    hasReported = true
    return turns
  }
}
