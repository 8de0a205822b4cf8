package import KoineMedia

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
  /// In bit/s: what the path is said to carry is not believed below this.
  package var minBitrate = 50_000
  package var content = VideoContent.motion
  /// Nil: what suits the content.
  package var degradation: VideoDegradation?
  package var effort = EncoderEffort.usual

  package init() {}
}

package struct AudioSendSettings: Sendable, Hashable {
  /// In bit/s.
  package var bitrate = 40_000
  package var channels = 1
  /// Frequencies above 8 kHz are left out.
  package var isWideband = false
  package var usesFEC = true
  /// In percent. A publisher does not know the loss between the router and a receiver, and Opus writes no in-band correction
  /// where it expects no loss. Without FEC there is none to make room for.
  package var leastExpectedLoss: Int { usesFEC ? 5 : 0 }
  package var usesDTX = false
  /// Nil leaves the sound as the source gives it, which is right for files, tones and music.
  package var processing: AudioProcessing?
  package var effort = EncoderEffort.usual
  /// 0 (cheapest)...10. Nil: as the effort says.
  package var complexity: Int?

  package init() {}
}
