public import Foundation

public final class UIColor: NSObject, Sendable {
  /// 0...255 each.
  let red, green, blue: UInt8
  /// The bytes of an opaque pixel in their order, as a little-endian number.
  var rgba: UInt32 { UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000 }

  /// - Parameters: red, green, blue: 0...1; alpha is taken for 1, there is no blending.
  public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {
    func byte(_ value: CGFloat) -> UInt8 { UInt8(min(max(value, 0), 1) * 255) }
    (self.red, self.green, self.blue) = (byte(red), byte(green), byte(blue))
  }

  public convenience init(white: CGFloat, alpha: CGFloat) {
    self.init(red: white, green: white, blue: white, alpha: alpha)
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
    alpha?.pointee = 1
    return true
  }

  public static let black = UIColor(white: 0, alpha: 1)
  public static let white = UIColor(white: 1, alpha: 1)
  public static let darkGray = UIColor(white: 1.0 / 3, alpha: 1)
  public static let lightGray = UIColor(white: 2.0 / 3, alpha: 1)
  public static let gray = UIColor(white: 0.5, alpha: 1)
  public static let red = UIColor(red: 1, green: 0, blue: 0, alpha: 1)
  public static let green = UIColor(red: 0, green: 1, blue: 0, alpha: 1)
  public static let blue = UIColor(red: 0, green: 0, blue: 1, alpha: 1)
}
