import KoineMedia

/// Counts how long things took, in steps of 1 ms up to 2 s.
struct LatencyHistogram {
  static let limit = Int(VideoReceiveStatistics.latencyLimit)
  private var counts = [Int](repeating: 0, count: limit + 1)
  private var total = 0

  mutating func add(milliseconds: Double) {
    counts[Int(min(max(milliseconds, 0), Double(Self.limit)))] += 1
    total += 1
  }

  /// The value that `fraction` of all are at or below; the limit where it is longer.
  func quantile(_ fraction: Double) -> Double {
    guard total > 0 else { return 0 }
    let rank = Int((Double(total) * fraction).rounded(.up))
    var seen = 0
    for (value, count) in counts.enumerated() {
      seen += count
      if seen >= rank { return min(Double(value) + 0.5, Double(Self.limit)) }
    }
    return Double(Self.limit)
  }
}
