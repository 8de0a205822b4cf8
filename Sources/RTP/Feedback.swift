/// RFC 4585, 6.2.1: these packets are missing.
package struct GenericNACK: Hashable, Sendable {
  package var sender: UInt32
  package var media: UInt32
  package var sequences: [UInt16]

  /// - Parameter sequences: in rising order, wraps included.
  package init(sender: UInt32, media: UInt32, sequences: [UInt16]) {
    self.sender = sender
    self.media = media
    self.sequences = sequences
  }

  init(sender: UInt32, media: UInt32, _ content: UnsafeRawBufferPointer) {
    self.init(sender: sender, media: media, sequences: [])
    var offset = 0
    while let first = content.uint16(at: offset), let mask = content.uint16(at: offset + 2) {
      sequences.append(first)
      for bit in 0..<16 where mask & (1 << bit) != 0 { sequences.append(first &+ UInt16(bit) &+ 1) }
      offset += 4
    }
  }

  func write(to writer: inout ByteWriter) {
    var index = sequences.startIndex
    while index < sequences.endIndex {
      let first = sequences[index]
      var mask: UInt16 = 0
      var last: UInt16 = 0
      index += 1
      while index < sequences.endIndex, case let ahead = sequences[index] &- first, ahead > last, ahead <= 16 {
        mask |= 1 << (ahead - 1)
        last = ahead
        index += 1
      }
      writer.write(first)
      writer.write(mask)
    }
  }
}

/// RFC 5104, 4.3.1.
package struct FullIntraEntry: Hashable, Sendable {
  package var media: UInt32
  /// The same number again is the same request again.
  package var number: UInt8

  package init(media: UInt32, number: UInt8) {
    self.media = media
    self.number = number
  }

  static func read(_ content: UnsafeRawBufferPointer) -> [FullIntraEntry] {
    var entries: [FullIntraEntry] = []
    var offset = 0
    while let media = content.uint32(at: offset), let number = content.byte(at: offset + 4), content.count >= offset + 8
    {
      entries.append(FullIntraEntry(media: media, number: number))
      offset += 8
    }
    return entries
  }

  func write(to writer: inout ByteWriter) {
    writer.write(media)
    writer.write(UInt32(number) << 24)
  }
}

/// REMB (draft-alvestrand-rmcat-remb-03): what the receiver thinks the path carries.
package struct ReceiverEstimate: Hashable, Sendable {
  package var sender: UInt32
  /// In bit/s; on the wire 18 bits and an exponent.
  package var bitrate: UInt64
  package var sources: [UInt32]

  package init(sender: UInt32, bitrate: UInt64, sources: [UInt32]) {
    self.sender = sender
    self.bitrate = bitrate
    self.sources = sources
  }

  private static let name: UInt32 = 0x5245_4D42  // "REMB"

  init?(sender: UInt32, _ content: UnsafeRawBufferPointer) {
    guard content.uint32(at: 0) == Self.name, let count = content.byte(at: 4), let rate = content.uint24(at: 5) else {
      return nil
    }
    let (mantissa, exponent) = (UInt64(rate & 0x3FFFF), UInt64(rate >> 18))
    let bitrate = mantissa << exponent
    guard bitrate >> exponent == mantissa else { return nil }
    var sources: [UInt32] = []
    for index in 0..<Int(count) {
      guard let source = content.uint32(at: 8 + 4 * index) else { return nil }
      sources.append(source)
    }
    self.init(sender: sender, bitrate: bitrate, sources: sources)
  }

  func write(to writer: inout ByteWriter) {
    var mantissa = bitrate
    var exponent: UInt32 = 0
    while mantissa > 0x3FFFF {
      mantissa >>= 1
      exponent += 1
    }
    writer.write(Self.name)
    writer.write(UInt8(clamping: sources.count))
    writer.write24(exponent << 18 | UInt32(mantissa))
    for source in sources.prefix(255) { writer.write(source) }
  }
}
