import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

/// Reads the call layer of an app in one style: what its symbols mean.
protocol StyleReader: Sendable {
  static var style: Style { get }
  /// What one use of a symbol means; nil: as the table says.
  static func reading(of symbol: String) -> Reading?
  /// The role of a stored property, by the vendor's type in it.
  static var roles: [String: KeptProperty.Role] { get }
  /// Values that are written by several symbols, such as a case with its associated value: what they mean together.
  static func value(of symbols: [String]) -> String?
  /// What layers read from this style need beside `KoineHelper`.
  static var helper: LayerHelper? { get }
  /// How a call or property is written that no row of the table can say.
  static func structure(of symbol: String) -> Structure?
  /// The values of the common layer that a test for a type of the vendor's (`is`) means; nil: the type alone.
  static func values(ofType symbol: String) -> [String]?
  /// Enums of the vendor's whose counterparts have the same raw values.
  static var typesWithSameRawValues: Set<String> { get }
  /// All files that layers read from this style need.
  static var helpers: [LayerHelper] { get }
  /// Types of the vendor's that stay objects: they are compared by identity in the new layer, too.
  static var objects: Set<String> { get }
  /// Words that are the helpers', or members of these.
  static var helperWords: Set<String> { get }
  /// Code for a piece of the app's source that is more than other words; nil: as the table says.
  static func text(of node: Syntax, _ renderer: LayerRenderer) throws(Unportable) -> String?
  /// The fact that a callback reports, where several callbacks have one name.
  /// - Parameter type: the type of the app's function.
  static func fact(of symbol: String, type: String?) -> Fact?
  /// What to do instead of a callback that the target does not have, where several callbacks have one name; nil: as the table says.
  /// - Parameter type: the type of the app's function.
  static func instead(ofCallback symbol: String, type: String?) -> String?
  /// Code for a call that is more than other words; nil: as the table says.
  static func text(
    of call: FunctionCallExprSyntax, _ symbol: String, _ renderer: LayerRenderer
  ) throws(Unportable) -> (text: String, share: Share)?
  /// Code for a cast to a vendor's type, or for the test whether a value is of the type; nil: as the table says.
  /// - Parameters:
  ///   - isTest: whether it is a test (`is`).
  ///   - type: the value's type with its module.
  static func text(
    ofCast value: String, to symbol: String, isTest: Bool, from type: String?
  ) throws(Unportable) -> (text: String, share: Share)?
  /// The condition on a value of the new layer's one type under which it is of the vendor's type, as text behind the value; nil if there is
  /// none.
  static func condition(ofType symbol: String) -> String?
  /// Code for a comparison that is more than other words; nil: as the table says.
  static func comparison(
    _ value: ExprSyntax, _ sign: ExprSyntax, _ other: ExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String?
  /// What objects report to a delegate of their own, which any class can be. All else reaches the call class only.
  static var factsOfObjects: Set<Fact> { get }
  /// What objects report to a delegate that can be an object of the call class's, which keeps it in a property.
  static var factsOfDelegates: Set<Fact> { get }
  /// Labels of arguments that have no counterpart in any style, such as the settings of a track.
  static var droppedArguments: Set<String> { get }
  /// The vendor's functions whose counterparts throw nothing.
  static var nonthrowing: Set<String> { get }
  /// What layers in a vendor's style have for a word of the common layer.
  static func vendorWord(_ word: String) -> String
  /// The word of the common layer that a symbol is there for: where the target has nothing for it, the symbol is lost.
  static func neededWord(of symbol: String) -> String?
  /// What a symbol that is ported does otherwise in another style; nil: the same, or nothing that the new file could say better.
  static func difference(of symbol: String, in target: Style) -> String?
  /// The functions that get the session's events; nil: `KoineWriter` writes them for the style.
  static func dispatch(_ model: CallModel, of type: String, _ writer: LayerWriter) -> String?
}

extension StyleReader {
  static func value(of symbols: [String]) -> String? { nil }
  static var helper: LayerHelper? { nil }
  static func structure(of symbol: String) -> Structure? { nil }
  static func values(ofType symbol: String) -> [String]? { nil }
  static var typesWithSameRawValues: Set<String> { [] }
  static var helpers: [LayerHelper] { [KoineHelper.file] + (helper.map { [$0] } ?? []) }
  static var objects: Set<String> { [] }
  static var helperWords: Set<String> { [] }
  static func text(of node: Syntax, _ renderer: LayerRenderer) throws(Unportable) -> String? { nil }
  static func fact(of symbol: String, type: String?) -> Fact? { nil }
  static func instead(ofCallback symbol: String, type: String?) -> String? { nil }
  static func text(
    of call: FunctionCallExprSyntax, _ symbol: String, _ renderer: LayerRenderer
  ) throws(Unportable) -> (text: String, share: Share)? { nil }
  static func text(
    ofCast value: String, to symbol: String, isTest: Bool, from type: String?
  ) throws(Unportable) -> (text: String, share: Share)? { nil }
  static func condition(ofType symbol: String) -> String? { nil }
  static func comparison(
    _ value: ExprSyntax, _ sign: ExprSyntax, _ other: ExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String? { nil }

  /// A cast of a value, or the test whether it can be cast, by such a condition.
  static func cast(_ value: String, where condition: String, _ isTest: Bool) -> String {
    // In an optional chain the value has a question mark.
    let isOptional = value.hasSuffix("?") || value.contains("?.")
    let whole = value.hasSuffix("?") ? String(value.dropLast()) : isOptional ? "(\(value))" : value
    if isTest { return isOptional ? "(\(whole).map { $0\(condition) } ?? false)" : value + condition }
    return isOptional ? "\(whole).flatMap({ $0\(condition) ? $0 : nil })" : "(\(value)\(condition) ? \(value) : nil)"
  }

  static var factsOfObjects: Set<Fact> { [] }
  static var factsOfDelegates: Set<Fact> { [] }
  static var droppedArguments: Set<String> { [] }
  static var nonthrowing: Set<String> { [] }
  static func vendorWord(_ word: String) -> String { word }
  static func neededWord(of symbol: String) -> String? { nil }
  static func difference(of symbol: String, in target: Style) -> String? { nil }
  static func dispatch(_ model: CallModel, of type: String, _ writer: LayerWriter) -> String? { nil }
}

/// How one call or property of a vendor's is written in the words of the common layer.
struct Structure {
  /// What is there in the app's code.
  struct Use {
    /// The value that it is asked of, as it is in the new layer.
    let base: String?
    /// The arguments as they are in the new layer, by label; `_` for none.
    let arguments: [String: String]
    /// The types of the arguments, with their modules.
    let types: [String: String]
    /// How the code names the call object; nil if it cannot.
    let call: String?
    let isInCallClass: Bool
    let writer: LayerWriter
    /// Whether the layer is in a vendor's style.
    var isOfVendor: Bool { writer is VendorWriter }
  }

