/// How much work encoders put into a picture or a sound of a given bitrate.
public enum EncoderEffort: Sendable, Hashable, CaseIterable {
  /// What suits a call between people: Opus complexity 5 of 10, libvpx speed 6 of 16 for VP8, 7 of 9 for VP9.
  case usual
  /// As little as the codecs can do: complexity 0, the highest speeds. For tests of a call's logic, where nobody looks at
  /// how good media are, only at whether they come.
  case least
}

/// What pictures are of, as the W3C's content hints call it (mst-content-hint, 3.2).
public enum VideoContent: Sendable, Hashable, CaseIterable {
  /// People and things that move: better small than jerky.
  case motion
  /// What is looked at closely, such as a painting: better jerky than small.
  case detail
  /// Lines and letters that mostly stand still, such as a screen: the same, with an encoder that is set to it.
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

  /// The nearest that can be reckoned with.
  package var limited: VideoLayer {
    func limited(_ side: Int) -> Int { min(max(side, 2), 16_384) }
    let rate = maximumFramesPerSecond.isNaN ? 0 : maximumFramesPerSecond
    return VideoLayer(
      maximumWidth: limited(maximumWidth), maximumHeight: limited(maximumHeight),
      maximumBitrate: min(max(maximumBitrate, 1), 1_000_000_000), maximumFramesPerSecond: min(max(rate, 0.1), 1_000))
  }
}
