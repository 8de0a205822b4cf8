package import KoineBase
package import KoineRTP

extension Peer {
  /// A published or forwarded stream: one source per layer. A class, so that a packet is handled in place.
  final class Sender {
    let parameters: StreamParameters
    var streams: [RTPSendStream]
    var redundancy = AudioRedundancy()
    var packetizers: [Packetizer]
    var frames = 0
    var keyFrames = 0
    var keyFrameRequests = 0
    /// Frames were dropped because nobody was there yet.
    var missedFrames = false

    init(_ parameters: StreamParameters, random: inout SeededRandom) {
      self.parameters = parameters
      streams = []
      packetizers = []
      for layer in parameters.encodings.indices {
        streams.append(RTPSendStream(parameters: parameters, layer: layer, random: &random))
        packetizers.append(Packetizer(parameters: parameters, layer: layer, random: &random))
      }
    }
  }

  package func addSender(_ parameters: StreamParameters) -> SenderID {
    let id = nextID
    nextID += 1
    senders[id] = Sender(parameters, random: &random)
    for (layer, encoding) in parameters.encodings.enumerated() { sendersBySSRC[encoding.ssrc] = (id, layer) }
    return SenderID(value: id)
  }

  package func removeSender(_ id: SenderID) {
    guard let sender = senders.removeValue(forKey: id.value) else { return }
    for encoding in sender.parameters.encodings where sendersBySSRC[encoding.ssrc]?.sender == id.value {
      sendersBySSRC[encoding.ssrc] = nil
    }
    if srtp != nil { pendingControl.append(.goodbye(sender.parameters.encodings.map(\.ssrc))) }
  }

  // MARK: Frames (clients)

  /// Sends one frame. Until the peer is connected frames are dropped; a key frame is asked for as soon as it is.
  package func send(_ frame: EncodedFrame, on id: SenderID, at now: Tick) {
    guard let sender = senders[id.value] else { return }
    guard isOpen else {
      sender.missedFrames = true
      return
    }
    let layer = Int(frame.layer)
    guard sender.streams.indices.contains(layer) else { return }
    sender.frames += 1
    if frame.isKey { sender.keyFrames += 1 }
    let isSound = sender.parameters.codec.isAudio
    sender.streams[layer].anchorReports(captured: frame.captured, timestamp: frame.rtpTimestamp)
    if !sender.streams[layer].hasReported { hastenReport(to: now + .milliseconds(20)) }
    var extensions = HeaderExtensions()
    extensions.absoluteCaptureTime = LocalClock.ntp(of: frame.captured).value
    extensions.audioLevel = frame.audioLevel
    extensions.voiceActivity = frame.voiceActivity
    if !isSound, frame.quarterTurns != 0 { extensions.quarterTurns = frame.quarterTurns }
    let first = StoredExtensions(extensions)
    extensions.absoluteCaptureTime = nil  // the first packet tells it for all
    let others = StoredExtensions(extensions)
    sender.packetizers[layer].packetize(frame, pool: &pool, into: &payloads)
    for (index, payload) in payloads.enumerated() {
      let sequence = sender.streams[layer].store(
        payload, timestamp: frame.rtpTimestamp, marker: !isSound && index == payloads.count - 1,
        extensions: index == 0 ? first : others, pool: &pool, at: now)
      pacer.enqueue(
        .init(sender: id.value, layer: layer, sequence: sequence, size: payload.count, queuedAt: now),
        isSound ? .sound : .pictures)
    }
    payloads.removeAll(keepingCapacity: true)
  }

  // MARK: Packets (the router)

  /// Passes on a packet that was received elsewhere, under this stream's own names and numbers; its payload stays shared.
  /// - Parameter numbers: replace those in the payload's descriptor.
  package func forward(
    _ shared: SharedPacket, on id: SenderID, sequence: UInt16, timestamp: UInt32, numbers: FrameNumbers? = nil,
    at now: Tick
  ) {
    guard isOpen, let sender = senders[id.value] else { return }
    if !sender.streams[0].hasReported, sender.streams[0].anchor != nil { hastenReport(to: now + .milliseconds(20)) }
    sender.streams[0].store(
      StoredPacket(
        payload: shared.datagram, range: shared.payloadRange, sequence: sequence, timestamp: timestamp,
        marker: shared.packet.marker, extensions: StoredExtensions(shared.extensions), numbers: numbers, at: now),
      pool: &pool)
    let item = Pacer.Item(
      sender: id.value, layer: 0, sequence: sequence, size: shared.payloadRange.count, queuedAt: now)
    let isSound = sender.parameters.codec.isAudio
    // What was lost before is late already: whoever waits for it should not have to ask for it once more.
    if shared.isRecovered, !isSound {
      pacer.enqueue(item, .late)
      if isLossy, pacer.hasRoomForCopies, sender.streams[0].hasRetransmissions { pacer.enqueue(item, .retransmission) }
    } else {
      pacer.enqueue(item, isSound ? .sound : .pictures)
    }
  }

