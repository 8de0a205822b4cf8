package import KoineBase
import KoineRTP

extension Peer {
  /// Begins to take a stream: as whole frames, or packet by packet.
  package func addReceiver(_ parameters: StreamParameters, mode: ReceiveMode) -> ReceiverID {
    let id = ReceiverID(value: nextID)
    nextID += 1
    for layer in parameters.encodings.indices {
      receivers.append(RTPReceiveStream(receiver: id, parameters: parameters, layer: layer, mode: mode))
      route(to: receivers.count - 1)
    }
    return id
  }

  package func removeReceiver(_ id: ReceiverID) {
    receivers.removeAll { $0.receiver == id }
    routes.removeAll(keepingCapacity: true)
    for stream in receivers.indices { route(to: stream) }
  }

  /// Asks the sender for a key frame: with the next `poll`, or as soon as `KeyFrameWish` allows another request. A layer
  /// whose source is not known yet cannot be asked.
  package func requestKeyFrame(of id: ReceiverID, layer: Int = 0, at now: Tick) {
    for index in receivers.indices where receivers[index].receiver == id && receivers[index].layer == layer {
      receivers[index].wantKeyFrame()
      feedbackDue = feedbackDue.sooner(receivers[index].deadline)
    }
    if isOpen { collectFeedback(at: now) }
  }

  /// Whether a layer's packets have said, or signalling has, which source they come from.
  package func knowsSource(of id: ReceiverID, layer: Int) -> Bool {
    receivers.contains { $0.receiver == id && $0.layer == layer && $0.knowsSource }
  }

  /// - Returns: whether the packet has come from the other end: it was made with the keys, and is no repetition.
  @discardableResult
  func handleMedia(_ datagram: Bytes, at now: Tick) -> Bool {
    guard let srtp else {
      dropped += 1
      return false
    }
    var isAuthentic = false
    let bytes = UnsafeMutableRawBufferPointer(rebasing: datagram.writable[..<datagram.count])
    do {
      if RTPPacket.isRTCP(datagram.readable) {
        datagram.count = try srtp.unprotectRTCP(bytes)
        isAuthentic = true
        trace(datagram.readable, UnsafeRawBufferPointer(start: nil, count: 0))
        handleControl(datagram.readable, at: now)
      } else {
        datagram.count = try srtp.unprotectRTP(bytes)
        isAuthentic = true
        trace(datagram.readable, UnsafeRawBufferPointer(start: nil, count: 0))
        try handlePacket(datagram, at: now)
      }
    } catch {
      dropped += 1
    }
    return isAuthentic
  }

  private func handlePacket(_ datagram: Bytes, at now: Tick) throws(RTPError) {
    let bytes = datagram.readable
    let packet = try RTPPacket(parsing: bytes)
    let extensions = HeaderExtensions(packet, in: bytes, map: configuration.extensions)
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
    } else if packet.payloadType == receivers[route.stream].parameters.redPayloadType {
      return try takeRedundant(datagram, packet, extensions, of: route.stream, at: now)
    }
    guard
      let shared = receivers[route.stream].take(
        datagram, packet, extensions, sequence: sequence, payloadRange: range, isRecovered: route.isRetransmission,
        at: now)
    else { return }
    hand(shared, of: route.stream, at: now)
    feedbackDue = feedbackDue.sooner(receivers[route.stream].deadline)
  }

  /// Of copies in one packet: what came so long ago has been played, or given up.
  private static let copiesTaken = 3

  /// Takes the payload of a packet that repeats earlier ones (RFC 2198), and before it those of its copies that have not come.
  private func takeRedundant(
    _ datagram: Bytes, _ packet: RTPPacket, _ extensions: HeaderExtensions, of stream: Int, at now: Tick
  ) throws(RTPError) {
    let type = receivers[stream].parameters.payloadType
    try RED.forEachBlock(of: packet.payloadRange, in: datagram.readable) { block in
      guard block.payloadType == type, block.distance <= Self.copiesTaken else { return }
      let isCopy = block.distance > 0
      if isCopy, block.payload.isEmpty || block.offset == 0 { return }
      var (original, originalExtensions) = (packet, extensions)
      original.timestamp &-= block.offset
      if isCopy { originalExtensions.absoluteCaptureTime = nil }
      guard
        let shared = receivers[stream].take(
          datagram, original, originalExtensions, sequence: packet.sequence &- UInt16(block.distance),
          payloadRange: block.payload, isRecovered: isCopy, at: now)
      else { return }
      if isCopy { receivers[stream].copyTaken() }
      hand(shared, of: stream, at: now)
    }
    feedbackDue = feedbackDue.sooner(receivers[stream].deadline)
  }

  private func hand(_ shared: SharedPacket, of index: Int, at now: Tick) {
    let id = receivers[index].receiver
    switch receivers[index].mode {
    case .packets: events.append(.packet(id, shared))
    case .frames where receivers[index].parameters.codec.isAudio:
      if let frame = receivers[index].sound(shared, remoteClock, at: now) { events.append(.frame(id, frame)) }
    case .frames: receivers[index].assemble(shared, remoteClock, at: now) { events.append(.frame(id, $0)) }
    }
  }

  /// NACKs, key frame requests, and frames that have waited long enough.
  func collectFeedback(at now: Tick) {
    guard let due = feedbackDue, now >= due else { return }
    feedbackDue = nil
    for index in receivers.indices {
      guard let due = receivers[index].deadline else { continue }
      if due <= now { collectFeedback(of: index, at: now) }
      feedbackDue = feedbackDue.sooner(receivers[index].deadline)
    }
  }

  /// A datagram's worth of requests at most; one number may take four bytes.
  private static let nackLimit = 256

  private func collectFeedback(of index: Int, at now: Tick) {
    let ssrc = receivers[index].encoding.ssrc
    let id = receivers[index].receiver
    wantedSequences.removeAll(keepingCapacity: true)
    receivers[index].collectNacks(into: &wantedSequences, roundTrip: roundTrip, at: now)
    var rest = wantedSequences[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.nackLimit))
      pendingControl.append(.nack(GenericNACK(sender: localSSRC, media: ssrc, sequences: part)))
      rest = rest.dropFirst(part.count)
    }
    if receivers[index].mode == .frames, !receivers[index].parameters.codec.isAudio {
      receivers[index].drain(remoteClock, at: now) { events.append(.frame(id, $0)) }
    }
    if receivers[index].takeKeyFrameRequest(at: now) {
      pendingControl.append(.pictureLoss(sender: localSSRC, media: ssrc))
    }
  }
}
