import Glibc

/// What a stamped picture says.
public struct Stamp: Sendable, Hashable {
  /// At most 8 bytes of UTF-8.
  public let name: String
  /// Number of the frame.
  public let number: UInt32
  /// On the sender's clock.
  public let captured: Tick

  /// Creates a stamp.
  public init(name: String, number: UInt32, captured: Tick) {
    self.name = name
    self.number = number
    self.captured = captured
  }

  /// 16 columns and 12 rows of blocks, black or white: 8 bytes of name, 4 of number, 8 of time, 2 of checksum, then
  /// alternating blocks that show that there is a stamp at all.
  package static let columns = 16, rows = 12
  private static let mark: [UInt8] = [0xA5, 0x5A]

  /// Row by row.
  package var bits: [Bool] {
    var bytes = Array(name.utf8.prefix(8))
    bytes += [UInt8](repeating: 0, count: 8 - bytes.count)
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift)))
    }
    let time = UInt64(bitPattern: captured.nanoseconds)
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: time >> UInt64(shift))) }
    let sum = Self.checksum(bytes)
    bytes += [UInt8(sum >> 8), UInt8(sum & 0xFF)] + Self.mark
    return bytes.flatMap { byte in (0..<8).map { byte & (0x80 >> $0) != 0 } }
  }

  /// - Parameter bits: row by row.
  package init?(bits: [Bool]) {
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: bits.count - 7, by: 8) {
      bytes.append(bits[start..<start + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) })
    }
    guard bytes.count == 24, Array(bytes[22...]) == Self.mark,
      Self.checksum(Array(bytes[..<20])) == UInt16(bytes[20]) << 8 | UInt16(bytes[21])
    else { return nil }
    name = String(decoding: bytes[..<8].prefix { $0 != 0 }, as: UTF8.self)
    number = bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    captured = Tick(nanoseconds: Int64(bitPattern: bytes[12..<20].reduce(0) { $0 << 8 | UInt64($1) }))
  }

  /// Fletcher's, over 16 bits.
  private static func checksum(_ bytes: [UInt8]) -> UInt16 {
    var (a, b): (UInt16, UInt16) = (1, 0)
    for byte in bytes {
      a = (a + UInt16(byte)) % 255
      b = (b + a) % 255
    }
    return b << 8 | a
  }
}

/// Reads stamps from received frames of any size.
public enum StampReader {
  /// Reads the stamp of a frame.
  /// - Returns: nil where there is no stamp, or it does not check.
  public static func read(_ frame: VideoFrame) -> Stamp? {
    guard frame.width >= Stamp.columns * 2, frame.height >= Stamp.rows * 2 else { return nil }
    return frame.withPlanes { planes in
      var bits: [Bool] = []
      for row in 0..<Stamp.rows {
        for column in 0..<Stamp.columns { bits.append(brightness(planes, column, row) > 126) }
      }
      return Stamp(bits: bits)
    }
  }

  /// The mean of a block's middle.
  private static func brightness(_ planes: VideoFrame.Planes, _ column: Int, _ row: Int) -> Int {
    let (left, right) = (planes.width * column / Stamp.columns, planes.width * (column + 1) / Stamp.columns)
    let (top, bottom) = (planes.height * row / Stamp.rows, planes.height * (row + 1) / Stamp.rows)
    let (marginX, marginY) = ((right - left) / 4, (bottom - top) / 4)
    var sum = 0
    var count = 0
    for y in (top + marginY)..<max(top + marginY + 1, bottom - marginY) {
      for x in (left + marginX)..<max(left + marginX + 1, right - marginX) {
        sum += Int(planes.y[y * planes.lumaStride + x])
        count += 1
      }
    }
    return count > 0 ? sum / count : 0
  }
}

/// Video frames that show their sender, their number and their capture time as a pattern of blocks. The pattern survives
/// encoding at 100 kbit/s.
final class StampSource: VideoSource, @unchecked Sendable {  // constant; frames are drawn on the lane
  let format: VideoFormat
  private let name: String
  private let ticks = SteadyTicks()
  private let pool = FramePool(limit: 8)

  init(name: String, format: VideoFormat) {
    self.name = name
    self.format = format
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let interval = VideoFormat.interval(format.framesPerSecond)
    ticks.start(every: interval, on: lane) { [self] number, due in
      deliver(draw(Stamp(name: name, number: UInt32(truncatingIfNeeded: number), captured: due)))
    }
  }

  func stop() { ticks.stop() }

  private func draw(_ stamp: Stamp) -> VideoFrame {
    let bits = stamp.bits
    return pool.make(width: format.width, height: format.height, captured: stamp.captured) { planes in
      for row in 0..<Stamp.rows {
        let (top, bottom) = (planes.height * row / Stamp.rows, planes.height * (row + 1) / Stamp.rows)
        for column in 0..<Stamp.columns {
          let (left, right) = (planes.width * column / Stamp.columns, planes.width * (column + 1) / Stamp.columns)
          memset(planes.y + top * planes.lumaStride + left, bits[row * Stamp.columns + column] ? 220 : 32, right - left)
        }
        for y in (top + 1)..<max(top + 1, bottom) {
          memcpy(planes.y + y * planes.lumaStride, planes.y + top * planes.lumaStride, planes.width)
        }
      }
      memset(planes.u, 128, planes.chromaStride * planes.chromaHeight)
      memset(planes.v, 128, planes.chromaStride * planes.chromaHeight)
    }
  }
}
