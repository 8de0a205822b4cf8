import KoineBase
import KoineRTP

/// What the way out carries, from transport-wide feedback: the slope of the queueing delay (`TrendLine`) with additive
/// increase and multiplicative decrease, and a ceiling from loss.
///
/// After draft-ietf-rmcat-gcc-02. Random loss below 10 % alone never lowers the estimate.
struct BandwidthEstimator {
  struct Limits: Sendable {
    var minimum = 150_000
    var start = 1_500_000
    var maximum = 20_000_000
  }

  private let limits: Limits
  private var sent = SentPackets()
  private var trend = TrendLine()
  private var group: PacketGroup?
  private var previousGroup: PacketGroup?
  private var referenceTime: Int64?  // in units of 64 ms, over wraps
  private var delayEstimate: Double
  private var lossCeiling: LossCeiling
  private var acknowledged = RateMeter()
  private var lastIncrease: Tick?
  private var lastDecrease: Tick?
  private var lastFeedback: Tick?
  /// What a receiver without transport-wide feedback estimates itself (REMB).
  private var remoteEstimate: Double?

  /// Packets of one burst.
  private struct PacketGroup {
    var firstSent, lastSent: Tick
    var lastArrival: Int64  // ns on the receiver's clock
  }

  private static let burst = Duration.milliseconds(5)
  private static let decreasePause = Duration.milliseconds(200)
  /// A report repeats packets that came late; only after that are those that did not come lost.
  private static let judgementDelay = Duration.milliseconds(150)

  init(limits: Limits) {
    self.limits = limits
    delayEstimate = Double(limits.start)
    lossCeiling = LossCeiling(limits: limits)
  }

  /// In bit/s.
  var bitrate: Int {
    let own = min(delayEstimate, lossCeiling.bitrate)
    return Int(min(max(remoteEstimate.map { min($0, lossCeiling.bitrate) } ?? own, Double(limits.minimum)), 1e12))
  }

  /// 0...1, of the last window.
  var loss: Double { lossCeiling.loss }

  /// Gives a packet its transport-wide number.
  mutating func number(forPacketOf size: Int, at now: Tick) -> UInt16 { sent.add(size: size, at: now) }

  /// What the receiver estimates; of use only where it does not report arrivals.
  mutating func handleRemoteEstimate(_ bitrate: UInt64, at now: Tick) {
    if let lastFeedback, now - lastFeedback < .seconds(2) { return }
    remoteEstimate = min(Double(bitrate), Double(limits.maximum))
  }

  mutating func handle(_ feedback: TransportFeedback, at now: Tick) {
    lastFeedback = now
    remoteEstimate = nil
    var arrival = unwrapped(feedback.referenceTime) * 64_000_000
    var number = sent.full(feedback.base)
    var newestSent: Tick?
    for delta in feedback.deltas {
      defer { number += 1 }
      if let delta { arrival += Int64(delta) * 250_000 }
      guard let packet = sent[number], packet.fate != .arrived else { continue }
      guard delta != nil else {
        sent.set(.missing, of: number)
        continue
      }
      sent.set(.arrived, of: number)
      acknowledged.add(Int(packet.size), at: now)
      newestSent = max(newestSent ?? packet.at, packet.at)
      take(packet, arrival: arrival)
    }
    if let newestSent {
      sent.settle(before: newestSent - Self.judgementDelay) { lossCeiling.count(isLost: $0) }
    }
    lossCeiling.update(delayEstimate: delayEstimate, at: now)
    updateDelay(at: now)
  }

  private mutating func unwrapped(_ time: UInt32) -> Int64 {
    let last = referenceTime ?? Int64(time)
    var difference = (Int64(time) - last) & 0xFF_FFFF
    if difference >= 0x80_0000 { difference -= 0x100_0000 }
    referenceTime = last + difference
    return last + difference
  }

