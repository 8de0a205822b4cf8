import KoineBase

/// How long sound must wait so that nearly all packets are there in time: a high quantile of how much later than the
/// quickest they came, over a histogram that slowly forgets (in the spirit of NetEQ's delay manager).
struct DelayEstimator {
  private static let bucket = Duration.milliseconds(5)
  private static let buckets = 100
  private static let quantile = 0.97
  private static let forgetting = 0.9975
  private static let window = Duration.seconds(10)
  /// A rise of the base by more than this is a way that has become longer, and no chance.
  private static let step = Duration.milliseconds(25)
  /// Packets so late that no waiting would help, for so long and so many, have a longer way for good.
  private static let settling = (time: Duration.seconds(1), packets: 25)
  private var weights = [Double](repeating: 0, count: buckets)
  private var total = 0.0
  /// Transit times of the last seconds, smallest first to matter: (when, ns).
  private var minima: [(at: Tick, transit: Int64)] = []
  /// The packets since the last that came within `maximum`, and how late the quickest of them was.
  private var behind: (since: Tick, packets: Int, least: Duration)?
  let minimum: Duration
  let maximum: Duration
  private(set) var target: Duration

  init(minimum: Duration = .milliseconds(20), maximum: Duration = .milliseconds(250)) {
    self.minimum = minimum
    self.maximum = maximum
    target = .milliseconds(40)
    minima.reserveCapacity(64)  // jitter leaves a handful
  }

  /// When the quickest packet comes, after its place on the sender's clock, in ns: what all waiting is counted from.
  var base: Int64 { minima.first?.transit ?? 0 }

  /// - Parameter position: of the packet on the sender's clock, in ns.
  mutating func arrived(position: Int64, at now: Tick) {
    let transit = now.nanoseconds &- position
    let before = base
    minima.removeAll { now - $0.at > Self.window }
    let isKnown = !minima.isEmpty
    while let last = minima.last, last.transit >= transit { minima.removeLast() }
    minima.append((now, transit))
    if isKnown { forget(lateness: .nanoseconds(base &- before)) }
    let lateness = Duration.nanoseconds(transit &- base)
    addLateness(lateness)
    follow(lateness, at: now)
  }

  /// Were the old length of a way counted from until it is forgotten, all sound would be taken for late so long.
  private mutating func follow(_ lateness: Duration, at now: Tick) {
    guard lateness > maximum else { return behind = nil }
    let (since, packets, least) = behind ?? (now, 0, lateness)
    let way = (since: since, packets: packets + 1, least: min(least, lateness))
    behind = way
    guard way.packets >= Self.settling.packets, now - way.since >= Self.settling.time else { return }
    behind = nil
    let base = base &+ way.least.nanoseconds
    minima.removeAll(keepingCapacity: true)
    minima.append((now, base))
    forget(lateness: way.least)
  }

  /// What came late by the old base did not by the new one: else as much would be waited for half a minute.
  private mutating func forget(lateness rise: Duration) {
    guard rise > Self.step else { return }
    let shift = min(Int(rise.nanoseconds / Self.bucket.nanoseconds), Self.buckets - 1)
    for index in shift..<Self.buckets {
      let weight = weights[index]
      weights[index] = 0
      weights[index - shift] += weight
    }
  }

  private mutating func addLateness(_ lateness: Duration) {
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
