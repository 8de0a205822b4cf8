import KoineBase
import KoineRTP

/// The bitrate that a peer may send: the estimated capacity of the path, probe clusters that measure capacity beyond the estimate, and
/// the share of retransmissions.
struct SendRate {
  /// Header, extensions and tag, with IP and UDP.
  private static let packetOverhead = 80

  private var estimator: BandwidthEstimator
  private var probe: ProbeControl.Cluster?
  private var retransmissions = SendMeter()
  /// The bitrate that would be sent if the path carried it, in bit/s.
  private var wantedBitrate = 0
  private var reported: (rest: Int, capacity: Int) = (0, 0)

  init(limits: BandwidthEstimator.Limits) { estimator = BandwidthEstimator(limits: limits) }

  /// The estimated capacity of the path, in bit/s.
  var capacity: Int { estimator.capacity }
  var loss: Double { estimator.loss }
  var isSilent: Bool { estimator.isSilent }
  var isDraining: Bool { estimator.isDraining }
  /// Whether the path loses so much that answers should not rely on arriving.
  var isLossy: Bool { estimator.loss >= NackGenerator.lossyFrom && !estimator.isDraining }

  // MARK: Packets out

  /// A transport-wide number for a packet that leaves now.
  mutating func number(payloadSize: Int, at now: Tick) -> UInt16 {
    let size = payloadSize + Self.packetOverhead
    probe?.sent(size)
    return estimator.number(forPacketOf: size, probe: probe?.id ?? 0, at: now)
  }

  mutating func retransmitted(payloadSize: Int, at now: Tick) { retransmissions.add(payloadSize, at: now) }

  // MARK: Reports of the other end

  /// - Returns: whether the feedback was about packets of this peer.
  mutating func handle(_ feedback: TransportFeedback, at now: Tick) -> Bool { estimator.handle(feedback, at: now) }

  mutating func handleRemoteEstimate(_ bitrate: UInt64, at now: Tick) {
    estimator.handleRemoteEstimate(bitrate, at: now)
  }

  mutating func heard(at now: Tick) { estimator.heard(at: now) }

  /// - Returns: whether the estimate has changed because no feedback comes.
  mutating func checkSilence(at now: Tick) -> Bool { estimator.checkSilence(at: now) }

  struct Estimate {
    /// Of all packets, in bit/s.
    var total: Int
    /// The part for frames, without retransmissions, in bit/s.
    var rest: Int
    var loss: Double
    var isDraining: Bool
  }

  /// - Returns: the estimate, if it differs from the one returned before by more than 2 %.
  mutating func changedEstimate(at now: Tick) -> Estimate? {
    let bitrate = estimator.bitrate
    let rest = max(bitrate - retransmissions.bitrate(at: now), bitrate / 2)
    let capacity = estimator.capacity
    guard
      abs(rest - reported.rest) > reported.rest / 50 || abs(capacity - reported.capacity) > reported.capacity / 50
        || reported.rest == 0
    else { return nil }
    reported = (rest, capacity)
    return Estimate(total: bitrate, rest: rest, loss: estimator.loss, isDraining: estimator.isDraining)
  }

  // MARK: Probes

  /// Sets the bitrate that would be sent if the path carried it, in bit/s. More than the estimate is probed.
  mutating func want(_ bitrate: Int) { wantedBitrate = bitrate }

  var isProbing: Bool { probe != nil }
  /// Whether nothing goes out that would be reported on.
  func isQuiet(at now: Tick) -> Bool { estimator.isQuiet(at: now) }
  var wantsProbe: Bool { probe == nil && wantedBitrate > 0 }

  /// Begins a cluster if there is more to send than the path is known to carry.
  mutating func planProbe(at now: Tick) { probe = estimator.planProbe(wanted: wantedBitrate, at: now) }

  var probeDeadline: Tick? { probe?.due }

  /// Whether the next packet of a cluster is due. Ends a cluster that is complete.
  mutating func isProbeDue(at now: Tick) -> Bool {
    guard let probe else { return false }
    // Looked at before `due`: media that leave faster than the cluster's own rate move it on and on.
    if probe.isOver(at: now) {
      self.probe = nil
      estimator.probeSent()
      return false
    }
    return now >= probe.due
  }

  /// Ends a cluster for which there is no padding.
  mutating func abandonProbe() { probe = nil }
}
