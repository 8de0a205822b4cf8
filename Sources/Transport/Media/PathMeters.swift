import KoineBase

// What feedback tells of the path: how long its queue is, and what it delivers. Times are of the receiver's clock, in
// nanoseconds; they come from the other end, so arithmetic on them wraps.

/// How long packets stand in the path's queue: the quickest of the last tenth of a second against the quickest of the last
/// ten seconds. Jitter delays some packets, a queue delays all of them.
struct QueueDelayEstimator {
  private static let recent: Int64 = 100_000_000
  private static let epoch: Int64 = 5_000_000_000
  /// The minima of the recent past, in order of time and of delay.
  private var minima: [(arrival: Int64, delay: Int64)] = []
  private var newest: Int64 = .min
  private var base: (older: Int64, newer: Int64, since: Int64)?

  /// - Parameter delay: from sending to arrival, by two clocks that need not agree.
  mutating func add(arrival: Int64, delay: Int64) {
    newest = max(newest, arrival)
    while let last = minima.last, last.delay >= delay { minima.removeLast() }
    minima.append((arrival, delay))
    let start = newest &- Self.recent
    if let first = minima.first, first.arrival < start {
      minima.removeFirst(min(minima.firstIndex { $0.arrival >= start } ?? minima.count - 1, minima.count - 1))
    }
    guard var base else {
      self.base = (delay, delay, newest)
      return
    }
    if newest &- base.since >= Self.epoch { base = (base.newer, minima[0].delay, newest) }
    base.newer = min(base.newer, delay)
    self.base = base
  }

  var delay: Duration {
    guard let base, let quickest = minima.first else { return .zero }
    return .nanoseconds(max(quickest.delay &- min(base.older, base.newer), 0))
  }

  /// The path has become longer: what it takes now is its delay without a queue.
  mutating func rebase() {
    guard let quickest = minima.first else { return }
    base = (quickest.delay, quickest.delay, newest)
  }
}

/// What the path delivers, by times of arrival.
struct AcknowledgedBitrateEstimator {
  private static let memory: Int64 = 500_000_000
  private var samples: [(arrival: Int64, size: Int32)] = []
  private var head = 0
  private var newest: Int64 = .min

  mutating func add(_ size: Int32, arrival: Int64) {
    newest = max(newest, arrival)
    // The packets of a burst arrive within one unit of the feedback's clock.
    if head < samples.count, samples[samples.count - 1].arrival == arrival {
      samples[samples.count - 1].size &+= size
    } else {
      samples.append((arrival, size))
    }
    while head < samples.count, samples[head].arrival < newest &- Self.memory { head += 1 }
    if head > 512 {
      samples.removeFirst(head)
      head = 0
    }
  }

  /// In bit/s, over the last `window` of at most half a second; nil while so much time has not been seen.
  func bitrate(over window: Duration) -> Double? {
    guard head < samples.count else { return nil }
    let length = window.nanoseconds
    let start = newest &- length
    guard samples[head].arrival <= start &+ length / 4 else { return nil }
    var bytes = 0
    var index = samples.count - 1
    while index >= head, samples[index].arrival > start {
      bytes += Int(samples[index].size)
      index -= 1
    }
    return Double(bytes * 8) / Double(length) * 1e9
  }
}

/// What leaves in one way or another, smoothed over about a second.
struct SendMeter {
  private static let memory = 1.0
  /// In bit/s, as of `at`.
  private var rate = 0.0
  private var at: Tick?

  /// - Parameter size: in bytes.
  mutating func add(_ size: Int, at now: Tick) {
    rate = decayed(now) + Double(size * 8) / Self.memory
    at = now
  }

  func bitrate(at now: Tick) -> Int { Int(decayed(now)) }

  private func decayed(_ now: Tick) -> Double {
    guard let at else { return 0 }
    return rate / (1 + max((now - at).inSeconds, 0) / Self.memory + pow2(max((now - at).inSeconds, 0) / Self.memory))
  }

  private func pow2(_ value: Double) -> Double { value * value / 2 }
}
