import CKoinePNG
public import Foundation
public import Koine

/// Pixels to draw on: RGBA, row by row from the top.
public struct Canvas: Sendable {
  public let width, height: Int
  public private(set) var pixels: [UInt8]
  /// Nothing outside is drawn.
  var clip: CGRect

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
    pixels = [UInt8](repeating: 0, count: width * height * 4)
    clip = CGRect(x: 0, y: 0, width: width, height: height)
    fill(clip, .black)
  }

  /// Red, green and blue, 0...255; nil outside.
  public func color(x: Int, y: Int) -> (red: UInt8, green: UInt8, blue: UInt8)? {
    guard x >= 0, y >= 0, x < width, y < height else { return nil }
    let start = 4 * (y * width + x)
    return (pixels[start], pixels[start + 1], pixels[start + 2])
  }

  /// Does nothing for a color with an alpha below one half.
  public mutating func fill(_ area: CGRect, _ color: UIColor) {
    guard color.isDrawn else { return }
    let part = visible(area)
    guard let top = part.rows.first, let left = part.columns.first else { return }
    let (length, stride) = (4 * part.columns.count, 4 * width)
    pixels.withUnsafeMutableBytes { pixels in
      let first = UnsafeMutableRawBufferPointer(rebasing: pixels[(top * stride + 4 * left)...].prefix(length))
      for index in Swift.stride(from: 0, to: length, by: 4) {
        first.storeBytes(of: UInt32(littleEndian: color.rgba), toByteOffset: index, as: UInt32.self)
      }
      for row in part.rows.dropFirst() {
        UnsafeMutableRawBufferPointer(rebasing: pixels[(row * stride + 4 * left)...].prefix(length))
          .copyMemory(from: UnsafeRawBufferPointer(first))
      }
    }
  }

  /// Draws a picture, upright, scaled into `area` as `mode` says.
  public mutating func draw(_ frame: VideoFrame, in area: CGRect, mode: UIView.ContentMode) {
    let pool = FramePool(limit: 0)
    let upright = frame.upright(pool: pool)
    let target = Self.place(width: Double(upright.width), height: Double(upright.height), in: area, mode)
    let part = visible(target.intersection(area))
    guard !part.rows.isEmpty, !part.columns.isEmpty else { return }
    // A thin picture that fills a wide area would be scaled to more pixels than a frame can have: sample it instead.
    func side(_ length: CGFloat) -> Int { Int(min(max(length.rounded(), 2), 8_192)) }
    let scaled = upright.scaled(to: side(target.width), side(target.height), pool: pool)
    let colors = scaled.pixels(.rgba)
    func sample(_ position: Int, _ start: CGFloat, _ length: CGFloat, _ count: Int) -> Int {
      min(max(Int((CGFloat(position) + 0.5 - start) / length * CGFloat(count)), 0), count - 1)
    }
    let columns = part.columns.map { sample($0, target.minX, target.width, scaled.width) }
    guard let left = part.columns.first, let first = columns.first, let last = columns.last else { return }
    let isWhole = last - first == columns.count - 1  // each pixel once: row by row
    pixels.withUnsafeMutableBytes { pixels in
      colors.withUnsafeBytes { colors in
        for y in part.rows {
          let row = sample(y, target.minY, target.height, scaled.height)
          let to = 4 * (y * width + left)
          if isWhole {
            let from = 4 * (row * scaled.width + first)
            UnsafeMutableRawBufferPointer(rebasing: pixels[to..<to + 4 * columns.count])
              .copyMemory(from: UnsafeRawBufferPointer(rebasing: colors[from..<from + 4 * columns.count]))
          } else {
            for (index, column) in columns.enumerated() {
              let color = colors.loadUnaligned(fromByteOffset: 4 * (row * scaled.width + column), as: UInt32.self)
              pixels.storeBytes(of: color, toByteOffset: to + 4 * index, as: UInt32.self)
            }
          }
        }
      }
    }
  }

  /// Draws an image, scaled into `area` as `mode` says. Pixels with an alpha below one half are left out.
  public mutating func draw(_ image: UIImage, in area: CGRect, mode: UIView.ContentMode) {
    guard image.pixelWidth > 0, image.pixelHeight > 0 else { return }
    let target = Self.place(width: Double(image.pixelWidth), height: Double(image.pixelHeight), in: area, mode)
    let part = visible(target.intersection(area))
    for y in part.rows {
      let row = min(
        max(Int((CGFloat(y) + 0.5 - target.minY) / target.height * CGFloat(image.pixelHeight)), 0),
        image.pixelHeight - 1)
      for x in part.columns {
        let column = min(
          max(Int((CGFloat(x) + 0.5 - target.minX) / target.width * CGFloat(image.pixelWidth)), 0), image.pixelWidth - 1
        )
        let (from, to) = (4 * (row * image.pixelWidth + column), 4 * (y * width + x))
        guard image.pixels[from + 3] >= 128 else { continue }
        for channel in 0..<3 { pixels[to + channel] = image.pixels[from + channel] }
      }
    }
  }

  package static func place(width: Double, height: Double, in area: CGRect, _ mode: UIView.ContentMode) -> CGRect {
    let (across, down) = (area.width / width, area.height / height)
    let scale: Double =
      switch mode {
      case .scaleToFill, .redraw: 0
      case .scaleAspectFit: min(across, down)
      case .scaleAspectFill: max(across, down)
      case .center, .top, .bottom, .left, .right, .topLeft, .topRight, .bottomLeft, .bottomRight: 1
      }
    guard scale > 0 else { return area }
    let size = CGSize(width: width * scale, height: height * scale)
    let x: CGFloat =
      switch mode {
      case .left, .topLeft, .bottomLeft: area.minX
      case .right, .topRight, .bottomRight: area.maxX - size.width
      default: area.midX - size.width / 2
      }
    let y: CGFloat =
      switch mode {
      case .top, .topLeft, .topRight: area.minY
      case .bottom, .bottomLeft, .bottomRight: area.maxY - size.height
      default: area.midY - size.height / 2
      }
    return CGRect(x: x, y: y, width: size.width, height: size.height)
  }

  /// One line of text, with its top left corner at `origin`.
  public mutating func draw(_ text: String, at origin: CGPoint, height: CGFloat, color: UIColor) {
    let scale = max(1, Int(height) / BitmapFont.lineHeight)
    var left = Int(origin.x)
    for character in text {
      for (column, bits) in BitmapFont.columns(of: character).enumerated() {
        for row in 0..<8 where bits & (1 << UInt8(row)) != 0 {
          fill(
            CGRect(x: left + column * scale, y: Int(origin.y) + row * scale, width: scale, height: scale), color)
        }
      }
      left += 6 * scale
    }
  }

  private func visible(_ area: CGRect) -> (rows: Range<Int>, columns: Range<Int>) {
    let part = area.intersection(clip).intersection(CGRect(x: 0, y: 0, width: width, height: height))
    guard !part.isEmpty else { return (0..<0, 0..<0) }
    return (
      Int(part.minY)..<max(Int(part.minY), Int(part.maxY.rounded())),
      Int(part.minX)..<max(Int(part.minX), Int(part.maxX.rounded()))
    )
  }

  // MARK: Out

  /// - Throws: when the file cannot be written; nothing half-written is left.
  public func writePNG(to path: String) throws {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    image.width = UInt32(width)
    image.height = UInt32(height)
    image.format = UInt32(PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_COLOR)
    let partial = path + ".part"
    guard png_image_write_to_file(&image, partial, 0, pixels, 0, nil) != 0, rename(partial, path) == 0 else {
      let reason = withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      unlink(partial)
      throw PictureError(description: reason.isEmpty ? "\(path) cannot be written" : reason)
    }
  }

  /// For a terminal of 24-bit colour: two pixels to a character, the upper half block.
  public func ansi(columns: Int) -> String {
    let rows = max(2, columns * height / width)
    var text = ""
    for row in stride(from: 0, to: rows - 1, by: 2) {
      for column in 0..<columns {
        let x = column * width / columns
        guard let upper = color(x: x, y: row * height / rows), let lower = color(x: x, y: (row + 1) * height / rows)
        else { continue }
        text += "\u{1B}[38;2;\(upper.red);\(upper.green);\(upper.blue);48;2;\(lower.red);\(lower.green);\(lower.blue)m▀"
      }
      text += "\u{1B}[0m\n"
    }
    return text
  }
}

/// Why a picture could not be written.
public struct PictureError: Error, CustomStringConvertible, Sendable {
  public let description: String
}
