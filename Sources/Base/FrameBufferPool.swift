/// Memory blocks for encoded frames of any size. The pool reuses a block once no other object holds a reference to it, so
/// callers need not return blocks, and a steady flow allocates nothing. Not thread-safe: one owner, one thread.
package struct FrameBufferPool {
  private static let limit = 64
  /// Larger frames, which are rare, get a block of their own.
  private static let largest = 64 << 10
  private var ring: [Bytes] = []
  private var position = 0
  /// How many blocks were newly allocated; flat in steady state.
  package private(set) var allocations = 0

  package init() {}

  /// An empty block of at least `size` bytes.
  package mutating func take(_ size: Int) -> Bytes {
    guard size <= Self.largest else { return allocate(size) }
    for _ in 0..<min(ring.count, 4) {
      position = (position + 1) % ring.count
      guard ring[position].capacity >= size, isKnownUniquelyReferenced(&ring[position]) else { continue }
      ring[position].count = 0
      return ring[position]
    }
    var capacity = 256
    while capacity < size { capacity *= 2 }
    let block = allocate(capacity)
    if ring.count < Self.limit { ring.append(block) } else { ring[position] = block }
    return block
  }

  private mutating func allocate(_ capacity: Int) -> Bytes {
    allocations += 1
    return Bytes(capacity: capacity)
  }
}