  private let share: Share, shareInVendors: Share?
  /// Labels of the arguments that have no counterpart.
  let dropped: Set<String>
  /// Nil if it cannot be written there.
  let text: (Use) -> String?

  /// - Parameter shareInVendors: the share in layers in a vendor's style; nil: the same.
  init(
    _ share: Share, inVendors shareInVendors: Share? = nil, dropping dropped: Set<String> = [],
    _ text: @escaping (Use) -> String?
  ) {
    (self.share, self.shareInVendors, self.dropped, self.text) = (share, shareInVendors, dropped, text)
  }

  func share(in writer: LayerWriter) -> Share { writer is VendorWriter ? shareInVendors ?? share : share }
}

/// The readers that there are.
enum StyleReaders {
  static let all: [any StyleReader.Type] = [
    EventListenerReader.self, MeetingReader.self, StageReader.self, CallAgentReader.self,
  ]

  /// - Throws: `FactsFailure` if there is none for the style.
  static func reader(of style: Style) throws(FactsFailure) -> any StyleReader.Type {
    if let reader = all.first(where: { $0.style == style }) { return reader }
    let titles = all.map { "\($0.style.rawValue)" }.joined(separator: ", ")
    throw FactsFailure(
      "there is no reader of the style \(style.rawValue) yet; layers are read that are written in: \(titles)")
  }
}

/// The table of porting.json, for one style.
struct StyleTable {
  private var meanings: [String: (row: PortingTable.Row, meaning: PortingTable.Meaning)] = [:]
  private var lost: [String: String] = [:]
  private let reader: any StyleReader.Type

  private let writer: LayerWriter.Type

