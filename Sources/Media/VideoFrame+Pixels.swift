internal import CKoineYUV

/// Four bytes to a pixel, in the order of memory.
public enum PixelLayout: Sendable, Hashable {
  /// Blue, green, red, alpha.
  case bgra
  /// Red, green, blue, alpha.
  case rgba
  /// Alpha, red, green, blue.
  case argb
}

extension VideoFrame {
  /// Writes the picture as 32-bit pixels, alpha 255, not turned.
  /// - Parameters:
  ///   - bytesPerRow: of `buffer`, at least 4 × width.
  /// - Returns: false if the buffer is too small; nothing is written then.
  @discardableResult
  public func write(_ layout: PixelLayout, into buffer: UnsafeMutableRawBufferPointer, bytesPerRow: Int) -> Bool {
    guard let target = Self.pixels(buffer, width, height, bytesPerRow) else { return false }
    withPlanes { from in
      let convert =
        switch layout {  // libyuv names the order of a little-endian word
        case .bgra: I420ToARGB
        case .rgba: I420ToABGR
        case .argb: I420ToBGRA
        }
      _ = convert(
        from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride), target,
        Int32(bytesPerRow), Int32(from.width), Int32(from.height))
    }
    return true
  }

  /// The picture as 32-bit pixels without gaps between rows, alpha 255, not turned.
  public func pixels(_ layout: PixelLayout) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: width * height * 4) { buffer, count in
      count = write(layout, into: UnsafeMutableRawBufferPointer(buffer), bytesPerRow: width * 4) ? buffer.count : 0
    }
  }

  /// A frame from 32-bit pixels; alpha is ignored.
  /// - Returns: nil if the size is none a frame can have, or the buffer is too small for it.
  public static func from(
    _ layout: PixelLayout, _ buffer: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int? = nil,
    captured: Tick, quarterTurns: UInt8 = 0, pool: FramePool
  ) -> VideoFrame? {
    let stride = bytesPerRow ?? 4 &* width
    guard let source = pixels(UnsafeMutableRawBufferPointer(mutating: buffer), width, height, stride) else {
      return nil
    }
    return pool.make(width: width, height: height, captured: captured, quarterTurns: quarterTurns) { to in
      let convert =
        switch layout {
        case .bgra: ARGBToI420
        case .rgba: ABGRToI420
        case .argb: BGRAToI420
        }
      _ = convert(
        UnsafePointer(source), Int32(stride), to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v,
        Int32(to.chromaStride), Int32(width), Int32(height))
    }
  }

  /// A frame from I420 planes that follow each other without gaps, chroma rounded up, as in a `.y4m` file.
  /// - Returns: nil if the size is none a frame can have, or the buffer is too small for it.
  public static func from(
    i420 buffer: UnsafeRawBufferPointer, width: Int, height: Int, captured: Tick, quarterTurns: UInt8 = 0,
    pool: FramePool
  ) -> VideoFrame? {
    guard isSize(width, height), let start = buffer.baseAddress else { return nil }
    let chromaWidth = (width + 1) / 2
    let chromaSize = chromaWidth * ((height + 1) / 2)
    guard buffer.count >= width * height + 2 * chromaSize else { return nil }
    let luma = start.assumingMemoryBound(to: UInt8.self)
    let chroma = luma + width * height
    return from(
      y: luma, stride: width, u: chroma, v: chroma + chromaSize, chromaStride: chromaWidth, width: width,
      height: height, captured: captured, quarterTurns: quarterTurns, pool: pool)
  }

  /// A frame from I420 planes anywhere in memory, which the caller answers for.
  /// - Returns: nil if the size is none a frame can have, or the strides are smaller than the rows.
  public static func from(
    y: UnsafePointer<UInt8>, stride: Int, u: UnsafePointer<UInt8>, v: UnsafePointer<UInt8>, chromaStride: Int,
    width: Int, height: Int, captured: Tick, quarterTurns: UInt8 = 0, pool: FramePool
  ) -> VideoFrame? {
    guard isSize(width, height), isStride(stride, atLeast: width), isStride(chromaStride, atLeast: (width + 1) / 2)
    else { return nil }
    return pool.make(width: width, height: height, captured: captured, quarterTurns: quarterTurns) { to in
      _ = I420Copy(
        y, Int32(stride), u, Int32(chromaStride), v, Int32(chromaStride), to.y, Int32(to.lumaStride), to.u,
        Int32(to.chromaStride), to.v, Int32(to.chromaStride), Int32(width), Int32(height))
    }
  }

  /// A frame from an NV12 picture: luma, then a plane of U and V in turns. The caller answers for the memory.
  /// - Returns: nil if the size is none a frame can have, or the strides are smaller than the rows.
  public static func from(
    nv12 y: UnsafePointer<UInt8>, stride: Int, uv: UnsafePointer<UInt8>, uvStride: Int, width: Int, height: Int,
    captured: Tick, quarterTurns: UInt8 = 0, pool: FramePool
  ) -> VideoFrame? {
    guard isSize(width, height), isStride(stride, atLeast: width), isStride(uvStride, atLeast: (width + 1) & ~1)
    else { return nil }
    return pool.make(width: width, height: height, captured: captured, quarterTurns: quarterTurns) { to in
      _ = NV12ToI420(
        y, Int32(stride), uv, Int32(uvStride), to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v,
        Int32(to.chromaStride), Int32(width), Int32(height))
    }
  }

  /// The planes as I420 without gaps, as a `.y4m` file holds them.
  public func i420() -> [UInt8] {
    let chromaWidth = (width + 1) / 2
    let chromaSize = chromaWidth * ((height + 1) / 2)
    return [UInt8](unsafeUninitializedCapacity: width * height + 2 * chromaSize) { buffer, count in
      guard let luma = buffer.baseAddress else { return }
      let chroma = luma + width * height
      withPlanes { from in
        _ = I420Copy(
          from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride), luma,
          Int32(width), chroma, Int32(chromaWidth), chroma + chromaSize, Int32(chromaWidth), Int32(width), Int32(height)
        )
      }
      count = buffer.count
    }
  }

  private static func isSize(_ width: Int, _ height: Int) -> Bool {
    (1...16_384).contains(width) && (1...16_384).contains(height)
  }

  private static func isStride(_ stride: Int, atLeast width: Int) -> Bool { (width...1 << 20).contains(stride) }

  /// The buffer's start, if a picture of 32-bit pixels fits into it.
  private static func pixels(
    _ buffer: UnsafeMutableRawBufferPointer, _ width: Int, _ height: Int, _ bytesPerRow: Int
  ) -> UnsafeMutablePointer<UInt8>? {
    guard isSize(width, height), isStride(bytesPerRow, atLeast: 4 * width),
      buffer.count >= bytesPerRow * (height - 1) + 4 * width
    else { return nil }
    return buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
  }
}
