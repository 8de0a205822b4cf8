import KoineBase
import KoineRTP

/// The streams that a peer sends: their numbers, retransmissions and redundancy, paced to what the path carries.
final class PeerSender {
  private static let paddingLength = 255

  /// Changes when negotiation does.
  @exclusivity(unchecked) var extensions: HeaderExtensionMap
  private let namesStreams: Bool
  private let events: EventQueue
  private let control: ControlQueue
  private let trace: PlaintextTrace
  @exclusivity(unchecked) private var streams: [Int: OutgoingStream] = [:]
  @exclusivity(unchecked) private var sources: [UInt32: (stream: Int, layer: Int)] = [:]
  @exclusivity(unchecked) private var pacer: Pacer
  @exclusivity(unchecked) private var rate: SendRate
  @exclusivity(unchecked) private var playoutDelay = PlayoutDelay()
  @exclusivity(unchecked) private var pool = BytesPool(capacity: 1_400, limit: 512)
  @exclusivity(unchecked) private var lastFullIntra: [UInt32: UInt8] = [:]
  @exclusivity(unchecked) private(set) var dropped = 0
  /// For packets that are put together in pieces.
  private let scratch = Bytes(capacity: 1_600)
  @exclusivity(unchecked) private var payloads: [Bytes] = []

  init(
    _ configuration: PeerConfiguration, events: EventQueue, control: ControlQueue, trace: PlaintextTrace, now: Tick
  ) {
    (extensions, namesStreams) = (configuration.extensions, configuration.namesStreams)
    (self.events, self.control, self.trace) = (events, control, trace)
    pacer = Pacer(targetBitrate: configuration.startBitrate, now: now)
    rate = SendRate(
      limits: .init(
        minimum: configuration.minimumBitrate, start: configuration.startBitrate, maximum: configuration.maximumBitrate)
    )
  }

  /// A published or forwarded stream: one source per layer. A class, so that a packet is handled in place.
  private final class OutgoingStream {
    let parameters: StreamParameters
    @exclusivity(unchecked) var layers: [RTPSendStream]
    @exclusivity(unchecked) var redundancy = AudioRedundancy()
    @exclusivity(unchecked) var packetizers: [Packetizer]
    /// By layer.
    @exclusivity(unchecked) var frames: [(all: Int, keys: Int, keysRequested: Int)]
    /// When a key frame was last asked for, by layer.
    @exclusivity(unchecked) var keyRequested: [Tick?]
    /// Frames were dropped because the peer was not connected yet.
    @exclusivity(unchecked) var missedFrames = false
    /// For packets that come late because they were lost on their way here.
    @exclusivity(unchecked) var sourceDelay = PlayoutDelay()

    init(_ parameters: StreamParameters, random: inout SeededRandom) {
      self.parameters = parameters
      layers = []
      packetizers = []
      frames = parameters.encodings.map { _ in (0, 0, 0) }
      keyRequested = parameters.encodings.map { _ in nil }
      for layer in parameters.encodings.indices {
        layers.append(RTPSendStream(parameters: parameters, layer: layer, random: &random))
        packetizers.append(Packetizer(parameters: parameters, layer: layer, random: &random))
      }
    }

    var isAudio: Bool { parameters.codec.isAudio }
  }

  func add(_ parameters: StreamParameters, as id: SenderID, random: inout SeededRandom) {
    streams[id.value] = OutgoingStream(parameters, random: &random)
    for (layer, encoding) in parameters.encodings.enumerated() { sources[encoding.ssrc] = (id.value, layer) }
  }

  /// - Returns: the sources that end.
  func remove(_ id: SenderID) -> [UInt32] {
    guard let stream = streams.removeValue(forKey: id.value) else { return [] }
    let ended = stream.parameters.encodings.map(\.ssrc)
    for source in ended where sources[source]?.stream == id.value { sources[source] = nil }
    return ended
  }

  /// All sources, in the order in which their streams were added.
  var allSources: [UInt32] {
    streams.keys.sorted().flatMap { streams[$0]?.parameters.encodings.map(\.ssrc) ?? [] }
  }

  // MARK: Frames (clients)

  /// A frame could not be sent, because there is no path yet.
  func missedFrame(of id: SenderID) { streams[id.value]?.missedFrames = true }

  /// Asks for key frames of the video streams that could not send a frame.
  func requestMissedFrames() {
    for id in streams.keys.sorted() {
      guard let stream = streams[id], stream.missedFrames, !stream.isAudio else { continue }
      for layer in stream.layers.indices { events.append(.keyFrameRequested(SenderID(value: id), layer: layer)) }
    }
  }

