/// How much work encoders put into a picture or a sound of a given bitrate.
public enum EncoderEffort: Sendable, Hashable, CaseIterable {
  /// What suits a call between people: Opus complexity 5 of 10, libvpx speed 6 of 16 for VP8, 7 of 9 for VP9.
  case usual
  /// The lowest effort of the codecs: complexity 0, the highest speeds. For tests of a call's logic, which check that media
  /// arrive and not their quality.
  case least
}

/// The kind of content of a video stream, as in the content hints of the W3C (mst-content-hint, 3.2).
public enum VideoContent: Sendable, Hashable, CaseIterable {
  /// People and things that move: a low resolution is better than a low frame rate.
  case motion
  /// Content with fine detail, such as a painting: a low frame rate is better than a low resolution.
  case detail
  /// Lines and letters that mostly stand still, such as a screen. A low frame rate is better than a low resolution, and the
  /// encoder is set to screen content.
  case text

  /// What the hints' authors call the default for each.
  package var degradation: VideoDegradation { self == .motion ? .keepsFrameRate : .keepsSize }
}

/// What pictures lose first, where there are too few bits for them.
public enum VideoDegradation: Sendable, Hashable, CaseIterable {
  /// Size, down to half the width.
  case keepsFrameRate
  /// Frames, down to a third of them.
  case keepsSize
  /// Some of both, in turn.
  case balanced
}

/// One of a stream's smaller encodings.
public struct VideoLayer: Sendable, Hashable {
  /// Largest width, in pixels.
  public var maximumWidth: Int
  /// Largest height, in pixels.
  public var maximumHeight: Int
  /// In bit/s.
  public var maximumBitrate: Int
  /// Largest frame rate, in frames per second.
  public var maximumFramesPerSecond: Double

  /// Creates a layer. The bitrate is in bit/s.
  public init(maximumWidth: Int, maximumHeight: Int, maximumBitrate: Int, maximumFramesPerSecond: Double = 30) {
    self.maximumWidth = maximumWidth
    self.maximumHeight = maximumHeight
    self.maximumBitrate = maximumBitrate
    self.maximumFramesPerSecond = maximumFramesPerSecond
  }

  /// The nearest that can be reckoned with.
  package var limited: VideoLayer {
    func limited(_ side: Int) -> Int { min(max(side, 2), 16_384) }
    let rate = maximumFramesPerSecond.isNaN ? 0 : maximumFramesPerSecond
    return VideoLayer(
      maximumWidth: limited(maximumWidth), maximumHeight: limited(maximumHeight),
      maximumBitrate: min(max(maximumBitrate, 1), 1_000_000_000), maximumFramesPerSecond: min(max(rate, 0.1), 1_000))
  }
}
