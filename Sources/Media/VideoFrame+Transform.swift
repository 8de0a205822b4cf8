internal import CKoineYUV
internal import Glibc

extension VideoFrame {
  /// The size when shown, `quarterTurns` applied.
  public var displaySize: (width: Int, height: Int) {
    quarterTurns & 1 == 0 ? (width, height) : (height, width)
  }

  /// Scales the frame to another size.
  /// The same picture in another size, without regard to its proportions.
  /// - Parameters: width, height: 1...16,384 each.
  public func scaled(to width: Int, _ height: Int, pool: FramePool) -> VideoFrame {
    if width == self.width && height == self.height { return self }
    return derived(width, height, pool) { from, to in
      _ = I420Scale(
        from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride),
        Int32(from.width), Int32(from.height),
        to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v, Int32(to.chromaStride),
        Int32(to.width), Int32(to.height), kFilterBox)
    }
  }

  /// Draws the picture onto another's planes in the given size, without regard to its proportions.
  /// - Parameters:
  ///   - x, y: where its corner goes: even numbers, not below 0; all of it must lie within `canvas`.
  ///   - width, height: 1...16,384 each.
  public func draw(onto canvas: MutablePlanes, x: Int, y: Int, width: Int, height: Int) {
    precondition(
      x >= 0 && y >= 0 && x & 1 == 0 && y & 1 == 0 && width > 0 && height > 0 && x + width <= canvas.width
        && y + height <= canvas.height, "\(width)×\(height) at \(x), \(y) is not within the canvas")
    let chroma = y / 2 * canvas.chromaStride + x / 2
    withPlanes { from in
      _ = I420Scale(
        from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride),
        Int32(from.width), Int32(from.height),
        canvas.y + y * canvas.lumaStride + x, Int32(canvas.lumaStride), canvas.u + chroma, Int32(canvas.chromaStride),
        canvas.v + chroma, Int32(canvas.chromaStride), Int32(width), Int32(height), kFilterBox)
    }
  }

  /// A part of the picture. The corner is moved to even coordinates, where chroma has a sample, and what lies outside is
  /// left off; nil if nothing remains.
  public func cropped(x: Int, y: Int, width: Int, height: Int, pool: FramePool) -> VideoFrame? {
    let left = max(x, 0) & ~1
    let top = max(y, 0) & ~1
    guard left < self.width, top < self.height, width > 0, height > 0 else { return nil }
    let width = min(width, self.width - left)
    let height = min(height, self.height - top)
    if width == self.width && height == self.height { return self }
    return derived(width, height, pool) { from, to in
      let chroma = top / 2 * from.chromaStride + left / 2
      _ = I420Copy(
        from.y + top * from.lumaStride + left, Int32(from.lumaStride), from.u + chroma, Int32(from.chromaStride),
        from.v + chroma, Int32(from.chromaStride),
        to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v, Int32(to.chromaStride),
        Int32(to.width), Int32(to.height))
    }
  }

  /// Left and right exchanged, as a self view shows it.
  public func mirrored(pool: FramePool) -> VideoFrame {
    derived(width, height, pool) { from, to in
      _ = I420Mirror(
        from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride),
        to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v, Int32(to.chromaStride),
        Int32(from.width), Int32(from.height))
    }
  }

  /// The picture as it is shown: `quarterTurns` are done, and 0 in the result.
  public func upright(pool: FramePool) -> VideoFrame {
    quarterTurns == 0 ? self : rotated(by: quarterTurns, pool: pool).with(quarterTurns: 0)
  }

  /// The pixels turned clockwise; `quarterTurns`, which tell of further turns, stay.
  public func rotated(by turns: UInt8, pool: FramePool) -> VideoFrame {
    let mode = [kRotate0, kRotate90, kRotate180, kRotate270][Int(turns & 3)]
    let isSideways = turns & 1 == 1
    return derived(isSideways ? height : width, isSideways ? width : height, pool) { from, to in
      _ = I420Rotate(
        from.y, Int32(from.lumaStride), from.u, Int32(from.chromaStride), from.v, Int32(from.chromaStride),
        to.y, Int32(to.lumaStride), to.u, Int32(to.chromaStride), to.v, Int32(to.chromaStride),
        Int32(from.width), Int32(from.height), mode)
    }
  }

  /// Peak signal to noise ratio in dB over all three planes, 100 for equal pictures; nil if the sizes differ.
  public func psnr(against other: VideoFrame) -> Double? {
    guard width == other.width, height == other.height else { return nil }
    return withPlanes { a in
      other.withPlanes { b in
        var error: UInt64 = 0
        func add(
          _ p: UnsafePointer<UInt8>, _ pStride: Int, _ q: UnsafePointer<UInt8>, _ qStride: Int, _ w: Int, _ h: Int
        ) {
          error += ComputeSumSquareErrorPlane(p, Int32(pStride), q, Int32(qStride), Int32(w), Int32(h))
        }
        add(a.y, a.lumaStride, b.y, b.lumaStride, a.width, a.height)
        add(a.u, a.chromaStride, b.u, b.chromaStride, a.chromaWidth, a.chromaHeight)
        add(a.v, a.chromaStride, b.v, b.chromaStride, a.chromaWidth, a.chromaHeight)
        let samples = a.width * a.height + 2 * a.chromaWidth * a.chromaHeight
        return error == 0 ? 100 : min(100, 10 * log10(255 * 255 * Double(samples) / Double(error)))
      }
    }
  }

  private func derived(
    _ width: Int, _ height: Int, _ pool: FramePool, _ body: (Planes, MutablePlanes) -> Void
  ) -> VideoFrame {
    pool.make(width: width, height: height, captured: captured, quarterTurns: quarterTurns) { target in
      withPlanes { body($0, target) }
    }
  }
}
