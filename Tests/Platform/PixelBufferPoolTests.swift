import Koine
import Testing

@testable import KoineCoreVideo

/// Pools of pixel buffers, attachments, and the formats that need a conversion.
@Suite struct PixelBufferPoolTests {
  private static var attributes: CFDictionary {
    [
      kCVPixelBufferPixelFormatTypeKey: kCVPixelFormatType_420YpCbCr8BiPlanarFullRange,
      kCVPixelBufferWidthKey: 64, kCVPixelBufferHeightKey: 36,
      kCVPixelBufferCGImageCompatibilityKey: true, kCVPixelBufferCGBitmapContextCompatibilityKey: true,
      kCVPixelBufferMetalCompatibilityKey: true, kCVPixelBufferIOSurfacePropertiesKey: [String: Any](),
    ]
  }

  private func makePool(_ attributes: CFDictionary = [:]) throws -> CVPixelBufferPool {
    var pool: CVPixelBufferPool?
    #expect(CVPixelBufferPoolCreate(kCFAllocatorDefault, attributes, Self.attributes, &pool) == kCVReturnSuccess)
    return try #require(pool)
  }

  private func makeBuffer(_ pool: CVPixelBufferPool) throws -> CVPixelBuffer {
    var buffer: CVPixelBuffer?
    #expect(CVPixelBufferPoolCreatePixelBuffer(nil, pool, &buffer) == kCVReturnSuccess)
    return try #require(buffer)
  }

  private func address(_ buffer: CVPixelBuffer) -> UnsafeMutableRawPointer? {
    CVPixelBufferGetBaseAddressOfPlane(buffer, 0)
  }

  @Test func poolMakesBuffersOfItsAttributes() throws {
    let pool = try makePool()
    let buffer = try makeBuffer(pool)
    #expect(CVPixelBufferGetPixelFormatType(buffer) == kCVPixelFormatType_420YpCbCr8BiPlanarFullRange)
    #expect(CVPixelBufferGetWidth(buffer) == 64)
    #expect(CVPixelBufferGetHeight(buffer) == 36)
    #expect(CVPixelBufferPoolGetPixelBufferAttributes(pool)?[kCVPixelBufferWidthKey] as? Int == 64)
  }

  @Test func releasedBuffersMemoryServesTheNextBuffer() throws {
    let pool = try makePool()
    var first: CVPixelBuffer? = try makeBuffer(pool)
    let second = try makeBuffer(pool)
    let used = try address(#require(first))
    #expect(used != address(second))
    used?.storeBytes(of: 77, as: UInt8.self)
    first = nil
    #expect(pool.unusedCount == 1)
    let third = try makeBuffer(pool)
    #expect(address(third) == used)
    #expect(address(third)?.load(as: UInt8.self) == 77)
    #expect(pool.unusedCount == 0)
  }

  @Test func flushReleasesUnusedBuffers() throws {
    let pool = try makePool([kCVPixelBufferPoolMaximumBufferAgeKey: 3_600, kCVPixelBufferPoolMinimumBufferCountKey: 1])
    for buffer in [try makeBuffer(pool), try makeBuffer(pool)] { withExtendedLifetime(buffer) {} }
    #expect(pool.unusedCount == 2)
    CVPixelBufferPoolFlush(pool, [])
    #expect(pool.unusedCount == 2)
    CVPixelBufferPoolFlush(pool, .excessBuffers)
    #expect(pool.unusedCount == 0)
  }

  @Test func oldBuffersAreReleasedDownToTheMinimum() throws {
    let pool = try makePool([kCVPixelBufferPoolMaximumBufferAgeKey: 1e-9, kCVPixelBufferPoolMinimumBufferCountKey: 1])
    for buffer in [try makeBuffer(pool), try makeBuffer(pool)] { withExtendedLifetime(buffer) {} }
    CVPixelBufferPoolFlush(pool, [])
    #expect(pool.unusedCount == 1)
  }

  @Test func allocationThresholdLimitsBuffersInUse() throws {
    let pool = try makePool()
    let limit: CFDictionary = [kCVPixelBufferPoolAllocationThresholdKey: 1]
    var buffer: CVPixelBuffer?
    #expect(CVPixelBufferPoolCreatePixelBufferWithAuxAttributes(nil, pool, limit, &buffer) == kCVReturnSuccess)
    var other: CVPixelBuffer?
    #expect(
      CVPixelBufferPoolCreatePixelBufferWithAuxAttributes(nil, pool, limit, &other)
        == kCVReturnWouldExceedAllocationThreshold)
    #expect(other == nil)
    buffer = nil
    #expect(CVPixelBufferPoolCreatePixelBufferWithAuxAttributes(nil, pool, limit, &other) == kCVReturnSuccess)
  }

