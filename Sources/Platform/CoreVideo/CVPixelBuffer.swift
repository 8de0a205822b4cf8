public import Koine

public typealias OSType = UInt32
public typealias CVReturn = Int32
public typealias CVImageBuffer = CVPixelBuffer

/// An image with real pixels behind Apple's name: either a frame of the engine, which is shared and never written, or
/// memory of its own in one of five formats.
///
/// `@unchecked Sendable`: as with Apple's, a writer holds the lock and passes the buffer on afterwards.
public final class CVPixelBuffer: AttachmentBearer, @unchecked Sendable {
  private enum Storage {
    case frame(VideoFrame)
    case planes(PixelPlanes)
  }

  private var storage: Storage
  public let width, height: Int
  public let attachmentList = AttachmentList()
  /// Takes the memory back.
  private let pool: CVPixelBufferPool?

  /// Wraps a frame of the engine; the pixels are copied only before the first write.
  public init(_ frame: VideoFrame) {
    storage = .frame(frame)
    pool = nil
    (width, height) = (frame.width, frame.height)
  }

  init(_ planes: PixelPlanes, pool: CVPixelBufferPool? = nil) {
    storage = .planes(planes)
    (width, height) = (planes.width, planes.height)
    self.pool = pool
  }

  deinit {
    if let pool, case .planes(let planes) = storage { pool.recycle(planes) }
  }

  /// The picture as a frame of the engine. A wrapped frame comes back as it is, other pixels are converted to I420.
  /// - Parameters:
  ///   - captured: when it was taken, on the clock of the world it goes to; nil keeps a wrapped frame's own.
  ///   - quarterTurns: clockwise turns to apply when showing it.
  /// - Returns: nil never, for a buffer made here; callers drop the picture all the same.
  public func videoFrame(captured: Tick? = nil, quarterTurns: UInt8? = nil, pool: FramePool? = nil) -> VideoFrame? {
    switch storage {
    case .frame(let frame): frame.with(captured: captured, quarterTurns: quarterTurns)
    case .planes(let planes):
      planes.frame(captured: captured ?? .zero, quarterTurns: quarterTurns ?? 0, pool: pool ?? FramePool(limit: 0))
    }
  }

  var format: OSType {
    if case .planes(let planes) = storage { planes.format } else { kCVPixelFormatType_420YpCbCr8Planar }
  }

  /// Replaces a frame, which is shared with the engine, by a copy that can be written.
  func prepareForWriting() {
    if case .frame(let frame) = storage { storage = .planes(PixelPlanes(copying: frame)) }
  }

  /// Base address, bytes per row, width and height of each plane; the memory lives as long as the buffer.
  var layout: [PixelPlanes.Plane] {
    switch storage {
    case .planes(let planes): planes.layout
    case .frame(let frame): PixelPlanes.layout(of: frame)
    }
  }
}
