public import CompilerFacts
import Foundation
import SwiftParser
import SwiftSyntax

/// Numbered switches in a new layer: each statement that `koine port` has written can be turned off, one at a time, in one build.
///
/// Tests of the porting suite's own worth: a statement that is off, and that no test finds, is a survivor. A statement counts as written if
/// the app has none with the same text.
public struct StatementSwitches: Sendable {
  public struct Statement: Hashable, Sendable, Codable {
    public let number: Int
    /// The line in the new file without switches.
    public let line: Int
    public let text: String
  }

  /// The new file, with `if Mutants.isOn(N) { … }` around each of the statements.
  public let source: String
  public let statements: [Statement]

  /// - Parameters:
  ///   - source: the new file.
  ///   - originals: the app's files.
  ///   - excluded: lines of statements that cannot be turned off.
  public init(_ source: String, originals: [String], excluded: Set<Int> = []) {
    let own = originals.reduce(into: Set<String>()) { texts, text in
      for statement in Self.statements(in: Parser.parse(source: text)) { texts.insert(Self.normal(statement)) }
    }
    let tree = Parser.parse(source: source)
    let converter = SourceLocationConverter(fileName: "", tree: tree)
    var (found, edits): ([Statement], [(offset: Int, text: String)]) = ([], [])
    for statement in Self.statements(in: tree) where Self.canBeOff(statement) && !own.contains(Self.normal(statement)) {
      let start = statement.positionAfterSkippingLeadingTrivia
      let line = converter.location(for: start).line
      guard !excluded.contains(line) else { continue }
      let number = found.count + 1
      found.append(Statement(number: number, line: line, text: statement.item.trimmedDescription))
      edits.append((start.utf8Offset, "if Mutants.isOn(\(number)) { "))
      // A semicolon stays behind the brace: it ends the statement.
      edits.append((statement.item.endPositionBeforeTrailingTrivia.utf8Offset, " }"))
    }
    statements = found
    var bytes = Array(source.utf8)
    for (offset, text) in edits.sorted(by: { $0.offset > $1.offset }) {
      bytes.insert(contentsOf: text.utf8, at: offset)
    }
    self.source = String(decoding: bytes, as: UTF8.self)
  }

  /// The statements of a layer that compile with a switch.
  /// - Parameters:
  ///   - app: the app that the layer was made from.
  ///   - module: how the build compiles the app's module.
  /// - Throws: `FactsFailure` if a file of the app cannot be read, the compiler cannot be started, or the new file does not compile with
  ///   switches for another reason than a switch.
  public init(of layer: CallLayer, _ app: CompiledApp, beside module: CompileCommand) throws(FactsFailure) {
    let originals = app.files.compactMap { try? String(contentsOfFile: $0.path, encoding: .utf8) }
    let file = layer.typeName + ".swift"
    var excluded: Set<Int> = []
    while true {
      self.init(layer.source, originals: originals, excluded: excluded)
      let outcome = try layer.typecheck(
        layer.files(file, source) + [("Mutants.swift", Self.support)], beside: module)
      if outcome.succeeded { return }
      let lines = Self.lines(of: outcome, file: file).subtracting(excluded)
      guard statements.contains(where: { lines.contains($0.line) }) else {
        throw FactsFailure("the new file does not compile with switches:\n" + outcome.errors.joined(separator: "\n"))
      }
      excluded.formUnion(lines)
    }
  }

  private static let support = "enum Mutants { static func isOn(_ number: Int) -> Bool { true } }\n"

  /// Lines of statements that the compiler refuses to have turned off.
  public static func lines(of outcome: CompileCommand.Outcome, file: String) -> Set<Int> {
    Set(
      outcome.errors.compactMap { error in
        let parts = error.split(separator: ":", maxSplits: 3)
        return parts.count == 4 && parts[0].hasSuffix("/" + file) ? Int(parts[1]) : nil
      })
  }

  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(statements)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
  }

  // MARK: Statements

  private static func statements(in tree: SourceFileSyntax) -> [CodeBlockItemSyntax] {
    var (found, waiting): ([CodeBlockItemSyntax], [Syntax]) = ([], [Syntax(tree)])
    while let node = waiting.popLast() {
      if let item = node.as(CodeBlockItemSyntax.self), !item.item.is(DeclSyntax.self) { found.append(item) }
      waiting += node.children(viewMode: .sourceAccurate).reversed()
    }
    return found
  }

  /// Without differences of white space.
  private static func normal(_ statement: CodeBlockItemSyntax) -> String {
    statement.item.trimmedDescription.split { $0.isWhitespace }.joined(separator: " ")
  }

  /// Whether the code around a statement compiles without it: a call or an assignment that gives no value.
  private static func canBeOff(_ statement: CodeBlockItemSyntax) -> Bool {
    guard let expression = statement.item.as(ExprSyntax.self), isAction(expression),
      let list = statement.parent?.as(CodeBlockItemListSyntax.self)
    else { return false }
    var (node, block) = (list.parent, list)
    while let current = node {
      if current.is(InitializerDeclSyntax.self) || current.is(InitializerClauseSyntax.self) { return false }
      if current.is(ClosureExprSyntax.self) { return block.count > 1 }
      if let function = current.as(FunctionDeclSyntax.self) {
        return function.signature.returnClause == nil || block.count > 1
      }
      if let accessor = current.as(AccessorDeclSyntax.self) {
        return accessor.accessorSpecifier.text != "get" || block.count > 1
      }
      if current.is(AccessorBlockSyntax.self) { return block.count > 1 }
      if let outer = current.as(CodeBlockItemListSyntax.self) { block = outer }
      node = current.parent
    }
    return false
  }

  private static func isAction(_ expression: ExprSyntax) -> Bool {
    if let wait = expression.as(AwaitExprSyntax.self) { return isAction(wait.expression) }
    if let attempt = expression.as(TryExprSyntax.self) { return isAction(attempt.expression) }
    if let chain = expression.as(OptionalChainingExprSyntax.self) { return isAction(chain.expression) }
    if let sequence = expression.as(SequenceExprSyntax.self) {
      return sequence.elements.dropFirst().first?.is(AssignmentExprSyntax.self) == true
        || sequence.elements.dropFirst().first?.as(BinaryOperatorExprSyntax.self)?.operator.text.hasSuffix("=") == true
    }
    return expression.is(FunctionCallExprSyntax.self)
  }
}
