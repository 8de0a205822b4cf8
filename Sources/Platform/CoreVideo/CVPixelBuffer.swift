public import Koine

/// Real pixels behind Apple's name: here always I420, as the engine has them.
public final class CVPixelBuffer: Sendable {
  /// The engine's frame behind it.
  public let frame: VideoFrame

  public init(_ frame: VideoFrame) { self.frame = frame }
}

/// The only format there is: planar 4:2:0, limited range.
public let kCVPixelFormatType_420YpCbCr8Planar: UInt32 = 0x7934_3230  // "y420"

public func CVPixelBufferGetWidth(_ buffer: CVPixelBuffer) -> Int { buffer.frame.width }
public func CVPixelBufferGetHeight(_ buffer: CVPixelBuffer) -> Int { buffer.frame.height }
public func CVPixelBufferGetPixelFormatType(_ buffer: CVPixelBuffer) -> UInt32 { kCVPixelFormatType_420YpCbCr8Planar }
public func CVPixelBufferGetPlaneCount(_ buffer: CVPixelBuffer) -> Int { 3 }

/// In bytes; plane 0 is luma.
public func CVPixelBufferGetBytesPerRowOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
  plane == 0 ? buffer.frame.lumaStride : buffer.frame.chromaStride
}
