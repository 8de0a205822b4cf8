public import Foundation

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
