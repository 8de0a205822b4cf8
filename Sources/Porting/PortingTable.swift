public import KoineBase
import KoineJSONCodec

/// What an app does, in each style's symbols: Docs/porting.json.
public struct PortingTable: Sendable {
  public struct Row: Sendable {
    public let id, group: String
    /// What the app does: “join a room”.
    public let does: String
    public let symbols: [Style: [String]]
    /// What does it where a style has no word, or has to be known besides.
    public let instead: [Style: String]
    public let differs: String?
    /// The names of what varies from use to use: `koine port` reads them from one style's symbols and writes them into another's.
    public let slots: [String]
    /// By style: what its symbols mean in the words of the common layer.
    public let read: [Style: [String: Meaning]]
    /// By style: the symbol that does it there, with the slots as its labels.
    public let write: [Style: String]
    /// By style: its symbols for which the common layer has no word.
    public let lost: [Style: [String]]
  }

  /// What a style's symbol means.
  public enum Meaning: Sendable, Hashable {
    /// A type, property or value of the common layer: `EndReason.left`. `self`: nothing besides the value that it is asked of.
    case word(String)
    /// A callback, by the name of its fact.
    case fact(String)
    /// An action, with the values of the row's slots.
    case intent([String: Slot])
  }

  public enum Slot: Sendable, Hashable {
    /// `Track.Kind.camera`
    case word(String)
    case flag(Bool)
    /// The call's argument with this label.
    case argument(String)
    /// The call's unlabelled argument at this position.
    case position(Int)
    /// The value under this key of the argument with this label, a dictionary.
    case entry(argument: String, key: String)
  }

  public let titles: [Style: String]
  public let groups: [String: String]
  public let rows: [Row]

  public static let current = PortingTable(reading: GeneratedTables.decode(File.self, from: GeneratedTables.porting))

  private struct File: Decodable {
    struct Title: Decodable { let title: String }
    struct Row: Decodable {
      let id, group, does: String
      let symbols: [String: [String]]
      let instead: [String: String]?
      let differs: String?
      let slots: [String]?
      let read: [String: [String: Meaning]]?
      let write: [String: String]?
      let lost: [String: [String]]?
    }
    let styles: [String: Title]
    let groups: [String: String]
    let rows: [Row]
  }

  private init(reading file: File) {
    titles = Self.byStyle(file.styles).mapValues(\.title)
    groups = file.groups
    rows = file.rows.map {
      Row(
        id: $0.id, group: $0.group, does: $0.does, symbols: Self.byStyle($0.symbols),
        instead: Self.byStyle($0.instead ?? [:]), differs: $0.differs, slots: $0.slots ?? [],
        read: Self.byStyle($0.read ?? [:]), write: Self.byStyle($0.write ?? [:]), lost: Self.byStyle($0.lost ?? [:]))
    }
  }

  private static func byStyle<Value>(_ values: [String: Value]) -> [Style: Value] {
    Dictionary(
      values.compactMap { name, value in Style(rawValue: name).map { ($0, value) } }, uniquingKeysWith: { $1 })
  }

  // MARK: Looking up

  /// The rows that name a symbol: `Meeting.muteMic()`, or so much of it as says which: `Meeting.muteMic`, `muteMic`,
  /// `IVSStage` for all of the type's.
  /// Part of a selector, as `participantDidJoin`, only where no symbol has that name.
  public func rows(naming symbol: String) -> [Row] {
    let named = rows(where: { $0.isMeant(by: symbol) })
    guard named.isEmpty else { return named }
    let labelled = rows(where: { $0.hasLabel(symbol) })
    return labelled.count <= Self.labelLimit ? labelled : []
  }

  /// A label in more rows than this, as `options`, identifies none.
  private static let labelLimit = 4

  private func rows(where isMeant: (SymbolName) -> Bool) -> [Row] {
    rows.filter { row in row.symbols.values.contains { $0.contains { isMeant(SymbolName($0)) } } }
  }
}

extension PortingTable.Meaning: Decodable {
  public init(from decoder: any Decoder) throws {
    if let word = try? decoder.singleValueContainer().decode(String.self) {
      self = .word(word)
      return
    }
    let members = try decoder.singleValueContainer().decode([String: PortingTable.Slot].self)
    if case .word(let fact)? = members["fact"] { self = .fact(fact) } else { self = .intent(members) }
  }
}

