import KoineBase
import KoineRTP

/// One outgoing source: its numbers, its history, its reports. A class, so that a packet is handled in place.
final class RTPSendStream {
  let parameters: StreamParameters
  let layer: Int
  @exclusivity(unchecked) private(set) var nextSequence: UInt16
  @exclusivity(unchecked) private var nextRTXSequence: UInt16
  @exclusivity(unchecked) private var history: PacketHistory
  @exclusivity(unchecked) private(set) var packets = 0
  /// Of payloads.
  @exclusivity(unchecked) private(set) var octets = 0
  /// Of the packet last stored.
  @exclusivity(unchecked) private var lastTimestamp: UInt32 = 0
  @exclusivity(unchecked) private var newestStored: UInt16?
  /// Packets before it are of no use any more.
  @exclusivity(unchecked) private var firstUseful: UInt16?
  @exclusivity(unchecked) private(set) var retransmitted = 0
  @exclusivity(unchecked) private(set) var retransmittedOctets = 0
  /// Of headers.
  @exclusivity(unchecked) private(set) var headerOctets = 0
  /// How long all packets together have waited in the pacer.
  @exclusivity(unchecked) private(set) var waited = Duration.zero
  @exclusivity(unchecked) private(set) var nacksReceived = 0
  /// As the other side last reported, 0...1.
  @exclusivity(unchecked) private(set) var reportedLoss = 0.0
  @exclusivity(unchecked) private(set) var reportedLost = 0
  /// In milliseconds.
  @exclusivity(unchecked) private(set) var reportedJitter = 0.0
  @exclusivity(unchecked) private(set) var roundTrip: Duration?
  /// For sender reports: a capture time and the timestamp that belongs to it.
  @exclusivity(unchecked) private(set) var anchor: (captured: Tick, timestamp: UInt32)?
  /// Whether a sender report has gone out: the first one is urgent, sound and pictures are in step only after it.
  @exclusivity(unchecked) private(set) var hasReported = false
  /// How many further packets of each kind name their stream by header extensions.
  @exclusivity(unchecked) private var unnamed = (
    original: RTPSendStream.namedPackets, retransmission: RTPSendStream.namedPackets
  )

  private static let namedPackets = 16
  private static let attempts: UInt8 = 24
  /// Of a payload with its copies, in bytes; headers and protection fit a datagram beside it.
  private static let redundantLimit = 1_000

  var encoding: StreamParameters.Encoding { parameters.encodings[layer] }
  var hasRetransmissions: Bool { parameters.rtxPayloadType != nil && encoding.rtxSSRC != nil }

  init(parameters: StreamParameters, layer: Int, random: inout SeededRandom) {
    self.parameters = parameters
    self.layer = layer
    // Below the middle, so that the first packets do not wrap while indices are being learned (RFC 3711, 3.3.1).
    nextSequence = UInt16.random(in: 1...0x7FFF, using: &random)
    nextRTXSequence = UInt16.random(in: 1...0x7FFF, using: &random)
    history = PacketHistory(limit: parameters.codec.isAudio ? 256 : 2048)
  }

  /// Numbers a packet of this end's own and stores it until it has been sent, and after.
  func store(
    _ payload: Bytes, timestamp: UInt32, marker: Bool, extensions: StoredExtensions, pool: inout BytesPool,
    at now: Tick
  ) -> UInt16 {
    let sequence = nextSequence
    nextSequence &+= 1
    store(
      StoredPacket(
        payload: payload, range: 0..<payload.count, sequence: sequence, timestamp: timestamp, marker: marker,
        extensions: extensions, at: now), pool: &pool, at: now)
    return sequence
  }

  /// Stores a packet under a number that the caller keeps continuous.
  func store(_ packet: consuming StoredPacket, pool: inout BytesPool, at now: Tick) {
    lastTimestamp = packet.timestamp
    if let newest = newestStored, Int16(bitPattern: packet.sequence &- newest) < 0 {
      history.store(packet, pool: &pool, at: now)  // late
      return
    }
    newestStored = packet.sequence
    if let first = firstUseful, packet.sequence &- first > 0x4000 { firstUseful = nil }  // long ago
    history.store(packet, pool: &pool, at: now)
  }

  /// - Parameter roundTrip: of the path, smoothed.
  func measured(roundTrip: Duration) { history.measured(roundTrip: roundTrip) }

  /// Lets go of the packets of a stream that has paused.
  func forgetPaused(at now: Tick, pool: inout BytesPool) { history.forgetPaused(at: now, pool: &pool) }

  func anchorReports(captured: Tick, timestamp: UInt32) { anchor = (captured, timestamp) }

  /// With the next packet a key frame begins that takes the place of all before: those are not sent again.
  func beginAnew() { firstUseful = newestStored.map { $0 &+ 1 } }

  func packet(_ sequence: UInt16) -> StoredPacket? { history[sequence] }

  func sent(
    _ sequence: UInt16, bytes: Int, headerBytes: Int, isRetransmission: Bool, queuedAt: Tick, at now: Tick
  ) {
    history.markSent(sequence, at: now)
    packets += 1
    octets += bytes
    headerOctets += headerBytes
    waited += now - queuedAt
    if isRetransmission {
      retransmitted += 1
      retransmittedOctets += bytes
    }
  }

  // MARK: Headers

  func header(of packet: StoredPacket) -> RTPHeader {
    RTPHeader(
      marker: packet.marker, payloadType: parameters.payloadType, sequence: packet.sequence,
      timestamp: packet.timestamp, ssrc: encoding.ssrc)
  }

