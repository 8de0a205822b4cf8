/// RFC 3550, 6.4.1.
package struct SenderReport: Hashable, Sendable {
  package var sender: UInt32
  package var ntp: UInt64
  package var rtpTimestamp: UInt32
  package var packets: UInt32
  package var octets: UInt32
  package var blocks: [ReportBlock]

  package init(
    sender: UInt32, ntp: UInt64, rtpTimestamp: UInt32, packets: UInt32, octets: UInt32, blocks: [ReportBlock] = []
  ) {
    self.sender = sender
    self.ntp = ntp
    self.rtpTimestamp = rtpTimestamp
    self.packets = packets
    self.octets = octets
    self.blocks = blocks
  }

  init?(_ content: UnsafeRawBufferPointer, count: Int) {
    guard let sender = content.uint32(at: 0), let ntp = content.uint64(at: 4), let timestamp = content.uint32(at: 12),
      let packets = content.uint32(at: 16), let octets = content.uint32(at: 20),
      let blocks = ReportBlock.read(content, from: 24, count: count)
    else { return nil }
    self.init(sender: sender, ntp: ntp, rtpTimestamp: timestamp, packets: packets, octets: octets, blocks: blocks)
  }

  func write(to writer: inout ByteWriter) {
    writer.write(sender)
    writer.write(ntp)
    writer.write(rtpTimestamp)
    writer.write(packets)
    writer.write(octets)
    for block in blocks.prefix(31) { block.write(to: &writer) }
  }
}

/// What a receiver says of one source (RFC 3550, 6.4.1).
package struct ReportBlock: Hashable, Sendable {
  package var source: UInt32
  /// Of those expected since the last report, in 1/256.
  package var fractionLost: UInt8
  /// In all, −2²³...2²³−1.
  package var cumulativeLost: Int32
  package var highestSequence: UInt32
  /// In units of the RTP clock.
  package var jitter: UInt32
  package var lastSenderReport: UInt32
  /// In units of 2⁻¹⁶ s.
  package var delaySinceLastReport: UInt32

  package init(
    source: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
    lastSenderReport: UInt32, delaySinceLastReport: UInt32
  ) {
    self.source = source
    self.fractionLost = fractionLost
    self.cumulativeLost = cumulativeLost
    self.highestSequence = highestSequence
    self.jitter = jitter
    self.lastSenderReport = lastSenderReport
    self.delaySinceLastReport = delaySinceLastReport
  }

  static func read(_ content: UnsafeRawBufferPointer, from start: Int, count: Int) -> [ReportBlock]? {
    var blocks: [ReportBlock] = []
    for index in 0..<count {
      let at = start + 24 * index
      guard let source = content.uint32(at: at), let lost = content.uint32(at: at + 4),
        let highest = content.uint32(at: at + 8), let jitter = content.uint32(at: at + 12),
        let last = content.uint32(at: at + 16), let delay = content.uint32(at: at + 20)
      else { return nil }
      blocks.append(
        ReportBlock(
          source: source, fractionLost: UInt8(lost >> 24), cumulativeLost: Int32(bitPattern: lost << 8) >> 8,
          highestSequence: highest, jitter: jitter, lastSenderReport: last, delaySinceLastReport: delay))
    }
    return blocks
  }

  func write(to writer: inout ByteWriter) {
    let lost = UInt32(bitPattern: max(-0x80_0000, min(0x7F_FFFF, cumulativeLost))) & 0xFF_FFFF
    writer.write(source)
    writer.write(UInt32(fractionLost) << 24 | lost)
    writer.write(highestSequence)
    writer.write(jitter)
    writer.write(lastSenderReport)
    writer.write(delaySinceLastReport)
  }
}

/// RFC 3550, 6.5: of all items only the canonical name is kept.
package struct SourceDescription: Hashable, Sendable {
  package var source: UInt32
  /// At most 255 bytes of UTF-8.
  package let canonicalName: String

  /// - Parameter canonicalName: cut to the whole characters that fit. Not only ours may be too long: repairing bytes that
  ///   are not UTF-8 makes a name longer than it came.
  package init(source: UInt32, canonicalName: String) {
    self.source = source
    var name = canonicalName
    while name.utf8.count > 255 { name.unicodeScalars.removeLast() }
    self.canonicalName = name
  }

  static func read(_ content: UnsafeRawBufferPointer, count: Int) -> [SourceDescription]? {
    var chunks: [SourceDescription] = []
    var offset = 0
    for _ in 0..<count {
      guard let source = content.uint32(at: offset) else { return nil }
      offset += 4
      var name = ""
      while true {
        guard let item = content.byte(at: offset) else { return nil }
        if item == 0 { break }
        guard let length = content.byte(at: offset + 1), offset + 2 + Int(length) <= content.count else { return nil }
        if item == 1 { name = String(decoding: content.part((offset + 2)..<(offset + 2 + Int(length))), as: UTF8.self) }
        offset += 2 + Int(length)
      }
      offset = (offset / 4 + 1) * 4  // the end mark, then padding to the next word
      chunks.append(SourceDescription(source: source, canonicalName: name))
    }
    return chunks
  }

  func write(to writer: inout ByteWriter, start: Int) {
    writer.write(source)
    writer.write(UInt8(1))
    writer.write(UInt8(canonicalName.utf8.count))
    for byte in canonicalName.utf8 { writer.write(byte) }
    repeat { writer.write(UInt8(0)) } while (writer.count - start) % 4 != 0 && !writer.overflowed
  }
}