  func send(_ frame: EncodedFrame, on id: SenderID, at now: Tick) {
    let layer = Int(frame.layer)
    guard let stream = streams[id.value], stream.layers.indices.contains(layer) else { return }
    stream.frames[layer].all += 1
    if frame.isKey { stream.frames[layer].keys += 1 }
    let isAudio = stream.isAudio
    stream.layers[layer].anchorReports(captured: frame.captured, timestamp: frame.rtpTimestamp)
    if !stream.layers[layer].hasReported { control.hastenReport(at: now) }
    var extensions = HeaderExtensions()
    extensions.absoluteCaptureTime = LocalClock.ntp(of: frame.captured).value
    extensions.audioLevel = frame.audioLevel
    extensions.voiceActivity = frame.voiceActivity
    if !isAudio, frame.quarterTurns != 0 { extensions.quarterTurns = frame.quarterTurns }
    let first = StoredExtensions(extensions)
    extensions.absoluteCaptureTime = nil  // the first packet tells it for all
    let others = StoredExtensions(extensions)
    stream.packetizers[layer].packetize(frame, pool: &pool, into: &payloads)
    for (index, payload) in payloads.enumerated() {
      let sequence = stream.layers[layer].store(
        payload, timestamp: frame.rtpTimestamp, marker: !isAudio && index == payloads.count - 1,
        extensions: index == 0 ? first : others, pool: &pool, at: now)
      pacer.enqueue(
        .init(sender: id.value, layer: layer, sequence: sequence, size: payload.count, queuedAt: now),
        isAudio ? .sound : .pictures)
    }
    payloads.removeAll(keepingCapacity: true)
  }

  // MARK: Packets (the router)

  func forward(
    _ shared: SharedPacket, on id: SenderID, sequence: UInt16, timestamp: UInt32, numbers: FrameNumbers? = nil,
    at now: Tick
  ) {
    guard let stream = streams[id.value] else { return }
    if !stream.layers[0].hasReported, stream.layers[0].anchor != nil { control.hastenReport(at: now) }
    stream.layers[0].store(
      StoredPacket(
        payload: shared.datagram, range: shared.payloadRange, sequence: sequence, timestamp: timestamp,
        marker: shared.packet.marker, extensions: StoredExtensions(shared.extensions), numbers: numbers, at: now),
      pool: &pool, at: now)
    let item = Pacer.Item(
      sender: id.value, layer: 0, sequence: sequence, size: shared.payloadRange.count, queuedAt: now)
    let isAudio = stream.isAudio
    // A packet that was lost on its way here is late already: its receiver should not have to request it once more.
    if shared.isRecovered, !isAudio {
      pacer.enqueue(item, .late)
      if rate.isLossy, pacer.hasRoomForCopies, stream.layers[0].hasRetransmissions {
        pacer.enqueue(item, .retransmission)
      }
    } else {
      pacer.enqueue(item, isAudio ? .sound : .pictures)
    }
  }

  /// - Parameters:
  ///   - loss: of the stream on its way here, 0...1.
  ///   - delay: how long a lost packet takes until its retransmission is here.
  func setSource(loss: Double, delay: Duration, of id: SenderID, at now: Tick) {
    streams[id.value]?.sourceDelay.update(loss: loss, needed: delay, at: now)
  }

  /// Drops the stream's packets that wait to be sent, because a key frame follows.
  func dropQueued(of id: SenderID) {
    pacer.drop(sender: id.value)
    streams[id.value]?.layers[0].beginAnew()
  }

  /// The capture time and timestamp that sender reports of the forwarded stream count from.
  func anchorReports(of id: SenderID, captured: Tick, timestamp: UInt32) {
    streams[id.value]?.layers[0].anchorReports(captured: captured, timestamp: timestamp)
  }

  // MARK: Out

  /// Writes the next packet that may leave.
  /// - Returns: its size, and whether it is of a video stream; nil for padding, which is of none.
  func poll(
    into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, at now: Tick
  ) -> (count: Int, isVideo: Bool?)? {
    if rate.isProbeDue(at: now) {
      if let sent = pollPaced(into: out, isFree: true, srtp, at: now) { return sent }
      if let count = writePadding(into: out, srtp, at: now) { return (count, nil) }
    }
    return pollPaced(into: out, isFree: false, srtp, at: now)
  }

