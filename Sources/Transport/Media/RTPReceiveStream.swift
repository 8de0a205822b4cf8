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

  package var payload: UnsafeRawBufferPointer { datagram.readable.part(payloadRange) }

  /// The same packet without its payload, which keeps the sequence numbers together where it was left out.
  package var emptied: SharedPacket {
    var result = self
    result.payloadRange = payloadRange.lowerBound..<payloadRange.lowerBound
    return result
  }
}

/// What becomes of a stream's packets.
package enum ReceiveMode: Sendable { case frames, packets }

/// One source of a received stream (RFC 3550: one SSRC): counts, asks again, and puts frames together. A class, so that a packet
/// is handled in place.
final class RTPReceiveStream {
  /// How far ahead of the highest received sequence number a retransmitted packet may be; packets further ahead are invalid.
  private static let furthestRecovered: Int64 = 64
  /// Asked for if the first packet that comes does not begin a key frame.
  private static let packetsBeforeFirst: Int64 = 3
  let receiver: ReceiverID
  @exclusivity(unchecked) private(set) var parameters: StreamParameters
  let layer: Int
  let mode: ReceiveMode
  @exclusivity(unchecked) private(set) var statistics: ReceptionStatistics
  @exclusivity(unchecked) private(set) var nack = NackGenerator()
  @exclusivity(unchecked) private(set) var keyFrameWish: KeyFrameRequester
  @exclusivity(unchecked) private(set) var clock: StreamClock
  @exclusivity(unchecked) private(set) var blocks = FrameBufferPool()
  @exclusivity(unchecked) private(set) var frames = 0
  @exclusivity(unchecked) private(set) var keyFrames = 0
  /// Packets that were lost and have come as copies in later ones (RFC 2198).
  @exclusivity(unchecked) private(set) var takenFromCopies = 0
  @exclusivity(unchecked) private var sequence = ExtendedSequence()
  @exclusivity(unchecked) private var seen = ReceivedSet()
  /// Of audio streams with copies.
  @exclusivity(unchecked) private var copyNumbers = CopyNumbers()
  @exclusivity(unchecked) private var highest: Int64?
  @exclusivity(unchecked) private var firstArrival: Tick?
  @exclusivity(unchecked) private var lastArrival: Tick?
  /// Only where pictures are put together here.
  @exclusivity(unchecked) private var assembler: FrameAssembler?

  var encoding: StreamParameters.Encoding { parameters.encodings[layer] }
  /// Whether packets name their stream by header extensions, because signalling did not announce an SSRC.
  let isNamedByPackets: Bool
  private var asksAgain: Bool { parameters.rtxPayloadType != nil && encoding.rtxSSRC != nil }

  convenience init(receiver: ReceiverID, parameters: StreamParameters, layer: Int, mode: ReceiveMode) {
    self.init(
      receiver: receiver, parameters: parameters, layer: layer, mode: mode,
      isNamedByPackets: parameters.encodings[layer].ssrc == 0)
  }

  private init(
    receiver: ReceiverID, parameters: StreamParameters, layer: Int, mode: ReceiveMode, isNamedByPackets: Bool
  ) {
    self.receiver = receiver
    self.parameters = parameters
    self.layer = layer
    self.mode = mode
    self.isNamedByPackets = isNamedByPackets
    statistics = ReceptionStatistics(clockRate: parameters.codec.clockRate)
    clock = StreamClock(clockRate: parameters.codec.clockRate)
    keyFrameWish = KeyFrameRequester(repeats: mode == .frames)
    if mode == .frames, !parameters.codec.isAudio { assembler = FrameAssembler() }
  }

  /// Sets the SSRC of the layer or of its retransmissions.
  /// - Returns: the stream with that SSRC: this one, or a new one if the layer had another SSRC before.
  func with(source ssrc: UInt32, isRetransmission: Bool) -> RTPReceiveStream {
    if isRetransmission {
      parameters.encodings[layer].rtxSSRC = ssrc
      return self
    }
    guard encoding.ssrc == 0 else {
      var parameters = parameters
      parameters.encodings[layer].ssrc = ssrc
      return RTPReceiveStream(
        receiver: receiver, parameters: parameters, layer: layer, mode: mode, isNamedByPackets: true)
    }
    parameters.encodings[layer].ssrc = ssrc
    return self
  }

