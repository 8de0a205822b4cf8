public import Foundation

/// A color. Below an alpha of one half it is drawn as nothing, because there is no blending.
public final class UIColor: NSObject, Sendable {
  /// 0...255 each.
  let red, green, blue: UInt8
  /// 0...1.
  let alpha: CGFloat
  /// The bytes of an opaque pixel in their order, as a little-endian number.
  var rgba: UInt32 { UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000 }
  var isDrawn: Bool { alpha >= 0.5 }

  /// - Parameters: red, green, blue, alpha: 0...1.
  public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {
    func byte(_ value: CGFloat) -> UInt8 { UInt8(min(max(value, 0), 1) * 255) }
    (self.red, self.green, self.blue) = (byte(red), byte(green), byte(blue))
    self.alpha = min(max(alpha, 0), 1)
  }

  public convenience init(white: CGFloat, alpha: CGFloat) {
    self.init(red: white, green: white, blue: white, alpha: alpha)
  }

  /// - Parameters: hue, saturation, brightness, alpha: 0...1.
  public convenience init(hue: CGFloat, saturation: CGFloat, brightness: CGFloat, alpha: CGFloat) {
    func component(_ shift: CGFloat) -> CGFloat {
      let position = (shift + hue * 6).truncatingRemainder(dividingBy: 6)
      return brightness - brightness * saturation * max(0, min(position, 4 - position, 1))
    }
    self.init(red: component(5), green: component(3), blue: component(1), alpha: alpha)
  }

  public convenience init(cgColor: CGColor) {
    let color = cgColor.color
    self.init(
      red: CGFloat(color.red) / 255, green: CGFloat(color.green) / 255, blue: CGFloat(color.blue) / 255,
      alpha: color.alpha)
  }

  public var cgColor: CGColor { CGColor(self) }

  public func withAlphaComponent(_ alpha: CGFloat) -> UIColor {
    UIColor(red: CGFloat(red) / 255, green: CGFloat(green) / 255, blue: CGFloat(blue) / 255, alpha: alpha)
  }

  /// Gives the components, 0...1 each.
  /// - Returns: true: every color has them.
  @discardableResult
  public func getRed(
    _ red: UnsafeMutablePointer<CGFloat>?, green: UnsafeMutablePointer<CGFloat>?, blue: UnsafeMutablePointer<CGFloat>?,
    alpha: UnsafeMutablePointer<CGFloat>?
  ) -> Bool {
    red?.pointee = CGFloat(self.red) / 255
    green?.pointee = CGFloat(self.green) / 255
    blue?.pointee = CGFloat(self.blue) / 255
    alpha?.pointee = self.alpha
    return true
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? UIColor else { return false }
    return (red, green, blue, alpha) == (other.red, other.green, other.blue, other.alpha)
  }
  public override var hash: Int { Int(rgba) }

  private convenience init(_ red: Int, _ green: Int, _ blue: Int) {
    self.init(red: CGFloat(red) / 255, green: CGFloat(green) / 255, blue: CGFloat(blue) / 255, alpha: 1)
  }

  public static let clear = UIColor(white: 0, alpha: 0)
  public static let black = UIColor(white: 0, alpha: 1)
  public static let white = UIColor(white: 1, alpha: 1)
  public static let darkGray = UIColor(white: 1.0 / 3, alpha: 1)
  public static let lightGray = UIColor(white: 2.0 / 3, alpha: 1)
  public static let gray = UIColor(white: 0.5, alpha: 1)
  public static let red = UIColor(255, 0, 0)
  public static let green = UIColor(0, 255, 0)
  public static let blue = UIColor(0, 0, 255)
  public static let cyan = UIColor(0, 255, 255)
  public static let magenta = UIColor(255, 0, 255)
  public static let yellow = UIColor(255, 255, 0)
  public static let orange = UIColor(255, 128, 0)
  public static let purple = UIColor(128, 0, 128)
  public static let brown = UIColor(153, 102, 51)

  // The system's colors, in the light appearance.
  public static let systemRed = UIColor(255, 59, 48)
  public static let systemOrange = UIColor(255, 149, 0)
  public static let systemYellow = UIColor(255, 204, 0)
  public static let systemGreen = UIColor(52, 199, 89)
  public static let systemTeal = UIColor(48, 176, 199)
  public static let systemBlue = UIColor(0, 122, 255)
  public static let systemIndigo = UIColor(88, 86, 214)
  public static let systemPurple = UIColor(175, 82, 222)
  public static let systemPink = UIColor(255, 45, 85)
  public static let systemGray = UIColor(142, 142, 147)
  public static let systemGray2 = UIColor(174, 174, 178)
  public static let systemGray3 = UIColor(199, 199, 204)
  public static let systemGray4 = UIColor(209, 209, 214)
  public static let systemGray5 = UIColor(229, 229, 234)
  public static let systemGray6 = UIColor(242, 242, 247)
  public static let label = UIColor(0, 0, 0)
  public static let secondaryLabel = UIColor(138, 138, 142)
  public static let tertiaryLabel = UIColor(196, 196, 198)
  public static let placeholderText = UIColor(196, 196, 198)
  public static let separator = UIColor(198, 198, 200)
  public static let link = UIColor(0, 122, 255)
  public static let systemBackground = UIColor(255, 255, 255)
  public static let secondarySystemBackground = UIColor(242, 242, 247)
  public static let tertiarySystemBackground = UIColor(255, 255, 255)
  public static let systemGroupedBackground = UIColor(242, 242, 247)
}

/// A color of a layer.
public final class CGColor: NSObject, Sendable {
  let color: UIColor
  init(_ color: UIColor) { self.color = color }
  public convenience init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {
    self.init(UIColor(red: red, green: green, blue: blue, alpha: alpha))
  }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CGColor)?.color == color }
  public override var hash: Int { color.hash }
}