extension PortingTable.Slot: Decodable {
  private enum Key: String, CodingKey { case argument, key }

  public init(from decoder: any Decoder) throws {
    if let single = try? decoder.singleValueContainer(), let flag = try? single.decode(Bool.self) {
      self = .flag(flag)
    } else if let single = try? decoder.singleValueContainer(), let word = try? single.decode(String.self) {
      self = .word(word)
    } else {
      let members = try decoder.container(keyedBy: Key.self)
      if let position = try? members.decode(Int.self, forKey: .argument) {
        self = .position(position)
        return
      }
      let argument = try members.decode(String.self, forKey: .argument)
      let key = try members.decodeIfPresent(String.self, forKey: .key)
      self = key.map { .entry(argument: argument, key: $0) } ?? .argument(argument)
    }
  }
}

/// `Type.member(label:)`, taken apart.
public struct SymbolName: Sendable, Hashable {
  public let whole: String
  /// Before the member; of a type, the type.
  public let owner: String
  /// With its labels; nil: it is a type's name.
  public let member: String?

  public init(_ whole: String) {
    self.whole = whole
    let path = whole.prefix { $0 != "(" }
    let last = path.lastIndex(of: ".")
    let name = last.map { path[path.index(after: $0)...] } ?? path
    if let first = name.first, first.isUppercase, path.endIndex == whole.endIndex, !Self.isConstant(name) {
      (owner, member) = (whole, nil)
    } else {
      owner = last.map { String(path[..<$0]) } ?? ""
      member = String(name) + whole[path.endIndex...]
    }
  }

  /// `CLOSED`, `RECORDING_STARTED`: cases in capitals are members.
  private static func isConstant(_ name: Substring) -> Bool {
    name.count > 1 && name.allSatisfy { $0.isUppercase || $0 == "_" || $0.isNumber }
  }

  /// Without the labels.
  public var baseName: String { String((member ?? owner).prefix { $0 != "(" }) }

  func isMeant(by text: String) -> Bool {
    guard let member else { return text == owner }
    return [whole, owner, member, baseName, owner + "." + baseName].contains(text)
  }

  /// Part of a selector: `participantDidJoin` of `stage(_:participantDidJoin:)`.
  func hasLabel(_ text: String) -> Bool {
    guard let member, let open = member.firstIndex(of: "("), member.hasSuffix(")") else { return false }
    let labels = member[member.index(after: open)...].dropLast()
    let part = text.hasSuffix(":") ? String(text.dropLast()) : text
    return part != "_" && labels.split(separator: ":").contains { $0 == part }
  }
}

/// Faults of a call, with the callbacks of each style: the table of Docs/adopt.md.
public struct FaultTable: Sendable {
  public struct Row: Sendable, Encodable {
    /// The call of `TestRoom` that causes the fault.
    public let what: String
    public let told: [Style: String]

    public func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: Key.self)
      try values.encode(what, forKey: .what)
      try values.encode(
        Dictionary(told.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 }), forKey: .told)
    }

    private enum Key: String, CodingKey { case what, told }
  }

  public let rows: [Row]

  public static let current: FaultTable = {
    struct File: Decodable {
      struct Row: Decodable {
        let what: String
        let told: [String: String]
      }
      let rows: [Row]
    }
    return FaultTable(
      rows: GeneratedTables.decode(File.self, from: GeneratedTables.faults).rows.map { row in
        let told = row.told.compactMap { name, text in Style(rawValue: name).map { ($0, text) } }
        return Row(what: row.what, told: Dictionary(told, uniquingKeysWith: { $1 }))
      })
  }()

  /// The rows that have an error's number, or its name in code.
  public func rows(naming code: String) -> [Row] {
    rows.filter { row in row.told.values.contains { Self.names($0).contains { $0 == code } } }
  }

  private static func names(_ text: String) -> [Substring] {
    func words(_ part: Substring) -> [Substring] { part.split { !$0.isLetter && !$0.isNumber && $0 != "_" } }
    // Every other part is between backticks.
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().flatMap { index, part in
      words(part).filter { index.isMultiple(of: 2) ? $0.allSatisfy(\.isNumber) : true }
    }
  }
}
