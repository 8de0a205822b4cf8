import KoineRTP

// Sources that signalling has not named: browsers say only which medium and layer they will be of (`a=mid`, `a=rid`), and
// the packets tell it (RFC 8843 section 9.2, RFC 8852). A source of 0 stands for one that is not known yet.

extension Peer {
  /// Notes which source a stream's packets, or its retransmissions, come from.
  func route(to stream: Int) {
    let encoding = receivers[stream].encoding
    if encoding.ssrc != 0 { routes[encoding.ssrc] = Route(stream: stream, isRetransmission: false) }
    if let rtx = encoding.rtxSSRC, rtx != 0 { routes[rtx] = Route(stream: stream, isRetransmission: true) }
  }

  /// Finds out from a packet of an unknown source whose it is. Each stream has one source at a time, so what strangers
  /// can make us remember is bounded by what is published.
  func learn(_ packet: RTPPacket, in bytes: UnsafeRawBufferPointer) -> Route? {
    let names = HeaderExtensions(packet, in: bytes, map: configuration.extensions, names: true)
    guard let mid = names.mid else { return nil }
    let isRetransmission = names.repairedRID != nil || receivers.contains { $0.isRetransmitted(by: packet, mid: mid) }
    let rid = names.repairedRID ?? names.rid
    guard
      let stream = receivers.firstIndex(where: {
        $0.parameters.mid == mid && $0.encoding.rid == rid && $0.isNamedByPackets
      })
    else { return nil }
    let old = isRetransmission ? receivers[stream].encoding.rtxSSRC : receivers[stream].encoding.ssrc
    if let old { routes[old] = nil }
    receivers[stream].setSource(packet.ssrc, isRetransmission: isRetransmission)
    let route = Route(stream: stream, isRetransmission: isRetransmission)
    routes[packet.ssrc] = route
    return route
  }
}

extension RTPReceiveStream {
  fileprivate func isRetransmitted(by packet: RTPPacket, mid: String) -> Bool {
    parameters.mid == mid && parameters.rtxPayloadType == packet.payloadType
  }
}
