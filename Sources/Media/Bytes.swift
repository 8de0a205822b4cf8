/// A counted block of raw bytes that returns to its pool: a datagram, an encoded frame.
///
/// One owner writes the block. Once shared, the block is immutable. `@unchecked Sendable` for that reason: an owner passes a
/// block on only after its last write, and `BytesPool` reuses the block only when no other object holds a reference to it.
public final class Bytes: @unchecked Sendable {
  /// Number of bytes.
  public let capacity: Int
  /// How many of the bytes from the start are in use.
  public var count: Int {
    get { used }
    set { used = newValue }
  }
  /// Not `count` itself, because other modules would check every access at run time.
  @exclusivity(unchecked) private var used = 0
  /// Address of the first byte.
  public let base: UnsafeMutableRawPointer

  /// Allocates memory; its contents are undefined.
  public init(capacity: Int) {
    self.capacity = capacity
    // An alignment of 16, which `malloc` gives anyway, would take the slower way through `posix_memalign`.
    base = .allocate(byteCount: Swift.max(capacity, 1), alignment: 8)
  }

  /// Allocates memory with a copy of `bytes`.
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

  /// A copy of the bytes.
  public var array: [UInt8] { Array(readable) }
}
