internal import CKoineYUV

/// How pictures lie in memory, rows and planes without gaps.
public enum PixelFormat: Sendable, Hashable, CaseIterable {
  /// Luma, then U, then V at half the size, rounded up.
  case i420
  /// Luma, then U and V in turns.
  case nv12
  /// Four bytes to a pixel, in the order of memory; alpha is ignored, and 255 when written.
  case bgra, rgba

  /// Number of bytes of a frame of this size.
  public func byteCount(width: Int, height: Int) -> Int {
    switch self {
    case .i420, .nv12: width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    case .bgra, .rgba: 4 * width * height
    }
  }
}

extension VideoFrame {
  /// Copies pixels into a frame.
  /// - Returns: nil if the size is none a frame can have, or the buffer is too small for it.
  public static func from(
    _ format: PixelFormat, _ buffer: UnsafeRawBufferPointer, width: Int, height: Int, captured: Tick,
    quarterTurns: UInt8 = 0, pool: FramePool
  ) -> VideoFrame? {
    guard (1...16_384).contains(width), (1...16_384).contains(height), let base = buffer.baseAddress,
      buffer.count >= format.byteCount(width: width, height: height)
    else { return nil }
    switch format {
    case .i420:
      return from(
        i420: buffer, width: width, height: height, captured: captured, quarterTurns: quarterTurns, pool: pool)
    case .nv12:
      let luma = base.assumingMemoryBound(to: UInt8.self)
      return from(
        nv12: luma, stride: width, uv: luma + width * height, uvStride: (width + 1) & ~1, width: width, height: height,
        captured: captured, quarterTurns: quarterTurns, pool: pool)
    case .bgra, .rgba:
      return from(
        format == .bgra ? PixelLayout.bgra : .rgba, buffer, width: width, height: height, captured: captured,
        quarterTurns: quarterTurns, pool: pool)
    }
  }

  /// The picture's bytes, not turned.
  public func bytes(_ format: PixelFormat) -> [UInt8] {
    switch format {
    case .i420: return i420()
    case .bgra: return pixels(.bgra)
    case .rgba: return pixels(.rgba)
    case .nv12:
      let count = format.byteCount(width: width, height: height)
      return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
        guard let luma = buffer.baseAddress else { return }
        withPlanes { from in
          _ = I420ToNV12(
            from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride), luma,
            Int32(width), luma + width * height, Int32((width + 1) & ~1), Int32(width), Int32(height))
        }
        written = count
      }
    }
  }
}
