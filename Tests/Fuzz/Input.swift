import KoineRTP

/// Reads choices from the fuzzer's bytes; nothing is left once it gives zeros.
struct Input {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isEmpty: Bool { offset >= bytes.count }

  mutating func byte() -> UInt8 {
    defer { offset += 1 }
    return bytes.byte(at: offset) ?? 0
  }

  /// 0..<limit.
  mutating func number(below limit: Int) -> Int { Int(byte()) % limit }

  /// The next `count` bytes, or as many as there are.
  mutating func part(_ count: Int) -> UnsafeRawBufferPointer {
    let start = min(offset, bytes.count)
    let end = min(start + count, bytes.count)
    offset = end
    return bytes.part(start..<end)
  }

  mutating func flag() -> Bool { byte() & 1 == 1 }
}
