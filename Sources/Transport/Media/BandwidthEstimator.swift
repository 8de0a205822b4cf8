import KoineBase
import KoineRTP

/// What the way out carries, from transport-wide feedback.
///
/// After draft-ietf-rmcat-gcc-02: the slope of the queueing delay (`TrendLine`) with multiplicative decrease and additive
/// increase, and a ceiling from loss (`LossBasedEstimator`). Beyond the draft: the standing queue (`QueueDelayEstimator`) must confirm what
/// the slope says, is noticed also when it has stopped growing because it overflows, and is drained by sending less for a
/// moment; and clusters (`ProbeControl`) find out what lies beyond the rate that is sent.
struct BandwidthEstimator {
  struct Limits: Sendable {
    var minimum = 50_000
    var start = 1_500_000
    var maximum = 20_000_000
  }

  private let limits: Limits
  private var sent = SendHistory()
  /// How many packets reports may still name. Each is named once, and a few times more where packets overtake each other;
  /// a report beyond that tells nothing new, and is not looked at.
  private var nameable = 0
  private var trend = TrendLine()
  private var groups = InterArrival()
  private var queue = QueueDelayEstimator()
  private var delivery = AcknowledgedBitrateEstimator()
  private var probing = ProbeControl()
  /// The number of the last packet of the cluster that is under way.
  private var probeEnd: Int64?
  private var referenceTime: Int64?  // in units of 64 ms, over wraps
  private var delayEstimate: Double
  private var lossCeiling: LossBasedEstimator
  private var lastIncrease: Tick?
  private var lastDecrease: Tick?
  private var lastFeedback: Tick?
  /// Of the first packet since the other end last said anything.
  private var silentSince: Tick?
  /// Set while nothing is said: what the estimate was before, and when it was last lowered.
  private var silence: (before: Double, lowered: Tick)?
  private var lastQueue = Duration.zero
  /// Where the path was found full, smoothed.
  private var fullRate: Double?
  private var standing: Standing?
  /// What a receiver without transport-wide feedback estimates itself (REMB).
  private var remoteEstimate: Double?

  /// A queue that keeps its length (within 20 %) although the send rate falls.
  private struct Standing {
    let since: Tick
    let queue: Duration
    /// In bit/s: the estimate before the queue was found, and the bitrate delivered soon after.
    let estimate: Double
    var delivered: Double?
  }

  private static let namings = 16
  private static let mostNameable = 4 * TransportFeedback.limit
  private static let decreasePause = Duration.milliseconds(150)
  /// A report repeats packets that came late; only after that are those that did not come lost.
  private static let judgementDelay = Duration.milliseconds(150)
  /// A shorter queue than this is none.
  private static let shortQueue = Duration.milliseconds(8)
  /// So long a queue is too long even if it does not grow.
  private static let longQueue = Duration.milliseconds(80)
  /// From here on less is sent until the queue is gone.
  private static let drainFrom = Duration.milliseconds(25)
  /// A sender that gets no feedback for so long halves its rate, and again after each further `silenceStep`.
  private static let silenceLimit = Duration.milliseconds(1_500)
  private static let silenceStep = Duration.seconds(1)
  /// After so long without transport-wide feedback the last measured queue is out of date.
  private static let quiet = Duration.seconds(1)
  /// If sending less for so long has not made the queue shorter, it is not ours.
  private static let drainLimit = Duration.milliseconds(1_500)

  init(limits: Limits) {
    self.limits = limits
    delayEstimate = Double(limits.start)
    lossCeiling = LossBasedEstimator(limits: limits)
  }

  /// What should be sent now, in bit/s: less than `capacity` while a queue drains.
  var bitrate: Int {
    var rate = min(delayEstimate, lossCeiling.bitrate)
    if isDraining {
      rate *= 1 - min((lastQueue - Self.drainFrom).inSeconds / 0.4, 0.5)
    }
    return Int(limited(remoteEstimate.map { min($0, lossCeiling.bitrate) } ?? rate))
  }

  /// Whether less is to be sent for a moment because the path's queue is too long.
  var isDraining: Bool {
    guard let lastDecrease, let lastFeedback, remoteEstimate == nil else { return false }
    return lastFeedback - lastDecrease < .seconds(3) && lastQueue > Self.drainFrom
  }

  /// What the path carries, in bit/s.
  var capacity: Int {
    Int(limited(min(remoteEstimate ?? delayEstimate, lossCeiling.bitrate)))
  }

