import CKoineFFmpeg
import Koine

/// Makes pictures of what FFmpeg has decoded. One owner, one thread.
final class PictureConverter {
  private var scaler: OpaquePointer?
  private let pool: FramePool

  /// - Parameter limit: how many pictures are kept for the next ones.
  init(limit: Int) { pool = FramePool(limit: limit) }

  deinit { sws_freeContext(scaler) }

  /// - Parameter size: what it is scaled to; nil: its own.
  /// - Returns: nil for a size or a format that cannot be converted.
  func convert(
    _ frame: UnsafeMutablePointer<AVFrame>, to size: (width: Int, height: Int)? = nil, captured: Tick
  ) -> VideoFrame? {
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    guard (2...4096).contains(width), (2...4096).contains(height) else { return nil }
    let size = size ?? (Int(width), Int(height))
    scaler = sws_getCachedContext(
      scaler, width, height, AVPixelFormat(rawValue: frame.pointee.format), Int32(size.width), Int32(size.height),
      AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
    guard let scaler else { return nil }
    return pool.make(width: size.width, height: size.height, captured: captured) { planes in
      var targets: [UnsafeMutablePointer<UInt8>?] = [planes.y, planes.u, planes.v, nil]
      var strides = [Int32(planes.lumaStride), Int32(planes.chromaStride), Int32(planes.chromaStride), 0]
      withUnsafeBytes(of: &frame.pointee.data) { sources in
        withUnsafeBytes(of: &frame.pointee.linesize) { lines in
          _ = sws_scale(
            scaler, sources.assumingMemoryBound(to: UnsafePointer<UInt8>?.self).baseAddress,
            lines.assumingMemoryBound(to: Int32.self).baseAddress, 0, height, &targets, &strides)
        }
      }
    }
  }
}