  /// Takes a packet of the stream itself, or one recovered from its retransmission stream.
  /// - Returns: the packet, unless it has been seen.
  func receive(
    _ datagram: Bytes, _ packet: RTPPacket, _ extensions: HeaderExtensions, sequence number: UInt16,
    payloadRange: Range<Int>, isRecovered: Bool, at now: Tick
  ) -> SharedPacket? {
    if isRecovered {
      guard let highest, ExtendedSequence.nearest(number, to: highest) <= highest + Self.furthestRecovered else {
        return nil
      }
    }
    let full = sequence.extend(number)
    guard seen.insert(full) else {
      if !isRecovered { statistics.cameLate() }
      return nil
    }
    if parameters.redPayloadType != nil {
      copyNumbers.received(full, timestamp: packet.timestamp, isPadding: payloadRange.isEmpty)
    }
    let isFirst = highest == nil
    highest = max(highest ?? full, full)
    firstArrival = firstArrival ?? now
    lastArrival = now
    statistics.received(
      full, timestamp: packet.timestamp, bytes: payloadRange.count, headerBytes: packet.headerLength,
      isRecovered: isRecovered, at: now)
    let shared = SharedPacket(
      datagram: datagram, packet: packet, extensions: extensions, sequence: full, layer: layer,
      isRecovered: isRecovered, payloadRange: payloadRange)
    if asksAgain {
      nack.received(full, isRecovered: isRecovered, at: now)
      if isFirst, VideoPacket(shared, codec: parameters.codec, at: now)?.info.startsKeyFrame == false {
        nack.expect(full - Self.packetsBeforeFirst..<full, at: now)
      }
    }
    return shared
  }

  /// - Parameters:
  ///   - distance: how many copies of one packet are at least as new as this one.
  ///   - timestamp: of the copy.
  /// - Returns: the sequence number of the packet that is repeated; nil if it has come.
  func numberOfCopy(_ distance: Int, timestamp: UInt32, in packet: RTPPacket) -> UInt16? {
    guard let highest else { return nil }
    let full = ExtendedSequence.nearest(packet.sequence, to: highest)
    return copyNumbers.number(of: timestamp, distance: distance, before: full).map(UInt16.init(truncatingIfNeeded:))
  }

  func copyTaken() { takenFromCopies += 1 }

  func senderReported(_ report: SenderReport, at now: Tick) {
    statistics.senderReported(report, at: now)
    clock.reported(ntp: report.ntp, timestamp: report.rtpTimestamp)
  }

  func block(at now: Tick) -> ReportBlock { statistics.block(source: encoding.ssrc, at: now) }

  func collectNacks(into sequences: inout [UInt16], roundTrip: Duration?, at now: Tick) {
    nack.collect(into: &sequences, roundTrip: roundTrip, at: now)
  }

  /// The stream's loss, 0...1, and the time until two answers to requests would have come. Nil for a layer that does not arrive: its last
  /// figures would stay for ever.
  func recovery(at now: Tick) -> (loss: Double, time: Duration)? {
    guard let lastArrival, now - lastArrival < .seconds(1) else { return nil }
    return (nack.loss, nack.patienceOfFrames)
  }

  // MARK: Frames

  /// Takes a packet of pictures; whole frames are handed to `body`, in decoding order.
  func assemble(_ shared: SharedPacket, _ remote: ClockMap, at now: Tick, _ body: (EncodedFrame) -> Void) {
    guard let packet = VideoPacket(shared, codec: parameters.codec, at: now) else { return }
    assembler?.insert(packet)
    drain(remote, at: now, body)
  }

  /// Hands complete frames to `body`. Also called when only time has passed, because a frame may have waited long enough for a gap.
  func drain(_ remote: ClockMap, at now: Tick, _ body: (EncodedFrame) -> Void) {
    assembler?.patience = nack.patienceOfFrames
    while let range = assembler?.nextFrame(at: now), let frame = frame(range, remote) {
      assembler?.consume(range)
      nack.forget(before: range.upperBound)
      frames += 1
      if frame.isKey {
        keyFrames += 1
        keyFrameWish.keyFrameCame()
      }
      body(frame)
    }
  }

