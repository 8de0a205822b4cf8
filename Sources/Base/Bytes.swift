/// A counted block of raw bytes that returns to its pool: a datagram, an encoded frame.
///
/// One owner writes it; once shared it is immutable. `@unchecked Sendable` for that reason: a block is handed on only
/// after its last write, and `BytesPool` reuses it only when nobody else holds it.
public final class Bytes: @unchecked Sendable {
  public let capacity: Int
  /// How many of the bytes from the start are in use.
  public var count: Int
  public let base: UnsafeMutableRawPointer

  public init(capacity: Int) {
    self.capacity = capacity
    count = 0
    base = .allocate(byteCount: Swift.max(capacity, 1), alignment: 16)
  }

  public convenience init(_ bytes: some Collection<UInt8>) {
    self.init(capacity: bytes.count)
    count = bytes.count
    UnsafeMutableRawBufferPointer(start: base, count: count).copyBytes(from: bytes)
  }

  deinit { base.deallocate() }

  /// The bytes in use.
  public var readable: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
  /// The whole block, for its one writer.
  public var writable: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: capacity) }

  /// Appends as much of `bytes` as fits, and tells whether all of it did.
  @discardableResult
  public func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let room = Swift.min(bytes.count, capacity - count)
    if room > 0, let source = bytes.baseAddress { (base + count).copyMemory(from: source, byteCount: room) }
    count += room
    return room == bytes.count
  }

  public var array: [UInt8] { Array(readable) }
}

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
    free.reserveCapacity(limit)
  }

  public mutating func take() -> Bytes {
    if let block = free.popLast() {
      block.count = 0
      return block
    }
    allocations += 1
    return Bytes(capacity: capacity)
  }

  /// Takes the block back if this was the last reference to it; otherwise whoever holds it last gives it back or drops it.
  public mutating func give(_ block: consuming Bytes) {
    guard block.capacity == capacity, free.count < limit, isKnownUniquelyReferenced(&block) else { return }
    free.append(block)
  }
}
