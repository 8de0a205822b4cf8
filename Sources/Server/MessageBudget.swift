import NIOCore

/// So many at once, then so many a second.
struct MessageBudget {
  private let burst: Double
  private let perSecond: Double
  private var left: Double
  private var filled: NIODeadline

  init(burst: Double, perSecond: Double, at now: NIODeadline = .now()) {
    (self.burst, self.perSecond, left, filled) = (burst, perSecond, burst, now)
  }

  mutating func take(at now: NIODeadline = .now()) -> Bool {
    left = filling(at: now)
    filled = now
    guard left >= 1 else { return false }
    left -= 1
    return true
  }

  /// Whether nothing of what was said before counts any more.
  func isFull(at now: NIODeadline) -> Bool { filling(at: now) >= burst }

  private func filling(at now: NIODeadline) -> Double {
    min(burst, left + perSecond * max(Double((now - filled).nanoseconds) / 1e9, 0))
  }
}
