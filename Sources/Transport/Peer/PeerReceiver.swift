import KoineBase
import KoineRTP

/// The streams that a peer receives: the stream of each source, missing packets, and frames or packets for the peer's owner.
final class PeerReceiver {
  /// Where a received source belongs.
  private struct Route {
    var stream: Int
    var isRetransmission: Bool
  }

  /// Changes when negotiation does.
  @exclusivity(unchecked) var extensions: HeaderExtensionMap
  private let events: EventQueue
  private let control: ControlQueue
  @exclusivity(unchecked) private var streams: [RTPReceiveStream] = []
  @exclusivity(unchecked) private var routes: [UInt32: Route] = [:]
  @exclusivity(unchecked) private var arrivals: TransportFeedbackBuilder
  @exclusivity(unchecked) private var remoteClock = ClockMap()
  /// No later than the deadline of any stream.
  @exclusivity(unchecked) private(set) var feedbackDeadline: Tick?
  @exclusivity(unchecked) private var wantedSequences: [UInt16] = []
  @exclusivity(unchecked) private(set) var dropped = 0

  /// - Parameter isServer: whether this end has many peers.
  init(extensions: HeaderExtensionMap, isServer: Bool, events: EventQueue, control: ControlQueue) {
    (self.extensions, self.events, self.control) = (extensions, events, control)
    arrivals = TransportFeedbackBuilder(waitsForPackets: isServer)
  }

  func add(_ parameters: StreamParameters, mode: ReceiveMode, as id: ReceiverID) {
    for layer in parameters.encodings.indices {
      streams.append(RTPReceiveStream(receiver: id, parameters: parameters, layer: layer, mode: mode))
      route(to: streams.count - 1)
    }
  }

  func remove(_ id: ReceiverID) {
    streams.removeAll { $0.receiver == id }
    routes.removeAll(keepingCapacity: true)
    for stream in streams.indices { route(to: stream) }
  }

  /// Asks for a key frame with the next feedback. Has no effect on a layer while its SSRC is unknown.
  func requestKeyFrame(of id: ReceiverID, layer: Int) {
    for index in streams.indices where streams[index].receiver == id && streams[index].layer == layer {
      streams[index].wantKeyFrame()
      feedbackDeadline = feedbackDeadline.sooner(streams[index].deadline)
    }
  }

  func knowsSource(of id: ReceiverID, layer: Int) -> Bool {
    streams.contains { $0.receiver == id && $0.layer == layer && $0.knowsSource }
  }

  // MARK: Packets in

  /// Takes a decrypted packet.
  func handle(_ datagram: Bytes, at now: Tick) throws(RTPError) {
    let bytes = datagram.readable
    let packet = try RTPPacket(parsing: bytes)
    let extensions = HeaderExtensions(packet, in: bytes, map: self.extensions)
    if let number = extensions.transportSequence { arrivals.received(number, at: now) }
    guard let route = routes[packet.ssrc] ?? learn(packet, in: bytes) else {
      dropped += 1
      return
    }
    var sequence = packet.sequence
    var range = packet.payloadRange
    if route.isRetransmission {
      guard range.count >= 2, let original = bytes.uint16(at: range.lowerBound) else { return }  // padding: a probe
      sequence = original
      range = (range.lowerBound + 2)..<range.upperBound
    } else if packet.payloadType == streams[route.stream].parameters.redPayloadType, !range.isEmpty {
      return try takeRedundant(datagram, packet, extensions, of: route.stream, at: now)
    }
    guard
      let shared = streams[route.stream].receive(
        datagram, packet, extensions, sequence: sequence, payloadRange: range, isRecovered: route.isRetransmission,
        at: now)
    else { return }
    control.streamIsActive(at: now)
    hand(shared, of: route.stream, at: now)
    feedbackDeadline = feedbackDeadline.sooner(streams[route.stream].deadline)
  }

  /// The largest distance of a copy in one packet: older payloads have been played, or given up.
  private static let copiesTaken = 3

