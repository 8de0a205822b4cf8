/// RFC 4648 section 4, with padding, without line breaks.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let pad = UInt8(ascii: "=")

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var start = 0
    while start < bytes.count {
      let count = min(3, bytes.count - start)
      var group: UInt32 = 0
      for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0) }
      for place in 0..<4 {
        text.append(place <= count ? alphabet[Int(group >> UInt32(18 - 6 * place)) & 63] : pad)
      }
      start += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// - Returns: nil unless the text is whole groups of four with padding only at the end.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var digits = 0
    var padding = 0
    for character in text {
      if character == pad {
        padding += 1
        group <<= 6
      } else {
        guard padding == 0, let value = value(of: character) else { return nil }
        group = group << 6 | value
      }
      digits += 1
      guard digits == 4 else { continue }
      guard padding <= 2 else { return nil }
      for place in 0..<(3 - padding) { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * place))) }
      (group, digits) = (0, 0)
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
