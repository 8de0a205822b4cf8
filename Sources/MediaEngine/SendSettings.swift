package import KoineAudioProcessing
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
  /// Smaller encodings beside this one, the smallest first.
  package var lowerLayers: [VideoLayer] = []
  /// 1...3, of each encoding.
  package var temporalLayers = 1

  package init() {}
}

/// One of a stream's smaller encodings.
public struct VideoLayer: Sendable, Hashable {
  public var maximumWidth, maximumHeight: Int
  /// In bit/s.
  public var maximumBitrate: Int
  public var maximumFramesPerSecond: Double

  public init(maximumWidth: Int, maximumHeight: Int, maximumBitrate: Int, maximumFramesPerSecond: Double = 30) {
    self.maximumWidth = maximumWidth
    self.maximumHeight = maximumHeight
    self.maximumBitrate = maximumBitrate
    self.maximumFramesPerSecond = maximumFramesPerSecond
  }
}

package struct AudioSendSettings: Sendable, Hashable {
  /// In bit/s.
  package var bitrate = 40_000
  package var channels = 1
  package var usesFEC = true
  package var usesDTX = false
  /// Nil leaves the sound as the source gives it, which is right for files, tones and music.
  package var processing: AudioProcessing?

  package init() {}
}
