import KoineBase

/// Blocks for received frames. Each is used again once nobody above holds its frame any more, so that nobody has to give
/// anything back and a steady flow allocates nothing.
struct FrameBlocks {
  private static let limit = 64
  /// Larger frames, which are rare, get a block of their own.
  private static let largest = 64 << 10
  private var ring: [Bytes] = []
  private var position = 0
  /// Flat in steady state.
  private(set) var allocations = 0

  mutating func take(_ size: Int) -> Bytes {
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
