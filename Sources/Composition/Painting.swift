import Foundation
import Glibc
import Koine

/// Draws slots onto an I420 canvas, lowest first.
struct Painter {
  private let planes: VideoFrame.MutablePlanes
  private let pool: FramePool

  init(_ planes: VideoFrame.MutablePlanes, pool: FramePool) {
    self.planes = planes
    self.pool = pool
  }

  func clear(_ color: Color) {
    memset(planes.y, Int32(color.y), planes.lumaStride * planes.height)
    memset(planes.u, Int32(color.u), planes.chromaStride * planes.chromaHeight)
    memset(planes.v, Int32(color.v), planes.chromaStride * planes.chromaHeight)
  }

  func draw(_ slot: Slot, _ frame: VideoFrame?) {
    guard slot.opacity > 0, let place = Area(slot) else { return }
    if let color = slot.fill, let part = place.clipped(planes.width, planes.height) {
      blend(part, opacity: slot.opacity) { plane, _, _ in plane == 0 ? color.y : plane == 1 ? color.u : color.v }
    }
    guard let frame else { return }
    let upright = frame.upright(pool: pool)
    draw(upright, slot, place)
    if let label = slot.label, !label.isEmpty,
      let target = place.fitting(upright.width, upright.height, slot.aspect)?.intersection(place)
    {
      draw(label, in: target, opacity: slot.opacity)
    }
  }

  /// White letters on a black strip, a fourteenth of the place's height, but legible.
  private func draw(_ label: String, in place: Area, opacity: Double) {
    let scale = max(1, place.height / 14 / BitmapFont.lineHeight)
    let letters = label.folding(options: .diacriticInsensitive, locale: nil)
      .prefix(max(0, place.width / (6 * scale) - 1))
    let (margin, height) = (2 * scale, BitmapFont.lineHeight * scale)
    let strip = Area(
      x: place.x, y: (place.y + place.height - height - 2 * margin) & ~1,
      width: letters.count * 6 * scale + 2 * margin, height: height + 2 * margin)
    guard !letters.isEmpty, let part = strip.clipped(planes.width, planes.height) else { return }
    blend(part, opacity: opacity) { plane, _, _ in plane == 0 ? 16 : 128 }
    for (index, letter) in letters.enumerated() {
      for (column, bits) in BitmapFont.columns(of: letter).enumerated() {
        for row in 0..<BitmapFont.lineHeight where bits & (1 << UInt8(row)) != 0 {
          let dot = Area(
            x: strip.x + margin + (index * 6 + column) * scale, y: strip.y + margin + row * scale, width: scale,
            height: scale)
          guard let dot = dot.clipped(planes.width, planes.height) else { continue }
          for y in dot.y..<dot.y + dot.height {
            memset(planes.y + y * planes.lumaStride + dot.x, 235, dot.width)
          }
        }
      }
    }
  }

  private func draw(_ frame: VideoFrame, _ slot: Slot, _ place: Area) {
    guard let target = place.fitting(frame.width, frame.height, slot.aspect),
      let part = target.intersection(place)?.clipped(planes.width, planes.height)
    else { return }
    if slot.opacity >= 1, part == target {
      return frame.draw(onto: planes, x: target.x, y: target.y, width: target.width, height: target.height)
    }
    let scaled = frame.scaled(to: target.width, target.height, pool: pool)
    let opacity = slot.opacity
    scaled.withPlanes { source in
      if opacity >= 1 {
        copy(source, target, part)
      } else {
        blend(part, opacity: opacity) { plane, x, y in
          plane == 0
            ? source.y[(y - target.y) * source.lumaStride + x - target.x]
            : (plane == 1 ? source.u : source.v)[(y - target.y / 2) * source.chromaStride + x - target.x / 2]
        }
      }
    }
  }

  /// Everything is on even coordinates, so that chroma is copied with luma.
  private func copy(_ source: VideoFrame.Planes, _ target: Area, _ part: Area) {
    for y in part.y..<part.y + part.height {
      memcpy(
        planes.y + y * planes.lumaStride + part.x,
        source.y + (y - target.y) * source.lumaStride + part.x - target.x, part.width)
    }
    for y in part.y / 2..<(part.y + part.height + 1) / 2 {
      let from = (y - target.y / 2) * source.chromaStride + (part.x - target.x) / 2
      let to = y * planes.chromaStride + part.x / 2
      memcpy(planes.u + to, source.u + from, (part.width + 1) / 2)
      memcpy(planes.v + to, source.v + from, (part.width + 1) / 2)
    }
  }

  /// - Parameter value: of plane 0 to 2 at a place in that plane's own coordinates.
  private func blend(_ part: Area, opacity: Double, value: (_ plane: Int, _ x: Int, _ y: Int) -> UInt8) {
    let weight = Int(min(opacity, 1) * 256)
    func mix(_ old: UInt8, _ new: UInt8) -> UInt8 { UInt8((Int(new) * weight + Int(old) * (256 - weight)) >> 8) }
    for y in part.y..<part.y + part.height {
      let row = planes.y + y * planes.lumaStride
      for x in part.x..<part.x + part.width { row[x] = mix(row[x], value(0, x, y)) }
    }
    for y in part.y / 2..<(part.y + part.height + 1) / 2 {
      let (u, v) = (planes.u + y * planes.chromaStride, planes.v + y * planes.chromaStride)
      for x in part.x / 2..<(part.x + part.width + 1) / 2 {
        u[x] = mix(u[x], value(1, x, y))
        v[x] = mix(v[x], value(2, x, y))
      }
    }
  }
}

/// A rectangle of whole pixels with a top left corner at even coordinates.
struct Area: Equatable {
  var x, y, width, height: Int

  init(x: Int, y: Int, width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  /// - Returns: nil for a slot without extent, or one beyond what a frame can be.
  init?(_ slot: Slot) {
    let numbers = [slot.x, slot.y, slot.width, slot.height]
    guard numbers.allSatisfy({ $0.isFinite && abs($0) < 16_000 }) else { return nil }
    self.init(
      x: Int(slot.x) & ~1, y: Int(slot.y) & ~1, width: Int(slot.width.rounded()), height: Int(slot.height.rounded()))
    guard width >= 2, height >= 2 else { return nil }
  }

  /// Where a picture of the given size goes, with this area's middle.
  func fitting(_ width: Int, _ height: Int, _ aspect: Slot.Aspect) -> Area? {
    let (across, down) = (Double(self.width) / Double(width), Double(self.height) / Double(height))
    let scale: Double
    switch aspect {
    case .stretch: return self
    case .fit: scale = min(across, down)
    case .fill: scale = max(across, down)
    }
    let size = (width: Int((Double(width) * scale).rounded()), height: Int((Double(height) * scale).rounded()))
    guard (2...16_383).contains(size.width), (2...16_383).contains(size.height) else { return nil }
    return Area(
      x: (x + (self.width - size.width) / 2) & ~1, y: (y + (self.height - size.height) / 2) & ~1, width: size.width,
      height: size.height)
  }

  func intersection(_ other: Area) -> Area? {
    let (left, top) = (max(x, other.x), max(y, other.y))
    let (right, bottom) = (min(x + width, other.x + other.width), min(y + height, other.y + other.height))
    return right > left && bottom > top ? Area(x: left, y: top, width: right - left, height: bottom - top) : nil
  }

  func clipped(_ width: Int, _ height: Int) -> Area? {
    intersection(Area(x: 0, y: 0, width: width, height: height))
  }
}
