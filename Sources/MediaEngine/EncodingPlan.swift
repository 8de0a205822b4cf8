import KoineCodecs
import KoineMedia

/// How large to encode and how often: as the camera gives it, unless the settings or the bitrate ask for less.
struct EncodingPlan {
  private struct Step {
    /// Of the full width and height.
    var quarters = 4
    /// Of the allowed frame rate.
    var pace = 1.0
  }

  private let limits: VideoLayer
  /// From all to the least, each with fewer pixels a second than the one before.
  private let steps: [Step]
  private var current = 0
  /// Bits per pixel below which something is given up, and above which it may come back.
  private static let tooFew = 0.022
  private static let plenty = 0.05

  init(limits: VideoLayer, degradation: VideoDegradation = .keepsFrameRate) {
    self.limits = limits
    steps =
      switch degradation {
      case .keepsFrameRate: [Step(), Step(quarters: 3), Step(quarters: 2)]
      case .keepsSize: [Step(), Step(pace: 2 / 3), Step(pace: 1 / 2), Step(pace: 1 / 3)]
      case .balanced:
        [Step(), Step(quarters: 3), Step(quarters: 3, pace: 2 / 3), Step(quarters: 2, pace: 2 / 3)]
      }
  }

  /// Whether something has been given up for want of bits.
  var isReduced: Bool { current > 0 }

  /// In frames a second, as the last picture's bitrate has it.
  var framesPerSecond: Double { limits.maximumFramesPerSecond * steps[current].pace }

  /// One step down or up at a time, with each picture that is encoded.
  mutating func size(for frame: VideoFrame, bitrate: Int) -> (width: Int, height: Int) {
    let fit = fit(frame.width, frame.height)
    let (width, height) = (Double(frame.width) * fit, Double(frame.height) * fit)
    func bitsPerPixel(_ step: Step) -> Double {
      let scale = Double(step.quarters) / 4
      return Double(bitrate) / (width * height * scale * scale * limits.maximumFramesPerSecond * step.pace)
    }
    if current + 1 < steps.count, bitsPerPixel(steps[current]) < Self.tooFew {
      current += 1
    } else if current > 0, bitsPerPixel(steps[current - 1]) > Self.plenty {
      current -= 1
    }
    return Self.size(of: (frame.width, frame.height), scale: fit * Double(steps[current].quarters) / 4)
  }

  /// The largest size that the settings allow for the frame, regardless of the bitrate.
  func fullSize(for frame: VideoFrame) -> (width: Int, height: Int) {
    Self.size(of: (frame.width, frame.height), scale: fit(frame.width, frame.height))
  }

  /// The size of frames of the given format, regardless of the bitrate.
  func fullSize(for format: VideoFormat) -> (width: Int, height: Int) {
    guard format.width > 0, format.height > 0 else { return (limits.maximumWidth, limits.maximumHeight) }
    return Self.size(of: (format.width, format.height), scale: fit(format.width, format.height))
  }

  private func fit(_ width: Int, _ height: Int) -> Double {
    min(1, Double(limits.maximumWidth) / Double(width), Double(limits.maximumHeight) / Double(height))
  }

  private static func size(of frame: (width: Int, height: Int), scale: Double) -> (width: Int, height: Int) {
    if scale == 1 { return frame }
    return (max(2, Int(Double(frame.width) * scale) & ~1), max(2, Int(Double(frame.height) * scale) & ~1))
  }
}
