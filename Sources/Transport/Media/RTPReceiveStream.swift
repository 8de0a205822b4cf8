package import KoineBase
package import KoineRTP

/// A packet as the router takes it over: decrypted, in its datagram, shared and not copied.
package struct SharedPacket: Sendable {
  package var datagram: Bytes
  package var packet: RTPPacket
  package var extensions: HeaderExtensions
  /// Over wraps.
  package var sequence: Int64
  package var layer: Int
  /// Came as a retransmission: later than its neighbours.
  package var isRecovered: Bool
  /// Of the payload; differs from the packet's own for retransmissions, which carry a prefix.
  package var payloadRange: Range<Int>
}

/// One source of a received stream (RFC 3550: one SSRC): counts, asks again, and puts frames together.
struct RTPReceiveStream {
  let receiver: ReceiverID
  let parameters: StreamParameters
  let layer: Int
  let mode: ReceiveMode
  private(set) var statistics: ReceptionStatistics
  private var sequence = ExtendedSequence()
  private(set) var nack = NackGenerator()
  private var assembler = FrameAssembler()
  private var seen = ReceivedSet()
  private(set) var clock = SenderClock()
  private(set) var frames = 0
  private(set) var keyFrameRequests = 0
  private var lastKeyRequest: Tick?
  private var keyWanted = false
  private var firstArrival: Tick?

  var encoding: StreamParameters.Encoding { parameters.encodings[layer] }

  init(receiver: ReceiverID, parameters: StreamParameters, layer: Int, mode: ReceiveMode) {
    self.receiver = receiver
    self.parameters = parameters
    self.layer = layer
    self.mode = mode
    statistics = ReceptionStatistics(clockRate: parameters.codec.clockRate)
  }

  /// Takes a packet of the stream itself, or one recovered from its retransmission stream.
  /// - Returns: the packet, unless it has been seen.
  mutating func take(
    _ datagram: Bytes, _ packet: RTPPacket, _ extensions: HeaderExtensions, sequence number: UInt16,
    payloadRange: Range<Int>, isRecovered: Bool, at now: Tick
  ) -> SharedPacket? {
    let full = sequence.extend(number)
    guard seen.insert(full) else { return nil }
    firstArrival = firstArrival ?? now
    statistics.received(
      full, timestamp: packet.timestamp, bytes: payloadRange.count, isRecovered: isRecovered, at: now)
    nack.received(full, isRecovered: isRecovered, at: now)
    return SharedPacket(
      datagram: datagram, packet: packet, extensions: extensions, sequence: full, layer: layer,
      isRecovered: isRecovered,
      payloadRange: payloadRange)
  }

  mutating func senderReported(_ report: SenderReport, at now: Tick) {
    statistics.senderReported(report, at: now)
    clock.reported(ntp: report.ntp, timestamp: report.rtpTimestamp, clockRate: parameters.codec.clockRate)
  }

  mutating func block(at now: Tick) -> ReportBlock { statistics.block(source: encoding.ssrc, at: now) }

  mutating func collectNacks(into sequences: inout [UInt16], roundTrip: Duration, at now: Tick) {
    guard parameters.rtxPayloadType != nil else { return }
    nack.collect(into: &sequences, roundTrip: roundTrip, at: now)
  }

  // MARK: Frames

  /// Takes a packet of pictures; whole frames are handed to `body`, in decoding order.
  mutating func assemble(_ shared: SharedPacket, at now: Tick, _ body: (EncodedFrame) -> Void) {
    guard let packet = describe(shared, at: now) else { return }
    assembler.insert(packet)
    drain(at: now, body)
  }

  private mutating func drain(at now: Tick, _ body: (EncodedFrame) -> Void) {
    while let packets = assembler.nextFrame(at: now) {
      frames += 1
      if packets[0].isKey { keyWanted = false }
      body(frame(of: packets, at: now))
    }
  }

  private func describe(_ shared: SharedPacket, at now: Tick) -> FrameAssembler.Packet? {
    let payload = shared.datagram.readable.part(shared.payloadRange)
    var result = FrameAssembler.Packet(
      datagram: shared.datagram, range: shared.payloadRange, sequence: shared.sequence,
      timestamp: shared.packet.timestamp,
      startsFrame: false, endsFrame: shared.packet.marker, isKey: false, temporalLayer: 0, isDiscardable: false,
      extensions: shared.extensions, arrived: now)
    switch parameters.codec {
    case .vp8:
      guard let (descriptor, length) = try? VP8Descriptor.parse(payload), length < payload.count else { return nil }
      result.startsFrame = descriptor.startsPartition && descriptor.partition == 0
      result.isKey = result.startsFrame && VP8Descriptor.isKey(payload.part(length..<payload.count))
      result.temporalLayer = descriptor.temporalLayer ?? 0
      result.isDiscardable = !descriptor.isReference
      result.range = (shared.payloadRange.lowerBound + length)..<shared.payloadRange.upperBound
    case .vp9:
      guard let (descriptor, length) = try? VP9Descriptor.parse(payload), length < payload.count else { return nil }
      result.startsFrame = descriptor.startsFrame && descriptor.spatialLayer == 0
      result.isKey = result.startsFrame && !descriptor.isInterPicturePredicted
      result.temporalLayer = descriptor.temporalLayer ?? 0
      result.range = (shared.payloadRange.lowerBound + length)..<shared.payloadRange.upperBound
    case .opus: return nil
    }
    return result
  }

