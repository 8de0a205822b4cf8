/// The few fields of an RTP header that protection needs, read with every length checked.
struct RTPShape {
  let source: UInt32
  let sequence: UInt16
  /// Fixed header, contributing sources and extension: what stays readable.
  let headerLength: Int

  @inline(__always)
  init(_ packet: UnsafeRawBufferPointer) throws(SRTPError) {
    guard packet.count >= 12, packet[0] >> 6 == 2 else { throw .malformed }
    var length = 12 + 4 * Int(packet[0] & 0x0F)
    if packet[0] & 0x10 != 0 {
      guard packet.count >= length + 4 else { throw .malformed }
      length += 4 + 4 * (Int(packet[length + 2]) << 8 | Int(packet[length + 3]))
    }
    guard packet.count >= length else { throw .malformed }
    headerLength = length
    sequence = packet.bigEndian16(at: 2)
    source = packet.bigEndian32(at: 8)
  }
}

extension UnsafeRawBufferPointer {
  /// The caller has checked that the bytes are there.
  @inline(__always) func bigEndian32(at offset: Int) -> UInt32 {
    UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
  /// The caller has checked that the bytes are there.
  @inline(__always) func bigEndian16(at offset: Int) -> UInt16 {
    UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }
}
