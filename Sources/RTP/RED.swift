/// Redundant audio data (RFC 2198, section 3): a packet repeats the payloads of packets before it, the oldest first, and then
/// carries its own, the primary one. The headers of all blocks come before the first payload.
///
///      0                   1                   2                   3
///     |F|  block PT   |     timestamp offset      |   block length    |   a copy: F is 1
///     |0|  block PT   |                                                 the primary payload: the rest of the packet
package enum RED {
  package struct Block: Hashable, Sendable {
    package var payloadType: UInt8
    /// How much older than the packet's timestamp; 0 for the primary payload.
    package var offset: UInt32
    /// Within the packet's datagram; may be empty.
    package var payload: Range<Int>
    /// How many packets before this one the payload was sent for the first time, if no copy was left out: 0 for the primary
    /// payload.
    package var distance: Int

    package init(payloadType: UInt8, offset: UInt32, payload: Range<Int>, distance: Int) {
      (self.payloadType, self.offset, self.payload, self.distance) = (payloadType, offset, payload, distance)
    }
  }

  package static let copyHeaderLength = 4
  package static let primaryHeaderLength = 1
  /// Of a copy's timestamp offset: 14 bits.
  package static let furthestOffset: UInt32 = 0x3FFF
  /// Of a copy, in bytes: 10 bits.
  package static let longestCopy = 0x3FF
  /// Copies in one packet. Browsers send one or two; the format itself has no limit.
  package static let copyLimit = 32

  /// Calls `body` with each block, the primary one last. Nothing is called for a payload that is refused.
  /// - Parameter payload: of the packet, as a range of its datagram.
  /// - Throws: where headers or payloads do not fit the packet, or there are more than `copyLimit` copies.
  package static func forEachBlock(
    of payload: Range<Int>, in bytes: UnsafeRawBufferPointer, _ body: (Block) -> Void
  ) throws(RTPError) {
    guard payload.upperBound <= bytes.count else { throw .truncated }
    var (copies, length) = (0, 0)
    var header = payload.lowerBound
    while true {
      guard header < payload.upperBound, let first = bytes.byte(at: header) else { throw .truncated }
      if first & 0x80 == 0 { break }
      guard header + copyHeaderLength <= payload.upperBound, let word = bytes.uint32(at: header) else {
        throw .truncated
      }
      guard copies < copyLimit else { throw .malformed }
      copies += 1
      length += Int(word & 0x3FF)
      header += copyHeaderLength
    }
    var start = header + primaryHeaderLength
    guard start + length <= payload.upperBound else { throw .truncated }
    for index in 0..<copies {
      guard let word = bytes.uint32(at: payload.lowerBound + index * copyHeaderLength) else { throw .truncated }
      let end = start + Int(word & 0x3FF)
      body(
        Block(
          payloadType: UInt8(word >> 24 & 0x7F), offset: word >> 10 & furthestOffset, payload: start..<end,
          distance: copies - index))
      start = end
    }
    body(Block(payloadType: bytes[header] & 0x7F, offset: 0, payload: start..<payload.upperBound, distance: 0))
  }

  /// - Parameters: offset: at most `furthestOffset`; length: at most `longestCopy`.
  package static func writeCopyHeader(payloadType: UInt8, offset: UInt32, length: Int, to writer: inout ByteWriter) {
    let length = UInt32(min(max(length, 0), longestCopy))
    writer.write(0x8000_0000 | UInt32(payloadType & 0x7F) << 24 | min(offset, furthestOffset) << 10 | length)
  }

  package static func writePrimaryHeader(payloadType: UInt8, to writer: inout ByteWriter) {
    writer.write(payloadType & 0x7F)
  }
}
