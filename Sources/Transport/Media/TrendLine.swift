/// Is the queue on the path growing? A line through the delays of the last 20 groups of packets, against a threshold that
/// adapts to the usual unrest of the path (gcc-02, 5.3 and 5.4, with the trend line that replaced the Kalman filter).
struct TrendLine {
  enum Usage { case normal, over, under }

  private(set) var usage = Usage.normal
  /// A ring of the last `window` points, in milliseconds.
  private var points: [(time: Double, delay: Double)] = []
  private var next = 0
  private var accumulated = 0.0
  private var smoothed = 0.0
  private var threshold = 12.5
  private var lastUpdate: Double?
  private var overSince: Double?
  private var lastTrend = 0.0
  private var count = 0
  private static let window = 20
  private static let smoothing = 0.9
  private static let gain = 4.0
  /// For so long the trend must be above the threshold, in milliseconds.
  private static let patience = 30.0

  /// - Parameters:
  ///   - difference: by how much longer the group took than the one before, in ms.
  ///   - arrival: in ms on the receiver's clock.
  mutating func add(difference: Double, arrival: Double) {
    count = min(count + 1, 60)
    accumulated += difference
    smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
    if points.count < Self.window {
      points.append((arrival, smoothed))
    } else {
      points[next] = (arrival, smoothed)
      next = (next + 1) % Self.window
    }
    guard points.count == Self.window, let slope else { return }
    detect(slope, at: arrival)
  }

  private var slope: Double? {
    let n = Double(points.count)
    let meanTime = points.reduce(0) { $0 + $1.time } / n
    let meanDelay = points.reduce(0) { $0 + $1.delay } / n
    var numerator = 0.0
    var denominator = 0.0
    for point in points {
      numerator += (point.time - meanTime) * (point.delay - meanDelay)
      denominator += (point.time - meanTime) * (point.time - meanTime)
    }
    return denominator > 0 ? numerator / denominator : nil
  }

  private mutating func detect(_ slope: Double, at now: Double) {
    let trend = slope * Double(count) * Self.gain
    if trend > threshold {
      let since = overSince ?? now
      overSince = since
      if now - since > Self.patience, trend >= lastTrend { usage = .over }
    } else {
      overSince = nil
      usage = trend < -threshold ? .under : .normal
    }
    lastTrend = trend
    adapt(trend, at: now)
  }

  private mutating func adapt(_ trend: Double, at now: Double) {
    let elapsed = min(max(now - (lastUpdate ?? now), 0), 100)
    lastUpdate = now
    guard abs(trend) < threshold + 15 else { return }
    let speed = abs(trend) < threshold ? 0.039 : 0.0087
    threshold = min(max(threshold + speed * (abs(trend) - threshold) * elapsed, 6), 600)
  }
}