  /// - Parameter isFree: whether the packet belongs to a probe, which does not wait for the pace.
  private func pollPaced(
    into out: UnsafeMutableRawBufferPointer, isFree: Bool, _ srtp: SRTPSession, at now: Tick
  ) -> (count: Int, isVideo: Bool?)? {
    while let (item, isRetransmission) = pacer.next(isFree: isFree, at: now) {
      guard let stream = streams[item.sender] else { continue }
      if let count = write(item, isRetransmission: isRetransmission, of: stream, into: out, srtp, at: now) {
        return (count, !stream.isAudio)
      }
    }
    return nil
  }

  /// Writes one packet: a header with the numbers of this moment, then the shared payload, encrypted.
  private func write(
    _ item: Pacer.Item, isRetransmission: Bool, of stream: OutgoingStream, into out: UnsafeMutableRawBufferPointer,
    _ srtp: SRTPSession, at now: Tick
  ) -> Int? {
    guard let packet = stream.layers[item.layer].packet(item.sequence) else { return nil }
    var header = stream.layers[item.layer].header(of: packet)
    var extensions = packet.extensions.unpacked
    var payload = packet.bytes
    if packet.numbers != nil { payload = renumbered(packet, of: stream.parameters.codec) }
    if !isRetransmission, let type = stream.parameters.redPayloadType,
      let redundant = redundantPayload(of: packet, layer: item.layer, of: stream, at: now)
    {
      header.payloadType = type
      payload = redundant
    }
    if isRetransmission {
      guard let other = stream.layers[item.layer].retransmissionHeader(of: packet) else { return nil }
      header = other
      payload = prefixed(payload, with: packet.sequence)
    }
    if namesStreams { stream.layers[item.layer].name(&extensions, isRetransmission: isRetransmission) }
    extensions.absoluteSendTime = LocalClock.absoluteSendTime(at: now)
    extensions.transportSequence = rate.number(payloadSize: payload.count, at: now)
    if !stream.isAudio { extensions.minimumPlayoutDelay = PlayoutDelay.sum(stream.sourceDelay, playoutDelay) }
    if isRetransmission { rate.retransmitted(payloadSize: payload.count, at: now) }
    guard let headerLength = header.write(into: out, extensions: extensions, map: self.extensions) else {
      dropped += 1
      return nil
    }
    let headerBytes = UnsafeRawBufferPointer(rebasing: out[..<headerLength])
    trace(headerBytes, payload)
    guard let count = try? srtp.protectRTP(header: headerBytes, payload: payload, into: out) else {
      dropped += 1
      return nil
    }
    stream.layers[item.layer].sent(
      item.sequence, bytes: payload.count, headerBytes: headerLength, isRetransmission: isRetransmission,
      queuedAt: item.queuedAt, at: now)
    control.streamIsActive(at: now)
    return count
  }

  /// The payload with copies of those before it, in `scratch`, where the path loses packets.
  private func redundantPayload(
    of packet: StoredPacket, layer: Int, of stream: OutgoingStream, at now: Tick
  ) -> UnsafeRawBufferPointer? {
    let loss = max(rate.loss, stream.layers[layer].reportedLoss)
    let copies = stream.redundancy.copies(atLoss: loss, at: now)
    if copies == 0 { return nil }
    return stream.layers[layer].redundantPayload(of: packet, copies: copies, into: scratch.writable)
  }

  /// How many earlier payloads each packet of an audio stream repeats now, 0...2.
  func copies(on id: SenderID) -> Int { streams[id.value]?.redundancy.current ?? 0 }

  /// RFC 4588, section 4: the original number stands before the payload.
  private func prefixed(_ payload: UnsafeRawBufferPointer, with sequence: UInt16) -> UnsafeRawBufferPointer {
    if payload.baseAddress == UnsafeRawPointer(scratch.base + 2) {
      UnsafeMutableRawBufferPointer(rebasing: scratch.writable[..<2]).storeBytes(
        of: sequence.bigEndian, as: UInt16.self)
      return UnsafeRawBufferPointer(rebasing: scratch.writable[..<(payload.count + 2)])
    }
    var writer = ByteWriter(scratch.writable)
    writer.write(sequence)
    writer.write(payload)
    return UnsafeRawBufferPointer(rebasing: scratch.writable[..<writer.count])
  }

