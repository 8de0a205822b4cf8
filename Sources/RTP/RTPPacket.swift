/// A received RTP packet, as offsets into the datagram that holds it (RFC 3550, section 5.1).
///
///      0                   1                   2                   3
///     |V=2|P|X|  CC   |M|     PT      |       sequence number         |
///     |                           timestamp                           |
///     |           synchronization source (SSRC) identifier            |
package struct RTPPacket: Hashable, Sendable {
  package let marker: Bool
  package let payloadType: UInt8
  package let sequence: UInt16
  package var timestamp: UInt32
  package let ssrc: UInt32
  /// Up to the payload: contributing sources and header extension included.
  package let headerLength: Int
  /// Without padding.
  package let payloadRange: Range<Int>
  /// Of the extension's elements, empty without one.
  let elementsRange: Range<Int>
  /// RFC 8285: 0xBEDE has one-byte element headers, 0x100? two-byte ones.
  let extensionProfile: UInt16

  package static let fixedHeaderLength = 12

  package init(parsing bytes: UnsafeRawBufferPointer) throws(RTPError) {
    guard let first = bytes.byte(at: 0), let second = bytes.byte(at: 1), let sequence = bytes.uint16(at: 2),
      let timestamp = bytes.uint32(at: 4), let ssrc = bytes.uint32(at: 8)
    else { throw .truncated }
    guard first >> 6 == 2 else { throw .version }
    var end = Self.fixedHeaderLength + 4 * Int(first & 0x0F)
    var elements = 0..<0
    var profile: UInt16 = 0
    if first & 0x10 != 0 {
      guard let named = bytes.uint16(at: end), let words = bytes.uint16(at: end + 2) else { throw .truncated }
      profile = named
      elements = (end + 4)..<(end + 4 + 4 * Int(words))
      end = elements.upperBound
    }
    guard end <= bytes.count else { throw .truncated }
    var payloadEnd = bytes.count
    if first & 0x20 != 0 {
      guard payloadEnd > end, let padding = bytes.byte(at: payloadEnd - 1), padding > 0,
        Int(padding) <= payloadEnd - end
      else { throw .malformed }
      payloadEnd -= Int(padding)
    }
    marker = second & 0x80 != 0
    payloadType = second & 0x7F
    self.sequence = sequence
    self.timestamp = timestamp
    self.ssrc = ssrc
    headerLength = end
    payloadRange = end..<payloadEnd
    elementsRange = elements
    extensionProfile = profile
  }

  package func payload(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer { bytes.part(payloadRange) }

  /// Calls `body` with each element of the header extension until it answers false.
  package func forEachExtension(
    in bytes: UnsafeRawBufferPointer, _ body: (_ id: UInt8, _ value: UnsafeRawBufferPointer) -> Bool
  ) {
    let isOneByte = extensionProfile == 0xBEDE
    guard isOneByte || extensionProfile & 0xFFF0 == 0x1000 else { return }
    var offset = elementsRange.lowerBound
    let end = min(elementsRange.upperBound, bytes.count)
    while offset < end {
      let head = bytes[offset]
      offset += 1
      if head == 0 { continue }  // padding
      let id: UInt8
      let length: Int
      if isOneByte {
        id = head >> 4
        if id == 15 || id == 0 { return }  // RFC 8285, 4.2: processing stops; 0 is padding only without a length
        length = Int(head & 0x0F) + 1
      } else {
        guard offset < end else { return }
        id = head
        length = Int(bytes[offset])
        offset += 1
      }
      guard offset + length <= end else { return }
      if !body(id, bytes.part(offset..<offset + length)) { return }
      offset += length
    }
  }

  /// Where the value of the element with that number stands, so that it can be rewritten in place.
  package func extensionRange(id: UInt8, in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    var found: Range<Int>?
    forEachExtension(in: bytes) { number, value in
      guard number == id, let base = bytes.baseAddress, let start = value.baseAddress else { return true }
      found = (start - base)..<(start - base + value.count)
      return false
    }
    return found
  }

  /// Is this RTCP rather than RTP, both being on one port? (RFC 5761, section 4)
  package static func isRTCP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let type = bytes.byte(at: 1) else { return false }
    return (192...223).contains(type)
  }
}
