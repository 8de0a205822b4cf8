import CallModel
import CompilerFacts
import Foundation
import KoinePorting
import SwiftSyntax

/// Why a piece of the app's code cannot be written in the target's words.
enum Unportable: Error, Equatable {
  case unknown(String)
  case lost(symbol: String, instead: String)
  /// It uses a declaration of the app's that is left out, because the target has no word for what it does.
  case leftOut(String)

  var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

/// What has become of a call site.
enum Share: String, CaseIterable {
  case written, inHelper = "in the helper", dropped, asked, warned
}

/// A variable of a function's.
struct LocalVariable {
  let name: String
  /// Why its declaration is a comment; nil if it is ported.
  let error: Unportable?
  /// Whether it has no value so far.
  var isUnset: Bool
}

/// Renders declarations of the app in the words of the target. All text that means nothing of the vendor's stays as it is.
///
/// A statement that cannot be rendered stays as a comment under `#warning`; one whose symbols the target has no word for stays as a
/// comment. A declaration that cannot be rendered stays as a comment, and its uses count as unknown: `hasNews` says that the layer has to
/// be rendered again.
final class LayerRenderer {
  let context: LayerContext
  private(set) var source: CompiledSource
  /// What has become of the sites so far.
  private(set) var shares: [CodeLocation: Share] = [:]
  /// Declarations that are comments in the new layer.
  var unported: Set<String> = []
  /// Those of them that are left out because the target has no word for what they do.
  var leftOut: Set<String> = []
  var warnings: [(place: CodeLocation, symbol: String)] = []
  /// Whether the layer has to be rendered again, because a declaration could not be rendered that was used before.
  var hasNews = false
  /// Whether the target's types have more values than the vendor's, so that a `switch` without `default` needs one.
  var needsDefault = false

  /// Where expressions begin that have no counterpart.
  var dropped: Set<CodeLocation> = []
  /// Local variables, those of inner blocks last.
  var locals: [LocalVariable] = []
  /// Declarations that the compiler has refused in an earlier form of the new file.
  let refusals: [LayerRefusal]
  var marks = DeclarationMarks()
  /// The places of the declarations, by the numbers in their marks.
  var places: [CodeLocation] { marks.places }

  init(_ context: LayerContext, source: CompiledSource, refusals: [LayerRefusal]) {
    (self.context, self.source, self.refusals) = (context, source, refusals)
  }

  func beginAgain() {
    (shares, warnings, hasNews) = ([:], [], false)
    marks = DeclarationMarks()
    context.forget()
  }

  /// - Returns: nil if nothing is left of it.
  func text(of item: LayerDeclarations.Item) -> String {
    source = item.source
    return declaration(Syntax(item.syntax)) { () throws(Unportable) in try self.children(Syntax(item.syntax)) }
  }

  // MARK: Nodes

  private static let starts: Set<String> = ["main", "UIApplicationMain", "NSApplicationMain"]

  func render(_ node: Syntax) throws(Unportable) -> String {
    if let token = node.as(TokenSyntax.self) { return try text(of: token) }
    // The copy that `koine linux` writes names the app's file.
    if node.is(PoundSourceLocationSyntax.self) { return node.leadingTrivia.description }
    if !context.isInPlace, let attribute = node.as(AttributeSyntax.self),
      Self.starts.contains(attribute.attributeName.trimmedDescription)
    {
      // A program begins in one place: the app's.
      return node.leadingTrivia.description + "/* \(node.trimmedDescription) */" + node.trailingTrivia.description
    }
    if let error = useOfMissingLocal(node) { throw error }
    if let text = try context.reader.reader.text(of: node, self) { return text }
    if let call = node.as(FunctionCallExprSyntax.self), let text = try CallRenderer(self).text(of: call) { return text }
    if let member = node.as(MemberAccessExprSyntax.self), let text = try text(of: member) { return text }
    if let wait = node.as(AwaitExprSyntax.self), let text = try text(of: wait) { return text }
    if let attempt = node.as(TryExprSyntax.self), let text = try text(of: attempt) { return text }
    if let type = node.as(SomeOrAnyTypeSyntax.self), let text = try text(of: type) { return text }
    if let type = node.as(MemberTypeSyntax.self), let text = try text(of: type) { return text }
    if let declaration = node.as(VariableDeclSyntax.self), let text = try text(of: declaration) { return text }
    if let some = node.as(SomeOrAnyTypeSyntax.self), let first = some.constraint.firstToken(viewMode: .sourceAccurate),
      case .word? = reading(at: first)
    {
      // The vendor has a protocol where the target has a type.
      return some.someOrAnySpecifier.leadingTrivia.description + (try render(Syntax(some.constraint)))
    }
    if let sequence = node.as(SequenceExprSyntax.self) { return try text(of: sequence) }
    if let label = node.as(SwitchCaseLabelSyntax.self) { return try text(of: label) }
    if let cases = node.as(SwitchCaseListSyntax.self) { return try text(of: cases) }
    if let clause = node.as(InheritanceClauseSyntax.self) { return try text(of: clause) }
    if let items = node.as(CodeBlockItemListSyntax.self) { return try text(of: items) }
    if let member = node.as(MemberBlockItemSyntax.self) {
      return declaration(node) { () throws(Unportable) in try self.children(Syntax(member)) }
    }
    if let block = node.as(MemberBlockSyntax.self) {
      let more = [context.classBody(block, in: source), missingInitializer(of: block)].compactMap { $0 }.joined()
      return try children(Syntax(block), before: Syntax(block.rightBrace)) + more + (try text(of: block.rightBrace))
    }
    return try children(node)
  }

