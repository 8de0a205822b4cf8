import KoinePorting

/// The known part of a value's type: enough to find its members. An optional has the type of its wrapped value.
indirect enum ValueType: Hashable {
  case named(String)
  /// The type itself, as a value.
  case meta(String)
  case array(ValueType)
  case dictionary(ValueType, ValueType)
  case pair(ValueType, ValueType)
  case function([ValueType], ValueType)
  case unknown

  var name: String? { if case .named(let name) = self { name } else { nil } }

  /// The type of the elements in a loop over the value.
  var element: ValueType {
    switch self {
    case .array(let element): element
    case .dictionary(let key, let value): .pair(key, value)
    default: .unknown
    }
  }

  // MARK: From text

  /// Reads a type as it is written.
  init(_ text: some StringProtocol) {
    var text = Self.trimmed(text)
    for word in ["inout ", "any ", "some ", "borrowing ", "consuming ", "sending ", "nonisolated(nonsending) "] {
      if text.hasPrefix(word) { text = Self.trimmed(text.dropFirst(word.count)) }
    }
    while text.hasPrefix("@") {  // attributes of closures
      guard let space = text.firstIndex(where: { $0 == " " }) else { break }
      text = Self.trimmed(text[space...])
    }
    if let arrow = Self.split(text, at: "->"), arrow.count > 1 {
      let parameters = Self.trimmed(arrow[0]).prefix { $0 != "\0" }
      let inner = Self.inside(String(parameters), "(", ")") ?? String(parameters)
      self = .function(Self.list(inner).map { ValueType(Self.withoutLabel($0)) }, ValueType(arrow[1]))
    } else if text.hasSuffix("?") || text.hasSuffix("!") {
      self = ValueType(text.dropLast())
    } else if let inner = Self.inside(text, "[", "]") {
      let parts = Self.split(inner, at: ":") ?? []
      self = parts.count > 1 ? .dictionary(ValueType(parts[0]), ValueType(parts[1])) : .array(ValueType(inner))
    } else if let inner = Self.inside(text, "(", ")") {
      let parts = Self.list(inner).map(Self.withoutLabel).map { ValueType($0) }
      self = parts.count == 1 ? parts[0] : parts.count == 2 ? .pair(parts[0], parts[1]) : .unknown
    } else if text.hasSuffix(".Type") {
      self = .meta(String(text.dropLast(5)))
    } else if let angle = text.firstIndex(of: "<") {
      self = Self.generic(String(text[..<angle]), Self.inside(String(text[angle...]), "<", ">") ?? "")
    } else {
      self = text.isEmpty || text.contains("&") ? .unknown : .named(Self.withoutModule(text))
    }
  }

  /// `AmazonIVSBroadcast.IVSStage` is `IVSStage`.
  static func withoutModule(_ name: String) -> String {
    guard let dot = name.firstIndex(of: "."), modules.contains(String(name[..<dot])) else { return name }
    return String(name[name.index(after: dot)...])
  }

  private static let modules = Set(VendorAPI.all.values.flatMap(\.modules))
    .union(LinuxHindrances.current.modules).union(["Swift", "Foundation"])

  private static func generic(_ name: String, _ arguments: String) -> ValueType {
    let parts = list(arguments)
    switch (name, parts.count) {
    case ("Array", 1), ("Set", 1): return .array(ValueType(parts[0]))
    case ("Optional", 1), ("Published", 1): return ValueType(parts[0])
    case ("Dictionary", 2): return .dictionary(ValueType(parts[0]), ValueType(parts[1]))
    default: return .named(name)
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let start = text.drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }

  /// The text between an opening bracket at the beginning and its closing bracket at the end; nil where there is no such pair.
  private static func inside(_ text: String, _ open: Character, _ close: Character) -> String? {
    guard text.first == open, text.last == close else { return nil }
    var depth = 0
    for (number, letter) in text.enumerated() {
      if letter == open { depth += 1 }
      if letter == close { depth -= 1 }
      if depth == 0, number < text.count - 1 { return nil }
    }
    return String(text.dropFirst().dropLast())
  }

  private static func list(_ text: String) -> [String] {
    guard !trimmed(text).isEmpty else { return [] }
    return split(text, at: ",") ?? [text]
  }

  /// Parts between a separator that is in no brackets; at `->` and `:` only the first counts.
  private static func split(_ text: String, at separator: String) -> [String]? {
    var parts: [String] = []
    var (depth, start, index) = (0, text.startIndex, text.startIndex)
    while index < text.endIndex {
      let letter = text[index]
      let isArrow = letter == ">" && index > text.startIndex && text[text.index(before: index)] == "-"
      if "([<".contains(letter) { depth += 1 }
      if ")]>".contains(letter), !isArrow { depth -= 1 }
      if depth == 0, text[index...].hasPrefix(separator), separator == "," || parts.isEmpty {
        parts.append(String(text[start..<index]))
        start = text.index(index, offsetBy: separator.count)
      }
      index = text.index(after: index)
    }
    guard !parts.isEmpty else { return nil }
    return parts + [String(text[start...])]
  }

  private static func withoutLabel(_ parameter: String) -> String {
    let parts = split(parameter, at: ":") ?? []
    return parts.count > 1 ? parts[1] : parameter
  }

  /// A type as two spellings of it have in common: `(any Error)?` is `Error?`.
  static func normal(_ text: String) -> String {
    var words = text.replacing("@escaping", with: "").replacing("@Sendable", with: "").replacing("@MainActor", with: "")
    for word in ["any ", "inout ", "Swift.", "Foundation."] { words = words.replacing(word, with: "") }
    return String(words.filter { !$0.isWhitespace && $0 != "(" && $0 != ")" }).replacing("!", with: "?")
      .replacing("->Void", with: "->")
  }
}
