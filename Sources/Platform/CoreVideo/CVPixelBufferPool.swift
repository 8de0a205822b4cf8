import Foundation
import Koine

/// The fewest unused buffers that are kept although they are old; default 0.
public let kCVPixelBufferPoolMinimumBufferCountKey: CFString = "MinimumBufferCount"
/// For how long an unused buffer is kept, in seconds; default 1; 0: without limit.
public let kCVPixelBufferPoolMaximumBufferAgeKey: CFString = "MaximumBufferAge"
/// An auxiliary attribute: no buffer is made if so many of the pool are in use.
public let kCVPixelBufferPoolAllocationThresholdKey: CFString = "BufferPoolAllocationThreshold"

/// What `CVPixelBufferPoolFlush` releases.
public struct CVPixelBufferPoolFlushFlags: OptionSet, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// All unused buffers, whatever their age. Without it, only those that are too old.
  public static let excessBuffers = CVPixelBufferPoolFlushFlags(rawValue: 1)
}

/// Pixel buffers of one format and size. The memory of a buffer that nobody holds any more serves a later buffer, as it is.
public final class CVPixelBufferPool: @unchecked Sendable {  // `state` is a lock, the rest is constant
  private struct Unused {
    let planes: PixelPlanes
    let since: ContinuousClock.Instant
  }

  private struct State {
    /// The oldest first.
    var unused: [Unused] = []
    var inUse = 0
  }

  let attributes, bufferAttributes: CFDictionary?
  private let format: OSType
  private let width, height, minimum: Int
  /// Nil: without limit.
  private let maximumAge: Duration?
  private let state = Lock(State())

  fileprivate init(
    _ attributes: CFDictionary?, _ bufferAttributes: CFDictionary?, format: OSType, width: Int, height: Int,
    minimum: Int, maximumAge: Duration?
  ) {
    (self.attributes, self.bufferAttributes) = (attributes, bufferAttributes)
    (self.format, self.width, self.height) = (format, width, height)
    (self.minimum, self.maximumAge) = (minimum, maximumAge)
  }

  /// Number of buffers whose memory waits for use.
  var unusedCount: Int { state.withLock { $0.unused.count } }

  /// - Parameter threshold: nil: none.
  fileprivate func makeBuffer(threshold: Int?) -> CVPixelBuffer? {
    releaseUnused(all: false)
    let taken = state.withLock { state -> (isAllowed: Bool, planes: PixelPlanes?) in
      if let threshold, state.inUse >= threshold { return (false, nil) }
      state.inUse += 1
      return (true, state.unused.popLast()?.planes)  // the one used last is the likeliest to be in a cache
    }
    guard taken.isAllowed else { return nil }
    // The pool was made for a format and a size that there are.
    guard let planes = taken.planes ?? PixelPlanes(format: format, width: width, height: height) else { return nil }
    return CVPixelBuffer(planes, pool: self)
  }

  func recycle(_ planes: PixelPlanes) {
    state.withLock { state in
      state.inUse -= 1
      state.unused.append(Unused(planes: planes, since: .now))
    }
    releaseUnused(all: false)
  }

  fileprivate func releaseUnused(all: Bool) {
    let now = ContinuousClock.now
    let released = state.withLock { state -> [Unused] in
      let kept = all ? 0 : minimum
      var count = 0
      while state.unused.count - count > kept, all || isOld(state.unused[count], now) { count += 1 }
      defer { state.unused.removeFirst(count) }
      return Array(state.unused.prefix(count))
    }
    withExtendedLifetime(released) {}  // let go of outside the lock
  }

  private func isOld(_ unused: Unused, _ now: ContinuousClock.Instant) -> Bool {
    maximumAge.map { now - unused.since > $0 } ?? false
  }
}

