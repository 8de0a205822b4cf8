import KoineBase
import KoineRTP

/// One outgoing source: its numbers, its history, its reports.
struct RTPSendStream {
  let parameters: StreamParameters
  let layer: Int
  private(set) var nextSequence: UInt16
  private var nextRTXSequence: UInt16
  private var history: PacketHistory
  private(set) var packets = 0
  private(set) var octets = 0
  private(set) var retransmitted = 0
  private(set) var nacksReceived = 0
  /// As the other side last reported, 0...1.
  private(set) var reportedLoss = 0.0
  /// For sender reports: a capture time and the timestamp that belongs to it.
  private(set) var anchor: (captured: Tick, timestamp: UInt32)?
  private(set) var lastReport: (compactNTP: UInt32, at: Tick)?

  var encoding: StreamParameters.Encoding { parameters.encodings[layer] }

  init(parameters: StreamParameters, layer: Int, random: inout SeededRandom) {
    self.parameters = parameters
    self.layer = layer
    // Below the middle, so that the first packets do not wrap while indices are being learned (RFC 3711, 3.3.1).
    nextSequence = UInt16.random(in: 1...0x7FFF, using: &random)
    nextRTXSequence = UInt16.random(in: 1...0x7FFF, using: &random)
    history = PacketHistory(capacity: parameters.codec.isAudio ? 128 : 1024)
  }

  /// Numbers a packet of this end's own and stores it until it has been sent, and after.
  mutating func store(
    _ payload: Bytes, range: Range<Int>, timestamp: UInt32, marker: Bool, extensions: HeaderExtensions,
    pool: inout BytesPool
  ) -> UInt16 {
    let sequence = nextSequence
    nextSequence &+= 1
    store(
      payload, range: range, sequence: sequence, timestamp: timestamp, marker: marker, extensions: extensions,
      pool: &pool)
    return sequence
  }

  /// Stores a packet under a number that the caller keeps continuous.
  mutating func store(
    _ payload: Bytes, range: Range<Int>, sequence: UInt16, timestamp: UInt32, marker: Bool,
    extensions: HeaderExtensions,
    pool: inout BytesPool
  ) {
    let packet = StoredPacket(
      payload: payload, range: range,
      header: RTPHeader(
        marker: marker, payloadType: parameters.payloadType, sequence: sequence, timestamp: timestamp,
        ssrc: encoding.ssrc),
      extensions: extensions)
    if let old = history.store(packet) { pool.give(old) }
  }

  mutating func anchorReports(captured: Tick, timestamp: UInt32) { anchor = (captured, timestamp) }

  func packet(_ sequence: UInt16) -> StoredPacket? { history[sequence] }

  mutating func sent(_ sequence: UInt16, bytes: Int, isRetransmission: Bool, at now: Tick) {
    history.markSent(sequence, at: now)
    packets += 1
    octets += bytes
    if isRetransmission { retransmitted += 1 }
  }

  mutating func takeRTXSequence() -> UInt16 {
    defer { nextRTXSequence &+= 1 }
    return nextRTXSequence
  }

  /// Those of the wanted packets that are still known and were not sent within the last `pause`.
  mutating func wanted(_ sequences: [UInt16], pause: Duration, at now: Tick, _ body: (UInt16, _ size: Int) -> Void) {
    nacksReceived += sequences.count
    for sequence in sequences {
      guard let packet = history[sequence], let last = packet.lastSent, now - last >= pause, packet.timesSent < 12
      else {
        continue
      }
      history.markSent(sequence, at: now)  // so that the same request again does not double it
      body(sequence, packet.range.count)
    }
  }

  mutating func report(at now: Tick) -> SenderReport? {
    guard packets > 0, let anchor else { return nil }
    let ntp = SenderClock.ntp(of: now)
    let elapsed = (now - anchor.captured).nanoseconds
    let advance = elapsed / 1_000 * Int64(parameters.codec.clockRate) / 1_000_000
    lastReport = (ntp.compact, now)
    return SenderReport(
      sender: encoding.ssrc, ntp: ntp.value, rtpTimestamp: anchor.timestamp &+ UInt32(truncatingIfNeeded: advance),
      packets: UInt32(truncatingIfNeeded: packets), octets: UInt32(truncatingIfNeeded: octets))
  }

  /// - Returns: the round trip time, if the block allows to tell (RFC 3550, 6.4.1).
  mutating func reported(_ block: ReportBlock, at now: Tick) -> Duration? {
    reportedLoss = Double(block.fractionLost) / 256
    guard block.lastSenderReport != 0 else { return nil }
    let roundTrip = SenderClock.ntp(of: now).compact &- block.lastSenderReport &- block.delaySinceLastReport
    guard roundTrip < 0x8000_0000 else { return .zero }  // clocks of 15 µs grain may meet from behind
    return .nanoseconds(Int64(roundTrip) * 1_000_000_000 / 65_536)
  }
}
