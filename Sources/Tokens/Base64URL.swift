/// RFC 4648 section 5 as RFC 7515 section 2 takes it: no padding, no white space, nothing else ignored.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(alphabet[Int(buffer >> bits & 63)])
      }
      buffer &= (1 << bits) - 1
    }
    if bits > 0 { text.append(alphabet[Int(buffer << (6 - bits) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// - Returns: nil unless `text` is exactly what `encode` makes of the bytes. Bits left over must be zero: else one
  ///   signature could be written in several ways.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3 + 2)
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for character in text {
      guard let value = value(of: character) else { return nil }
      buffer = buffer << 6 | value
      bits += 6
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
      buffer &= (1 << bits) - 1
    }
    return buffer == 0 ? bytes : nil
  }

  /// Accepts the same as the parsers of vendors' clients: padding, and the alphabet of section 4 (`+`, `/`). One text may
  /// then be written in several ways: not for anything that is signed.
  static func decodeLeniently(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding == 0 || (padding <= 2 && text.count % 4 == 0) else { return nil }
    return decode(
      text.dropLast(padding).map { character in
        switch character {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: character
        }
      })
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
