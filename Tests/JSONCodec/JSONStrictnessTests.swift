import KoineJSONCodec
import Testing

struct JSONStrictnessTests {
  private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try JSONCodec.decode(type, from: Array(text.utf8))
  }

  @Test func integersAreExactOrRefused() throws {
    #expect(try decode(Int64.self, "9223372036854775807") == .max)
    #expect(try decode(UInt64.self, "9223372036854775807") == 9_223_372_036_854_775_807)
    #expect(try decode(UInt64.self, "18446744073709551615") == .max)
    #expect(try decode(Int64.self, "-9223372036854775808") == .min)
    #expect(try decode(Int.self, "1e3") == 1000)
    for text in ["9223372036854775808", "-9223372036854775809", "1.5", "1e40", "\"1\"", "true", "null"] {
      #expect(throws: (any Error).self, "\(text)") { try decode(Int64.self, text) }
    }
    #expect(throws: (any Error).self) { try decode(UInt64.self, "18446744073709551616") }
    #expect(throws: DecodingError.self) { try decode(UInt64.self, "-1") }
    #expect(throws: DecodingError.self) { try decode(UInt8.self, "256") }
  }

  @Test func nonFiniteNumbersAreRefused() throws {
    for text in ["NaN", "Infinity", "-Infinity", "[NaN]", "nan", "1e999"] {
      #expect(throws: (any Error).self, "\(text)") { try decode([Double].self, "[\(text)]") }
    }
    for value in [Double.nan, .infinity, -.infinity] {
      #expect(throws: EncodingError.self) { try JSONCodec.encode([value]) }
    }
    #expect(throws: EncodingError.self) { try JSONCodec.encode(Float.nan) }
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{'a':1}", "{a:1}", "[1 2]", "1 2", "{} {}", "tru", "nul", "\"",
    "\"\u{1}\"",
    "// c\n1", "/* c */1", "[1]x", "\u{0}", "1\u{0}", "\"\\x\"", "\"\\u12\"", "--1", "{\"a\"}", "{\"a\\u0000b\":1}",
    "True", "01", "-", "1.", ".5", "1e", "+1", "1e+", "-.5", "00", "{\"a\":1]", "][",
  ])
  func invalidJSONIsRefused(_ text: String) {
    #expect(throws: (any Error).self) { try decode(Tree.self, text) }
  }

  @Test func invalidUTF8IsRefused() {
    let wrong: [[UInt8]] = [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF5, 0x80, 0x80, 0x80]]
    for bytes in wrong {
      #expect(throws: (any Error).self, "\(bytes)") {
        try JSONCodec.decode([String].self, from: Array("[\"a".utf8) + bytes + Array("\"]".utf8))
      }
    }
  }

  @Test func lastOfDuplicateKeysWins() throws {
    #expect(try decode([String: Int].self, #"{"a":1,"b":2,"a":3}"#) == ["a": 3, "b": 2])
  }

  @Test func nestingDepthIsLimited() throws {
    let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    _ = try decode(Tree.self, deep(32))
    #expect(throws: JSONError.tooDeep(limit: 32)) { try decode(Tree.self, deep(33)) }
    #expect(throws: JSONError.tooDeep(limit: 32)) { try decode(Tree.self, String(repeating: "[", count: 500_000)) }
    var tree = Tree.null
    for _ in 0..<32 { tree = .list([tree]) }
    _ = try JSONCodec.decode(Tree.self, from: JSONCodec.encode(tree))
    #expect(throws: JSONError.tooDeep(limit: 32)) { try JSONCodec.encode(Tree.list([tree])) }
  }

  /// Counted before any value is made: a list of three is four values.
  @Test func numberOfValuesIsLimited() throws {
    let limits = JSONCodec.Limits(values: 4)
    func decode(_ text: String) throws -> Tree {
      try JSONCodec.decode(Tree.self, from: Array(text.utf8), limits: limits)
    }
    for text in ["[1,2,3]", "[[[[ ]]]]", #"{"a":{"b":{"c":1}}}"#, "[ ]", #"[",,,,,,[[[{{{"]"#] { _ = try decode(text) }
    for text in ["[1,2,3,4]", "[[[[[]]]]]", #"{"a":{"b":{"c":[1]}}}"#, "[{},{},{},{}]", #"[[1,2],[3]"#] {
      #expect(throws: JSONError.tooMany(limit: 4), "\(text)") { try decode(text) }
    }
  }

  @Test func documentSizeIsLimited() throws {
    let limits = JSONCodec.Limits(size: 10)
    #expect(try JSONCodec.decode(String.self, from: Array("\"12345678\"".utf8), limits: limits) == "12345678")
    #expect(throws: JSONError.tooLarge(limit: 10)) {
      try JSONCodec.decode(String.self, from: Array("\"123456789\"".utf8), limits: limits)
    }
    #expect(throws: JSONError.tooLarge(limit: 10)) { try JSONCodec.encode("123456789", limits: limits) }
  }

  @Test func decodingErrorNamesItsCodingPath() throws {
    do {
      _ = try decode([String: [Int]].self, #"{"list":[1,2,"x"]}"#)
      Issue.record("decoded")
    } catch DecodingError.typeMismatch(_, let context) {
      #expect(context.codingPath.map(\.stringValue) == ["list", "Index 2"])
    }
  }

  @Test func truncatedDocumentThrows() throws {
    let bytes = try JSONCodec.encode(Sample.full)
    for end in 0..<bytes.count {
      #expect(throws: (any Error).self) { try JSONCodec.decode(Sample.self, from: Array(bytes[..<end])) }
    }
  }

  @Test func corruptedBytesNeverTrap() throws {
    let bytes = try JSONCodec.encode(Sample.full)
    var random = SplitMix(state: 3)
    for _ in 0..<20_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = try? JSONCodec.decode(Sample.self, from: changed)
    }
  }
}
