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

/// Writes extension elements with one-byte headers, opening the block before the first.
private struct ExtensionWriter {
  private var writer: ByteWriter
  private let map: HeaderExtensionMap
  private let start: Int
  private(set) var hasElements = false

  init(_ writer: ByteWriter, map: HeaderExtensionMap) {
    self.writer = writer
    self.map = map
    start = writer.count
  }

  mutating func write(_ values: HeaderExtensions) {
    if let level = values.audioLevel, open(.audioLevel, length: 1) {
      writer.write((values.voiceActivity ? 0x80 : 0) | UInt8(clamping: -Int(level)) & 0x7F)
    }
    if let number = values.transportSequence, open(.transportSequence, length: 2) { writer.write(number) }
    if let time = values.absoluteSendTime, open(.absoluteSendTime, length: 3) { writer.write24(time) }
    if let turns = values.quarterTurns, open(.videoOrientation, length: 1) { writer.write(turns & 3) }
    if let time = values.absoluteCaptureTime {
      if let offset = values.captureClockOffset {
        if open(.absoluteCaptureTime, length: 16) {
          writer.write(time)
          writer.write(UInt64(bitPattern: offset))
        }
      } else if open(.absoluteCaptureTime, length: 8) {
        writer.write(time)
      }
    }
    write(values.mid, as: .mid)
    write(values.rid, as: .rid)
    write(values.repairedRID, as: .repairedRID)
  }

  private mutating func write(_ name: String?, as kind: HeaderExtensionMap.Kind) {
    guard let name, (1...16).contains(name.utf8.count), open(kind, length: name.utf8.count) else { return }
    for byte in name.utf8 { writer.write(byte) }
  }

  private mutating func open(_ kind: HeaderExtensionMap.Kind, length: Int) -> Bool {
    guard let id = map.id(of: kind), id < 15 else { return false }
    if !hasElements {
      hasElements = true
      writer.write(UInt16(0xBEDE))
      writer.write(UInt16(0))
    }
    writer.write(id << 4 | UInt8(length - 1))
    return true
  }

  mutating func finish() -> ByteWriter {
    guard hasElements else { return writer }
    while (writer.count - start) % 4 != 0, !writer.overflowed { writer.write(UInt8(0)) }
    writer.patch(UInt16((writer.count - start - 4) / 4), at: start + 2)
    return writer
  }
}
