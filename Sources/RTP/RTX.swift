/// The retransmission payload format (RFC 4588, section 4): the original sequence number, then the original payload.
package enum RTX {
  package static let prefixLength = 2

  /// - Parameter payload: of the retransmission packet.
  /// - Returns: the number the packet had at first, and where its payload stands; nil where there is none, as in packets
  ///   that only probe the path.
  package static func unwrap(
    _ payload: Range<Int>, in bytes: UnsafeRawBufferPointer
  ) -> (sequence: UInt16, payload: Range<Int>)? {
    guard payload.count >= prefixLength, payload.upperBound <= bytes.count,
      let sequence = bytes.uint16(at: payload.lowerBound)
    else { return nil }
    return (sequence, (payload.lowerBound + prefixLength)..<payload.upperBound)
  }

  /// - Returns: the length written; nil if `out` is too small.
  package static func wrap(
    _ payload: UnsafeRawBufferPointer, sequence: UInt16, into out: UnsafeMutableRawBufferPointer
  ) -> Int? {
    var writer = ByteWriter(out)
    writer.write(sequence)
    writer.write(payload)
    return writer.overflowed ? nil : writer.count
  }
}
