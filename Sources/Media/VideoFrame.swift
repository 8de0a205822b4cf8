/// One picture: I420, limited range, BT.601 unless marked otherwise; chroma planes are rounded up.
///
/// Immutable, so it may be shared between threads; its memory returns to its pool when the last holder lets go.
/// `@unchecked Sendable`: the planes are written only inside `FramePool.make`, before any other code sees the frame.
public final class VideoFrame: @unchecked Sendable {
  /// Width, in pixels, before rotation.
  public let width: Int
  /// Height, in pixels, before rotation.
  public let height: Int
  /// Bytes from one row to the next, of the luma plane and of both chroma planes.
  public let lumaStride: Int
  /// Bytes from one chroma row to the next.
  public let chromaStride: Int
  /// When the picture was taken, on the clock of the world it is in. For a received frame: the sender's capture time,
  /// translated to the receiver's clock.
  public let captured: Tick
  /// Clockwise quarter turns to apply when showing it, 0...3.
  public let quarterTurns: UInt8
  /// Never changed. A variable, because `isKnownUniquelyReferenced` takes one.
  private var storage: FrameStorage

  fileprivate init(_ storage: FrameStorage, width: Int, height: Int, captured: Tick, quarterTurns: UInt8) {
    self.storage = storage
    self.width = width
    self.height = height
    self.captured = captured
    self.quarterTurns = quarterTurns & 3
    lumaStride = Self.stride(of: width)
    chromaStride = Self.stride(of: (width + 1) / 2)
  }

  // Two frames over the same memory that end at once may both see the other: then the memory does not return.
  deinit { if isKnownUniquelyReferenced(&storage) { storage.returnToPool() } }

  /// Returns the frame with another capture time or rotation. The pixels are shared.
  public func with(captured: Tick? = nil, quarterTurns: UInt8? = nil) -> VideoFrame {
    VideoFrame(
      storage, width: width, height: height, captured: captured ?? self.captured,
      quarterTurns: quarterTurns ?? self.quarterTurns)
  }

  /// The planes of a frame for reading: luma, and chroma at half the size, rounded up.
  public struct Planes {
    /// Luma.
    public let y: UnsafePointer<UInt8>
    /// Chroma, blue.
    public let u: UnsafePointer<UInt8>
    /// Chroma, red.
    public let v: UnsafePointer<UInt8>
    /// Bytes from one luma row to the next.
    public let lumaStride: Int
    /// Bytes from one chroma row to the next.
    public let chromaStride: Int
    /// Width of the luma plane, in pixels.
    public let width: Int
    /// Height of the luma plane, in pixels.
    public let height: Int
    /// Width of the chroma planes, in pixels.
    public var chromaWidth: Int { (width + 1) / 2 }
    /// Height of the chroma planes, in pixels.
    public var chromaHeight: Int { (height + 1) / 2 }
  }

  /// The planes of a frame for writing: luma, and chroma at half the size, rounded up.
  public struct MutablePlanes {
    /// Luma.
    public let y: UnsafeMutablePointer<UInt8>
    /// Chroma, blue.
    public let u: UnsafeMutablePointer<UInt8>
    /// Chroma, red.
    public let v: UnsafeMutablePointer<UInt8>
    /// Bytes from one luma row to the next.
    public let lumaStride: Int
    /// Bytes from one chroma row to the next.
    public let chromaStride: Int
    /// Width of the luma plane, in pixels.
    public let width: Int
    /// Height of the luma plane, in pixels.
    public let height: Int
    /// Width of the chroma planes, in pixels.
    public var chromaWidth: Int { (width + 1) / 2 }
    /// Height of the chroma planes, in pixels.
    public var chromaHeight: Int { (height + 1) / 2 }
  }

  /// The planes may be read only inside `body`.
  /// - Throws: the error of `body`.
  public func withPlanes<Result, Failure: Error>(_ body: (Planes) throws(Failure) -> Result) throws(Failure) -> Result {
    let planes = mutablePlanes
    return try body(
      Planes(
        y: UnsafePointer(planes.y), u: UnsafePointer(planes.u), v: UnsafePointer(planes.v), lumaStride: lumaStride,
        chromaStride: chromaStride, width: width, height: height))
  }