  init(_ reader: any StyleReader.Type, to writer: LayerWriter.Type, _ table: PortingTable = .current) {
    (self.reader, self.writer) = (reader, writer)
    for row in table.rows {
      for (symbol, meaning) in row.read[reader.style] ?? [:] { meanings[symbol] = (row, meaning) }
    }
    for row in table.rows {
      let instead = Self.instead(of: row, writer)
      for symbol in row.lost[reader.style] ?? [] { lost[symbol] = instead }
      // A row without symbols of the target says what to do instead.
      guard row.symbols[writer.style, default: []].isEmpty else { continue }
      for symbol in row.symbols[reader.style] ?? [] where lost[symbol] == nil && !isReported(symbol, by: writer.style) {
        lost[symbol] = instead
      }
    }
  }

  /// What to do instead of a row's symbols in the target. The table has a dash where there is nothing.
  private static func instead(of row: PortingTable.Row, _ writer: LayerWriter.Type) -> String {
    row.instead[writer.style].flatMap { $0 == "–" ? nil : $0 } ?? writer.noWord
  }

  /// Whether it is a callback that the target reports, by the row that says what it means. It may be in other rows, too.
  private func isReported(_ symbol: String, by target: Style) -> Bool {
    guard let (row, meaning) = meanings[symbol], case .fact = meaning else { return false }
    if let fact = fact(symbol), writer.reports(fact, from: reader.style) { return true }
    return !row.symbols[target, default: []].isEmpty
  }

  func fact(_ symbol: String) -> Fact? {
    if case .fact(let name)? = meanings[symbol]?.meaning { Fact(rawValue: name) } else { nil }
  }

  /// A word of the common layer in the target's layers.
  private func word(_ word: String) -> String { writer is VendorWriter.Type ? reader.vendorWord(word) : word }

  func reading(of symbol: String) -> Reading {
    if let word = reader.neededWord(of: symbol), !writer.hasWord(word) {
      return .lost(
        symbol: symbol,
        instead: lost[symbol] ?? meanings[symbol].map { Self.instead(of: $0.row, writer) } ?? writer.noWord)
    }
    if let reading = reader.reading(of: symbol) {
      if case .word(let word) = reading { return .word(self.word(word)) }
      guard case .registration(of: .ofTopic, _) = reading, !writer.hasWord("ReceivedMessage") else { return reading }
      return .lost(symbol: symbol, instead: lost[symbol] ?? writer.noWord)
    }
    if reader.structure(of: symbol) != nil { return .structure(symbol: symbol) }
    if let (row, meaning) = meanings[symbol] {
      let withoutWord = Reading.lost(symbol: symbol, instead: Self.instead(of: row, writer))
      switch meaning {
      case .word(let word):
        let word = self.word(word)
        return writer.hasWord(word) ? .word(word) : withoutWord
      case .intent(let slots):
        let isWritten = row.write[writer.style] != nil || row.id == "credential"
        return isWritten ? .intent(Intent(row: row.id, symbol: symbol, slots: slots)) : withoutWord
      case .fact: break
      }
    }
    return lost[symbol].map { .lost(symbol: symbol, instead: $0) } ?? .unknown(symbol: symbol)
  }

  func value(of symbols: [String]) -> String? { reader.value(of: symbols) }
  func structure(of symbol: String) -> Structure? { reader.structure(of: symbol) }
  func values(ofType symbol: String) -> [String]? { reader.values(ofType: symbol) }
  func instead(of symbol: String) -> String? { lost[symbol] }
  func write(_ row: String, in target: Style) -> String? {
    PortingTable.current.rows.first { $0.id == row }?.write[target]
  }
}

/// Makes the model of an app's call layer.
struct LayerReader {
  let callClass: CallClass
  let reader: any StyleReader.Type
  let writer: LayerWriter.Type
  let table: StyleTable

  /// - Throws: `FactsFailure` if there is no reader of the style.
  init(_ callClass: CallClass, from style: Style, to writer: LayerWriter.Type) throws(FactsFailure) {
    (self.callClass, self.writer) = (callClass, writer)
    reader = try StyleReaders.reader(of: style)
    table = StyleTable(reader, to: writer)
  }

  /// The name of a symbol of the style, as the table has it; nil for other symbols.
  func vendorSymbol(_ occurrence: IndexOccurrence) -> String? {
    let symbol = occurrence.symbol
    guard occurrence.roles.contains(.reference), !occurrence.roles.contains(.implicit) else { return nil }
    return vendorName(symbol.usr)
  }

