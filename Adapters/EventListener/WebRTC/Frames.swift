public import Foundation
package import Koine
public import KoineCoreVideo

// Frames and their pixels, as WebRTC's headers declare them.

/// Pixels of a frame.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoFrameBuffer.h)
public protocol RTCVideoFrameBuffer: NSObjectProtocol {
  /// In pixels.
  var width: Int32 { get }
  /// In pixels.
  var height: Int32 { get }
  /// The pixels as I420. No copy is made if they are I420 already.
  func toI420() -> any RTCI420BufferProtocol
}

/// Pixels in three planes: luma, and chroma at half the size, rounded up. Pointers are valid as long as the buffer is held.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCYUVPlanarBuffer.h)
public protocol RTCYUVPlanarBuffer: RTCVideoFrameBuffer {
  var chromaWidth: Int32 { get }
  var chromaHeight: Int32 { get }
  var dataY: UnsafePointer<UInt8> { get }
  var dataU: UnsafePointer<UInt8> { get }
  var dataV: UnsafePointer<UInt8> { get }
  /// Bytes from one row to the next.
  var strideY: Int32 { get }
  var strideU: Int32 { get }
  var strideV: Int32 { get }
}

/// A frame buffer with three planes in the format I420.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCI420Buffer.h)
public protocol RTCI420BufferProtocol: RTCYUVPlanarBuffer {}

/// One picture with its real pixels.
///
/// `@unchecked Sendable`: constant, and as with the vendor's, a buffer is written before its frame is passed on.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoFrame.h)
public final class RTCVideoFrame: NSObject, @unchecked Sendable {
  /// An `RTCI420Buffer` of a received frame, and an `RTCCVPixelBuffer` of a frame that a processor gets.
  public let buffer: any RTCVideoFrameBuffer
  public let rotation: RTCVideoRotation
  /// When the frame was captured, in nanoseconds.
  public let timeStampNs: Int64

  public init(buffer: any RTCVideoFrameBuffer, rotation: RTCVideoRotation, timeStampNs: Int64) {
    (self.buffer, self.rotation, self.timeStampNs) = (buffer, rotation, timeStampNs)
  }

  convenience init(_ frame: VideoFrame) { self.init(RTCI420Buffer(frame), of: frame) }

  /// A frame whose pixels may be written. They are copied before the first write.
  package convenience init(writable frame: VideoFrame) {
    self.init(RTCCVPixelBuffer(pixelBuffer: CVPixelBuffer(frame)), of: frame)
  }

  private convenience init(_ buffer: any RTCVideoFrameBuffer, of frame: VideoFrame) {
    let rotation = RTCVideoRotation(rawValue: Int(frame.quarterTurns) * 90) ?? ._0
    self.init(buffer: buffer, rotation: rotation, timeStampNs: frame.captured.nanoseconds)
  }

  public var width: Int32 { buffer.width }
  public var height: Int32 { buffer.height }

  /// The same frame with its pixels as I420.
  public func newI420() -> RTCVideoFrame {
    RTCVideoFrame(buffer: buffer.toI420(), rotation: rotation, timeStampNs: timeStampNs)
  }

  /// The frame for the engine; nil for a size that no frame can have.
  package var engineFrame: VideoFrame? {
    let (captured, turns) = (Tick(nanoseconds: timeStampNs), UInt8(rotation.rawValue / 90))
    if let pixels = buffer as? RTCCVPixelBuffer {
      return pixels.pixelBuffer.videoFrame(captured: captured, quarterTurns: turns)
    }
    let planes = buffer.toI420()
    if let wrapped = (planes as? RTCI420Buffer)?.frame { return wrapped.with(captured: captured, quarterTurns: turns) }
    return VideoFrame.from(
      y: planes.dataY, stride: Int(planes.strideY), u: planes.dataU, v: planes.dataV,
      chromaStride: Int(planes.strideU), width: Int(planes.width), height: Int(planes.height), captured: captured,
      quarterTurns: turns, pool: FramePool(limit: 0))
  }
}

