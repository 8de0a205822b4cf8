import CompilerFacts
import Foundation
import SwiftParser
import SwiftSyntax

/// The app's own text of a compiled file, parsed, with the index's symbols at its tokens.
struct CompiledSource {
  let file: CompiledApp.File
  let tree: SourceFileSyntax
  /// The file that the compiler read: the app's own, or its copy (`koine linux`).
  private let compiledPath: String
  private let converter: SourceLocationConverter
  private var occurrences: [String: [IndexOccurrence]]

  /// - Throws: `FactsFailure` if the file is not compiled or cannot be read.
  init(_ file: CompiledApp.File, _ declarations: Declarations) throws(FactsFailure) {
    guard file.state == .compiled, let compiledPath = file.compiledPath else {
      throw FactsFailure("\(file.path): \(file.state.explanation)")
    }
    guard let text = try? String(contentsOfFile: file.path, encoding: .utf8) else {
      throw FactsFailure("'\(file.path)' cannot be read as text")
    }
    (self.file, self.compiledPath) = (file, compiledPath)
    tree = Parser.parse(source: text)
    converter = SourceLocationConverter(fileName: file.path, tree: tree)
    let found = Dictionary(grouping: file.occurrences) { Self.key($0.location) }
    occurrences = found
    guard file.map.isOfCopy else { return }
    let named = SelectorNames(self, declarations).found
    occurrences = found.merging(named) { $0 + $1 }
  }

  func occurrences(at token: TokenSyntax) -> [IndexOccurrence] { occurrences[Self.key(location(of: token))] ?? [] }

  fileprivate static func key(_ location: CodeLocation) -> String { "\(location.line):\(location.column)" }

  func location(of token: TokenSyntax) -> CodeLocation {
    let place = converter.location(for: token.positionAfterSkippingLeadingTrivia)
    return CodeLocation(file: file.path, line: place.line, column: place.column)
  }

  /// The token that begins at a place; for a projected value (`$name`), whose place in the index is the name's, the token with the sign. Nil
  /// if the file has no such place.
  func token(at location: CodeLocation) -> TokenSyntax? {
    guard location.line <= converter.sourceLines.count else { return nil }
    return tree.token(at: converter.position(ofLine: location.line, column: location.column))
  }

  /// The type of an expression, before conversions.
  func type(of expression: some ExprSyntaxProtocol, _ facts: any TypeFacts) -> CompiledType? {
    guard let first = expression.firstToken(viewMode: .sourceAccurate).flatMap(compiledOffset),
      let last = expression.lastToken(viewMode: .sourceAccurate).flatMap(compiledOffset)
    else { return nil }
    return facts.expressionType(in: compiledPath, from: first, to: last)
  }

  /// Where the compiler read a token, in bytes.
  private func compiledOffset(of token: TokenSyntax) -> Int? {
    let position = token.positionAfterSkippingLeadingTrivia
    guard file.map.isOfCopy else { return position.utf8Offset }
    let place = converter.location(for: position)
    return file.map.compiledOffset(CopyMap.Place(line: place.line, column: place.column))
  }
}

/// The app's types and methods that `#selector` names. A copy has a text in its place, so the index has no symbols there.
private final class SelectorNames: SyntaxVisitor {
  private let source: CompiledSource
  private let declarations: Declarations
  /// By their places.
  private(set) var found: [String: [IndexOccurrence]] = [:]

  init(_ source: CompiledSource, _ declarations: Declarations) {
    (self.source, self.declarations) = (source, declarations)
    super.init(viewMode: .sourceAccurate)
    walk(source.tree)
  }

  override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
    guard node.macroName.text == "selector" else { return .visitChildren }
    var owner = around(node)
    for token in node.arguments.tokens(viewMode: .sourceAccurate) {
      guard case .identifier(let name) = token.tokenKind else { continue }
      let types = declarations.types(named: name).filter { $0.module == source.file.module }
      if types.count == 1 {
        owner = types[0].symbol.usr
        add(types[0].symbol, at: token)
      } else if let method = owner.flatMap({ self.method(name, of: $0) }) {
        add(method, at: token)
      }
    }
    return .skipChildren
  }

  private func add(_ symbol: IndexSymbol, at token: TokenSyntax) {
    let location = source.location(of: token)
    found[CompiledSource.key(location)] = [
      IndexOccurrence(symbol: symbol, roles: .reference, location: location, relations: [])
    ]
  }

  /// The class around a place.
  private func around(_ node: some SyntaxProtocol) -> String? {
    for node in sequence(first: Syntax(node), next: \.parent) {
      let name =
        node.as(ClassDeclSyntax.self)?.name
        ?? node.as(ExtensionDeclSyntax.self)?.extendedType.lastToken(viewMode: .sourceAccurate)
      guard let name else { continue }
      return source.occurrences(at: name).first { $0.symbol.kind.isType }?.symbol.usr
    }
    return nil
  }

  /// The method of a class or of the app's classes above it; nil if several have the name.
  private func method(_ name: String, of owner: String) -> IndexSymbol? {
    for type in [owner] + declarations.bases(of: owner).map(\.usr) {
      let own = declarations.members(of: type).map(\.symbol).filter { $0.name.prefix { $0 != "(" } == name }
      if !own.isEmpty { return own.count == 1 ? own[0] : nil }
    }
    return nil
  }
}
