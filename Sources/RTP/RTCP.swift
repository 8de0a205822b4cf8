/// One RTCP packet of a compound (RFC 3550, section 6; feedback RFC 4585, 5104, REMB and transport-wide feedback).
package enum RTCP: Hashable, Sendable {
  case senderReport(SenderReport)
  case receiverReport(sender: UInt32, [ReportBlock])
  case sourceDescription([SourceDescription])
  case goodbye([UInt32])
  case nack(GenericNACK)
  case pictureLoss(sender: UInt32, media: UInt32)
  case fullIntraRequest(sender: UInt32, [FullIntraEntry])
  case estimate(ReceiverEstimate)
  case transportFeedback(TransportFeedback)
  /// Understood in form only.
  case unknown(type: UInt8)

  enum PacketType {
    static let sr: UInt8 = 200, rr: UInt8 = 201, sdes: UInt8 = 202, bye: UInt8 = 203, rtpfb: UInt8 = 205,
      psfb: UInt8 = 206
  }

  /// Calls `body` with each packet of a compound. What came before a fault has been handed out.
  package static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (RTCP) -> Void) throws(RTPError) {
    var offset = 0
    var reportable = TransportFeedback.limit
    while offset < bytes.count {
      guard let first = bytes.byte(at: offset), let type = bytes.byte(at: offset + 1),
        let words = bytes.uint16(at: offset + 2)
      else { throw .truncated }
      guard first >> 6 == 2 else { throw .version }
      let end = offset + 4 * (Int(words) + 1)
      guard end <= bytes.count else { throw .truncated }
      var contentEnd = end
      if first & 0x20 != 0 {
        guard let padding = bytes.byte(at: end - 1), padding > 0, Int(padding) <= end - offset - 4 else {
          throw .malformed
        }
        contentEnd -= Int(padding)
      }
      let content = bytes.part((offset + 4)..<contentEnd)
      guard let packet = RTCP(type: type, count: first & 0x1F, reportable: reportable, content) else {
        throw .malformed
      }
      if case .transportFeedback(let feedback) = packet { reportable -= feedback.deltas.count }
      body(packet)
      offset = end
    }
  }

  /// - Parameter reportable: how many packets a transport-wide report may still name.
  private init?(type: UInt8, count: UInt8, reportable: Int, _ content: UnsafeRawBufferPointer) {
    switch type {
    case PacketType.sr:
      guard let report = SenderReport(content, count: Int(count)) else { return nil }
      self = .senderReport(report)
    case PacketType.rr:
      guard let sender = content.uint32(at: 0), let blocks = ReportBlock.read(content, from: 4, count: Int(count))
      else {
        return nil
      }
      self = .receiverReport(sender: sender, blocks)
    case PacketType.sdes:
      guard let chunks = SourceDescription.read(content, count: Int(count)) else { return nil }
      self = .sourceDescription(chunks)
    case PacketType.bye:
      var sources: [UInt32] = []
      for index in 0..<Int(count) {
        guard let source = content.uint32(at: 4 * index) else { return nil }
        sources.append(source)
      }
      self = .goodbye(sources)
    case PacketType.rtpfb, PacketType.psfb:
      guard let packet = RTCP(feedback: type, format: count, reportable: reportable, content) else { return nil }
      self = packet
    default: self = .unknown(type: type)
    }
  }

  private init?(feedback type: UInt8, format: UInt8, reportable: Int, _ content: UnsafeRawBufferPointer) {
    guard let sender = content.uint32(at: 0), let media = content.uint32(at: 4) else { return nil }
    let rest = content.part(8..<content.count)
    switch (type, format) {
    case (PacketType.rtpfb, 1): self = .nack(GenericNACK(sender: sender, media: media, rest))
    case (PacketType.rtpfb, 15):
      guard let feedback = TransportFeedback(sender: sender, media: media, limit: reportable, rest) else { return nil }
      self = .transportFeedback(feedback)
    case (PacketType.psfb, 1): self = .pictureLoss(sender: sender, media: media)
    case (PacketType.psfb, 4): self = .fullIntraRequest(sender: sender, FullIntraEntry.read(rest))
    case (PacketType.psfb, 15):
      guard let estimate = ReceiverEstimate(sender: sender, rest) else {
        self = .unknown(type: type)
        return
      }
      self = .estimate(estimate)
    default: self = .unknown(type: type)
    }
  }

  /// Appends the packet to `writer`: of reports, chunks and sources the first 31, as many as the count field can tell.
  /// `unknown` cannot be written.
  package func write(to writer: inout ByteWriter) {
    let start = writer.count
    switch self {
    case .senderReport(let report):
      header(PacketType.sr, Self.count(report.blocks), &writer)
      report.write(to: &writer)
    case .receiverReport(let sender, let blocks):
      header(PacketType.rr, Self.count(blocks), &writer)
      writer.write(sender)
      for block in blocks.prefix(31) { block.write(to: &writer) }
    case .sourceDescription(let chunks):
      header(PacketType.sdes, Self.count(chunks), &writer)
      for chunk in chunks.prefix(31) { chunk.write(to: &writer, start: start) }
    case .goodbye(let sources):
      header(PacketType.bye, Self.count(sources), &writer)
      for source in sources.prefix(31) { writer.write(source) }
    case .nack(let nack):
      feedback(PacketType.rtpfb, 1, nack.sender, nack.media, &writer)
      nack.write(to: &writer)
    case .pictureLoss(let sender, let media): feedback(PacketType.psfb, 1, sender, media, &writer)
    case .fullIntraRequest(let sender, let entries):
      feedback(PacketType.psfb, 4, sender, 0, &writer)
      for entry in entries { entry.write(to: &writer) }
    case .estimate(let estimate):
      feedback(PacketType.psfb, 15, estimate.sender, 0, &writer)
      estimate.write(to: &writer)
    case .transportFeedback(let value):
      feedback(PacketType.rtpfb, 15, value.sender, value.media, &writer)
      value.write(to: &writer)
    case .unknown: return
    }
    while (writer.count - start) % 4 != 0, !writer.overflowed { writer.write(UInt8(0)) }
    writer.patch(UInt16(truncatingIfNeeded: (writer.count - start) / 4 - 1), at: start + 2)
  }

  private static func count(_ items: [some Any]) -> UInt8 { UInt8(min(items.count, 31)) }

  private func header(_ type: UInt8, _ count: UInt8, _ writer: inout ByteWriter) {
    writer.write(0x80 | count)
    writer.write(type)
    writer.write(UInt16(0))
  }

  private func feedback(_ type: UInt8, _ format: UInt8, _ sender: UInt32, _ media: UInt32, _ writer: inout ByteWriter) {
    header(type, format, &writer)
    writer.write(sender)
    writer.write(media)
  }
}