  /// Packets sent within 5 ms are one group; the trend line follows the groups.
  private mutating func take(_ packet: SentPackets.Packet, arrival: Int64) {
    guard var current = group else {
      group = PacketGroup(firstSent: packet.at, lastSent: packet.at, lastArrival: arrival)
      return
    }
    guard packet.at >= current.firstSent else { return }  // late, its group is closed
    if packet.at - current.firstSent < Self.burst {
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
    case .over: decrease(to: measured, at: now)
    case .under: lastIncrease = now  // the queue drains: hold
    case .normal: increase(measured, at: now)
    }
    delayEstimate = min(max(delayEstimate, Double(limits.minimum)), Double(limits.maximum))
  }

  private mutating func decrease(to measured: Double?, at now: Tick) {
    if let lastDecrease, now - lastDecrease <= Self.decreasePause { return }
    (lastDecrease, lastIncrease) = (now, now)
    guard let measured else { return }
    // Who sends much less than allowed has not filled the path; such an alarm is believed step by step.
    delayEstimate = min(delayEstimate, max(measured * 0.85, delayEstimate * 0.7))
  }

  private mutating func increase(_ measured: Double?, at now: Tick) {
    let elapsed = min((now - (lastIncrease ?? now)).inSeconds, 0.5)
    lastIncrease = now
    // Sending less than allowed says nothing of what lies beyond one and a half times that, except at the start.
    let ceiling = max(measured.map { $0 * 1.5 + 100_000 } ?? .infinity, Double(limits.start))
    guard delayEstimate < ceiling else { return }
    let isNearLimit = lastDecrease.map { now - $0 < .seconds(5) } ?? false
    delayEstimate = min(delayEstimate * (1 + (isNearLimit ? 0.2 : 0.6) * elapsed) + 20_000 * elapsed, ceiling)
  }
}

/// What loss allows (gcc-02, section 6): above 10 % less, below 2 % soon more, between them slowly more.
private struct LossCeiling {
  private let limits: BandwidthEstimator.Limits
  /// In bit/s.
  private(set) var bitrate: Double
  /// 0...1, of the last window.
  private(set) var loss = 0.0
  private var lost = 0
  private var total = 0
  private var since: Tick?
  private static let window = Duration.milliseconds(400)
  /// So few packets say nothing.
  private static let fewest = 20

  init(limits: BandwidthEstimator.Limits) {
    self.limits = limits
    bitrate = Double(limits.maximum)
  }

  mutating func count(isLost: Bool) {
    total += 1
    if isLost { lost += 1 }
  }

  mutating func update(delayEstimate: Double, at now: Tick) {
    let start = since ?? now
    since = start
    guard now - start > Self.window, total >= Self.fewest else { return }
    loss = Double(lost) / Double(total)
    (lost, total, since) = (0, 0, now)
    if loss > 0.10 {
      let floor = Double(max(limits.minimum * 2, limits.minimum))
      bitrate = max(min(bitrate, delayEstimate) * (1 - 0.5 * (loss - 0.05)), floor)
    } else {
      bitrate = min(bitrate * (loss < 0.02 ? 1.5 : 1.1) + 50_000, Double(limits.maximum))
    }
  }
}

/// Bits acknowledged over the last half second.
private struct RateMeter {
  private var samples: [(at: Tick, size: Int)] = []
  private var head = 0
  private var total = 0
  private static let window = Duration.milliseconds(500)

  mutating func add(_ size: Int, at now: Tick) {
    samples.append((now, size))
    total += size
    trim(now)
  }

  private mutating func trim(_ now: Tick) {
    while head < samples.count, now - samples[head].at > Self.window {
      total -= samples[head].size
      head += 1
    }
    if head > 512 || head == samples.count {
      samples.removeFirst(head)
      head = 0
    }
  }

  mutating func bitrate(at now: Tick) -> Double? {
    trim(now)
    guard head < samples.count, now - samples[head].at > .milliseconds(200) else { return nil }
    return Double(total * 8) / (now - samples[head].at).inSeconds
  }
}
