import KoineBase
import KoineRTP

@testable import KoineRouter
@testable import KoineTransport

/// Cuts the input into datagrams: a byte of length before each.
private func forEachDatagram(in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
  var offset = 0
  while let length = bytes.byte(at: offset) {
    body(bytes.part((offset + 1)..<(offset + 1 + Int(length))))
    offset += 1 + Int(length)
  }
}

/// Retransmissions as a peer meets them: the prefix, the packet behind it, and the way to a frame. The first byte chooses
/// the codec, then come datagrams, which are taken at times that their own bytes choose.
func fuzzRTX(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.byte(at: 0) else { return }
  let parameters = StreamParameters(
    mid: "v", codec: first & 1 == 0 ? .vp8 : .vp9, payloadType: 96, rtxPayloadType: 97,
    encodings: [.init(ssrc: 1, rtxSSRC: 2)])
  var stream = RTPReceiveStream(receiver: ReceiverID(value: 1), parameters: parameters, layer: 0, mode: .frames)
  var now = Tick(nanoseconds: 1_000_000_000)
  var wanted: [UInt16] = []
  forEachDatagram(in: bytes.part(1..<bytes.count)) { datagram in
    guard let packet = try? RTPPacket(parsing: datagram) else { return }
    now += .milliseconds(Int(packet.timestamp & 0xFF))
    let (sequence, payload): (UInt16, Range<Int>)
    if packet.payloadType == 97 {
      checkRTX(packet, in: datagram)
      guard let original = RTX.unwrap(packet.payloadRange, in: datagram) else { return }
      (sequence, payload) = original
    } else {
      (sequence, payload) = (packet.sequence, packet.payloadRange)
    }
    let block = Bytes(datagram)
    let extensions = HeaderExtensions(packet, in: block.readable, map: .koine)
    if let shared = stream.receive(
      block, packet, extensions, sequence: sequence, payloadRange: payload, isRecovered: packet.payloadType == 97,
      at: now)
    {
      stream.assemble(shared, ClockMap(), at: now) { frame in
        require(!frame.data.readable.isEmpty, "a frame holds something")
      }
    }
    _ = stream.takeKeyFrameRequest(at: now)
    stream.collectNacks(into: &wanted, roundTrip: .milliseconds(20), at: now)
    require(wanted.count <= 1_000, "no datagram makes us ask for more than a thousand packets")
    wanted.removeAll(keepingCapacity: true)
    _ = (stream.block(at: now), stream.nack.deadline, stream.deadline)
  }
}

/// The contents of a retransmission can be packed into another one.
private func checkRTX(_ packet: RTPPacket, in bytes: UnsafeRawBufferPointer) {
  guard let original = RTX.unwrap(packet.payloadRange, in: bytes) else {
    require(packet.payloadRange.count < RTX.prefixLength, "only what is shorter than a number has none")
    return
  }
  require(original.payload.upperBound == packet.payloadRange.upperBound, "the payload ends where the packet's does")
  let payload = bytes.part(original.payload)
  withRoom(packet.payloadRange.count) { room in
    require(RTX.wrap(payload, sequence: original.sequence, into: room) == room.count, "it has its length again")
    require(room.elementsEqual(packet.payload(in: bytes)), "it is as it was")
  }
  withRoom(bytes.count % packet.payloadRange.count) { room in
    require(RTX.wrap(payload, sequence: original.sequence, into: room) == nil, "too little room is told")
  }
}

/// Reports and feedback of a peer that is let in but means no good, to the parts that believe them: nothing traps, whatever
/// the numbers, and what is reported on to others can be written.
func bear(_ packets: [RTCP]) {
  var random = SeededRandom(seed: 1)
  let parameters = StreamParameters(
    mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1, rtxSSRC: 2)])
  var sending = RTPSendStream(parameters: parameters, layer: 0, random: &random)
  var receiving = RTPReceiveStream(receiver: ReceiverID(value: 1), parameters: parameters, layer: 0, mode: .packets)
  var estimator = BandwidthEstimator(limits: .init())
  var clock = SenderClockOffset()
  var now = Tick(nanoseconds: 1_000_000_000)
  for _ in 0..<8 { _ = estimator.number(forPacketOf: 1_200, at: now) }
  sending.sent(0, bytes: 100, headerBytes: 24, isRetransmission: false, queuedAt: now, at: now)
  for packet in packets {
    now += .milliseconds(20)
    switch packet {
    case .senderReport(let report):
      receiving.senderReported(report, at: now)
      _ = (receiving.block(at: now), receiving.clock.ntp(of: report.octets))
      // As the router lets the reports it forwards count from the publisher's.
      let captured = clock.local(Tick(nanoseconds: NTPTime(report.ntp).nanoseconds), arrivedAt: now)
      sending.anchorReports(captured: captured, timestamp: report.rtpTimestamp)
      _ = sending.report(at: now)
      for block in report.blocks { _ = sending.reported(block, at: now) }
    case .receiverReport(_, let blocks): for block in blocks { _ = sending.reported(block, at: now) }
    case .nack(let nack): sending.wanted(nack.sequences, pause: .milliseconds(20), at: now) { _, _, _ in }
    case .transportFeedback(let feedback):
      estimator.handle(feedback, at: now)
      require((50_000...20_000_000).contains(estimator.bitrate), "the estimate stays within its limits")
    case .sourceDescription, .goodbye, .pictureLoss, .fullIntraRequest, .estimate, .unknown: break
    }
  }
}