  private func limited(_ rate: Double) -> Double { min(max(rate, Double(limits.minimum)), 1e12) }

  /// Whether the other end has sent no feedback for so long that the estimate reflects an outage, not the path's capacity.
  var isSilent: Bool { silence != nil }

  /// 0...1, smoothed over about a second.
  var loss: Double { lossCeiling.loss }

  // MARK: Sending

  /// Gives a packet its transport-wide number.
  /// - Parameter probe: the cluster under way, or 0.
  mutating func number(forPacketOf size: Int, probe: UInt16 = 0, at now: Tick) -> UInt16 {
    if silentSince == nil { silentSince = now }
    nameable = min(nameable + Self.namings, Self.mostNameable)
    return sent.add(size: size, probe: probe, at: now)
  }

  /// Whether no transport-wide feedback has arrived for a second, because too little media goes out.
  func isQuiet(at now: Tick) -> Bool { lastFeedback.map { now - $0 > Self.quiet } ?? false }

  /// Should a cluster be sent?
  /// - Parameter wanted: what there would be to send, in bit/s.
  mutating func planProbe(wanted: Int, at now: Tick) -> ProbeControl.Cluster? {
    guard remoteEstimate == nil, probeEnd == nil,
      isQuiet(at: now) || (lastQueue < Self.shortQueue && trend.usage != .over)
    else { return nil }
    let wanted = min(Double(wanted), Double(limits.maximum), lossCeiling.bitrate)
    return probing.plan(estimate: delayEstimate, wanted: wanted, at: now)
  }

  /// All packets of the cluster are out.
  mutating func probeSent() { probeEnd = sent.newest }

  // MARK: Feedback

  /// Feedback has arrived that the other end sends only while it receives media.
  mutating func heard(at now: Tick) {
    silentSince = nil
    guard let (before, _) = silence else { return }
    silence = nil
    // Packets of an outage are no sign of congestion: counted as lost, they would hold video back for many seconds.
    sent.skipJudgement()
    // What it carried may have been what it cannot any more: half of that, and the rest is found out.
    delayEstimate = max(delayEstimate, before / 2)
    lastIncrease = now
  }

  /// Packets go out, and nothing comes back: what the path still carries is not known, so less and less is sent.
  /// - Returns: whether the estimate has changed.
  mutating func checkSilence(at now: Tick) -> Bool {
    guard let silentSince, now - silentSince >= Self.silenceLimit else { return false }
    if let silence, now - silence.lowered < Self.silenceStep { return false }
    let old = delayEstimate
    silence = (silence?.before ?? old, now)
    delayEstimate = max(old / 2, Double(limits.minimum))
    remoteEstimate = remoteEstimate.map { min($0, delayEstimate) }
    probeEnd = nil
    return delayEstimate < old
  }

  /// What the receiver estimates; of use only where it does not report arrivals.
  mutating func handleRemoteEstimate(_ bitrate: UInt64, at now: Tick) {
    heard(at: now)
    if let lastFeedback, now - lastFeedback < .seconds(2) { return }
    remoteEstimate = min(Double(bitrate), Double(limits.maximum))
  }

  /// - Returns: false if the report was refused: it names packets that have not been sent, or the same ones over and over.
  @discardableResult
  mutating func handle(_ feedback: TransportFeedback, at now: Tick) -> Bool {
    var number = sent.full(feedback.base)
    let count = feedback.deltas.count
    guard number + Int64(count) <= sent.newest + 1, count <= nameable else { return false }
    nameable -= count
    heard(at: now)
    lastFeedback = now
    remoteEstimate = nil
    var arrival = unwrapped(feedback.referenceTime) &* 64_000_000
    var newestSent: Tick?
    for delta in feedback.deltas {
      defer { number += 1 }
      if let delta { arrival &+= Int64(delta) * 250_000 }
      guard let packet = sent[number], packet.fate != .arrived else { continue }
      guard delta != nil else {
        sent.set(.missing, of: number)
        continue
      }
      sent.set(.arrived, of: number)
      newestSent = max(newestSent ?? packet.at, packet.at)
      addArrival(packet, arrival: arrival)
    }
    if let newestSent {
      sent.settle(before: newestSent - Self.judgementDelay) { lossCeiling.count(isLost: $0) }
    }
    lossCeiling.update(delayEstimate: delayEstimate, isQueued: queue.delay > Self.longQueue / 2, at: now)
    updateDelay(at: now)
    if let probeEnd, number > probeEnd { concludeProbe(at: now) }
    delayEstimate = min(max(delayEstimate, Double(limits.minimum)), Double(limits.maximum))
    return true
  }