  /// A copy of the payload with its picture's numbers as this stream counts them, two bytes behind the start of `scratch`.
  private func renumbered(_ packet: StoredPacket, of codec: Codec) -> UnsafeRawBufferPointer {
    let payload = packet.bytes
    let copy = UnsafeMutableRawBufferPointer(rebasing: scratch.writable[2..<min(payload.count + 2, scratch.capacity)])
    copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: payload.prefix(copy.count)))
    if let numbers = packet.numbers { codec.rewrite(copy, numbers) }
    return UnsafeRawBufferPointer(copy)
  }

  // MARK: Padding

  /// Padding goes where retransmissions go (RFC 4588): receivers pass nothing of it on.
  /// Of several the oldest, so that the same calls give the same packets.
  private var paddingStream: (stream: OutgoingStream, layer: Int)? {
    var oldest: (id: Int, stream: OutgoingStream, layer: Int)?
    for (id, stream) in streams where !stream.isAudio && id < oldest?.id ?? .max {
      if let layer = stream.layers.lastIndex(where: { $0.hasRetransmissions && $0.packets > 0 }) {
        oldest = (id, stream, layer)
      }
    }
    return oldest.map { ($0.stream, $0.layer) }
  }

  private func writePadding(into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, at now: Tick) -> Int? {
    guard let (stream, layer) = paddingStream, let header = stream.layers[layer].paddingHeader() else {
      rate.abandonProbe()
      return nil
    }
    var extensions = HeaderExtensions()
    if namesStreams { stream.layers[layer].name(&extensions, isRetransmission: true) }
    extensions.absoluteSendTime = LocalClock.absoluteSendTime(at: now)
    extensions.transportSequence = rate.number(payloadSize: Self.paddingLength, at: now)
    guard let headerLength = header.write(into: out, extensions: extensions, map: self.extensions) else {
      rate.abandonProbe()
      return nil
    }
    out[0] |= 0x20  // padded: its last byte tells how much
    let payload = UnsafeMutableRawBufferPointer(rebasing: scratch.writable[..<Self.paddingLength])
    for index in payload.indices { payload[index] = 0 }
    payload[Self.paddingLength - 1] = UInt8(Self.paddingLength)
    let headerBytes = UnsafeRawBufferPointer(rebasing: out[..<headerLength])
    trace(headerBytes, UnsafeRawBufferPointer(payload))
    return try? srtp.protectRTP(header: headerBytes, payload: UnsafeRawBufferPointer(payload), into: out)
  }

  // MARK: Feedback of the other end

  func handleReportBlocks(_ blocks: [ReportBlock], at now: Tick) {
    for block in blocks {
      guard let (id, layer) = sources[block.source] else { continue }
      rate.heard(at: now)
      guard let sample = streams[id]?.layers[layer].reported(block, at: now) else { continue }
      control.measured(roundTrip: sample)
      if let roundTrip = control.roundTrip { streams[id]?.layers[layer].measured(roundTrip: roundTrip) }
    }
  }

  func handleNACK(_ nack: GenericNACK, at now: Tick) {
    guard let (id, layer) = sources[nack.media], let stream = streams[id], stream.layers[layer].hasRetransmissions
    else { return }
    let pause = min(max((control.roundTrip ?? .milliseconds(20)) / 2, .milliseconds(5)), .milliseconds(100))
    stream.layers[layer].wanted(nack.sequences, pause: pause, at: now) { sequence, size, isRepeated in
      retransmit(
        .init(sender: id, layer: layer, sequence: sequence, size: size, queuedAt: now),
        inTwo: isRepeated || rate.isLossy)
    }
  }

  /// A packet that is requested again, and every packet on a lossy path, is sent twice as long as the budget allows it: waiting for
  /// the next request costs a round trip.
  private func retransmit(_ item: Pacer.Item, inTwo: Bool) {
    pacer.enqueue(item, .retransmission)
    if inTwo, pacer.hasRoomForCopies { pacer.enqueue(item, .retransmission) }
  }

  /// RFC 5104, 4.3.1.2: the same number again is the same request again.
  func handleFullIntraRequest(_ entries: [FullIntraEntry], at now: Tick) {
    for entry in entries where sources[entry.media] != nil && lastFullIntra[entry.media] != entry.number {
      lastFullIntra[entry.media] = entry.number
      keyFrameRequested(entry.media, at: now)
    }
  }

  /// A request so soon after another one is its copy (`KeyFrameRequester`): no answer can have arrived in between.
  private static let requestCopyTime = Duration.milliseconds(50)

  func keyFrameRequested(_ source: UInt32, at now: Tick) {
    guard let (id, layer) = sources[source], let stream = streams[id], !stream.isAudio else { return }
    stream.frames[layer].keysRequested += 1
    if let last = stream.keyRequested[layer], now - last < Self.requestCopyTime { return }
    stream.keyRequested[layer] = now
    events.append(.keyFrameRequested(SenderID(value: id), layer: layer))
  }

  func handleFeedback(_ feedback: TransportFeedback, at now: Tick) {
    guard rate.handle(feedback, at: now) else {
      dropped += 1
      return
    }
    // Losses of a full queue end with it, and meanwhile round trips are long.
    playoutDelay.update(
      loss: rate.isDraining ? 0 : rate.loss, needed: control.roundTrip.map(PlayoutDelay.forRetransmissions(roundTrip:)),
      at: now)
    reportEstimate(at: now)
    considerProbe(at: now)
  }

  func handleRemoteEstimate(_ bitrate: UInt64, at now: Tick) {
    rate.handleRemoteEstimate(bitrate, at: now)
    reportEstimate(at: now)
  }

  func checkSilence(at now: Tick) { if rate.checkSilence(at: now) { reportEstimate(at: now) } }

  private func reportEstimate(at now: Tick) {
    guard let estimate = rate.changedEstimate(at: now) else { return }
    pacer.setTarget(estimate.total, isDraining: estimate.isDraining)
    events.append(.estimate(bitrate: estimate.rest, loss: estimate.loss))
  }

  // MARK: The path

  var capacity: Int { rate.capacity }
  var loss: Double { rate.loss }
  var isSilent: Bool { rate.isSilent }

  func want(_ bitrate: Int) { rate.want(bitrate) }

  /// Probes the path if no transport-wide feedback arrives, so that the path is still measured while no media goes out.
  /// - Returns: whether a probe is under way, and `poll` has packets to send.
  func probeQuietPath(at now: Tick) -> Bool {
    guard !rate.isProbing, rate.isQuiet(at: now) else { return false }
    considerProbe(at: now)
    return rate.isProbing
  }

  private func considerProbe(at now: Tick) { if rate.wantsProbe, paddingStream != nil { rate.planProbe(at: now) } }

  // MARK: Time and reports

  var paceDeadline: Tick? { pacer.deadline }
  var probeDeadline: Tick? { rate.probeDeadline }

  /// Lets go of the packets of streams that have paused.
  func forgetPaused(at now: Tick) {
    for stream in streams.values { for layer in stream.layers { layer.forgetPaused(at: now, pool: &pool) } }
  }

  /// For sender reports, in the order in which streams were added.
  func reports(at now: Tick) -> [SenderReport] {
    var reports: [SenderReport] = []
    for id in streams.keys.sorted() {
      guard let stream = streams[id] else { continue }
      for layer in stream.layers.indices {
        if let report = stream.layers[layer].report(at: now) { reports.append(report) }
      }
    }
    return reports
  }

  var statistics: [SenderID: OutgoingStatistics] {
    var result: [SenderID: OutgoingStatistics] = [:]
    for (id, stream) in streams {
      var figures = OutgoingStatistics()
      for (layer, frames) in zip(stream.layers, stream.frames) {
        figures.frames += frames.all
        figures.keyFrames += frames.keys
        figures.keyFramesRequested += frames.keysRequested
        figures.headerBytes += layer.headerOctets
        figures.retransmittedBytes += layer.retransmittedOctets
        figures.sendDelay += layer.waited.inSeconds
        figures.layers.append(layer.statistics(frames))
        figures.packets += layer.packets
        figures.bytes += layer.octets
        figures.retransmitted += layer.retransmitted
        figures.nacks += layer.nacksReceived
        figures.reportedLoss = max(figures.reportedLoss, layer.reportedLoss)
        figures.reportedLost += layer.reportedLost
        figures.reportedJitter = max(figures.reportedJitter, layer.reportedJitter)
        figures.roundTripTime = layer.roundTrip?.inMilliseconds ?? figures.roundTripTime
      }
      result[SenderID(value: id)] = figures
    }
    return result
  }
}

extension RTPSendStream {
  fileprivate func statistics(_ counted: (all: Int, keys: Int, keysRequested: Int)) -> OutgoingLayerStatistics {
    var figures = OutgoingLayerStatistics()
    figures.rid = encoding.rid
    (figures.packets, figures.bytes, figures.headerBytes) = (packets, octets, headerOctets)
    (figures.frames, figures.keyFrames, figures.keyFramesRequested) = counted
    (figures.retransmitted, figures.retransmittedBytes) = (retransmitted, retransmittedOctets)
    (figures.nacks, figures.sendDelay, figures.reportedLoss) = (nacksReceived, waited.inSeconds, reportedLoss)
    return figures
  }
}