  private func frame(_ range: FrameAssembler.Frame, _ remote: ClockMap) -> EncodedFrame? {
    guard let assembler, let first = assembler.packet(range.lowerBound) else { return nil }
    var (size, layers) = (0, 0)
    var arrived = first.arrived
    for sequence in range {
      guard let packet = assembler.packet(sequence) else { return nil }
      size += packet.size
      if packet.info.startsSpatialLayer { layers += 1 }
      arrived = max(arrived, packet.arrived)
    }
    let data = blocks.take(size + (layers > 1 ? parameters.codec.longestLayerIndex : 0))
    for sequence in range { if let packet = assembler.packet(sequence) { data.append(packet.bytes) } }
    if layers > 1 { parameters.codec.appendLayerIndex(to: data, sizes: assembler.layerSizes(of: range)) }
    let extensions = first.extensions.unpacked
    return EncodedFrame(
      codec: parameters.codec, data: data,
      captured: captureTime(extensions, timestamp: first.timestamp, arrived: first.arrived, remote),
      rtpTimestamp: first.timestamp, isKey: first.info.startsKeyFrame, layer: UInt8(clamping: layer),
      temporalLayer: first.info.temporalLayer, isDiscardable: first.info.isDiscardable,
      quarterTurns: extensions.quarterTurns ?? 0, sequence: first.sequence, arrived: arrived)
  }

  /// Sound goes on at once: the play-out buffer above puts it in order.
  func sound(_ shared: SharedPacket, _ remote: ClockMap, at now: Tick) -> EncodedFrame? {
    let payload = shared.datagram.readable.part(shared.payloadRange)
    guard !payload.isEmpty else { return nil }
    frames += 1
    let data = blocks.take(payload.count)
    data.append(payload)
    return EncodedFrame(
      codec: parameters.codec, data: data,
      captured: captureTime(shared.extensions, timestamp: shared.packet.timestamp, arrived: now, remote),
      rtpTimestamp: shared.packet.timestamp, isKey: true, audioLevel: shared.extensions.audioLevel,
      voiceActivity: shared.extensions.voiceActivity, sequence: shared.sequence, arrived: now)
  }

  /// The capture time of a packet on our clock. The packet may carry it, but in the time of the capturing client, which behind a
  /// router may be a third clock. Otherwise the sender reports give it. Implausible times (more than 1 s in the future or 30 s in
  /// the past) are ignored; the last resort is the arrival time.
  private func captureTime(
    _ extensions: HeaderExtensions, timestamp: UInt32, arrived: Tick, _ remote: ClockMap
  ) -> Tick {
    func plausible(_ tick: Tick?) -> Tick? {
      guard let tick, tick <= arrived + .seconds(1), tick >= arrived - .seconds(30) else { return nil }
      return tick
    }
    if let written = extensions.absoluteCaptureTime {
      let ntp = NTPTime(written).nanoseconds
      if let tick = plausible(Tick(nanoseconds: ntp)) { return tick }  // our own clock
      if let offset = extensions.captureClockOffset {
        // 32.32 fixed point: from the capturing clock to the sender's.
        let shift = (offset >> 32) &* 1_000_000_000 &+ ((offset & 0xFFFF_FFFF) &* 1_000_000_000) >> 32
        if let tick = plausible(remote.tick(ofNTP: ntp &+ shift)) { return tick }
      }
    }
    return plausible(clock.ntp(of: timestamp).flatMap { remote.tick(ofNTP: $0) }) ?? arrived
  }

  // MARK: Key frames and time

  /// Whether a packet of it has arrived, or signalling has named its source. An unknown source cannot be asked for anything.
  var knowsSource: Bool { encoding.ssrc != 0 }

  /// Does nothing for an unknown source: what it sends first is a key frame.
  func wantKeyFrame() { if !parameters.codec.isAudio, knowsSource { keyFrameWish.want() } }

  /// Should a key frame be asked for now?
  func takeKeyFrameRequest(at now: Tick) -> Bool {
    guard let due = keyFrameDeadline, now >= due else { return false }
    keyFrameWish.requested(at: now, isLossy: nack.mayLose)
    return true
  }

  /// Without a key frame in sight there is nothing to wait for, once reordering is ruled out.
  private var waitingDeadline: Tick? {
    guard let assembler, assembler.isWaitingForKey, let firstArrival else { return nil }
    return firstArrival + (assembler.hasKeyStart ? nack.patienceWithGap : .milliseconds(150))
  }

  private var keyFrameDeadline: Tick? {
    keyFrameWish.deadline(
      waitingUntil: waitingDeadline,
      blockedUntil: assembler?.blockedSince.map { $0 + nack.patienceWithGap })
  }

  /// When this stream next has something to ask for, or a frame to hand on.
  var deadline: Tick? {
    knowsSource ? nack.deadline.sooner(keyFrameDeadline).sooner(assembler?.deadline) : nil
  }
}