  private mutating func unwrapped(_ time: UInt32) -> Int64 {
    let last = referenceTime ?? Int64(time)
    var difference = (Int64(time) &- last) & 0xFF_FFFF
    if difference >= 0x80_0000 { difference -= 0x100_0000 }
    referenceTime = last &+ difference
    return last &+ difference
  }

  private mutating func addArrival(_ packet: SendHistory.Packet, arrival: Int64) {
    delivery.add(packet.size, arrival: arrival)
    queue.add(arrival: arrival, delay: arrival &- packet.at.nanoseconds)
    if packet.probe != 0 {
      probing.arrived(packet, arrival: arrival)  // its queue is of our making
    } else if let (difference, arrival) = groups.add(packet.at, arrival: arrival) {
      trend.add(difference: difference, arrival: arrival)
    }
  }

  private mutating func concludeProbe(at now: Tick) {
    probeEnd = nil
    guard let carried = probing.conclude(at: now), carried > delayEstimate else { return }
    delayEstimate = carried * 0.95
    lastIncrease = now
  }

  // MARK: Delay

  private mutating func updateDelay(at now: Tick) {
    let queue = queue.delay
    let isFalling = queue + .milliseconds(3) < lastQueue
    lastQueue = queue
    if isStanding(queue, at: now) { return }
    let isLong = queue > Self.longQueue && !isFalling
    if trend.usage == .over && queue > Self.shortQueue || isLong {
      decrease(queue, at: now)
    } else if trend.usage == .normal && queue < Self.drainFrom {
      increase(at: now)
    } else {
      lastIncrease = now  // the queue drains: hold
    }
  }

  /// Looks whether a long queue stays although less comes through than the path has carried: then the path has become
  /// longer, and what it takes now is no queue.
  /// - Returns: whether that was found.
  private mutating func isStanding(_ queue: Duration, at now: Tick) -> Bool {
    guard queue > Self.longQueue / 2 else {
      standing = nil
      return false
    }
    guard let began = standing, queue > began.queue * 4 / 5, queue < began.queue * 6 / 5 else {
      standing = Standing(since: now, queue: queue, estimate: standing?.estimate ?? delayEstimate)
      return false
    }
    guard now - began.since > Self.drainLimit / 3, let measured = delivery.bitrate(over: .milliseconds(300)) else {
      return false
    }
    guard let before = began.delivered else {
      standing?.delivered = measured
      return false
    }
    guard now - began.since > Self.drainLimit, measured < before * 0.75 else { return false }
    self.queue.rebase()
    standing = nil
    lastQueue = .zero
    delayEstimate = max(delayEstimate, began.estimate * 0.85)
    return true
  }

  private mutating func decrease(_ queue: Duration, at now: Tick) {
    if let lastDecrease, now - lastDecrease <= Self.decreasePause { return }
    (lastDecrease, lastIncrease) = (now, now)
    probing.congested(at: now)
    probeEnd = nil
    guard let measured = delivery.bitrate(over: .milliseconds(160)) else { return }
    // A sender far below its estimate has not filled the path. So an overuse signal lowers the estimate by at most 30 % at a time,
    // unless the queue is long.
    let floor = queue > Self.longQueue / 2 ? 0 : delayEstimate * 0.7
    delayEstimate = min(delayEstimate, max(measured * 0.85, floor))
    fullRate = fullRate.map { abs($0 - measured) < measured * 0.2 ? ($0 * 7 + measured) / 8 : measured } ?? measured
  }

  private mutating func increase(at now: Tick) {
    let elapsed = min((now - (lastIncrease ?? now)).inSeconds, 0.5)
    lastIncrease = now
    guard let measured = delivery.bitrate(over: .milliseconds(400)) else { return }
    // Sending less than allowed says nothing of what lies beyond one and a half times that.
    guard delayEstimate < measured * 1.5 + 100_000 else { return }
    if let fullRate, measured > fullRate * 1.25 { self.fullRate = nil }
    let isNearFull = fullRate.map { delayEstimate < $0 * 1.2 } ?? false
    let growth = isNearFull ? 0.05 : lastDecrease == nil ? 0.5 : 0.25
    delayEstimate += (delayEstimate * growth + 10_000) * elapsed
  }
}
