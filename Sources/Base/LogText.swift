/// Text of strangers as it is written into a log: in one line, in quotes where it is not a plain name, and cut, so that it
/// cannot pass for anything else there.
package struct LogText: CustomStringConvertible {
  private static let limit = 80
  package let description: String

  package init(_ text: String) {
    let isPlain = !text.isEmpty && text.utf8.count <= Self.limit && text.utf8.allSatisfy(Self.isPlain)
    guard !isPlain else {
      description = text
      return
    }
    var result = "\""
    for scalar in text.unicodeScalars.prefix(Self.limit) {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      default: result += Self.visible(scalar)
      }
    }
    description = result + (text.unicodeScalars.count > Self.limit ? "…\"" : "\"")
  }

  /// A line for a terminal that contains untrusted text. Characters that would move the cursor, change colours or begin
  /// another line are written as escapes (`\u{…}`). All other characters stay.
  /// - Parameter limit: the longest line, in Unicode scalars. A longer line is cut and ends in `…`.
  package static func line(_ text: String, limit: Int = .max) -> String {
    let scalars = text.unicodeScalars
    if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    let isCut = scalars.count > limit
    return scalars.prefix(isCut ? max(limit - 1, 0) : limit).map(visible).joined() + (isCut ? "…" : "")
  }

  private static func visible(_ scalar: Unicode.Scalar) -> String {
    scalar == " " || isVisible(scalar) ? String(scalar) : "\\u{" + String(scalar.value, radix: 16) + "}"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: ":"), UInt8(ascii: "#"), UInt8(ascii: "@"):
      true
    default: false
    }
  }

  /// Whether the scalar is shown as it is: no control character, no format character (which could reorder the text), no space
  /// and no line end.
  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse, .unassigned:
      false
    default: true
    }
  }
}