  /// Whatever of the stream waits to be sent is of no use any more: a key frame follows.
  package func dropQueued(of id: SenderID) {
    pacer.drop(sender: id.value)
    senders[id.value]?.streams[0].beginAnew()
  }

  /// Where the forwarded stream's reports shall count from.
  package func anchorReports(of id: SenderID, captured: Tick, timestamp: UInt32) {
    senders[id.value]?.streams[0].anchorReports(captured: captured, timestamp: timestamp)
  }

  // MARK: Out

  func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Int? {
    guard let srtp else { return nil }
    if let count = pollControl(into: out, srtp, at: now) { return count }
    if let count = pollProbe(into: out, srtp, at: now) { return count }
    while let (item, isRetransmission) = pacer.next(at: now) {
      guard let sender = senders[item.sender] else { continue }
      if let count = write(item, isRetransmission: isRetransmission, of: sender, into: out, srtp, at: now) {
        return count
      }
    }
    return nil
  }

  /// Writes one packet: header with the numbers of this moment, the shared payload encrypted behind it.
  func write(
    _ item: Pacer.Item, isRetransmission: Bool, of sender: Sender, into out: UnsafeMutableRawBufferPointer,
    _ srtp: SRTPSession, at now: Tick
  ) -> Int? {
    guard let packet = sender.streams[item.layer].packet(item.sequence) else { return nil }
    var header = sender.streams[item.layer].header(of: packet)
    var extensions = packet.extensions.unpacked
    var payload = packet.bytes
    if packet.numbers != nil { payload = renumbered(packet, of: sender.parameters.codec) }
    if !isRetransmission, let type = sender.parameters.redPayloadType,
      let redundant = redundantPayload(of: packet, layer: item.layer, of: sender, at: now)
    {
      header.payloadType = type
      payload = redundant
    }
    if isRetransmission {
      guard let other = sender.streams[item.layer].retransmissionHeader(of: packet) else { return nil }
      header = other
      payload = prefixed(payload, with: packet.sequence)
    }
    sender.streams[item.layer].name(&extensions, isRetransmission: isRetransmission)
    extensions.absoluteSendTime = LocalClock.absoluteSendTime(at: now)
    extensions.transportSequence = number(payload.count, at: now)
    if isRetransmission { retransmitting.add(payload.count, at: now) }
    guard let headerLength = header.write(into: out, extensions: extensions, map: configuration.extensions) else {
      dropped += 1
      return nil
    }
    let headerBytes = UnsafeRawBufferPointer(rebasing: out[..<headerLength])
    trace(headerBytes, payload)
    guard let count = try? srtp.protectRTP(header: headerBytes, payload: payload, into: out) else {
      dropped += 1
      return nil
    }
    if configuration.ice == .lite { activity.sentMedia(isVideo: !sender.parameters.codec.isAudio, at: now) }
    sender.streams[item.layer].sent(item.sequence, bytes: payload.count, isRetransmission: isRetransmission, at: now)
    return count
  }

  /// The payload with copies of those before it, in `scratch`, where the path loses packets.
  private func redundantPayload(
    of packet: StoredPacket, layer: Int, of sender: Sender, at now: Tick
  ) -> UnsafeRawBufferPointer? {
    let loss = max(estimator.loss, sender.streams[layer].reportedLoss)
    let copies = sender.redundancy.copies(atLoss: loss, at: now)
    if copies == 0 { return nil }
    return sender.streams[layer].redundantPayload(of: packet, copies: copies, into: scratch.writable)
  }

  /// How many earlier payloads each packet of an audio stream repeats now, 0...2.
  package func copies(on id: SenderID) -> Int { senders[id.value]?.redundancy.current ?? 0 }

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

  func trace(_ header: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
    guard let trace = configuration.tracesPlaintext else { return }
    let whole = Bytes(capacity: header.count + payload.count)
    whole.append(header)
    whole.append(payload)
    trace(whole.readable)
  }
}
