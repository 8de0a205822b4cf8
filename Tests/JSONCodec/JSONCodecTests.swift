import KoineJSONCodec
import Testing

/// Every shape a `Codable` type can ask for.
struct Sample: Codable, Equatable {
  enum Mood: String, Codable { case calm, loud }
  struct Part: Codable, Equatable {
    var name: String
    var numbers: [Int]
    var inner: [Part]?
  }
  var truth: Bool
  var smallest: Int64
  var largest: UInt64
  var tiny: Int8
  var half: Double
  var third: Float
  var text: String
  var mood: Mood
  var missing: String?
  var part: Part
  var byName: [String: Part]
  var matrix: [[Int]]
  var holes: [Int?]

  static let full = Sample(
    truth: true, smallest: .min, largest: .max, tiny: -128, half: 0.1, third: 1 / 3,
    text: "tab\t quote\" slash/ zero\u{0} é 日本 👩‍👩‍👧", mood: .loud, missing: nil,
    part: Part(name: "", numbers: [], inner: [Part(name: "x", numbers: [1], inner: nil)]),
    byName: ["a/b": Part(name: "p", numbers: [-1, 0], inner: nil), "": Part(name: "q", numbers: [], inner: [])],
    matrix: [[], [1, 2], [3]], holes: [1, nil, 3])
}

struct JSONRoundTripTests {
  @Test func everyCodableShapeSurvivesRoundTrip() throws {
    #expect(try JSONCodec.decode(Sample.self, from: JSONCodec.encode(Sample.full)) == Sample.full)
  }

  @Test func topLevelFragmentsSurviveRoundTrip() throws {
    #expect(try JSONCodec.decode(Int.self, from: JSONCodec.encode(42)) == 42)
    #expect(try JSONCodec.decode(String.self, from: JSONCodec.encode("")) == "")
    #expect(try JSONCodec.decode(Bool?.self, from: JSONCodec.encode(Bool?.none)) == nil)
    #expect(try JSONCodec.decode([Double].self, from: Array(" [1, 2.5e3,-0]\n".utf8)) == [1, 2500, 0])
  }

  @Test(arguments: [0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1e-5, 1e16, 0.1 + 0.2, 123_456_789.125])
  func doublesSurviveRoundTripExactly(_ value: Double) throws {
    #expect(try JSONCodec.decode(Double.self, from: JSONCodec.encode(value)) == value)
  }

  @Test func doubleIsWrittenInShortestForm() throws {
    #expect(try JSONCodec.encode([0.1, 1, 1e16]) == Array("[0.1,1.0,1e+16]".utf8))
  }

  @Test func randomTreesSurviveRoundTrip() throws {
    var random = SplitMix(state: 7)
    for _ in 0..<300 {
      let tree = Tree.random(depth: 5, &random)
      #expect(try JSONCodec.decode(Tree.self, from: JSONCodec.encode(tree)) == tree)
    }
  }

  @Test func nestedAndSuperContainersSurviveRoundTrip() throws {
    let value = HandMade(x: 7, label: "leaf", list: [1, 2], base: 9)
    let bytes = try JSONCodec.encode(value)
    #expect(
      String(decoding: bytes, as: UTF8.self) == #"{"outer":{"x":7,"list":[1,2,{"label":"leaf"}]},"super":{"base":9}}"#)
    #expect(try JSONCodec.decode(HandMade.self, from: bytes) == value)
  }
}

/// Uses nested containers and a super encoder, as classes written by hand do.
struct HandMade: Codable, Equatable {
  var x: Int
  var label: String
  var list: [Int]
  var base: Int

  enum Key: String, CodingKey { case outer, x, list, label, base }

  init(x: Int, label: String, list: [Int], base: Int) {
    (self.x, self.label, self.list, self.base) = (x, label, list, base)
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let outer = try fields.nestedContainer(keyedBy: Key.self, forKey: .outer)
    x = try outer.decode(Int.self, forKey: .x)
    var items = try outer.nestedUnkeyedContainer(forKey: .list)
    list = [try items.decode(Int.self), try items.decode(Int.self)]
    label = try items.nestedContainer(keyedBy: Key.self).decode(String.self, forKey: .label)
    base = try fields.superDecoder().container(keyedBy: Key.self).decode(Int.self, forKey: .base)
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    var outer = fields.nestedContainer(keyedBy: Key.self, forKey: .outer)
    try outer.encode(x, forKey: .x)
    var items = outer.nestedUnkeyedContainer(forKey: .list)
    for number in list { try items.encode(number) }
    var last = items.nestedContainer(keyedBy: Key.self)
    try last.encode(label, forKey: .label)
    var parent = fields.superEncoder().container(keyedBy: Key.self)
    try parent.encode(base, forKey: .base)
  }
}

/// Any JSON value.
indirect enum Tree: Codable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case text(String)
  case list([Tree])
  case object([String: Tree])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int64.self) {
      self = .integer(integer)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let list = try? value.decode([Tree].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: Tree].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    switch self {
    case .null: try value.encodeNil()
    case .bool(let bool): try value.encode(bool)
    case .integer(let integer): try value.encode(integer)
    case .text(let text): try value.encode(text)
    case .list(let list): try value.encode(list)
    case .object(let object): try value.encode(object)
    }
  }

  static func random(depth: Int, _ random: inout SplitMix) -> Tree {
    func word() -> String {
      String(
        String.UnicodeScalarView(
          (0..<Int.random(in: 0...8, using: &random)).map { _ in
            Unicode.Scalar(UInt32.random(in: 1...0xD7FF, using: &random)) ?? "x"
          }))
    }
    switch Int.random(in: 0...(depth == 0 ? 3 : 5), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(.random(in: .min ... .max, using: &random))
    case 3: return .text(word())
    case 4: return .list((0..<Int.random(in: 0...4, using: &random)).map { _ in .random(depth: depth - 1, &random) })
    default:
      var object: [String: Tree] = [:]
      for _ in 0..<Int.random(in: 0...4, using: &random) { object[word()] = .random(depth: depth - 1, &random) }
      return .object(object)
    }
  }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