  func vendorName(_ usr: String) -> String? {
    let declarations = callClass.app.declarations
    guard let declaration = declarations[usr], VendorSites.style(of: declaration.module) == reader.style,
      !declaration.symbol.isAccessor, declaration.symbol.kind != .module, declaration.symbol.kind != .extension
    else { return nil }
    return (declarations.owners(of: usr) + [declaration.symbol.name]).joined(separator: ".")
  }

  func model(of layer: LayerDeclarations) -> CallModel {
    var model = CallModel(style: reader.style)
    for item in layer.items {
      for token in item.syntax.tokens(viewMode: .sourceAccurate) {
        // An initializer says more than its type.
        let found = item.source.occurrences(at: token).filter { vendorSymbol($0) != nil }
        guard let occurrence = found.first(where: { !$0.symbol.kind.isType }) ?? found.first,
          let symbol = vendorSymbol(occurrence)
        else { continue }
        let isConformance = occurrence.symbol.kind == .protocol && occurrence.roles.contains(.baseOf)
        model.add(isConformance ? .conformance : table.reading(of: symbol), at: occurrence.location)
      }
      for usr in item.declared.sorted() { readDeclaration(usr, item.source, &model) }
    }
    return model
  }

  private func readDeclaration(_ usr: String, _ source: CompiledSource, _ model: inout CallModel) {
    let declarations = callClass.app.declarations
    guard let declaration = declarations[usr], declaration.module == callClass.type.module, !declaration.isImplicit
    else { return }
    for requirement in declaration.overridden {
      guard let symbol = vendorName(requirement.usr),
        let fact = reader.fact(of: symbol, type: callClass.facts.declaration(usr)?.type.description)
          ?? table.fact(symbol)
      else { continue }
      let owner = declaration.owner?.usr ?? ""
      let keeper = reader.factsOfDelegates.contains(fact) ? self.keeper(of: owner) : nil
      let handler = Handler(
        fact: fact, usr: usr, name: declaration.symbol.name, owner: owner, location: declaration.location,
        unused: Self.unusedParameters(of: declaration.location, in: source), keeper: keeper)
      if owner == callClass.type.symbol.usr || keeper != nil || reader.factsOfObjects.contains(fact) {
        model.add(handler)
      } else {
        model.add(foreign: handler)
      }
    }
    guard declaration.owner?.usr == callClass.type.symbol.usr, declaration.symbol.kind == .property,
      let type = callClass.facts.declaration(usr)?.type
    else { return }
    let types = type.names.compactMap { name in reader.roles.first { name.hasSuffix("." + $0.key) }?.value }
    guard let role = types.first else { return }
    let isList = type.description.contains("[")
    model.add(
      KeptProperty(
        name: declaration.symbol.name, usr: usr, role: role == .participant && isList ? .participants : role))
  }

  /// The call class's property with its one object of a class of the app's; nil if it keeps none, or several.
  private func keeper(of type: String) -> Handler.Keeper? {
    let declarations = callClass.app.declarations
    guard type != callClass.type.symbol.usr, let name = declarations.qualifiedName(of: type) else { return nil }
    let found = declarations.members(of: callClass.type.symbol.usr).compactMap { member in
      callClass.facts.declaration(member.symbol.usr).flatMap { declaration in
        member.symbol.kind == .property && declaration.type.names.contains(name)
          ? (member.symbol, declaration.type) : nil
      }
    }
    guard found.count == 1, let (symbol, kept) = found.first,
      kept.names.filter({ $0 != "Swift.Optional" }) == [name], !kept.description.contains("[")
    else { return nil }
    let isOptional = kept.description.contains("?") || kept.description.contains("Optional")
    return Handler.Keeper(name: symbol.name, usr: symbol.usr, isOptional: isOptional)
  }

  /// The positions of the parameters that the statements of the function at a place never name.
  private static func unusedParameters(of place: CodeLocation, in source: CompiledSource) -> Set<Int> {
    guard let function = source.token(at: place)?.parent?.as(FunctionDeclSyntax.self), let body = function.body else {
      return []
    }
    let names = Set(body.tokens(viewMode: .sourceAccurate).map(\.text))
    let parameters = function.signature.parameterClause.parameters.map { ($0.secondName ?? $0.firstName).text }
    return Set(parameters.indices.filter { !names.contains(parameters[$0]) })
  }
}
