import KoineBase

/// Pauses between attempts to reach a ledger that answers and cannot work: from 100 ms, doubling up to 1 s, half of it random, so that
/// nodes do not ask in step.
struct Backoff: Sendable {
  private var pause = Duration.milliseconds(100)

  mutating func next(_ random: inout SeededRandom) -> Duration {
    defer { pause = min(pause * 2, .seconds(1)) }
    let half = pause.nanoseconds / 2
    return .nanoseconds(half + Int64.random(in: 0...half, using: &random))
  }

  mutating func reset() { pause = .milliseconds(100) }
}