  fileprivate var mutablePlanes: MutablePlanes {
    let luma = storage.base.assumingMemoryBound(to: UInt8.self)
    let chromaSize = chromaStride * ((height + 1) / 2)
    let u = luma + lumaStride * height
    return MutablePlanes(
      y: luma, u: u, v: u + chromaSize, lumaStride: lumaStride, chromaStride: chromaStride, width: width, height: height
    )
  }

  fileprivate static func stride(of width: Int) -> Int { (width + 31) & ~31 }
  fileprivate static func byteCount(width: Int, height: Int) -> Int {
    stride(of: width) * height + 2 * stride(of: (width + 1) / 2) * ((height + 1) / 2)
  }
}

/// The memory of one frame; returns to its pool when the last frame over it ends.
private final class FrameStorage {
  let base: UnsafeMutableRawPointer
  let byteCount: Int
  private weak let pool: FramePool?

  init(byteCount: Int, pool: FramePool) {
    self.byteCount = byteCount
    base = .allocate(byteCount: byteCount, alignment: 64)
    self.pool = pool
  }

  deinit { base.deallocate() }

  func returnToPool() { pool?.recycle(self) }
}

/// Frames' memory, reused size by size. Safe from any thread.
public final class FramePool: Sendable {
  /// The unused blocks of one size.
  private struct Shelf {
    let byteCount: Int
    var blocks: [FrameStorage] = []
  }

  /// Sizes that are asked for often move to the front. A few sizes, because one camera feeds several layers.
  private let shelves = Lock<[Shelf]>([])
  private static let sizes = 6
  private let limit: Int
  /// Of unused frames of all sizes: about twenty of 1920×1080.
  private static let byteLimit = 64 << 20

  /// Creates a pool.
  /// - Parameter limit: how many unused frames of a size are kept, as long as all together take no more than 64 MiB; the
  ///   size at the back is let go first.
  public init(limit: Int = 32) { self.limit = limit }

  /// Makes a frame. `fill` must write every pixel, because the memory may hold an older frame.
  /// - Parameters: width, height: 1...16_384 each.
  /// - Throws: the error of `fill`.
  public func make<Failure: Error>(
    width: Int, height: Int, captured: Tick, quarterTurns: UInt8 = 0,
    fill: (VideoFrame.MutablePlanes) throws(Failure) -> Void
  ) throws(Failure) -> VideoFrame {
    precondition((1...16_384).contains(width) && (1...16_384).contains(height), "no frame is \(width)×\(height)")
    let byteCount = VideoFrame.byteCount(width: width, height: height)
    let frame = VideoFrame(
      takeBlock(byteCount) ?? FrameStorage(byteCount: byteCount, pool: self), width: width, height: height,
      captured: captured, quarterTurns: quarterTurns)
    try fill(frame.mutablePlanes)
    return frame
  }

  /// How many unused frames are kept, of all sizes.
  package var unusedCount: Int { shelves.withLock { $0.reduce(0) { $0 + $1.blocks.count } } }

  private func takeBlock(_ byteCount: Int) -> FrameStorage? {
    shelves.withLock { shelves in
      guard let index = shelves.firstIndex(where: { $0.byteCount == byteCount }) else {
        if shelves.count == Self.sizes { shelves.removeLast() }
        shelves.insert(Shelf(byteCount: byteCount), at: 0)
        return nil
      }
      if index > 0 { shelves.swapAt(index, index - 1) }
      return shelves[max(index - 1, 0)].blocks.popLast()
    }
  }

  fileprivate func recycle(_ storage: FrameStorage) {
    shelves.withLock { shelves in
      guard let index = shelves.firstIndex(where: { $0.byteCount == storage.byteCount }),
        shelves[index].blocks.count < limit,
        shelves.reduce(storage.byteCount, { $0 + $1.byteCount * $1.blocks.count }) <= Self.byteLimit
      else { return }
      shelves[index].blocks.append(storage)
    }
  }
}