  /// Takes the payload of a packet that repeats earlier ones (RFC 2198), and before it those of its copies that have not come.
  private func takeRedundant(
    _ datagram: Bytes, _ packet: RTPPacket, _ extensions: HeaderExtensions, of stream: Int, at now: Tick
  ) throws(RTPError) {
    let type = streams[stream].parameters.payloadType
    try RED.forEachBlock(of: packet.payloadRange, in: datagram.readable) { block in
      guard block.payloadType == type, block.distance <= Self.copiesTaken else { return }
      let isCopy = block.distance > 0
      if isCopy, block.payload.isEmpty || block.offset == 0 { return }
      var (original, originalExtensions) = (packet, extensions)
      original.timestamp &-= block.offset
      var sequence = packet.sequence
      if isCopy {
        originalExtensions.absoluteCaptureTime = nil
        guard let number = streams[stream].numberOfCopy(block.distance, timestamp: original.timestamp, in: packet)
        else { return }
        sequence = number
      }
      guard
        let shared = streams[stream].receive(
          datagram, original, originalExtensions, sequence: sequence,
          payloadRange: block.payload, isRecovered: isCopy, at: now)
      else { return }
      if isCopy { streams[stream].copyTaken() }
      control.streamIsActive(at: now)
      hand(shared, of: stream, at: now)
    }
    feedbackDeadline = feedbackDeadline.sooner(streams[stream].deadline)
  }

  private func hand(_ shared: SharedPacket, of index: Int, at now: Tick) {
    let id = streams[index].receiver
    switch streams[index].mode {
    case .packets: events.append(.packet(id, shared))
    case .frames where streams[index].parameters.codec.isAudio:
      if let frame = streams[index].sound(shared, remoteClock, at: now) { events.append(.frame(id, frame)) }
    case .frames: streams[index].assemble(shared, remoteClock, at: now) { events.append(.frame(id, $0)) }
    }
  }

  /// NACKs, key frame requests, and frames that have waited long enough.
  func collectFeedback(at now: Tick) {
    guard let due = feedbackDeadline, now >= due else { return }
    feedbackDeadline = nil
    for index in streams.indices {
      guard let due = streams[index].deadline else { continue }
      if due <= now { collectFeedback(of: index, at: now) }
      feedbackDeadline = feedbackDeadline.sooner(streams[index].deadline)
    }
  }

  func recovery(of id: ReceiverID, at now: Tick) -> (loss: Double, time: Duration) {
    var worst = (loss: 0.0, time: Duration.zero)
    for stream in streams where stream.receiver == id {
      if let one = stream.recovery(at: now), one.loss > worst.loss { worst = one }
    }
    return worst
  }

  /// A datagram's worth of requests at most; one number may take four bytes.
  private static let nackLimit = 256

