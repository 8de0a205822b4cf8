public import Foundation
public import Koine

/// Receives the frames of video tracks. Both methods are called off the main thread, one at a time.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoRenderer.h)
public protocol RTCVideoRenderer: NSObjectProtocol {
  func setSize(_ size: CGSize)
  func renderFrame(_ frame: RTCVideoFrame?)
}

/// Notified of the size of the video that a view shows.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoRenderer.h)
public protocol RTCVideoViewDelegate: AnyObject {
  func videoView(_ videoView: any RTCVideoRenderer, didChangeVideoSize size: CGSize)
}

/// Clockwise rotation of a frame for display, in degrees.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoFrame.h)
public enum RTCVideoRotation: Int, Sendable {
  case _0 = 0
  case _90 = 90
  case _180 = 180
  case _270 = 270
}

/// One video frame with its pixels.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/base/RTCVideoFrame.h)
public final class RTCVideoFrame: NSObject, Sendable {
  /// The engine's frame behind it.
  public let frame: VideoFrame

  init(_ frame: VideoFrame) { self.frame = frame }

  public var width: Int32 { Int32(frame.width) }
  public var height: Int32 { Int32(frame.height) }
  public var rotation: RTCVideoRotation { RTCVideoRotation(rawValue: Int(frame.quarterTurns) * 90) ?? ._0 }
  public var timeStampNs: Int64 { frame.captured.nanoseconds }
  public var buffer: RTCI420Buffer { RTCI420Buffer(frame) }
}

/// The planes of a frame. Their pointers are valid as long as the buffer is referenced.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/video_frame_buffer/RTCNativeI420Buffer.h)
public final class RTCI420Buffer: NSObject, Sendable {
  private let frame: VideoFrame

  init(_ frame: VideoFrame) { self.frame = frame }

  public var width: Int32 { Int32(frame.width) }
  public var height: Int32 { Int32(frame.height) }
  public var chromaWidth: Int32 { (width + 1) / 2 }
  public var chromaHeight: Int32 { (height + 1) / 2 }
  public var strideY: Int32 { Int32(frame.lumaStride) }
  public var strideU: Int32 { Int32(frame.chromaStride) }
  public var strideV: Int32 { Int32(frame.chromaStride) }
  public var dataY: UnsafePointer<UInt8> { frame.withPlanes { $0.y } }
  public var dataU: UnsafePointer<UInt8> { frame.withPlanes { $0.u } }
  public var dataV: UnsafePointer<UInt8> { frame.withPlanes { $0.v } }
}
