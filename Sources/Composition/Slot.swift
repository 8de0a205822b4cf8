/// An area of the canvas with its audio: its position, and how frames are drawn in it.
public struct Slot: Sendable, Hashable, Identifiable {
  /// How a picture fills a place of another shape.
  public enum Aspect: Sendable, Hashable {
    case stretch
    /// Whole, with room left over.
    case fit
    /// Filling, with edges cut off.
    case fill
  }

  public let id: String
  /// In pixels of the canvas; the corner is the top left one, and places may reach over the edges.
  public var x, y, width, height: Double
  public var aspect = Aspect.fit
  /// Higher ones lie above lower ones; among equals, later above earlier.
  public var zIndex = 0
  /// Behind the picture; nil: clear.
  public var fill: Color?
  /// 0 (clear)...1.
  public var opacity = 1.0
  /// Drawn over the lower left corner of the video, in white on black; characters beyond ASCII lose their accents or become
  /// question marks. Nil: none.
  public var label: String?
  /// 0...2, of the slot's sound.
  public var gain = 1.0

  public init(_ id: String, x: Double = 0, y: Double = 0, width: Double, height: Double) {
    self.id = id
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  /// On the way to another slot: numbers in between, everything else as there.
  func on(theWayTo other: Slot, fraction: Double) -> Slot {
    func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
    var slot = other
    (slot.x, slot.y) = (mix(x, other.x), mix(y, other.y))
    (slot.width, slot.height) = (mix(width, other.width), mix(height, other.height))
    (slot.opacity, slot.gain) = (mix(opacity, other.opacity), mix(gain, other.gain))
    return slot
  }
}

/// 0...255 each, as BT.601 has them in limited range.
public struct Color: Sendable, Hashable {
  public let y, u, v: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8) {
    let (r, g, b) = (Double(red), Double(green), Double(blue))
    y = UInt8(16 + (65.738 * r + 129.057 * g + 25.064 * b) / 256)
    u = UInt8(128 + (-37.945 * r - 74.494 * g + 112.439 * b) / 256)
    v = UInt8(128 + (112.439 * r - 94.154 * g - 18.285 * b) / 256)
  }

  /// - Parameter rgb: 0xRRGGBB.
  public init(rgb: UInt32) {
    self.init(
      red: UInt8(truncatingIfNeeded: rgb >> 16), green: UInt8(truncatingIfNeeded: rgb >> 8),
      blue: UInt8(truncatingIfNeeded: rgb))
  }

  public static let black = Color(red: 0, green: 0, blue: 0)
}