  @Test func poolWithoutFormatOrSizeIsRefused() {
    var pool: CVPixelBufferPool?
    #expect(CVPixelBufferPoolCreate(nil, nil, nil, &pool) == kCVReturnInvalidPixelBufferAttributes)
    var attributes = Self.attributes
    attributes[kCVPixelBufferWidthKey] = 0
    #expect(CVPixelBufferPoolCreate(nil, nil, attributes, &pool) == kCVReturnInvalidSize)
    attributes = Self.attributes
    attributes[kCVPixelBufferPixelFormatTypeKey] = OSType(1)
    #expect(CVPixelBufferPoolCreate(nil, nil, attributes, &pool) == kCVReturnInvalidPixelFormat)
    #expect(pool == nil)
  }

  @Test(arguments: [(UInt8(0), UInt8(0), UInt8(16), UInt8(16)), (255, 255, 235, 240), (128, 128, 126, 128)])
  func fullRangeIsConvertedToLimitedRange(luma: UInt8, chroma: UInt8, limited: UInt8, limitedChroma: UInt8) throws {
    let buffer = try makeBuffer(makePool())
    for (plane, value) in [luma, chroma].enumerated() {
      let base = try #require(CVPixelBufferGetBaseAddressOfPlane(buffer, plane))
      for row in 0..<CVPixelBufferGetHeightOfPlane(buffer, plane) {
        (base + row * CVPixelBufferGetBytesPerRowOfPlane(buffer, plane)).assumingMemoryBound(to: UInt8.self)
          .update(repeating: value, count: 64)
      }
    }
    try #require(buffer.videoFrame()).withPlanes { planes in
      let last = (planes.chromaHeight - 1) * planes.chromaStride + planes.chromaWidth - 1
      #expect(planes.y[(planes.height - 1) * planes.lumaStride + planes.width - 1] == limited)
      #expect(planes.u[last] == limitedChroma)
      #expect(planes.v[last] == limitedChroma)
    }
  }

  @Test func argbPixelsKeepTheirColors() throws {
    var made: CVPixelBuffer?
    #expect(CVPixelBufferCreate(nil, 32, 16, kCVPixelFormatType_32ARGB, nil, &made) == kCVReturnSuccess)
    let buffer = try #require(made)
    #expect(!CVPixelBufferIsPlanar(buffer))
    let base = try #require(CVPixelBufferGetBaseAddress(buffer)?.assumingMemoryBound(to: UInt8.self))
    for row in 0..<16 {
      for column in 0..<32 {
        let pixel = base + row * CVPixelBufferGetBytesPerRow(buffer) + 4 * column
        (pixel[0], pixel[1], pixel[2], pixel[3]) = (255, 50, 100, 200)
      }
    }
    let pixels = try #require(buffer.videoFrame()).pixels(.rgba)
    for (value, expected) in zip(pixels, [UInt8(50), 100, 200]) { #expect(abs(Int(value) - Int(expected)) < 4) }
  }

  @Test func attachmentsPropagateByTheirMode() throws {
    let (buffer, copy) = (try makeBuffer(makePool()), try makeBuffer(makePool()))
    CVBufferSetAttachment(buffer, "kept", "inside", .shouldNotPropagate)
    CVBufferSetAttachment(buffer, "copied", 7, .shouldPropagate)
    var mode = CVAttachmentMode.shouldPropagate
    #expect(CVBufferCopyAttachment(buffer, "kept", &mode) as? String == "inside")
    #expect(mode == .shouldNotPropagate)
    #expect(CVBufferGetAttachment(buffer, "copied", nil)?.takeUnretainedValue() as? Int == 7)
    CVBufferPropagateAttachments(buffer, copy)
    #expect(CVBufferCopyAttachments(copy, .shouldPropagate) as? [String: Int] == ["copied": 7])
    #expect(CVBufferCopyAttachment(copy, "kept", nil) == nil)
    CVBufferRemoveAttachment(buffer, "copied")
    #expect(!CVBufferHasAttachment(buffer, "copied"))
    CVBufferRemoveAllAttachments(buffer)
    #expect(!CVBufferHasAttachment(buffer, "kept"))
  }
}
