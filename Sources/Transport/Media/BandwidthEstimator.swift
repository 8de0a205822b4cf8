import KoineBase
import KoineRTP

/// What the way out carries, from transport-wide feedback: the slope of the queueing delay (a trend line over groups of
/// packets, with an adaptive threshold), additive increase and multiplicative decrease, and a ceiling from loss.
///
/// After draft-ietf-rmcat-gcc-02. Random loss below 10 % alone never lowers the estimate.
struct BandwidthEstimator {
  struct Limits: Sendable {
    var minimum = 150_000
    var start = 1_500_000
    var maximum = 20_000_000
  }

  private let limits: Limits
  private var sent: [SentPacket?] = Array(repeating: nil, count: 4096)
  private var sequence = ExtendedSequence()
  private var nextNumber: UInt16 = 1
  private var trend = TrendLine()
  private var group: PacketGroup?
  private var previousGroup: PacketGroup?
  private var delayEstimate: Double
  private var lossCeiling: Double
  private var acknowledged = RateMeter()
  private var lastIncrease: Tick?
  private var lastDecrease: Tick?
  private var lossWindow = (lost: 0, total: 0, since: Tick.zero)
  /// 0...1, of the last window.
  private(set) var loss = 0.0

  private struct SentPacket {
    let number: UInt16
    let at: Tick
    let size: Int
    var isAcknowledged = false
  }

  private struct PacketGroup {
    var firstSent, lastSent: Tick
    var lastArrival: Int64  // ns on the receiver's clock
  }

  init(limits: Limits) {
    self.limits = limits
    delayEstimate = Double(limits.start)
    lossCeiling = Double(limits.maximum)
  }

  /// In bit/s.
  var bitrate: Int { Int(min(delayEstimate, lossCeiling)) }

  /// Gives a packet its transport-wide number.
  mutating func number(forPacketOf size: Int, at now: Tick) -> UInt16 {
    let number = nextNumber
    nextNumber &+= 1
    sent[Int(number) & 4095] = SentPacket(number: number, at: now, size: size)
    return number
  }

  mutating func handle(_ feedback: TransportFeedback, at now: Tick) {
    var arrival = Int64(feedback.referenceTime) * 64_000_000
    var number = feedback.base
    for delta in feedback.deltas {
      defer { number &+= 1 }
      let slot = Int(number) & 4095
      guard let packet = sent[slot], packet.number == number, !packet.isAcknowledged else {
        if let delta { arrival += Int64(delta) * 250_000 }
        continue
      }
      lossWindow.total += 1
      guard let delta else {
        lossWindow.lost += 1
        continue
      }
      arrival += Int64(delta) * 250_000
      sent[slot]?.isAcknowledged = true
      acknowledged.add(packet.size, at: now)
      take(packet, arrival: arrival)
    }
    updateLoss(at: now)
    updateDelay(at: now)
  }

  /// Packets sent within 5 ms are one group; the trend line follows the groups.
  private mutating func take(_ packet: SentPacket, arrival: Int64) {
    guard var current = group else {
      group = PacketGroup(firstSent: packet.at, lastSent: packet.at, lastArrival: arrival)
      return
    }
    if packet.at - current.firstSent < .milliseconds(5) {
      current.lastSent = max(current.lastSent, packet.at)
      current.lastArrival = max(current.lastArrival, arrival)
      group = current
      return
    }
    if let previousGroup {
      let sentGap = (current.lastSent - previousGroup.lastSent).inMilliseconds
      let arrivalGap = Double(current.lastArrival - previousGroup.lastArrival) / 1e6
      trend.add(difference: arrivalGap - sentGap, arrival: Double(current.lastArrival) / 1e6)
    }
    previousGroup = current
    group = PacketGroup(firstSent: packet.at, lastSent: packet.at, lastArrival: arrival)
  }

  private mutating func updateDelay(at now: Tick) {
    let measured = acknowledged.bitrate(at: now)
    switch trend.usage {
    case .over:
      guard lastDecrease.map({ now - $0 > .milliseconds(200) }) ?? true else { return }
      if let measured, measured * 0.85 < delayEstimate { delayEstimate = measured * 0.85 }
      lastDecrease = now
      lastIncrease = now
    case .under: lastIncrease = now  // the queue drains: hold
    case .normal:
      let elapsed = min((now - (lastIncrease ?? now)).inSeconds, 0.5)
      lastIncrease = now
      let isNearLimit = lastDecrease.map { now - $0 < .seconds(5) } ?? false
      // Sending less than allowed says nothing of what lies beyond one and a half times that, except at the start.
      let ceiling = max(measured.map { $0 * 1.5 + 100_000 } ?? .infinity, Double(limits.start))
      if delayEstimate < ceiling {
        delayEstimate = min(delayEstimate * (1 + (isNearLimit ? 0.2 : 0.6) * elapsed) + 20_000 * elapsed, ceiling)
      }
    }
    delayEstimate = min(max(delayEstimate, Double(limits.minimum)), Double(limits.maximum))
  }

  private mutating func updateLoss(at now: Tick) {
    guard now - lossWindow.since > .milliseconds(400), lossWindow.total >= 20 else { return }
    loss = Double(lossWindow.lost) / Double(lossWindow.total)
    lossWindow = (0, 0, now)
    if loss > 0.10 {
      lossCeiling = max(min(lossCeiling, delayEstimate) * (1 - 0.5 * (loss - 0.05)), Double(limits.minimum) * 2)
    } else if loss < 0.10 {
      lossCeiling = min(lossCeiling * 1.35 + 50_000, Double(limits.maximum))
    }
  }
}

/// Bits acknowledged over the last half second.
private struct RateMeter {
  private var samples: [(at: Tick, size: Int)] = []
  private var total = 0
  private static let window = Duration.milliseconds(500)

  mutating func add(_ size: Int, at now: Tick) {
    samples.append((now, size))
    total += size
    trim(now)
  }

  private mutating func trim(_ now: Tick) {
    var stale = 0
    while stale < samples.count, now - samples[stale].at > Self.window {
      total -= samples[stale].size
      stale += 1
    }
    if stale > 0 { samples.removeFirst(stale) }
  }

  mutating func bitrate(at now: Tick) -> Double? {
    trim(now)
    guard let first = samples.first, now - first.at > .milliseconds(200) else { return nil }
    return Double(total * 8) / (now - first.at).inSeconds
  }
}

/// Is the queue on the path growing? A line through the last 20 groups' delays (gcc-02, 5.4, with the trend line that
/// replaced the Kalman filter there).
private struct TrendLine {
  enum Usage { case normal, over, under }

  private(set) var usage = Usage.normal
  private var points: [(time: Double, delay: Double)] = []
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

  /// All in milliseconds.
  mutating func add(difference: Double, arrival: Double) {
    count = min(count + 1, 60)
    accumulated += difference
    smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
    points.append((arrival, smoothed))
    if points.count > Self.window { points.removeFirst() }
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
      if now - since > 30, trend >= lastTrend { usage = .over }
    } else {
      overSince = nil
      usage = trend < -threshold ? .under : .normal
    }
    lastTrend = trend
    adapt(trend, at: now)
  }

  private mutating func adapt(_ trend: Double, at now: Double) {
    let elapsed = min(now - (lastUpdate ?? now), 100)
    lastUpdate = now
    guard abs(trend) < threshold + 15 else { return }
    let speed = abs(trend) < threshold ? 0.039 : 0.0087
    threshold = min(max(threshold + speed * (abs(trend) - threshold) * elapsed, 6), 600)
  }
}
