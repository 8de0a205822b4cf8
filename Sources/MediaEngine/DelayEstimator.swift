import KoineBase

/// How long sound must wait so that nearly all packets are there in time: a high quantile of how much later than the
/// quickest they came, over a histogram that slowly forgets (in the spirit of NetEQ's delay manager).
struct DelayEstimator {
  private static let bucket = Duration.milliseconds(5)
  private static let buckets = 100
  private static let quantile = 0.97
  private static let forgetting = 0.9975
  private static let window = Duration.seconds(10)
  private var weights = [Double](repeating: 0, count: buckets)
  private var total = 0.0
  /// Transit times of the last seconds, smallest first to matter: (when, ns).
  private var minima: [(at: Tick, transit: Int64)] = []
  let minimum: Duration
  let maximum: Duration
  private(set) var target: Duration

  init(minimum: Duration = .milliseconds(20), maximum: Duration = .milliseconds(250)) {
    self.minimum = minimum
    self.maximum = maximum
    target = .milliseconds(40)
  }

  /// - Parameter position: of the packet on the sender's clock, in ns.
  /// - Returns: how much later than the quickest the packet came.
  mutating func arrived(position: Int64, at now: Tick) -> Duration {
    let transit = now.nanoseconds &- position
    minima.removeAll { now - $0.at > Self.window }
    while let last = minima.last, last.transit >= transit { minima.removeLast() }
    minima.append((now, transit))
    let lateness = Duration.nanoseconds(transit &- (minima.first?.transit ?? transit))
    note(lateness)
    return lateness
  }

  private mutating func note(_ lateness: Duration) {
    let index = min(Int(lateness.nanoseconds / Self.bucket.nanoseconds), Self.buckets - 1)
    // The first packets count fully, later ones with a fixed weight.
    let factor = min(Self.forgetting, total / (total + 1))
    for other in weights.indices { weights[other] *= factor }
    weights[index] += 1 - factor
    total = min(total + 1, 400)
    var sum = 0.0
    var place = 0
    while place < Self.buckets - 1, sum + weights[place] < Self.quantile {
      sum += weights[place]
      place += 1
    }
    let wish = Self.bucket * (place + 1) + .milliseconds(10)  // the play-out clock ticks every 10 ms
    target = min(max(wish, minimum), maximum)
  }

  mutating func reset() { self = DelayEstimator(minimum: minimum, maximum: maximum) }
}
