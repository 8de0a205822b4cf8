/// So many at once, then so many a second: a token bucket.
package struct TokenBucket: Sendable {
  private let burst: Double
  private let perSecond: Double
  private var left: Double
  private var filled: Tick

  package init(burst: Double, perSecond: Double, now: Tick) {
    (self.burst, self.perSecond, left, filled) = (burst, perSecond, burst, now)
  }

  /// - Returns: false when there is not so much left; then nothing is taken.
  package mutating func take(_ amount: Double = 1, at now: Tick) -> Bool {
    left = filling(at: now)
    filled = now
    guard left >= amount else { return false }
    left -= amount
    return true
  }

  /// Returns tokens that were taken for an operation that does not count after all.
  package mutating func giveBack(_ amount: Double = 1) { left = min(burst, left + amount) }

  package func holds(_ amount: Double = 1, at now: Tick) -> Bool { filling(at: now) >= amount }

  /// Whether the bucket is full again, so that earlier operations no longer have an effect.
  package func isFull(at now: Tick) -> Bool { filling(at: now) >= burst }

  private func filling(at now: Tick) -> Double { min(burst, left + perSecond * max((now - filled).inSeconds, 0)) }
}