  /// - Returns: nil where the stream has no retransmissions (RFC 4588).
  func retransmissionHeader(of packet: StoredPacket) -> RTPHeader? {
    guard let type = parameters.rtxPayloadType, let ssrc = encoding.rtxSSRC else { return nil }
    defer { nextRTXSequence &+= 1 }
    return RTPHeader(
      marker: packet.marker, payloadType: type, sequence: nextRTXSequence, timestamp: packet.timestamp, ssrc: ssrc)
  }

  /// Writes the packet's payload behind copies of those before it (RFC 2198), as far as they are known and fit a datagram.
  /// - Parameter copies: at most `AudioRedundancy.most`.
  /// - Returns: nil where there is no copy to write.
  func redundantPayload(
    of packet: StoredPacket, copies: Int, into out: UnsafeMutableRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    var fitting = 0
    var size = RED.primaryHeaderLength + packet.size
    while fitting < min(copies, AudioRedundancy.most), let copy = copy(before: packet, by: fitting + 1) {
      size += RED.copyHeaderLength + copy.size
      guard size <= Self.redundantLimit else { break }
      fitting += 1
    }
    guard fitting > 0 else { return nil }
    var writer = ByteWriter(out)
    for distance in (1...fitting).reversed() {
      guard let copy = copy(before: packet, by: distance) else { return nil }
      RED.writeCopyHeader(
        payloadType: parameters.payloadType, offset: packet.timestamp &- copy.timestamp, length: copy.size, to: &writer)
    }
    RED.writePrimaryHeader(payloadType: parameters.payloadType, to: &writer)
    for distance in (1...fitting).reversed() {
      guard let copy = copy(before: packet, by: distance) else { return nil }
      writer.write(copy.bytes)
    }
    writer.write(packet.bytes)
    return writer.overflowed ? nil : UnsafeRawBufferPointer(rebasing: out[..<writer.count])
  }

  /// Receivers number copies by their order: none stands for a packet that is not known here.
  private func copy(before packet: StoredPacket, by distance: Int) -> StoredPacket? {
    guard let copy = history[packet.sequence &- UInt16(distance)], (1...RED.longestCopy).contains(copy.size),
      (1...RED.furthestOffset).contains(packet.timestamp &- copy.timestamp)
    else { return nil }
    return copy
  }

  /// Of a packet that carries nothing but padding.
  func paddingHeader() -> RTPHeader? {
    guard let type = parameters.rtxPayloadType, let ssrc = encoding.rtxSSRC else { return nil }
    defer { nextRTXSequence &+= 1 }
    return RTPHeader(payloadType: type, sequence: nextRTXSequence, timestamp: lastTimestamp, ssrc: ssrc)
  }

  /// Lets the first packets say which stream and layer they are of (RFC 8843, 9.2; RFC 8852), so that receivers that do not
  /// know the sources can tell.
  func name(_ extensions: inout HeaderExtensions, isRetransmission: Bool) {
    let left = isRetransmission ? unnamed.retransmission : unnamed.original
    guard left > 0 else { return }
    if isRetransmission { unnamed.retransmission -= 1 } else { unnamed.original -= 1 }
    extensions.mid = parameters.mid
    if isRetransmission { extensions.repairedRID = encoding.rid } else { extensions.rid = encoding.rid }
  }

  // MARK: Feedback

  /// Those of the wanted packets that are still known and were not sent within the last `pause`.
  func wanted(
    _ sequences: [UInt16], pause: Duration, at now: Tick, _ body: (UInt16, _ size: Int, _ isRepeated: Bool) -> Void
  ) {
    nacksReceived += sequences.count
    for sequence in sequences {
      if let firstUseful, Int16(bitPattern: sequence &- firstUseful) < 0 { continue }
      guard let packet = history[sequence], let sinceSent = packet.sinceSent(at: now), sinceSent >= pause,
        packet.age(at: now) < PacketHistory.lifetime, packet.timesSent < Self.attempts
      else { continue }
      history.markSent(sequence, isQueued: true, at: now)  // so that the same request again does not double it
      body(sequence, packet.size, packet.timesSent > 1)
    }
  }

  func report(at now: Tick) -> SenderReport? {
    guard packets > 0, let anchor else { return nil }
    let elapsed = (now - anchor.captured).nanoseconds
    let (seconds, rest) = elapsed.quotientAndRemainder(dividingBy: 1_000_000_000)
    let rate = Int64(parameters.codec.clockRate)
    let advance = seconds &* rate &+ rest * rate / 1_000_000_000
    hasReported = true
    return SenderReport(
      sender: encoding.ssrc, ntp: LocalClock.ntp(of: now).value,
      rtpTimestamp: anchor.timestamp &+ UInt32(truncatingIfNeeded: advance),
      packets: UInt32(truncatingIfNeeded: packets), octets: UInt32(truncatingIfNeeded: octets))
  }

  /// - Returns: the round trip time, if the block allows to tell (RFC 3550, 6.4.1).
  func reported(_ block: ReportBlock, at now: Tick) -> Duration? {
    reportedLoss = Double(block.fractionLost) / 256
    reportedLost = max(Int(block.cumulativeLost), 0)  // below zero where packets came twice
    reportedJitter = Double(block.jitter) * 1_000 / Double(parameters.codec.clockRate)
    guard block.lastSenderReport != 0 else { return nil }
    let units = LocalClock.ntp(of: now).compact &- block.lastSenderReport &- block.delaySinceLastReport
    // Clocks with a resolution of 15 µs can give a negative result; and no round trip takes a minute.
    let sample: Duration =
      units < 0x8000_0000 ? .nanoseconds(Int64(min(units, 60 << 16)) * 1_000_000_000 / 65_536) : .zero
    roundTrip = sample
    return sample
  }
}
