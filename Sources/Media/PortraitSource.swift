import Glibc

/// A drawn person who moves and speaks, with colors of their own for each name: for pictures of calls.
final class PortraitSource: VideoSource, @unchecked Sendable {  // constant; frames are drawn on the lane
  /// Y, Cb and Cr.
  private struct Color {
    let y, u, v: UInt8
    init(_ y: UInt8, _ u: UInt8, _ v: UInt8) { (self.y, self.u, self.v) = (y, u, v) }
  }

  private static let walls = [Color(70, 140, 118), Color(96, 120, 140), Color(84, 118, 122), Color(110, 130, 112)]
  private static let skins = [Color(170, 112, 150), Color(120, 116, 152), Color(196, 114, 144), Color(92, 118, 148)]
  private static let hairs = [Color(40, 126, 130), Color(70, 112, 148), Color(120, 96, 150), Color(28, 128, 128)]
  private static let clothes = [Color(70, 156, 106), Color(100, 104, 170), Color(90, 110, 96), Color(150, 110, 150)]

  let format: VideoFormat
  private let wall, skin, hair, cloth: Color
  private let phase: Double
  private let ticks = SteadyTicks()
  private let pool = FramePool(limit: 8)

  init(name: String, format: VideoFormat) {
    self.format = format
    let number = name.utf8.reduce(5_381) { ($0 &* 33 &+ Int($1)) & 0xFFFF }
    func choose(_ colors: [Color], _ divisor: Int) -> Color { colors[number / divisor % colors.count] }
    (wall, skin) = (choose(Self.walls, 1), choose(Self.skins, 4))
    (hair, cloth) = (choose(Self.hairs, 16), choose(Self.clothes, 3))
    phase = Double(number % 97) / 97
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    ticks.start(every: VideoFormat.interval(format.framesPerSecond), on: lane) { [self] number, due in
      deliver(draw(number, at: due))
    }
  }

  func stop() { ticks.stop() }

  private func draw(_ number: Int, at due: Tick) -> VideoFrame {
    let time = (VideoFormat.interval(format.framesPerSecond) * number).inSeconds + phase * 7
    return pool.make(width: format.width, height: format.height, captured: due) { planes in
      let (width, height) = (Double(planes.width), Double(planes.height))
      fill(planes, x: 0..<planes.width, y: 0..<planes.height, wall)
      // A window behind the person.
      fill(
        planes, x: Int(width * 0.68)..<Int(width * 0.92), y: Int(height * 0.1)..<Int(height * 0.5), Color(200, 140, 118)
      )
      let x = width * (0.46 + 0.015 * sine(time * 0.13))
      let y = height * (0.42 + 0.01 * sine(time * 0.31))
      let head = height * 0.2
      ellipse(planes, x, height * 1.05, head * 2.1, height * 0.42, cloth)
      fill(planes, x: Int(x - head * 0.3)..<Int(x + head * 0.3), y: Int(y + head * 0.7)..<Int(y + head * 1.5), skin)
      ellipse(planes, x, y - head * 0.25, head * 0.95, head * 1.05, hair)
      ellipse(planes, x, y + head * 0.1, head * 0.78, head, skin)
      let isBlinking = (time + phase * 3).truncatingRemainder(dividingBy: 3.7) < 0.12
      for side in [-1.0, 1.0] {
        let eye = x + side * head * 0.3
        ellipse(planes, eye, y - head * 0.05, head * 0.13, head * (isBlinking ? 0.02 : 0.1), Color(230, 128, 128))
        if !isBlinking { ellipse(planes, eye, y - head * 0.05, head * 0.06, head * 0.08, Color(24, 128, 128)) }
      }
      let speech = max(0.15, abs(sine(time * 1.9)) * abs(sine(time * 0.23)))
      ellipse(planes, x, y + head * 0.58, head * 0.26, head * 0.16 * speech, Color(70, 112, 168))
    }
  }

  private func fill(_ planes: VideoFrame.MutablePlanes, x: Range<Int>, y: Range<Int>, _ color: Color) {
    let (left, right) = (max(0, x.lowerBound), min(planes.width, x.upperBound))
    let (top, bottom) = (max(0, y.lowerBound), min(planes.height, y.upperBound))
    guard left < right, top < bottom else { return }
    for row in top..<bottom { setRow(planes, row, left, right, color) }
  }

  private func ellipse(
    _ planes: VideoFrame.MutablePlanes, _ x: Double, _ y: Double, _ across: Double, _ down: Double, _ color: Color
  ) {
    guard across >= 1, down >= 0.5 else { return }
    for row in max(0, Int(y - down))..<max(0, min(planes.height, Int(y + down) + 1)) {
      let height = (Double(row) - y) / down
      guard abs(height) <= 1 else { continue }
      let half = across * (1 - height * height).squareRoot()
      let (left, right) = (max(0, Int(x - half)), min(planes.width, Int(x + half)))
      if left < right { setRow(planes, row, left, right, color) }
    }
  }

  private func setRow(_ planes: VideoFrame.MutablePlanes, _ row: Int, _ left: Int, _ right: Int, _ color: Color) {
    memset(planes.y + row * planes.lumaStride + left, Int32(color.y), right - left)
    guard row.isMultiple(of: 2) else { return }
    let (first, last) = (left / 2, min((right + 1) / 2, planes.chromaWidth))
    memset(planes.u + row / 2 * planes.chromaStride + first, Int32(color.u), last - first)
    memset(planes.v + row / 2 * planes.chromaStride + first, Int32(color.v), last - first)
  }
}
