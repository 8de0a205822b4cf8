/// An RTP header to be written (RFC 3550, 5.1; extensions after RFC 8285).
package struct RTPHeader: Hashable, Sendable {
  package var marker: Bool
  package var payloadType: UInt8
  package var sequence: UInt16
  package var timestamp: UInt32
  package var ssrc: UInt32

  package init(marker: Bool = false, payloadType: UInt8, sequence: UInt16, timestamp: UInt32, ssrc: UInt32) {
    self.marker = marker
    self.payloadType = payloadType
    self.sequence = sequence
    self.timestamp = timestamp
    self.ssrc = ssrc
  }

  /// Writes the header, with those of the extensions that `map` has a number for.
  /// - Returns: its length; nil if `out` is too small.
  package func write(
    into out: UnsafeMutableRawBufferPointer, extensions: HeaderExtensions = HeaderExtensions(),
    map: HeaderExtensionMap = .koine
  ) -> Int? {
    var writer = ByteWriter(out)
    writer.write(UInt8(0x80))
    writer.write((marker ? 0x80 : 0) | payloadType & 0x7F)
    writer.write(sequence)
    writer.write(timestamp)
    writer.write(ssrc)
    var elements = ExtensionWriter(writer, map: map)
    elements.write(extensions)
    writer = elements.finish()
    guard !writer.overflowed else { return nil }
    if elements.hasElements { out[0] = 0x90 }
    return writer.count
  }
}

/// Writes extension elements, opening the block before the first: with one-byte headers, or with two-byte ones where a
/// number or a length asks for them (RFC 8285, 4.2 and 4.3; the forms are not mixed in one packet).
private struct ExtensionWriter {
  private var writer: ByteWriter
  private let map: HeaderExtensionMap
  private let start: Int
  private var isTwoByte = false
  private(set) var hasElements = false

  init(_ writer: ByteWriter, map: HeaderExtensionMap) {
    self.writer = writer
    self.map = map
    start = writer.count
  }

  mutating func write(_ values: HeaderExtensions) {
    isTwoByte =
      map.hasWideIDs || Self.isLong(values.mid) || Self.isLong(values.rid) || Self.isLong(values.repairedRID)
    if let level = values.audioLevel, open(.audioLevel, length: 1) {
      writer.write((values.voiceActivity ? 0x80 : 0) | UInt8(max(0, min(127, -Int(level)))))
    }
    if let number = values.transportSequence, open(.transportSequence, length: 2) { writer.write(number) }
    if let time = values.absoluteSendTime, open(.absoluteSendTime, length: 3) { writer.write24(time) }
    if let delay = values.minimumPlayoutDelay, open(.playoutDelay, length: 3) {
      writer.write24(UInt32(min(delay, 0xFFF)) << 12 | 0xFFF)  // and 40.95 s at most
    }
    if let turns = values.quarterTurns, open(.videoOrientation, length: 1) { writer.write(turns & 3) }
    if let time = values.absoluteCaptureTime {
      let offset = values.captureClockOffset
      if open(.absoluteCaptureTime, length: offset == nil ? 8 : 16) {
        writer.write(time)
        if let offset { writer.write(UInt64(bitPattern: offset)) }
      }
    }
    write(values.mid, as: .mid)
    write(values.rid, as: .rid)
    write(values.repairedRID, as: .repairedRID)
  }

  private mutating func write(_ name: String?, as kind: HeaderExtensionMap.Kind) {
    guard let name, (1...255).contains(name.utf8.count), open(kind, length: name.utf8.count) else { return }
    for byte in name.utf8 { writer.write(byte) }
  }

  private static func isLong(_ name: String?) -> Bool { name.map { (17...255).contains($0.utf8.count) } ?? false }

  private mutating func open(_ kind: HeaderExtensionMap.Kind, length: Int) -> Bool {
    guard let id = map.id(of: kind) else { return false }
    if !hasElements {
      hasElements = true
      writer.write(UInt16(isTwoByte ? 0x1000 : 0xBEDE))
      writer.write(UInt16(0))
    }
    if isTwoByte {
      writer.write(id)
      writer.write(UInt8(length))
    } else {
      writer.write(id << 4 | UInt8(length - 1))
    }
    return true
  }

  mutating func finish() -> ByteWriter {
    guard hasElements else { return writer }
    while (writer.count - start) % 4 != 0, !writer.overflowed { writer.write(UInt8(0)) }
    guard !writer.overflowed else { return writer }
    writer.patch(UInt16((writer.count - start - 4) / 4), at: start + 2)
    return writer
  }
}
