import KoineBase
import KoineRTP
import Testing

/// Bytes written as text: `hex("80 60 0001")`, white space at will.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// What `body` writes into a buffer of `capacity` bytes, exactly as large as a heap block so that a sanitizer sees the edge.
func written(capacity: Int = 2_000, _ body: (inout ByteWriter) -> Void) -> [UInt8]? {
  let out = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
  defer { out.deallocate() }
  var writer = ByteWriter(out)
  body(&writer)
  return writer.overflowed ? nil : Array(out[..<writer.count])
}

/// Calls `body` with the bytes in a heap block of exactly their size.
func withBlock<Result>(_ bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
  -> Result
{
  let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { block.deallocate() }
  block.copyBytes(from: bytes)
  return try body(UnsafeRawBufferPointer(block))
}

func packet(_ bytes: [UInt8]) throws -> RTPPacket { try withBlock(bytes) { try RTPPacket(parsing: $0) } }

func rtcp(_ bytes: some Collection<UInt8>) throws -> [RTCP] {
  try withBlock(bytes) { bytes in
    var packets: [RTCP] = []
    try RTCP.forEach(in: bytes) { packets.append($0) }
    return packets
  }
}

func encoded(_ packet: RTCP) -> [UInt8]? { written { packet.write(to: &$0) } }

func vp8(_ bytes: some Collection<UInt8>) throws -> (VP8Descriptor, length: Int) {
  try withBlock(bytes) { try VP8Descriptor.parse($0) }
}

func vp9(_ bytes: some Collection<UInt8>) throws -> (VP9Descriptor, length: Int) {
  try withBlock(bytes) { try VP9Descriptor.parse($0) }
}
