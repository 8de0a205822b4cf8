import KoineBase
import KoineRTP

/// What a receiver reports of one source (RFC 3550, appendix A.3 and A.8).
struct ReceptionStatistics {
  private let clockRate: Double
  private(set) var packets = 0
  /// Of them, those that came as a retransmission or as a copy. In reports they count as lost: the other end learns what the path loses,
  /// and decides by that whether to send copies.
  private var recovered = 0
  private(set) var bytes = 0
  /// Of headers and padding.
  private(set) var headerBytes = 0
  private var base: Int64?
  private(set) var highest: Int64 = 0
  private var expectedBefore: Int64 = 0
  private var receivedBefore = 0
  /// In units of the RTP clock.
  private var jitter = 0.0
  private var lastTransit: Double?
  /// As last reported, 0...1.
  private(set) var fractionLost = 0.0
  private var lastReport: (compactNTP: UInt32, at: Tick)?

  init(clockRate: UInt32) { self.clockRate = Double(clockRate) }

  mutating func received(
    _ sequence: Int64, timestamp: UInt32, bytes count: Int, headerBytes headerCount: Int = 0, isRecovered: Bool,
    at now: Tick
  ) {
    packets += 1
    bytes += count
    headerBytes += headerCount
    base = min(base ?? sequence, sequence)
    highest = max(highest, sequence)
    guard !isRecovered else { return recovered += 1 }  // its delay is not the path's
    let arrival = Double(now.nanoseconds) * clockRate / 1e9
    let transit = (arrival - Double(timestamp)).truncatingRemainder(dividingBy: 4_294_967_296)
    if let lastTransit {
      let difference = abs(transit - lastTransit)
      if difference < clockRate * 10 { jitter += (difference - jitter) / 16 }  // not over a wrap
    }
    lastTransit = transit
  }

  /// A packet has come itself after its copy or retransmission: it was not lost.
  mutating func cameLate() { recovered = max(recovered - 1, 0) }

  mutating func senderReported(_ report: SenderReport, at now: Tick) {
    lastReport = (NTPTime(report.ntp).compact, now)
  }

  var knowsSender: Bool { lastReport != nil }
  var expected: Int64 { base.map { highest - $0 + 1 } ?? 0 }
  var lost: Int { max(0, Int(expected) - packets) }
  var jitterMilliseconds: Double { jitter * 1000 / clockRate }

  mutating func block(source: UInt32, at now: Tick) -> ReportBlock {
    let expectedNow = expected
    let interval = expectedNow - expectedBefore
    let received = packets - recovered
    let lostInInterval = interval - Int64(received - receivedBefore)
    expectedBefore = expectedNow
    receivedBefore = received
    let fraction = interval > 0 && lostInInterval > 0 ? UInt8(clamping: lostInInterval * 256 / interval) : 0
    fractionLost = Double(fraction) / 256
    let delay = lastReport.map { UInt32(clamping: (now - $0.at).nanoseconds / 1_000 * 65_536 / 1_000_000) } ?? 0
    return ReportBlock(
      source: source, fractionLost: fraction, cumulativeLost: Int32(clamping: expectedNow - Int64(received)),
      highestSequence: UInt32(truncatingIfNeeded: highest), jitter: UInt32(clamping: Int64(jitter)),
      lastSenderReport: lastReport?.compactNTP ?? 0, delaySinceLastReport: delay)
  }
}