/// Makes a pool. Its memory is allocated with its buffers.
/// - Parameters:
///   - poolAttributes: `kCVPixelBufferPoolMinimumBufferCountKey`, `kCVPixelBufferPoolMaximumBufferAgeKey`.
///   - pixelBufferAttributes: `kCVPixelBufferPixelFormatTypeKey` (of an array, the first format), `kCVPixelBufferWidthKey` and
///     `kCVPixelBufferHeightKey` are needed.
@discardableResult
public func CVPixelBufferPoolCreate(
  _ allocator: CFAllocator?, _ poolAttributes: CFDictionary?, _ pixelBufferAttributes: CFDictionary?,
  _ poolOut: UnsafeMutablePointer<CVPixelBufferPool?>
) -> CVReturn {
  poolOut.pointee = nil
  let formats = pixelBufferAttributes?[kCVPixelBufferPixelFormatTypeKey]
  guard let format = integer((formats as? [Any])?.first ?? formats).flatMap(OSType.init(exactly:)),
    let width = integer(pixelBufferAttributes?[kCVPixelBufferWidthKey]),
    let height = integer(pixelBufferAttributes?[kCVPixelBufferHeightKey])
  else { return kCVReturnInvalidPixelBufferAttributes }
  guard (1...16_384).contains(width), (1...16_384).contains(height) else { return kCVReturnInvalidSize }
  guard PixelPlanes.isFormat(format) else { return kCVReturnInvalidPixelFormat }
  let minimum = integer(poolAttributes?[kCVPixelBufferPoolMinimumBufferCountKey]) ?? 0
  let age = number(poolAttributes?[kCVPixelBufferPoolMaximumBufferAgeKey]) ?? 1
  guard minimum >= 0, age >= 0 else { return kCVReturnInvalidPoolAttributes }
  poolOut.pointee = CVPixelBufferPool(
    poolAttributes, pixelBufferAttributes, format: format, width: width, height: height, minimum: minimum,
    maximumAge: age == 0 ? nil : .seconds(min(age, 1e9)))
  return kCVReturnSuccess
}

/// Makes a buffer, of memory that the pool has kept if there is any: its pixels are then those of an earlier buffer.
@discardableResult
public func CVPixelBufferPoolCreatePixelBuffer(
  _ allocator: CFAllocator?, _ pixelBufferPool: CVPixelBufferPool,
  _ pixelBufferOut: UnsafeMutablePointer<CVPixelBuffer?>
) -> CVReturn {
  CVPixelBufferPoolCreatePixelBufferWithAuxAttributes(allocator, pixelBufferPool, nil, pixelBufferOut)
}

/// - Parameter auxAttributes: `kCVPixelBufferPoolAllocationThresholdKey`.
/// - Returns: `kCVReturnWouldExceedAllocationThreshold` if so many buffers of the pool are in use.
@discardableResult
public func CVPixelBufferPoolCreatePixelBufferWithAuxAttributes(
  _ allocator: CFAllocator?, _ pixelBufferPool: CVPixelBufferPool, _ auxAttributes: CFDictionary?,
  _ pixelBufferOut: UnsafeMutablePointer<CVPixelBuffer?>
) -> CVReturn {
  let threshold = integer(auxAttributes?[kCVPixelBufferPoolAllocationThresholdKey])
  pixelBufferOut.pointee = pixelBufferPool.makeBuffer(threshold: threshold)
  return pixelBufferOut.pointee == nil ? kCVReturnWouldExceedAllocationThreshold : kCVReturnSuccess
}

public func CVPixelBufferPoolFlush(_ pool: CVPixelBufferPool, _ options: CVPixelBufferPoolFlushFlags) {
  pool.releaseUnused(all: options.contains(.excessBuffers))
}

public func CVPixelBufferPoolGetAttributes(_ pool: CVPixelBufferPool) -> CFDictionary? { pool.attributes }
public func CVPixelBufferPoolGetPixelBufferAttributes(_ pool: CVPixelBufferPool) -> CFDictionary? {
  pool.bufferAttributes
}

/// A number in any of the types that an app may put into a dictionary.
private func number(_ value: Any?) -> Double? {
  switch value {
  case let value as Int: Double(value)
  case let value as OSType: Double(value)
  case let value as Int32: Double(value)
  case let value as Double: value
  case let value as NSNumber: value.doubleValue
  default: nil
  }
}

private func integer(_ value: Any?) -> Int? { number(value).flatMap { Int(exactly: $0.rounded()) } }
