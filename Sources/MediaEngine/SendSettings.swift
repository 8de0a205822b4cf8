package import KoineTransport

/// Where encoded frames go. Called on an engine lane.
package protocol FrameOutput: AnyObject, Sendable {
  func send(_ frame: EncodedFrame)
}

package struct VideoSendSettings: Sendable, Hashable {
  package var codec = Codec.vp8
  /// In bit/s.
  package var maxBitrate = 1_000_000
  package var maxFramesPerSecond = 30.0
  /// Larger pictures are scaled down to fit, keeping their shape.
  package var maxWidth = 1920
  package var maxHeight = 1080

  package init() {}
}

package struct AudioSendSettings: Sendable, Hashable {
  /// In bit/s.
  package var bitrate = 40_000
  package var channels = 1
  package var usesFEC = true
  package var usesDTX = false

  package init() {}
}
