import KoineBase
import KoineCodecs
import Testing

@Suite struct VideoFrameTests {
  let pool = FramePool()

  @Test(arguments: [PixelLayout.bgra, .rgba, .argb], [(64, 48), (33, 17), (1, 1)])
  func rgbRoundTripKeepsColours(layout: PixelLayout, size: (Int, Int)) throws {
    let frame = scene(3, width: size.0, height: size.1, pool: pool)
    let pixels = frame.pixels(layout)
    #expect(pixels.count == size.0 * size.1 * 4)
    let back = try #require(
      pixels.withUnsafeBytes {
        VideoFrame.from(layout, $0, width: size.0, height: size.1, captured: frame.captured, pool: pool)
      })
    #expect(try #require(back.psnr(against: frame)) > 35)
  }

  /// BT.601, limited range: white is 235, black 16, and red lies where the standard says.
  @Test func knownColoursConvertToBT601Values() throws {
    func planes(_ bgra: [UInt8]) throws -> [UInt8] {
      let pixels = (0..<4).flatMap { _ in bgra }
      let frame = try #require(
        pixels.withUnsafeBytes { VideoFrame.from(.bgra, $0, width: 2, height: 2, captured: .zero, pool: pool) })
      return frame.withPlanes { [$0.y[0], $0.u[0], $0.v[0]] }
    }
    #expect(try planes([255, 255, 255, 255]) == [235, 128, 128])
    #expect(try planes([0, 0, 0, 255]) == [16, 128, 128])
    let red = try planes([0, 0, 255, 255])
    #expect(abs(Int(red[0]) - 82) <= 1 && abs(Int(red[1]) - 90) <= 1 && abs(Int(red[2]) - 240) <= 1)
    let frame = try #require(
      [UInt8]([82, 82, 82, 82, 90, 240]).withUnsafeBytes {
        VideoFrame.from(i420: $0, width: 2, height: 2, captured: .zero, pool: pool)
      })
    let rgba = frame.pixels(.rgba)
    #expect(rgba[0] > 250 && rgba[1] < 5 && rgba[2] < 5 && rgba[3] == 255)
  }

  @Test func planarInputIsCopiedUnchanged() throws {
    let frame = scene(1, width: 35, height: 19, pool: pool)
    let bytes = frame.i420()
    let back = try #require(
      bytes.withUnsafeBytes { VideoFrame.from(i420: $0, width: 35, height: 19, captured: .zero, pool: pool) })
    #expect(back.psnr(against: frame) == 100)

    let luma = Array(bytes[..<(35 * 19)])
    let uv = (0..<180).flatMap { [bytes[665 + $0], bytes[665 + 180 + $0]] }
    let nv12 = try #require(
      luma.withUnsafeBufferPointer { y in
        uv.withUnsafeBufferPointer { uv in
          VideoFrame.from(
            nv12: y.baseAddress!, stride: 35, uv: uv.baseAddress!, uvStride: 36, width: 35, height: 19, captured: .zero,
            pool: pool)
        }
      })
    #expect(nv12.psnr(against: frame) == 100)
  }

  @Test func tooSmallBuffersAndInvalidSizesReturnNil() {
    let small = [UInt8](repeating: 0, count: 100)
    small.withUnsafeBytes {
      #expect(VideoFrame.from(i420: $0, width: 10, height: 10, captured: .zero, pool: pool) == nil)
      #expect(VideoFrame.from(i420: $0, width: 0, height: 10, captured: .zero, pool: pool) == nil)
      #expect(VideoFrame.from(.rgba, $0, width: 6, height: 5, captured: .zero, pool: pool) == nil)
      #expect(VideoFrame.from(.rgba, $0, width: .max, height: .max, captured: .zero, pool: pool) == nil)
      #expect(VideoFrame.from(.rgba, $0, width: 5, height: 5, bytesPerRow: 19, captured: .zero, pool: pool) == nil)
      #expect(VideoFrame.from(.rgba, $0, width: 5, height: 5, captured: .zero, pool: pool) != nil)
    }
    var target = [UInt8](repeating: 7, count: 99)
    let frame = scene(0, width: 5, height: 5, pool: pool)
    #expect(!target.withUnsafeMutableBytes { frame.write(.bgra, into: $0, bytesPerRow: 20) })
    #expect(target.allSatisfy { $0 == 7 })
  }

  @Test func scaledFrameKeepsItsContent() throws {
    let frame = scene(2, width: 320, height: 180, pool: pool)
    let small = frame.scaled(to: 160, 90, pool: pool)
    #expect(small.width == 160)
    #expect(small.height == 90)
    #expect(small.captured == frame.captured)
    #expect(try #require(small.scaled(to: 320, 180, pool: pool).psnr(against: frame)) > 25)
    #expect(frame.scaled(to: 320, 180, pool: pool) === frame)
    #expect(frame.scaled(to: 1, 1, pool: pool).width == 1)
  }

  @Test func rotatingAndMirroringBackRestoresTheFrame() throws {
    let frame = scene(2, width: 47, height: 30, pool: pool)
    let turned = frame.rotated(by: 1, pool: pool)
    #expect(turned.width == 30)
    #expect(turned.height == 47)
    // Clockwise: what was the left lower corner is the left upper one.
    #expect(turned.withPlanes { $0.y[0] } == frame.withPlanes { $0.y[29 * $0.lumaStride] })
    #expect(turned.rotated(by: 3, pool: pool).psnr(against: frame) == 100)
    #expect(frame.mirrored(pool: pool).mirrored(pool: pool).psnr(against: frame) == 100)
    #expect(frame.mirrored(pool: pool).withPlanes { $0.y[0] } == frame.withPlanes { $0.y[46] })
    let marked = frame.with(quarterTurns: 1)
    #expect(marked.displaySize == (30, 47))
    let upright = marked.upright(pool: pool)
    #expect(upright.quarterTurns == 0)
    #expect(upright.psnr(against: turned) == 100)
  }

  @Test func cropIsClampedToTheFrame() throws {
    let frame = scene(2, width: 64, height: 48, pool: pool)
    let part = try #require(frame.cropped(x: 11, y: 20, width: 20, height: 500, pool: pool))
    #expect(part.width == 20)
    #expect(part.height == 28)
    #expect(part.withPlanes { $0.y[0] } == frame.withPlanes { $0.y[20 * $0.lumaStride + 10] })
    #expect(part.withPlanes { $0.u[0] } == frame.withPlanes { $0.u[10 * $0.chromaStride + 5] })
    #expect(frame.cropped(x: 64, y: 0, width: 2, height: 2, pool: pool) == nil)
    #expect(frame.cropped(x: .max, y: .min, width: .max, height: .max, pool: pool) == nil)
    #expect(frame.cropped(x: -5, y: -5, width: .max, height: .max, pool: pool) === frame)
  }

  @Test func frameMemoryReturnsToThePool() {
    let pool = FramePool(limit: 2)
    var addresses = Set<UnsafePointer<UInt8>>()
    for number in 0..<20 {  // three sizes in turns, as the layers of one camera
      for width in [64, 32, 16] {
        let frame = pool.make(width: width, height: 16, captured: Tick(nanoseconds: Int64(number))) { _ in }
        frame.withPlanes { _ = addresses.insert($0.y) }
      }
    }
    #expect(addresses.count <= 4)
    #expect(pool.unusedCount == addresses.count)
    var held: [VideoFrame] = (0..<5).map { _ in pool.make(width: 64, height: 16, captured: .zero) { _ in } }
    let copy = held[0].with(quarterTurns: 2)
    #expect(pool.unusedCount < addresses.count)
    held.removeAll()
    let before = pool.unusedCount
    withExtendedLifetime(copy) {}
    #expect(before <= 2 * 3)
    for width in 1...40 { _ = pool.make(width: width * 32, height: 8, captured: .zero) { _ in } }
    #expect(pool.unusedCount <= 6 * 2)
  }

  @Test func frameOutlivesItsPool() {
    var pool: FramePool? = FramePool()
    let frame = pool?.make(width: 8, height: 8, captured: .zero) { $0.y[0] = 77 }
    pool = nil
    #expect(frame?.withPlanes { $0.y[0] } == 77)
  }
}