  /// - Parameter end: the child that is left out.
  func children(_ node: Syntax, before end: Syntax? = nil) throws(Unportable) -> String {
    var text = ""
    for child in node.children(viewMode: .sourceAccurate) where end.map({ child.id != $0.id }) ?? true {
      text += try render(child)
    }
    return text
  }

  func mark(_ token: TokenSyntax, _ share: Share) {
    let location = source.location(of: token)
    if context.sites.contains(location) { shares[location] = share }
  }

  func markAll(in node: some SyntaxProtocol, _ share: Share) {
    for token in node.tokens(viewMode: .sourceAccurate) { mark(token, share) }
  }

  // MARK: Tokens

  private func text(of token: TokenSyntax) throws(Unportable) -> String {
    let location = source.location(of: token)
    if let reading = context.model.readings[location] {
      switch reading {
      case .word(let word):
        if context.writer.hasPayload(word), !token.isInPattern {
          guard token.isStored, let value = context.writer.madeValue(of: word) else { throw .unknown(token.text) }
          mark(token, .written)
          return token.replaced(by: value)
        }
        let (text, share) = context.writer.value(of: word)
        mark(token, share)
        return token.replaced(by: text)
      case .code(let text):
        let code = context.writer.code(text)
        mark(token, code.share)
        return token.replaced(by: code.text)
      case .lost(let symbol, let instead): throw .lost(symbol: symbol, instead: instead)
      case .unknown(let symbol): throw .unknown(symbol)
      case .intent(let intent): throw .unknown(intent.symbol)
      case .structure(let symbol): throw .unknown(symbol)
      case .registration, .conformance: throw .unknown(token.text)
      }
    }
    for occurrence in source.occurrences(at: token) {
      if unported.contains(occurrence.symbol.usr), occurrence.roles.contains(.reference) {
        if leftOut.contains(occurrence.symbol.usr) { throw .leftOut(occurrence.symbol.name) }
        throw .unknown("'\(occurrence.symbol.name)', which is not ported")
      }
      if let name = context.newName(of: occurrence.symbol.usr, token.text) { return token.replaced(by: name) }
    }
    return token.description
  }
}

extension TokenSyntax {
  /// Whether the token is all of a value that a variable gets or a function returns, and is compared with nothing there.
  var isStored: Bool {
    guard let member = parent?.parent?.as(MemberAccessExprSyntax.self), member.declName.baseName == self else {
      return false
    }
    if let initializer = member.parent?.as(InitializerClauseSyntax.self) {
      let variable = initializer.parent?.parent?.parent?.as(VariableDeclSyntax.self)
      return variable?.bindingSpecifier.tokenKind == .keyword(.var)
    }
    if let elements = member.parent?.as(ExprListSyntax.self) {
      return elements.count == 3 && elements.last?.id == member.id
        && elements.dropFirst().first?.is(AssignmentExprSyntax.self) == true
    }
    return member.parent?.is(ReturnStmtSyntax.self) == true
  }

  /// Whether the token is part of a pattern: of a `case`.
  var isInPattern: Bool {
    var node = parent
    while let current = node {
      if current.is(ExpressionPatternSyntax.self) { return true }
      if current.is(CodeBlockItemSyntax.self) { return false }
      node = current.parent
    }
    return false
  }

  func replaced(by text: String) -> String { leadingTrivia.description + text + trailingTrivia.description }
}
