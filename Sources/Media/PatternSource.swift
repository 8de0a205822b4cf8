import Glibc

/// Of a whole turn: 0...1 is once around.
func sine(_ turns: Double) -> Double { sin((turns - turns.rounded(.down)) * 2 * .pi) }

/// A moving picture with a clock in it: bars that drift, a ball that circles, minutes:seconds.hundredths.
final class PatternSource: VideoSource, @unchecked Sendable {  // constant; frames are drawn on the lane
  let format: VideoFormat
  private let ticks = SteadyTicks()
  private let pool = FramePool(limit: 8)

  init(format: VideoFormat) { self.format = format }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let interval = VideoFormat.interval(format.framesPerSecond)
    ticks.start(every: interval, on: lane) { [self] number, due in deliver(draw(number, at: due)) }
  }

  func stop() { ticks.stop() }

  private func draw(_ number: Int, at due: Tick) -> VideoFrame {
    let time = (VideoFormat.interval(format.framesPerSecond) * number).inSeconds
    return pool.make(width: format.width, height: format.height, captured: due) { planes in
      drawBars(planes, shift: time * 0.05)
      drawBall(planes, angle: time * 0.25)
      let hundredths = Int(time * 100)
      let text = "\(digits(hundredths / 6_000 % 60)):\(digits(hundredths / 100 % 60)).\(digits(hundredths % 100))"
      SegmentDigits.draw(text, into: planes, x: format.width / 20, y: format.height * 7 / 10, height: format.height / 5)
    }
  }

  private func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Y, Cb and Cr of soft bars.
  private static let bars: [(UInt8, UInt8, UInt8)] = [
    (60, 150, 110), (90, 110, 150), (120, 100, 110), (150, 140, 100), (110, 160, 140), (80, 120, 160), (130, 128, 128),
    (50, 170, 120),
  ]

  private func drawBars(_ planes: VideoFrame.MutablePlanes, shift: Double) {
    let bars = Self.bars
    let offset = (shift - shift.rounded(.down)) * Double(bars.count)
    func bar(_ x: Int, of width: Int) -> (UInt8, UInt8, UInt8) {
      bars[Int(Double(x) / Double(width) * Double(bars.count) + offset) % bars.count]
    }
    for x in 0..<planes.width { planes.y[x] = bar(x, of: planes.width).0 }
    for x in 0..<planes.chromaWidth {
      (planes.u[x], planes.v[x]) = (bar(x, of: planes.chromaWidth).1, bar(x, of: planes.chromaWidth).2)
    }
    for row in 1..<planes.height { memcpy(planes.y + row * planes.lumaStride, planes.y, planes.width) }
    for row in 1..<planes.chromaHeight {
      memcpy(planes.u + row * planes.chromaStride, planes.u, planes.chromaWidth)
      memcpy(planes.v + row * planes.chromaStride, planes.v, planes.chromaWidth)
    }
  }

  private func drawBall(_ planes: VideoFrame.MutablePlanes, angle: Double) {
    let radius = planes.height / 8
    let centerX = planes.width / 2 + Int(Double(planes.width / 3) * sine(angle + 0.25))
    let centerY = planes.height * 2 / 5 + Int(Double(planes.height / 4) * sine(angle))
    for y in max(0, centerY - radius)..<min(planes.height, centerY + radius) {
      let half = Int(Double(radius * radius - (y - centerY) * (y - centerY)).squareRoot())
      let (from, to) = (max(0, centerX - half), min(planes.width, centerX + half))
      if from < to { memset(planes.y + y * planes.lumaStride + from, 225, to - from) }
    }
  }
}

/// Digits of seven segments, drawn in white on a dark ground.
enum SegmentDigits {
  /// Top, upper left, upper right, middle, lower left, lower right, bottom.
  private static let segments: [Character: UInt8] = [
    "0": 0b1110111, "1": 0b0010010, "2": 0b1011101, "3": 0b1011011, "4": 0b0111010, "5": 0b1101011, "6": 0b1101111,
    "7": 0b1010010, "8": 0b1111111, "9": 0b1111011,
  ]

  static func draw(_ text: String, into planes: VideoFrame.MutablePlanes, x: Int, y: Int, height: Int) {
    let width = height / 2
    let stroke = max(2, height / 9)
    fill(planes, x - stroke, y - stroke, text.count * (width + 2 * stroke) + stroke, height + 2 * stroke, 24)
    var left = x
    for character in text {
      if let lit = segments[character] {
        let middle = y + (height - stroke) / 2
        if lit & 0b1000000 != 0 { fill(planes, left, y, width, stroke, 235) }
        if lit & 0b0100000 != 0 { fill(planes, left, y, stroke, height / 2, 235) }
        if lit & 0b0010000 != 0 { fill(planes, left + width - stroke, y, stroke, height / 2, 235) }
        if lit & 0b0001000 != 0 { fill(planes, left, middle, width, stroke, 235) }
        if lit & 0b0000100 != 0 { fill(planes, left, y + height / 2, stroke, height / 2, 235) }
        if lit & 0b0000010 != 0 { fill(planes, left + width - stroke, y + height / 2, stroke, height / 2, 235) }
        if lit & 0b0000001 != 0 { fill(planes, left, y + height - stroke, width, stroke, 235) }
      } else {
        let dots = character == ":" ? [y + height / 4, y + height * 3 / 4] : [y + height - stroke]
        for top in dots { fill(planes, left + width / 2, top, stroke, stroke, 235) }
      }
      left += width + 2 * stroke
    }
  }

  private static func fill(
    _ planes: VideoFrame.MutablePlanes, _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ value: UInt8
  ) {
    let (from, to) = (max(0, x), min(planes.width, x + width))
    guard from < to else { return }
    for row in max(0, y)..<min(planes.height, y + height) where row >= 0 {
      memset(planes.y + row * planes.lumaStride + from, Int32(value), to - from)
    }
  }
}
