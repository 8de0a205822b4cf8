/// Big-endian reading that answers nil beyond the end, for parsers that must be total.
extension UnsafeRawBufferPointer {
  @inlinable package func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < count ? self[offset] : nil
  }

  @inlinable package func uint16(at offset: Int) -> UInt16? {
    guard offset >= 0, offset <= count - 2 else { return nil }
    return UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inlinable package func uint24(at offset: Int) -> UInt32? {
    guard offset >= 0, offset <= count - 3 else { return nil }
    return UInt32(self[offset]) << 16 | UInt32(self[offset + 1]) << 8 | UInt32(self[offset + 2])
  }

  @inlinable package func uint32(at offset: Int) -> UInt32? {
    guard offset >= 0, offset <= count - 4 else { return nil }
    return UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inlinable package func uint64(at offset: Int) -> UInt64? {
    guard offset >= 0, offset <= count - 8 else { return nil }
    return UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// The part of the buffer in `range`, cut to what exists.
  @inlinable package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range.clamped(to: 0..<count)])
  }
}

/// Writes big-endian values one after the other into memory of the caller's; remembers whether all of it fitted.
package struct ByteWriter {
  @usableFromInline let out: UnsafeMutableRawBufferPointer
  package private(set) var count = 0
  package private(set) var overflowed = false

  package init(_ out: UnsafeMutableRawBufferPointer) { self.out = out }

  package mutating func write(_ byte: UInt8) {
    guard count < out.count else {
      overflowed = true
      return
    }
    out[count] = byte
    count += 1
  }

  package mutating func write(_ value: UInt16) {
    guard count <= out.count - 2 else {
      overflowed = true
      return
    }
    out.storeBytes(of: value.bigEndian, toByteOffset: count, as: UInt16.self)
    count += 2
  }

  package mutating func write24(_ value: UInt32) {
    write(UInt8(truncatingIfNeeded: value >> 16))
    write(UInt16(truncatingIfNeeded: value))
  }

  package mutating func write(_ value: UInt32) {
    guard count <= out.count - 4 else {
      overflowed = true
      return
    }
    out.storeBytes(of: value.bigEndian, toByteOffset: count, as: UInt32.self)
    count += 4
  }

  package mutating func write(_ value: UInt64) {
    write(UInt32(truncatingIfNeeded: value >> 32))
    write(UInt32(truncatingIfNeeded: value))
  }

  package mutating func write(_ bytes: UnsafeRawBufferPointer) {
    guard count <= out.count - bytes.count else {
      overflowed = true
      return
    }
    UnsafeMutableRawBufferPointer(rebasing: out[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  package mutating func pad(to multiple: Int) {
    while count % multiple != 0, !overflowed { write(UInt8(0)) }
  }

  /// Overwrites a length that was not known before.
  package mutating func patch(_ value: UInt16, at offset: Int) {
    guard offset >= 0, offset <= count - 2 else { return }
    out.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
  }
}

/// Why bytes are not what they should be. The datagram is dropped and counted, nothing else.
package enum RTPError: Error, Hashable, Sendable { case truncated, version, malformed }
