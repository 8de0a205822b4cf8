/// Refuses what json-c's strict mode lets through: control characters, quotes and numbers that are not JSON's, integers
/// beyond 64 bits (json-c clamps them), names with a zero character (json-c cuts them short). Bounds the depth and the number of
/// values exactly, before json-c makes any.
struct Strictness {
  private let text: UnsafeRawBufferPointer
  private let limits: JSONCodec.Limits
  private var values = 1
  private var place = 0
  private var depth = 0
  /// Whether the last string holds a zero character.
  private var hasZero = false

  /// - Returns: the document without the white space around it, which json-c would take for trailing characters.
  static func checked(
    _ bytes: UnsafeRawBufferPointer, _ limits: JSONCodec.Limits
  ) throws(JSONError) -> UnsafeRawBufferPointer {
    var first = bytes.startIndex
    var end = bytes.endIndex
    while first < end, isSpace(bytes[first]) { first += 1 }
    while end > first, isSpace(bytes[end - 1]) { end -= 1 }
    guard first < end else { throw .malformed("no value", offset: first) }
    let text = UnsafeRawBufferPointer(rebasing: bytes[first..<end])
    var check = Strictness(text: text, limits: limits)
    while check.place < text.count { try check.step() }
    return text
  }

  private init(text: UnsafeRawBufferPointer, limits: JSONCodec.Limits) { (self.text, self.limits) = (text, limits) }

  private mutating func step() throws(JSONError) {
    switch text[place] {
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      depth += 1
      guard depth <= limits.depth else { throw .tooDeep(limit: limits.depth) }
      place += 1
      while place < text.count, Self.isSpace(text[place]) { place += 1 }
      if place < text.count, text[place] != UInt8(ascii: "]"), text[place] != UInt8(ascii: "}") { try countValue() }
    case UInt8(ascii: "]"), UInt8(ascii: "}"):
      depth -= 1
      place += 1
    case UInt8(ascii: ":"):
      guard !hasZero else { throw .malformed("zero character in a name", offset: place) }
      place += 1
    case UInt8(ascii: ","):
      try countValue()
      place += 1
    case UInt8(ascii: "a")...UInt8(ascii: "z"): place += 1
    case let byte where Self.isSpace(byte): place += 1
    default: throw .malformed("unexpected character", offset: place)
    }
  }

  private mutating func countValue() throws(JSONError) {
    values += 1
    guard values <= limits.values else { throw .tooMany(limit: limits.values) }
  }

  private mutating func string() throws(JSONError) {
    place += 1
    hasZero = false
    while place < text.count {
      let byte = text[place]
      // Most are of no interest, and there are megabytes of them.
      if byte > UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        place += 1
        continue
      }
      switch byte {
      case 0..<0x20: throw .malformed("control character", offset: place)
      case UInt8(ascii: "\""):
        place += 1
        return
      case UInt8(ascii: "\\"):
        if text[place...].starts(with: "\\u0000".utf8) { hasZero = true }
        place += 2
      default: place += 1
      }
    }
    throw .malformed("unexpected end of data", offset: text.count)
  }

  /// RFC 8259 section 6.
  private mutating func number() throws(JSONError) {
    let start = place
    let isNegative = consume("-")
    var magnitude: UInt64 = 0
    var fits = true
    let startsWithZero = consume("0")
    var digits = startsWithZero ? 1 : 0
    while !startsWithZero, let digit = takeDigit() {
      let (product, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carried) = product.addingReportingOverflow(UInt64(digit))
      (magnitude, fits) = (sum, fits && !overflowed && !carried)
      digits += 1
    }
    var isInteger = true
    if consume(".") { (isInteger, digits) = (false, digits > 0 ? takeDigits() : 0) }
    if consume("e") || consume("E") {
      isInteger = false
      if !consume("+") { _ = consume("-") }
      digits = digits > 0 ? takeDigits() : 0
    }
    guard digits > 0 else { throw .malformed("not a number", offset: start) }
    guard !isInteger || (fits && (!isNegative || magnitude <= UInt64(Int64.min.magnitude))) else {
      throw .malformed("an integer beyond 64 bits", offset: start)
    }
    if place < text.count, Self.isDigit(text[place]) { throw .malformed("leading zero", offset: start) }
  }

  private mutating func takeDigits() -> Int {
    var count = 0
    while takeDigit() != nil { count += 1 }
    return count
  }

  private mutating func takeDigit() -> UInt8? {
    guard place < text.count, Self.isDigit(text[place]) else { return nil }
    defer { place += 1 }
    return text[place] - UInt8(ascii: "0")
  }

  private mutating func consume(_ character: Unicode.Scalar) -> Bool {
    guard place < text.count, text[place] == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