  private func collectFeedback(of index: Int, at now: Tick) {
    let ssrc = streams[index].encoding.ssrc
    let id = streams[index].receiver
    wantedSequences.removeAll(keepingCapacity: true)
    streams[index].collectNacks(into: &wantedSequences, roundTrip: control.roundTrip, at: now)
    var rest = wantedSequences[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.nackLimit))
      control.append(.nack(GenericNACK(sender: control.localSSRC, media: ssrc, sequences: part)))
      rest = rest.dropFirst(part.count)
    }
    if streams[index].mode == .frames, !streams[index].parameters.codec.isAudio {
      streams[index].drain(remoteClock, at: now) { events.append(.frame(id, $0)) }
    }
    if streams[index].takeKeyFrameRequest(at: now) {
      control.append(.pictureLoss(sender: control.localSSRC, media: ssrc))
    }
  }

  // MARK: Sources that signalling has not named

  // Browsers describe a source only by its medium and layer (`a=mid`, `a=rid`), which its packets repeat (RFC 8843 section 9.2,
  // RFC 8852). A source of 0 is not known yet.

  /// Notes which source a stream's packets, or its retransmissions, come from.
  private func route(to stream: Int) {
    let encoding = streams[stream].encoding
    if encoding.ssrc != 0 { routes[encoding.ssrc] = Route(stream: stream, isRetransmission: false) }
    if let rtx = encoding.rtxSSRC, rtx != 0 { routes[rtx] = Route(stream: stream, isRetransmission: true) }
  }

  /// Finds the stream of an unknown source by the names in its packet. Each stream has one source at a time, so the number of
  /// remembered sources is bounded by the number of published streams.
  private func learn(_ packet: RTPPacket, in bytes: UnsafeRawBufferPointer) -> Route? {
    let names = HeaderExtensions(packet, in: bytes, map: extensions, names: true)
    guard let mid = names.mid else { return nil }
    let isRetransmission = names.repairedRID != nil || streams.contains { $0.isRetransmitted(by: packet, mid: mid) }
    let rid = names.repairedRID ?? names.rid
    guard
      let stream = streams.firstIndex(where: {
        $0.parameters.mid == mid && $0.encoding.rid == rid && $0.isNamedByPackets
      })
    else { return nil }
    let old = isRetransmission ? streams[stream].encoding.rtxSSRC : streams[stream].encoding.ssrc
    if let old { routes[old] = nil }
    streams[stream] = streams[stream].with(source: packet.ssrc, isRetransmission: isRetransmission)
    let route = Route(stream: stream, isRetransmission: isRetransmission)
    routes[packet.ssrc] = route
    return route
  }

  // MARK: Reports

  func handleSenderReport(_ report: SenderReport, at now: Tick) {
    guard let route = routes[report.sender], !route.isRetransmission else { return }
    remoteClock.reported(ntp: report.ntp, roundTrip: control.roundTrip, at: now)
    let isFirst = !streams[route.stream].statistics.knowsSender
    streams[route.stream].senderReported(report, at: now)
    if isFirst { control.hastenReport(at: now) }  // the answer tells the other end its round trip time
    if streams[route.stream].mode == .packets {
      events.append(.senderReport(streams[route.stream].receiver, layer: streams[route.stream].layer, report))
    }
  }

  func blocks(at now: Tick) -> [ReportBlock] {
    var blocks: [ReportBlock] = []
    for index in streams.indices where streams[index].statistics.packets > 0 {
      blocks.append(streams[index].block(at: now))
    }
    return blocks
  }

  /// Tells the other end when its packets have arrived (transport-wide congestion control).
  /// - Parameter isAwake: a packet has just come, so that feedback costs no turn of its own.
  func collectArrivals(at now: Tick, isAwake: Bool = false) {
    guard arrivals.isDue(at: now, isAwake: isAwake) else { return }
    let media = streams.first?.encoding.ssrc ?? 0
    while let feedback = arrivals.feedback(sender: control.localSSRC, media: media, at: now) {
      control.append(.transportFeedback(feedback))
    }
  }

  var arrivalsDeadline: Tick? { arrivals.deadline }

  var statistics: [ReceiverID: IncomingStatistics] {
    var result: [ReceiverID: IncomingStatistics] = [:]
    for stream in streams {
      var figures = result[stream.receiver] ?? .init()
      figures.packets += stream.statistics.packets
      figures.bytes += stream.statistics.bytes
      figures.headerBytes += stream.statistics.headerBytes
      figures.frames += stream.frames
      figures.keyFrames += stream.keyFrames
      figures.lost += stream.statistics.lost
      figures.recovered += stream.nack.recovered + stream.takenFromCopies
      figures.nacks += stream.nack.requested
      figures.keyFramesRequested += stream.keyFrameWish.requests
      figures.fractionLost = max(figures.fractionLost, stream.statistics.fractionLost)
      figures.jitter = max(figures.jitter, stream.statistics.jitterMilliseconds)
      result[stream.receiver] = figures
    }
    return result
  }
}

extension RTPReceiveStream {
  fileprivate func isRetransmitted(by packet: RTPPacket, mid: String) -> Bool {
    parameters.mid == mid && parameters.rtxPayloadType == packet.payloadType
  }
}
