import Koine

/// Memory for an image in one of the formats. Touched only by its buffer.
final class PixelPlanes {
  struct Plane {
    let base: UnsafeMutableRawPointer
    let bytesPerRow, width, height: Int
  }

  let format: OSType
  let width, height: Int
  let layout: [Plane]
  private let memory: UnsafeMutableRawPointer

  /// - Returns: nil for a format or a size that there is not.
  convenience init?(format: OSType, width: Int, height: Int) {
    guard (1...16_384).contains(width), (1...16_384).contains(height),
      let sizes = Self.sizes(of: format, width, height)
    else { return nil }
    self.init(format: format, width: width, height: height, sizes: sizes)
  }

  /// The frame's pixels, in memory that may be written.
  convenience init(copying frame: VideoFrame) {
    let format = kCVPixelFormatType_420YpCbCr8Planar
    let sizes = Self.planar(frame.width, frame.height)
    self.init(format: format, width: frame.width, height: frame.height, sizes: sizes)
    for (to, from) in zip(layout, Self.layout(of: frame)) {
      for row in 0..<to.height {
        (to.base + row * to.bytesPerRow).copyMemory(from: from.base + row * from.bytesPerRow, byteCount: to.width)
      }
    }
  }

  private typealias Size = (bytes: Int, width: Int, height: Int)

  private init(format: OSType, width: Int, height: Int, sizes: [Size]) {
    let strides = sizes.map { ($0.bytes + 63) & ~63 }
    let total = zip(strides, sizes).reduce(0) { $0 + $1.0 * $1.1.height }
    memory = .allocate(byteCount: total, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: total)
    var offset = 0
    var planes: [Plane] = []
    for (stride, size) in zip(strides, sizes) {
      planes.append(Plane(base: memory + offset, bytesPerRow: stride, width: size.width, height: size.height))
      offset += stride * size.height
    }
    (self.format, self.width, self.height, layout) = (format, width, height, planes)
  }

  deinit { memory.deallocate() }

  private static func planar(_ width: Int, _ height: Int) -> [Size] {
    let chroma = ((width + 1) / 2, (width + 1) / 2, (height + 1) / 2)
    return [(width, width, height), chroma, chroma]
  }

  static func isFormat(_ format: OSType) -> Bool { sizes(of: format, 2, 2) != nil }

  private static func sizes(of format: OSType, _ width: Int, _ height: Int) -> [Size]? {
    switch format {
    case kCVPixelFormatType_32BGRA, kCVPixelFormatType_32ARGB: [(4 * width, width, height)]
    case kCVPixelFormatType_420YpCbCr8Planar: planar(width, height)
    case kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, kCVPixelFormatType_420YpCbCr8BiPlanarFullRange:
      [(width, width, height), (2 * ((width + 1) / 2), (width + 1) / 2, (height + 1) / 2)]
    default: nil
    }
  }

  /// A frame's own planes; only to be read.
  static func layout(of frame: VideoFrame) -> [Plane] {
    frame.withPlanes { planes in
      func plane(_ base: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) -> Plane {
        Plane(base: UnsafeMutableRawPointer(mutating: base), bytesPerRow: stride, width: width, height: height)
      }
      return [
        plane(planes.y, planes.lumaStride, planes.width, planes.height),
        plane(planes.u, planes.chromaStride, planes.chromaWidth, planes.chromaHeight),
        plane(planes.v, planes.chromaStride, planes.chromaWidth, planes.chromaHeight),
      ]
    }
  }

  /// The picture as it is now, as I420; nil never happens for sizes and strides that `init` chose.
  func frame(captured: Tick, quarterTurns: UInt8, pool: FramePool) -> VideoFrame? {
    func bytes(_ plane: Int) -> UnsafePointer<UInt8> {
      UnsafePointer(layout[plane].base.assumingMemoryBound(to: UInt8.self))
    }
    switch format {
    case kCVPixelFormatType_32BGRA, kCVPixelFormatType_32ARGB:
      let order: PixelLayout = format == kCVPixelFormatType_32BGRA ? .bgra : .argb
      return VideoFrame.from(
        order, UnsafeRawBufferPointer(start: layout[0].base, count: layout[0].bytesPerRow * height), width: width,
        height: height, bytesPerRow: layout[0].bytesPerRow, captured: captured, quarterTurns: quarterTurns, pool: pool)
    case kCVPixelFormatType_420YpCbCr8Planar:
      return VideoFrame.from(
        y: bytes(0), stride: layout[0].bytesPerRow, u: bytes(1), v: bytes(2), chromaStride: layout[1].bytesPerRow,
        width: width, height: height, captured: captured, quarterTurns: quarterTurns, pool: pool)
    case kCVPixelFormatType_420YpCbCr8BiPlanarFullRange:
      return limitedRangeFrame(captured, quarterTurns, pool)
    default:
      return VideoFrame.from(
        nv12: bytes(0), stride: layout[0].bytesPerRow, uv: bytes(1), uvStride: layout[1].bytesPerRow, width: width,
        height: height, captured: captured, quarterTurns: quarterTurns, pool: pool)
    }
  }

  /// The engine's frames have a luma of 16...235 and a chroma of 16...240 (ITU-R BT.601). Here both are 0...255.
  private func limitedRangeFrame(_ captured: Tick, _ quarterTurns: UInt8, _ pool: FramePool) -> VideoFrame {
    let (luma, chroma) = (layout[0], layout[1])
    return pool.make(width: width, height: height, captured: captured, quarterTurns: quarterTurns) { to in
      for row in 0..<luma.height {
        let from = (luma.base + row * luma.bytesPerRow).assumingMemoryBound(to: UInt8.self)
        let line = to.y + row * to.lumaStride
        for column in 0..<luma.width { line[column] = Self.limitedLuma[Int(from[column])] }
      }
      for row in 0..<chroma.height {
        let from = (chroma.base + row * chroma.bytesPerRow).assumingMemoryBound(to: UInt8.self)
        let (u, v) = (to.u + row * to.chromaStride, to.v + row * to.chromaStride)
        for column in 0..<chroma.width {
          u[column] = Self.limitedChroma[Int(from[2 * column])]
          v[column] = Self.limitedChroma[Int(from[2 * column + 1])]
        }
      }
    }
  }

  private static let limitedLuma = (0...255).map { (value: Int) -> UInt8 in
    let level = Double(value) * 219 / 255
    return UInt8((16 + level).rounded())
  }
  private static let limitedChroma = (0...255).map { (value: Int) -> UInt8 in
    let difference = Double(value - 128) * 224 / 255
    return UInt8((128 + difference).rounded())
  }
}
