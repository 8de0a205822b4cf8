/// Text of strangers as it is written into a log: in one line, in quotes where it is not a plain name, and cut, so that it
/// cannot pass for anything else there.
struct LogText: CustomStringConvertible {
  private static let limit = 80
  let description: String

  init(_ text: String) {
    let isPlain = !text.isEmpty && text.utf8.count <= Self.limit && text.utf8.allSatisfy(Self.isPlain)
    guard !isPlain else {
      description = text
      return
    }
    var result = "\""
    for scalar in text.unicodeScalars.prefix(Self.limit) {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      case " ": result += " "
      default: result += Self.isVisible(scalar) ? String(scalar) : "\\u{" + String(scalar.value, radix: 16) + "}"
      }
    }
    description = result + (text.unicodeScalars.count > Self.limit ? "…\"" : "\"")
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

  /// Neither a control nor a format character (which reorder what is read), nor a space or an end of line.
  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse, .unassigned:
      false
    default: true
    }
  }
}
