import KoineRTP

/// RTP packets: parsed values lie within the packet's bytes, and can be written and read again.
func fuzzRTP(_ bytes: UnsafeRawBufferPointer) {
  _ = RTPPacket.isRTCP(bytes)
  guard let packet = try? RTPPacket(parsing: bytes) else { return }
  require(packet.headerLength == packet.payloadRange.lowerBound, "the payload follows the header")
  require(packet.payloadRange.upperBound <= bytes.count, "the payload ends with the packet")
  var sum: UInt8 = 0
  for byte in packet.payload(in: bytes) { sum &+= byte }
  packet.forEachExtension(in: bytes) { id, value in
    for byte in value { sum &+= byte }
    let place = packet.extensionRange(id: id, in: bytes)
    require(
      place.map { $0.lowerBound >= 12 && $0.upperBound <= packet.headerLength } ?? false, "elements are in the header")
    return sum != 0x55  // also leave early, now and then
  }
  rewrite(packet, in: bytes, map: .koine)
  rewrite(packet, in: bytes, map: wide)
}

/// With numbers that ask for two-byte element headers.
private let wide = HeaderExtensionMap([
  .audioLevel: 1, .mid: 2, .rid: 15, .repairedRID: 16, .absoluteSendTime: 254, .absoluteCaptureTime: 255,
  .videoOrientation: 100, .transportSequence: 14, .playoutDelay: 13,
])

private func rewrite(_ packet: RTPPacket, in bytes: UnsafeRawBufferPointer, map: HeaderExtensionMap) {
  let values = HeaderExtensions(packet, in: bytes, map: map, names: true)
  let header = RTPHeader(
    marker: packet.marker, payloadType: packet.payloadType, sequence: packet.sequence, timestamp: packet.timestamp,
    ssrc: packet.ssrc)
  // Room for all of the header, and then for less of it the longer the input is.
  let length = withRoom(900) { room -> Int in
    guard let length = header.write(into: room, extensions: values, map: map) else {
      require(false, "900 bytes hold any header")
      return 0
    }
    let written = UnsafeRawBufferPointer(rebasing: room[..<length])
    guard let again = try? RTPPacket(parsing: written) else {
      require(false, "what was written parses")
      return length
    }
    require(again.sequence == packet.sequence && again.timestamp == packet.timestamp, "the numbers are the same")
    require(again.ssrc == packet.ssrc && again.marker == packet.marker, "the source is the same")
    require(again.payloadType == packet.payloadType && again.headerLength == length, "the header is all there is")
    require(HeaderExtensions(again, in: written, map: map, names: true) == kept(values), "the values are the same")
    return length
  }
  withRoom(length - 1 - bytes.count % length) { room in
    require(header.write(into: room, extensions: values, map: map) == nil, "too little room is told")
  }
}

/// What can be written of the values: names have 1...255 bytes, and repairing what is not UTF-8 makes them longer.
private func kept(_ values: HeaderExtensions) -> HeaderExtensions {
  var values = values
  func kept(_ name: String?) -> String? { name.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil } }
  (values.mid, values.rid, values.repairedRID) = (kept(values.mid), kept(values.rid), kept(values.repairedRID))
  return values
}

/// RTCP compounds: what parses can be written and read again, alone and in less room than it needs.
func fuzzRTCP(_ bytes: UnsafeRawBufferPointer) {
  var packets: [RTCP] = []
  try? RTCP.forEach(in: bytes) { packets.append($0) }
  bear(packets)
  for packet in packets {
    if case .unknown = packet { continue }
    withRoom(300_000) { room in
      var writer = ByteWriter(room)
      packet.write(to: &writer)
      require(!writer.overflowed && writer.count % 4 == 0, "there is room, and words are whole")
      var again: [RTCP] = []
      try? RTCP.forEach(in: UnsafeRawBufferPointer(rebasing: room[..<writer.count])) { again.append($0) }
      require(again == [packet], "the packet is the same")
      withRoom(writer.count - 1 - bytes.count % writer.count) { room in
        var writer = ByteWriter(room)
        packet.write(to: &writer)
        require(writer.overflowed, "too little room is told")
      }
    }
  }
}
