public import Foundation

/// Shows frames. Both methods are called off the main thread, one at a time.
public protocol RTCVideoRenderer: NSObjectProtocol {
  func setSize(_ size: CGSize)
  func renderFrame(_ frame: RTCVideoFrame?)
}

public protocol RTCVideoViewDelegate: AnyObject {
  func videoView(_ videoView: any RTCVideoRenderer, didChangeVideoSize size: CGSize)
}

public enum RTCVideoRotation: Int, Sendable {
  case _0 = 0
  case _90 = 90
  case _180 = 180
  case _270 = 270
}
