public import KoineMedia

/// Blocks of one capacity, reused so that the packet path does not allocate. Not thread-safe: one owner, one thread;
/// a block may be given back to another pool of the same capacity.
public struct BytesPool {
  public let capacity: Int
  private let limit: Int
  private var free: [Bytes] = []
  /// How many blocks were newly allocated; flat in steady state.
  public private(set) var allocations = 0

  public init(capacity: Int, limit: Int = 4096) {
    self.capacity = capacity
    self.limit = limit
  }

  public mutating func take() -> Bytes {
    if let block = free.popLast() {
      block.count = 0
      return block
    }
    allocations += 1
    return Bytes(capacity: capacity)
  }

  /// Returns the block to the pool if the caller's reference is the only one. Otherwise the pool drops its reference, and the
  /// last holder of the block returns or releases it.
  public mutating func give(_ block: consuming Bytes) {
    guard block.capacity == capacity, free.count < limit, isKnownUniquelyReferenced(&block) else { return }
    // At once, so that no later packet pays for growth; and not before, because most pools of a server stay empty.
    if free.capacity == 0 { free.reserveCapacity(limit) }
    free.append(block)
  }
}
