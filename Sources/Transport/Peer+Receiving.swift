import KoineBase
import KoineRTP

extension Peer {
  /// Begins to take a stream: as whole frames, or packet by packet.
  package func addReceiver(_ parameters: StreamParameters, mode: ReceiveMode) -> ReceiverID {
    let id = ReceiverID(value: nextID)
    nextID += 1
    for (layer, encoding) in parameters.encodings.enumerated() {
      let stream = receivers.count
      receivers.append(RTPReceiveStream(receiver: id, parameters: parameters, layer: layer, mode: mode))
      routes[encoding.ssrc] = Route(stream: stream, isRetransmission: false)
      if let rtx = encoding.rtxSSRC { routes[rtx] = Route(stream: stream, isRetransmission: true) }
    }
    return id
  }

  package func removeReceiver(_ id: ReceiverID) {
    receivers.removeAll { $0.receiver == id }
    routes.removeAll(keepingCapacity: true)
    for (index, stream) in receivers.enumerated() {
      routes[stream.encoding.ssrc] = Route(stream: index, isRetransmission: false)
      if let rtx = stream.encoding.rtxSSRC { routes[rtx] = Route(stream: index, isRetransmission: true) }
    }
  }

  /// Asks the sender for a key frame, unless one has just been asked for.
  package func requestKeyFrame(of id: ReceiverID, layer: Int = 0) {
    for index in receivers.indices where receivers[index].receiver == id && receivers[index].layer == layer {
      receivers[index].wantKeyFrame()
    }
  }

  func handleMedia(_ datagram: Bytes, at now: Tick) {
    guard let srtp else {
      dropped += 1
      return
    }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: datagram.writable[..<datagram.count])
    do {
      if RTPPacket.isRTCP(datagram.readable) {
        datagram.count = try srtp.unprotectRTCP(bytes)
        handleControl(datagram.readable, at: now)
      } else {
        datagram.count = try srtp.unprotectRTP(bytes)
        try handlePacket(datagram, at: now)
      }
    } catch {
      dropped += 1
    }
  }

  private func handlePacket(_ datagram: Bytes, at now: Tick) throws(RTPError) {
    let bytes = datagram.readable
    let packet = try RTPPacket(parsing: bytes)
    let extensions = HeaderExtensions(packet, in: bytes, map: configuration.extensions)
    if let number = extensions.transportSequence { arrivals.received(number, at: now) }
    guard let route = routes[packet.ssrc] else {
      dropped += 1
      return
    }
    var sequence = packet.sequence
    var range = packet.payloadRange
    if route.isRetransmission {
      guard let original = bytes.part(range).uint16(at: 0) else { return }  // padding only: a probe
      sequence = original
      range = (range.lowerBound + 2)..<range.upperBound
    }
    guard
      let shared = receivers[route.stream].take(
        datagram, packet, extensions, sequence: sequence, payloadRange: range, isRecovered: route.isRetransmission,
        at: now)
    else { return }
    hand(shared, of: route.stream, at: now)
  }

  private func hand(_ shared: SharedPacket, of index: Int, at now: Tick) {
    let id = receivers[index].receiver
    switch receivers[index].mode {
    case .packets: events.append(.packet(id, shared))
    case .frames:
      if receivers[index].parameters.codec.isAudio {
        if let frame = receivers[index].sound(shared, at: now) { events.append(.frame(id, frame)) }
      } else {
        receivers[index].assemble(shared, at: now) { events.append(.frame(id, $0)) }
      }
    }
  }
}
