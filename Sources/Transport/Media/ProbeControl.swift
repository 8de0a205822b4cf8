import KoineBase

/// Finds out whether the path carries more than the current send rate: now and then the sender sends a short cluster of packets at
/// a higher rate, and the arrival times show the path's bitrate (after the probing of libwebrtc's congestion controller).
///
///     resting ── more is wanted, the queue is empty ──→ sending a cluster ── all reported on ──→ resting, or the next
struct ProbeControl {
  /// A cluster that is being sent. All packets that leave during this time belong to it, video as well as padding.
  struct Cluster {
    let id: UInt16
    /// In bit/s.
    let rate: Double
    let began: Tick
    /// When the next packet should leave.
    var due: Tick
    var packets = 0

    /// - Parameter size: in bytes, with all headers.
    mutating func sent(_ size: Int) {
      packets += 1
      due += .nanoseconds(Int64(Double(size * 8) / rate * 1e9))
    }

    func isOver(at now: Tick) -> Bool {
      packets >= ProbeControl.fewest && now - began >= ProbeControl.length || now - began > .milliseconds(500)
    }
  }

  private struct Result {
    let id: UInt16
    let rate: Double
    let began: Tick
    var sent: (first: Tick, last: Tick)?
    var arrived: (first: Int64, last: Int64) = (0, 0)
    var bytes = 0
    var ends: (first: Int32, last: Int32) = (0, 0)
    var count = 0
  }

  fileprivate static let length = Duration.milliseconds(30)
  fileprivate static let fewest = 8
  /// Between a cluster without success, or a sign of congestion, and the next cluster. When a path widens, the next cluster
  /// starts at most this much later; every successful cluster then at most doubles the estimate.
  private static let pause = Duration.seconds(2)
  /// Less has not gone well: the path is full.
  private static let success = 0.85
  private var last: UInt16 = 0
  private var result: Result?
  private var next: Tick?

  /// - Parameters:
  ///   - estimate: of what the path carries, in bit/s.
  ///   - wanted: what there would be to send.
  /// - Returns: a cluster to begin now.
  mutating func plan(estimate: Double, wanted: Double, at now: Tick) -> Cluster? {
    if let result, now - result.began > .seconds(1) { fail(at: now) }
    // A small difference is probed too: the sender may need the whole wanted bitrate for its next step, such as a higher layer.
    guard result == nil, wanted > estimate else { return nil }
    guard let next else {
      self.next = now + .milliseconds(300)
      return nil
    }
    guard now >= next else { return nil }
    last = last == .max ? 1 : last + 1
    let cluster = Cluster(id: last, rate: min(estimate * 2, wanted * 1.1), began: now, due: now)
    result = Result(id: last, rate: cluster.rate, began: now)
    return cluster
  }

  /// The path has just turned out to carry less.
  mutating func congested(at now: Tick) {
    result = nil
    next = now + Self.pause
  }

  /// A packet of a cluster has arrived.
  mutating func arrived(_ packet: SendHistory.Packet, arrival: Int64) {
    guard var result, result.id == packet.probe else { return }
    if let sent = result.sent {
      result.sent = (min(sent.first, packet.at), max(sent.last, packet.at))
      if arrival > result.arrived.last { result.ends.last = packet.size }
      result.arrived = (min(result.arrived.first, arrival), max(result.arrived.last, arrival))
    } else {
      result.sent = (packet.at, packet.at)
      result.arrived = (arrival, arrival)
      result.ends = (packet.size, packet.size)
    }
    result.bytes += Int(packet.size)
    result.count += 1
    self.result = result
  }

  /// Called when feedback covers the whole cluster.
  /// - Returns: the bitrate that the path carries at least, in bit/s; nil if it could not be measured.
  mutating func conclude(at now: Tick) -> Double? {
    guard let result, let sent = result.sent, result.count >= Self.fewest / 2 else {
      fail(at: now)
      return nil
    }
    let sending = (sent.last - sent.first).inSeconds
    let arriving = Double(result.arrived.last &- result.arrived.first) / 1e9
    guard sending > 0.01, arriving > 0.005 else {
      fail(at: now)
      return nil
    }
    let sendRate = Double((result.bytes - Int(result.ends.last)) * 8) / sending
    let arrivalRate = Double((result.bytes - Int(result.ends.first)) * 8) / arriving
    self.result = nil
    if arrivalRate > sendRate * Self.success {
      next = now
    } else {
      fail(at: now)
    }
    return min(sendRate, arrivalRate)
  }

  var isPending: Bool { result != nil }

  private mutating func fail(at now: Tick) {
    result = nil
    next = now + Self.pause
  }
}