  private func frame(of packets: [FrameAssembler.Packet], at now: Tick) -> EncodedFrame {
    let data = Bytes(capacity: packets.reduce(0) { $0 + $1.range.count })
    for packet in packets { data.append(packet.datagram.readable.part(packet.range)) }
    let first = packets[0]
    return EncodedFrame(
      codec: parameters.codec, data: data,
      captured: captureTime(first.extensions, timestamp: first.timestamp, arrived: first.arrived),
      rtpTimestamp: first.timestamp, isKey: first.isKey, layer: UInt8(clamping: layer),
      temporalLayer: first.temporalLayer,
      isDiscardable: first.isDiscardable, quarterTurns: first.extensions.quarterTurns ?? 0,
      sequence: first.sequence, arrived: packets.reduce(first.arrived) { max($0, $1.arrived) })
  }

  /// Sound goes on at once: the play-out buffer above puts it in order.
  mutating func sound(_ shared: SharedPacket, at now: Tick) -> EncodedFrame? {
    let payload = shared.datagram.readable.part(shared.payloadRange)
    guard !payload.isEmpty else { return nil }
    frames += 1
    let data = Bytes(capacity: payload.count)
    data.append(payload)
    return EncodedFrame(
      codec: .opus, data: data,
      captured: captureTime(shared.extensions, timestamp: shared.packet.timestamp, arrived: now),
      rtpTimestamp: shared.packet.timestamp, isKey: true, audioLevel: shared.extensions.audioLevel,
      voiceActivity: shared.extensions.voiceActivity, sequence: shared.sequence, arrived: now)
  }

  private func captureTime(_ extensions: HeaderExtensions, timestamp: UInt32, arrived: Tick) -> Tick {
    if let ntp = extensions.absoluteCaptureTime { return SenderClock.tick(ofNTP: ntp) }
    return clock.tick(of: timestamp, clockRate: parameters.codec.clockRate) ?? arrived
  }

  // MARK: Key frames

  /// Should a key frame be asked for now? While pictures wait for one, again each `interval`.
  mutating func takeKeyFrameRequest(at now: Tick) -> Bool {
    guard parameters.codec != .opus, mode == .frames || keyWanted else { return false }
    let isStuck = stuckSince.map { now >= $0 } ?? false
    guard keyWanted || isStuck else { return false }
    if let lastKeyRequest, now - lastKeyRequest < .milliseconds(300) { return false }
    lastKeyRequest = now
    keyFrameRequests += 1
    if mode == .packets { keyWanted = false }
    return true
  }

  mutating func wantKeyFrame() { keyWanted = true }

  /// When waiting for a packet, or for a first key frame, has lasted too long.
  private var stuckSince: Tick? {
    if assembler.isWaitingForKey { return firstArrival.map { $0 + .milliseconds(150) } }
    return assembler.blockedSince.map { $0 + .milliseconds(350) }
  }

  /// When to look again whether a key frame must be asked for.
  var keyFrameDeadline: Tick? {
    guard mode == .frames, parameters.codec != .opus else { return keyWanted ? Tick(nanoseconds: .min) : nil }
    guard let wish = keyWanted ? Tick(nanoseconds: .min) : stuckSince else { return nil }
    return lastKeyRequest.map { max(wish, $0 + .milliseconds(300)) } ?? wish
  }
}

/// What becomes of a stream's packets.
package enum ReceiveMode: Sendable { case frames, packets }

/// Which of the last 1,024 sequence numbers have come.
private struct ReceivedSet {
  private var newest: Int64 = .min
  private var bits = [UInt64](repeating: 0, count: 16)

  /// - Returns: false if it has come before, or is too old to tell.
  mutating func insert(_ sequence: Int64) -> Bool {
    if newest == .min { newest = sequence - 1 }
    if sequence > newest {
      if sequence - newest >= 1024 {
        for index in bits.indices { bits[index] = 0 }
      } else {
        for passed in (newest + 1)...sequence { clear(passed) }
      }
      newest = sequence
    } else if newest - sequence >= 1024 {
      return false
    }
    let (word, bit) = place(sequence)
    guard bits[word] & bit == 0 else { return false }
    bits[word] |= bit
    return true
  }

  private mutating func clear(_ sequence: Int64) {
    let (word, bit) = place(sequence)
    bits[word] &= ~bit
  }

  private func place(_ sequence: Int64) -> (word: Int, bit: UInt64) {
    let index = Int(truncatingIfNeeded: sequence & 1023)
    return (index >> 6, 1 << UInt64(index & 63))
  }
}
