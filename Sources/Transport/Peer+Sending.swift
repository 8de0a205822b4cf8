package import KoineBase
import KoineRTP

extension Peer {
  /// A published or forwarded stream: one source per layer.
  struct Sender {
    let parameters: StreamParameters
    var streams: [RTPSendStream]
    var packetizers: [Packetizer]
    var frames = 0
    var keyFrameRequests = 0
  }

  package func addSender(_ parameters: StreamParameters) -> SenderID {
    let id = nextID
    nextID += 1
    let layers = parameters.encodings.indices
    senders[id] = Sender(
      parameters: parameters,
      streams: layers.map { RTPSendStream(parameters: parameters, layer: $0, random: &random) },
      packetizers: layers.map { _ in Packetizer(codec: parameters.codec, random: &random) })
    for layer in layers { sendersBySSRC[parameters.encodings[layer].ssrc] = (id, layer) }
    return SenderID(value: id)
  }

  package func removeSender(_ id: SenderID) {
    guard let sender = senders.removeValue(forKey: id.value) else { return }
    for encoding in sender.parameters.encodings { sendersBySSRC[encoding.ssrc] = nil }
    if srtp != nil { pendingControl.append(.goodbye(sender.parameters.encodings.map(\.ssrc))) }
  }

  // MARK: Frames (clients)

  /// Sends one frame; dropped until the peer is connected.
  package func send(_ frame: EncodedFrame, on id: SenderID, at now: Tick) {
    guard srtp != nil, var sender = senders.removeValue(forKey: id.value) else { return }
    defer { senders[id.value] = sender }
    let layer = Int(frame.layer)
    guard sender.streams.indices.contains(layer) else { return }
    sender.frames += 1
    sender.streams[layer].anchorReports(captured: frame.captured, timestamp: frame.rtpTimestamp)
    var extensions = HeaderExtensions()
    extensions.absoluteCaptureTime = SenderClock.ntp(of: frame.captured).value
    extensions.audioLevel = frame.audioLevel
    extensions.voiceActivity = frame.voiceActivity
    if sender.parameters.codec != .opus, frame.quarterTurns != 0 { extensions.quarterTurns = frame.quarterTurns }
    let priority: Pacer.Priority = sender.parameters.codec.isAudio ? .sound : .pictures
    sender.packetizers[layer].packetize(frame, pool: &pool, into: &payloads)
    defer { payloads.removeAll(keepingCapacity: true) }
    for (index, payload) in payloads.enumerated() {
      let marker = !sender.parameters.codec.isAudio && index == payloads.count - 1
      let sequence = sender.streams[layer].store(
        payload, range: 0..<payload.count, timestamp: frame.rtpTimestamp, marker: marker, extensions: extensions,
        pool: &pool)
      extensions.absoluteCaptureTime = nil  // the first packet tells it for all
      pacer.enqueue(
        .init(sender: id.value, layer: layer, sequence: sequence, size: payload.count, queuedAt: now), priority)
    }
  }

  // MARK: Packets (the router)

  /// Passes on a packet that was received elsewhere, under this stream's own names and numbers; its payload stays shared.
  package func forward(
    _ shared: SharedPacket, on id: SenderID, sequence: UInt16, timestamp: UInt32, at now: Tick
  ) {
    guard srtp != nil, var sender = senders.removeValue(forKey: id.value) else { return }
    sender.streams[0].store(
      shared.datagram, range: shared.payloadRange, sequence: sequence, timestamp: timestamp,
      marker: shared.packet.marker,
      extensions: shared.extensions, pool: &pool)
    let isSound = sender.parameters.codec.isAudio
    senders[id.value] = sender
    pacer.enqueue(
      .init(sender: id.value, layer: 0, sequence: sequence, size: shared.payloadRange.count, queuedAt: now),
      isSound ? .sound : .pictures)
  }

  /// Where the forwarded stream's reports shall count from.
  package func anchorReports(of id: SenderID, captured: Tick, timestamp: UInt32) {
    senders[id.value]?.streams[0].anchorReports(captured: captured, timestamp: timestamp)
  }

  // MARK: Out

  func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Int? {
    guard let srtp else { return nil }
    if let count = pollControl(into: out, srtp, at: now) { return count }
    while let (item, isRetransmission) = pacer.next(at: now) {
      guard var sender = senders.removeValue(forKey: item.sender) else { continue }
      let count = write(item, isRetransmission: isRetransmission, of: &sender, into: out, srtp, at: now)
      senders[item.sender] = sender
      if let count { return count }
    }
    return nil
  }

  /// Writes one packet: header with the numbers of this moment, the shared payload encrypted behind it.
  private func write(
    _ item: Pacer.Item, isRetransmission: Bool, of sender: inout Sender, into out: UnsafeMutableRawBufferPointer,
    _ srtp: SRTPSession, at now: Tick
  ) -> Int? {
    guard let packet = sender.streams[item.layer].packet(item.sequence) else { return nil }
    var header = packet.header
    var payload = packet.payload.readable.part(packet.range)
    if isRetransmission {
      guard let type = sender.parameters.rtxPayloadType, let ssrc = sender.parameters.encodings[item.layer].rtxSSRC
      else {
        return nil
      }
      payload = prefixed(payload, with: header.sequence)
      header.payloadType = type
      header.ssrc = ssrc
      header.sequence = sender.streams[item.layer].takeRTXSequence()
    }
    var extensions = packet.extensions
    extensions.transportSequence = estimator.number(forPacketOf: payload.count + 60, at: now)
    guard let headerLength = header.write(into: out, extensions: extensions, map: configuration.extensions) else {
      return nil
    }
    let headerBytes = UnsafeRawBufferPointer(rebasing: out[..<headerLength])
    trace(headerBytes, payload)
    guard let count = try? srtp.protectRTP(header: headerBytes, payload: payload, into: out) else { return nil }
    sender.streams[item.layer].sent(item.sequence, bytes: payload.count, isRetransmission: isRetransmission, at: now)
    return count
  }

  /// RFC 4588, section 4: the original number stands before the payload.
  private func prefixed(_ payload: UnsafeRawBufferPointer, with sequence: UInt16) -> UnsafeRawBufferPointer {
    var writer = ByteWriter(scratch.writable)
    writer.write(sequence)
    writer.write(payload)
    return UnsafeRawBufferPointer(rebasing: scratch.writable[..<writer.count])
  }

  func trace(_ header: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
    guard let trace = configuration.tracesPlaintext else { return }
    let whole = Bytes(capacity: header.count + payload.count)
    whole.append(header)
    whole.append(payload)
    trace(whole.readable)
  }
}