/// I420 pixels.
///
/// `@unchecked Sendable`: memory is written through `RTCMutableI420Buffer` only, before its frame is passed on.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/video_frame_buffer/RTCNativeI420Buffer.h)
public class RTCI420Buffer: NSObject, RTCI420BufferProtocol, @unchecked Sendable {
  private enum Pixels {
    case frame(VideoFrame)
    case memory(PlaneMemory)
  }

  private let pixels: Pixels
  public let width: Int32
  public let height: Int32

  init(_ frame: VideoFrame) {
    pixels = .frame(frame)
    (width, height) = (Int32(frame.width), Int32(frame.height))
  }

  fileprivate init(_ memory: PlaneMemory) {
    pixels = .memory(memory)
    (width, height) = (Int32(memory.width), Int32(memory.height))
  }

  /// The engine's frame, if the pixels are those of one.
  fileprivate var frame: VideoFrame? { if case .frame(let frame) = pixels { frame } else { nil } }

  public func toI420() -> any RTCI420BufferProtocol { self }

  public var chromaWidth: Int32 { (width + 1) / 2 }
  public var chromaHeight: Int32 { (height + 1) / 2 }
  public var strideY: Int32 {
    switch pixels {
    case .frame(let frame): Int32(frame.lumaStride)
    case .memory: width
    }
  }
  public var strideU: Int32 {
    switch pixels {
    case .frame(let frame): Int32(frame.chromaStride)
    case .memory: chromaWidth
    }
  }
  public var strideV: Int32 { strideU }
  public var dataY: UnsafePointer<UInt8> {
    switch pixels {
    case .frame(let frame): frame.withPlanes { $0.y }
    case .memory(let memory): UnsafePointer(memory.y)
    }
  }
  public var dataU: UnsafePointer<UInt8> {
    switch pixels {
    case .frame(let frame): frame.withPlanes { $0.u }
    case .memory(let memory): UnsafePointer(memory.u)
    }
  }
  public var dataV: UnsafePointer<UInt8> {
    switch pixels {
    case .frame(let frame): frame.withPlanes { $0.v }
    case .memory(let memory): UnsafePointer(memory.v)
    }
  }
}

/// I420 pixels that may be written; black (in 4:2:0: green, all bytes being zero) at first.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/video_frame_buffer/RTCNativeMutableI420Buffer.h)
public final class RTCMutableI420Buffer: RTCI420Buffer, @unchecked Sendable {
  private let memory: PlaneMemory

  /// - Parameters: width, height: 1...16,384 pixels each; other values are moved there.
  public init(width: Int32, height: Int32) {
    memory = PlaneMemory(width: Int(min(max(width, 1), 16_384)), height: Int(min(max(height, 1), 16_384)))
    super.init(memory)
  }

  public var mutableDataY: UnsafeMutablePointer<UInt8> { memory.y }
  public var mutableDataU: UnsafeMutablePointer<UInt8> { memory.u }
  public var mutableDataV: UnsafeMutablePointer<UInt8> { memory.v }
}

/// Three planes without gaps.
private final class PlaneMemory {
  let width, height: Int
  private let base: UnsafeMutablePointer<UInt8>

  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    let count = width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    base = .allocate(capacity: count)
    base.initialize(repeating: 0, count: count)
  }

  deinit { base.deallocate() }

  private var chromaSize: Int { ((width + 1) / 2) * ((height + 1) / 2) }
  var y: UnsafeMutablePointer<UInt8> { base }
  var u: UnsafeMutablePointer<UInt8> { base + width * height }
  var v: UnsafeMutablePointer<UInt8> { base + width * height + chromaSize }
}

/// The pixels of a Core Video buffer.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/components/video_frame_buffer/RTCCVPixelBuffer.h)
public final class RTCCVPixelBuffer: NSObject, RTCVideoFrameBuffer {
  public let pixelBuffer: CVPixelBuffer

  public init(pixelBuffer: CVPixelBuffer) { self.pixelBuffer = pixelBuffer }

  public var width: Int32 { Int32(pixelBuffer.width) }
  public var height: Int32 { Int32(pixelBuffer.height) }

  public func toI420() -> any RTCI420BufferProtocol {
    guard let frame = pixelBuffer.videoFrame() else { return RTCMutableI420Buffer(width: width, height: height) }
    return RTCI420Buffer(frame)
  }
}
