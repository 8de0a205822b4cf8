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
}

/// What has become of a call site.
enum Share: String, CaseIterable {
  case written, inHelper = "in the helper", dropped, asked, warned
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
  private(set) var unported: Set<String> = []
  /// Those of them that are left out because the target has no word for what they do.
  private var leftOut: Set<String> = []
  private(set) var warnings: [(place: CodeLocation, symbol: String)] = []
  /// Whether the layer has to be rendered again, because a declaration could not be rendered that was used before.
  private(set) var hasNews = false
  /// Whether the target's types have more values than the vendor's, so that a `switch` without `default` needs one.
  private var needsDefault = false

  /// Where expressions begin that have no counterpart.
  private var dropped: Set<CodeLocation> = []
  /// Local variables, those of inner blocks last: why their declarations are comments; nil for those that are ported.
  private var locals: [(name: String, error: Unportable?)] = []
  /// Declarations that the compiler has refused in an earlier form of the new file.
  private let refusals: [LayerRefusal]
  private var marks = DeclarationMarks()
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
    if let block = node.as(MemberBlockSyntax.self), let owner = context.classBody(block, in: source) {
      return try children(Syntax(block), before: Syntax(block.rightBrace)) + owner + (try text(of: block.rightBrace))
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
        if context.writer.hasPayload(word), !token.isInPattern { throw .unknown(token.text) }
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

  // MARK: Expressions

  private func text(of member: MemberAccessExprSyntax) throws(Unportable) -> String? {
    let token = member.declName.baseName
    if let base = member.base, token.text == "rawValue", let type = type(of: base), context.isVendor(type) {
      // The compiler has made the property: the table has no row for it.
      guard let name = context.writer.rawValue(of: type) else { throw .unknown("\(type).rawValue") }
      return try render(Syntax(base)) + member.period.description + token.replaced(by: name)
    }
    if case .structure(let symbol)? = reading(at: token), let structure = context.table.structure(of: symbol) {
      let base: String? = if let base = member.base { try trimmed(base) } else { nil }
      guard let text = structure.text(use(at: member, base, [:], [:])) else { throw .unknown(symbol) }
      mark(token, structure.share(in: context.writer))
      return member.leadingTrivia.description + text + token.trailingTrivia.description
    }
    if case .code(let text)? = reading(at: token), member.base.map({ isType($0) }) ?? true {
      let code = context.writer.code(text)
      markAll(in: member, code.share)
      return member.leadingTrivia.description + code.text + member.trailingTrivia.description
    }
    guard case .word(let word)? = reading(at: token) else { return nil }
    if context.writer.isMade(word) {
      let (text, share) = context.writer.value(of: word)
      if let base = member.base { markAll(in: base, .written) }
      mark(token, share)
      let made = token.isInPattern ? context.writer.patterns(of: word)[0] : text
      return member.leadingTrivia.description + made + token.trailingTrivia.description
    }
    if word == "self" {
      guard let base = member.base else { throw .unknown(token.text) }
      mark(token, .written)
      return try trimmed(base, andTrailing: token)
    }
    if let base = member.base, let form = context.writer.expression(of: word) {
      mark(token, form.usesHelper ? .inHelper : .written)
      guard let text = form.text(try trimmed(base), context.callExpression(at: Syntax(member), in: source)) else {
        throw .unknown(token.text)
      }
      return base.leadingTrivia.description + text + token.trailingTrivia.description
    }
    return nil
  }

  private func text(of wait: AwaitExprSyntax) throws(Unportable) -> String? {
    guard let call = wait.expression.as(FunctionCallExprSyntax.self),
      let token = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName,
      case .intent? = reading(at: token)
    else { return nil }
    // The target's calls return at once.
    return wait.awaitKeyword.leadingTrivia.description + (try render(Syntax(call)))
  }

  /// Without `try`, if the target's call throws nothing.
  private func text(of attempt: TryExprSyntax) throws(Unportable) -> String? {
    guard let call = attempt.expression.as(FunctionCallExprSyntax.self),
      let token = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName,
      let symbol = symbol(at: token), context.reader.reader.nonthrowing.contains(symbol)
    else { return nil }
    return attempt.tryKeyword.leadingTrivia.description + (try render(Syntax(call)))
  }

  /// Without `any`, if the target's type is no protocol.
  private func text(of type: SomeOrAnyTypeSyntax) throws(Unportable) -> String? {
    guard let token = type.constraint.lastToken(viewMode: .sourceAccurate), case .code? = reading(at: token) else {
      return nil
    }
    return type.someOrAnySpecifier.leadingTrivia.description + (try render(Syntax(type.constraint)))
  }

  /// A constant that has a value instead of an object becomes a variable.
  private func text(of declaration: VariableDeclSyntax) throws(Unportable) -> String? {
    if let weak = weakValue(declaration) {
      // A value is neither weak nor unowned.
      let text = try children(Syntax(declaration))
      let kept = weak.leadingTrivia.description
      return text.replacing(weak.description, with: kept, maxReplacements: 1)
    }
    guard declaration.bindingSpecifier.tokenKind == .keyword(.let),
      let call = declaration.bindings.first?.initializer?.value.as(FunctionCallExprSyntax.self),
      let token = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName,
      case .word(let word)? = reading(at: token), context.writer.valueTypes.contains(String(word.prefix { $0 != "." }))
    else { return nil }
    return try children(Syntax(declaration)).replacing(
      declaration.bindingSpecifier.description, with: declaration.bindingSpecifier.replaced(by: "var"),
      maxReplacements: 1)
  }

  /// The modifier that makes a reference weak, of a property whose type is a value in the target.
  private func weakValue(_ declaration: VariableDeclSyntax) -> DeclModifierSyntax? {
    guard let modifier = declaration.modifiers.first(where: { ["weak", "unowned"].contains($0.name.text) }),
      let type = declaration.bindings.first?.typeAnnotation?.type
    else { return nil }
    let isValue = type.tokens(viewMode: .sourceAccurate).contains { token in
      if case .word(let word)? = reading(at: token) { context.writer.isValue(word) } else { false }
    }
    return isValue ? modifier : nil
  }

  private func isType(_ expression: ExprSyntax) -> Bool {
    guard let token = expression.lastToken(viewMode: .sourceAccurate) else { return false }
    return source.occurrences(at: token).contains { $0.symbol.kind.isType }
  }

  /// The vendor's symbol at a token: an initializer rather than its type.
  func symbol(at token: TokenSyntax) -> String? {
    let found = source.occurrences(at: token).filter { context.reader.vendorSymbol($0) != nil }
    return (found.first { !$0.symbol.kind.isType } ?? found.first).flatMap(context.reader.vendorSymbol)
  }

  /// `value as? IVSCamera`, or with `as!` or `is`, as the style has it.
  private func cast(_ value: ExprSyntax, _ cast: ExprSyntax, _ type: ExprSyntax) throws(Unportable) -> String? {
    guard cast.is(UnresolvedAsExprSyntax.self) || cast.is(UnresolvedIsExprSyntax.self),
      let named = type.as(TypeExprSyntax.self)?.lastToken(viewMode: .sourceAccurate), let symbol = symbol(at: named)
    else { return nil }
    let isTest = cast.is(UnresolvedIsExprSyntax.self)
    let sign = cast.as(UnresolvedAsExprSyntax.self)?.questionOrExclamationMark?.text
    guard isTest || sign != nil else { return nil }
    let operand = try trimmed(value)
    guard
      let found = context.reader.reader.text(
        ofCast: operand, to: symbol, isTest: isTest, from: self.type(of: value))
    else { return nil }
    mark(named, found.share)
    return value.leadingTrivia.description + found.text + (sign == "!" ? "!" : "") + type.trailingTrivia.description
  }

  private func text(of sequence: SequenceExprSyntax) throws(Unportable) -> String {
    let elements = Array(sequence.elements)
    var (text, index) = ("", 0)
    // The last comparison that was replaced, the text up to its end, and the place behind it.
    var last: (comparison: String, text: String, end: Int)?
    while index < elements.count {
      if index + 2 < elements.count,
        let replaced = try comparison(elements[index], elements[index + 1], elements[index + 2])
      {
        let comparison = replaced.trimmingCharacters(in: .whitespacesAndNewlines)
        // Two values of the old style can be one of the new style's: `state == .available || state == .started`.
        if let last, last.comparison == comparison, last.end + 1 == index, Self.hasOneLogicalOperator(elements) {
          text = last.text
        } else {
          text += replaced
        }
        index += 3
        last = (comparison, text, index)
      } else if let sign = elements[index].as(BinaryOperatorExprSyntax.self), index > 0, index + 1 < elements.count,
        let other = context.writer.equality(sign.operator.text),
        let type = type(of: elements[index - 1]) ?? type(of: elements[index + 1]), context.isVendor(type),
        !context.reader.reader.objects.contains(where: { type.hasSuffix("." + $0) })
      {
        text += sign.operator.replaced(by: other)
        index += 1
      } else {
        text += try render(Syntax(elements[index]))
        index += 1
      }
    }
    return text
  }

  /// Whether a sequence has `||` only, or `&&` only, so that its parts can be put together in any order.
  private static func hasOneLogicalOperator(_ elements: [ExprSyntax]) -> Bool {
    let signs = elements.compactMap { $0.as(BinaryOperatorExprSyntax.self)?.operator.text }
    return Set(signs.filter(["||", "&&"].contains)).count == 1
  }

  private func comparison(
    _ value: ExprSyntax, _ sign: ExprSyntax, _ other: ExprSyntax
  ) throws(Unportable) -> String? {
    if let text = try cast(value, sign, other) { return text }
    if let text = try videoCast(value, sign, other) { return text }
    return try predicate(value, sign, other)
  }

  /// `state == .CLOSED`, where the target's value has more in it.
  private func predicate(
    _ value: ExprSyntax, _ sign: ExprSyntax, _ other: ExprSyntax
  ) throws(Unportable) -> String? {
    guard let sign = sign.as(BinaryOperatorExprSyntax.self)?.operator.text, sign == "==" || sign == "!=",
      let token = other.as(MemberAccessExprSyntax.self)?.declName.baseName, case .word(let word)? = reading(at: token),
      context.writer.isNoValue(word)
    else { return nil }
    guard let property = context.writer.predicate(word) else { throw .unknown(token.text) }
    mark(token, .written)
    let text = try trimmed(value)
    return value.leadingTrivia.description + (sign == "==" ? "" : "!") + "\(text).\(property)"
      + other.trailingTrivia.description
  }

  /// `stream.track as? RTCVideoTrack`, or with `as!` or `is`.
  private func videoCast(
    _ value: ExprSyntax, _ cast: ExprSyntax, _ type: ExprSyntax
  ) throws(Unportable) -> String? {
    guard cast.is(UnresolvedAsExprSyntax.self) || cast.is(UnresolvedIsExprSyntax.self) else { return nil }
    guard let member = value.as(MemberAccessExprSyntax.self), reading(at: member.declName.baseName) == .word("self"),
      let base = member.base, let named = type.as(TypeExprSyntax.self)?.firstToken(viewMode: .sourceAccurate),
      case .word(let track)? = reading(at: named), track == "Track" || track == "RoomTrack"
    else { return nil }
    mark(member.declName.baseName, .inHelper)
    mark(named, .inHelper)
    let video = try render(Syntax(base)) + "." + context.writer.videoOfTrack
    let end =
      cast.is(UnresolvedIsExprSyntax.self)
      ? " != nil" : cast.as(UnresolvedAsExprSyntax.self)?.questionOrExclamationMark?.text == "!" ? "!" : ""
    return video + end + type.trailingTrivia.description
  }

  /// What a reader needs to know to write structure.
  func use(
    at node: some SyntaxProtocol, _ base: String?, _ arguments: [String: String], _ types: [String: String]
  ) -> Structure.Use {
    Structure.Use(
      base: base, arguments: arguments, types: types, call: context.callExpression(at: Syntax(node), in: source),
      isInCallClass: context.isInCallClass(Syntax(node), in: source), writer: context.writer)
  }

  /// Leaves code out that has no counterpart.
  func drop(_ node: some SyntaxProtocol) {
    markAll(in: node, .dropped)
    if dropped.insert(source.location(of: node.firstToken(viewMode: .sourceAccurate)!)).inserted { hasNews = true }
  }

  func reading(at token: TokenSyntax) -> Reading? { context.model.readings[source.location(of: token)] }

  /// The type of an expression, with its module and without optionality.
  func type(of expression: some ExprSyntaxProtocol) -> String? {
    guard let first = expression.firstToken(viewMode: .sourceAccurate),
      let last = expression.lastToken(viewMode: .sourceAccurate)
    else { return nil }
    let found = context.facts.expressionType(
      in: source.path, from: first.positionAfterSkippingLeadingTrivia.utf8Offset,
      to: last.positionAfterSkippingLeadingTrivia.utf8Offset)
    return found.map { $0.description.filter { $0 != "?" && $0 != "!" } }
      .map { String($0.split(separator: " ").last ?? "") }
  }

  /// Whether a call is part of an optional chain: it is not made if a value before it is nil.
  func isOptional(_ call: FunctionCallExprSyntax) -> Bool {
    var next: ExprSyntax? = call.calledExpression
    while let expression = next {
      if expression.is(OptionalChainingExprSyntax.self) { return true }
      next =
        expression.as(MemberAccessExprSyntax.self)?.base ?? expression.as(FunctionCallExprSyntax.self)?.calledExpression
        ?? expression.as(SubscriptCallExprSyntax.self)?.calledExpression
    }
    return false
  }

  func trimmed(_ node: some SyntaxProtocol) throws(Unportable) -> String {
    let text = try render(Syntax(node))
    return String(
      text.dropFirst(node.leadingTrivia.description.count).dropLast(node.trailingTrivia.description.count))
  }

  private func trimmed(_ base: ExprSyntax, andTrailing token: TokenSyntax) throws(Unportable) -> String {
    base.leadingTrivia.description + (try trimmed(base)) + token.trailingTrivia.description
  }

  // MARK: Patterns of switches

  private func text(of cases: SwitchCaseListSyntax) throws(Unportable) -> String {
    var used: Set<String> = []
    var text = ""
    for element in cases {
      guard let one = element.as(SwitchCaseSyntax.self), let label = one.label.as(SwitchCaseLabelSyntax.self) else {
        if let one = element.as(SwitchCaseSyntax.self), let attribute = one.attribute, !used.isEmpty {
          // `@unknown default`: the target's type may have known values that the vendor's has not.
          text +=
            attribute.leadingTrivia.description + (try render(Syntax(one.label))) + (try render(Syntax(one.statements)))
        } else {
          text += try render(Syntax(element))
        }
        continue
      }
      let patterns: [Pattern]
      do { patterns = try self.patterns(of: label) } catch {
        text += comment(one, error)
        continue
      }
      guard patterns.contains(where: { $0.reading != nil || $0.lost != nil }) else {
        text += try render(Syntax(element))
        continue
      }
      let left = patterns.map { $0.texts.filter { used.insert($0).inserted } }
      if left.joined().isEmpty {
        let lost = patterns.compactMap(\.lost)
        markAll(in: one, .dropped)
        let reason = lost.isEmpty ? "an earlier case has it" : "no word for \(lost.joined(separator: ", "))"
        text += Self.comment(one, "koine port: \(reason)")
        continue
      }
      let written = Set(left.joined())
      for pattern in patterns where pattern.reading != nil {
        mark(pattern.token, written.isDisjoint(with: pattern.texts) ? .dropped : pattern.share)
      }
      text +=
        label.caseKeyword.description + left.joined().joined(separator: ", ")
        + label.colon.description + (try render(Syntax(one.statements)))
    }
    guard needsDefault, !used.isEmpty, let last = cases.last,
      !cases.contains(where: { $0.as(SwitchCaseSyntax.self)?.label.is(SwitchDefaultLabelSyntax.self) == true })
    else { return text }
    return text + (text.hasSuffix("\n") ? "" : "\n") + Self.margin(of: last) + "default: break"
  }

  private struct Pattern {
    let token: TokenSyntax
    let reading: Reading?
    /// Empty if the target has no word for it.
    let texts: [String]
    var share = Share.written
    var lost: String?
  }

  private func patterns(of label: SwitchCaseLabelSyntax) throws(Unportable) -> [Pattern] {
    var patterns: [Pattern] = []
    for item in label.caseItems {
      let member = item.pattern.as(ExpressionPatternSyntax.self)?.expression.as(MemberAccessExprSyntax.self)
      if let member, let reading = reading(at: member.declName.baseName), item.whereClause == nil {
        let token = member.declName.baseName
        switch reading {
        case .word(let word):
          let base: String = if let base = member.base { try trimmed(base) } else { "" }
          if let base = member.base { markAll(in: base, .written) }
          let texts = context.writer.patterns(of: word).map { $0.hasPrefix(".") ? base + $0 : $0 }
          let share = context.writer.value(of: word).share
          patterns.append(Pattern(token: token, reading: reading, texts: texts, share: share))
        case .code(let text):
          let code = context.writer.code(text).text
          patterns.append(Pattern(token: token, reading: reading, texts: [code]))
        case .lost: patterns.append(Pattern(token: token, reading: reading, texts: [], lost: "." + token.text))
        default: throw .unknown(token.text)
        }
      } else if let (token, reading, values) = typeTest(item) {
        patterns.append(Pattern(token: token, reading: reading, texts: values))
      } else {
        let token = item.firstToken(viewMode: .sourceAccurate)!
        do {
          var text = try render(Syntax(item))
          if item.trailingComma != nil {
            text = String(text.reversed().drop { $0 == " " || $0 == "," || $0 == "\n" }.reversed())
          }
          patterns.append(Pattern(token: token, reading: nil, texts: [text]))
        } catch {
          // A case with a value that is lost, such as `.inCall(.localHold)`.
          guard case .lost(let symbol, _) = error else { throw error }
          patterns.append(Pattern(token: token, reading: nil, texts: [], lost: symbol))
        }
      }
    }
    return patterns
  }

  /// `is SomeError`, where the target has several values instead of the type.
  private func typeTest(_ item: SwitchCaseItemSyntax) -> (token: TokenSyntax, reading: Reading, values: [String])? {
    guard let token = item.pattern.as(IsTypePatternSyntax.self)?.type.firstToken(viewMode: .sourceAccurate),
      let reading = reading(at: token)
    else { return nil }
    let symbols = source.occurrences(at: token).compactMap { context.reader.vendorSymbol($0) }
    return symbols.lazy.compactMap { self.context.table.values(ofType: $0) }.first.map { values in
      (token, reading, values.map { context.writer.code($0).text })
    }
  }

  private func text(of label: SwitchCaseLabelSyntax) throws(Unportable) -> String { try children(Syntax(label)) }

  // MARK: Declarations

  private func text(of clause: InheritanceClauseSyntax) throws(Unportable) -> String {
    var kept: [String] = []
    for inherited in clause.inheritedTypes {
      let tokens = inherited.type.tokens(viewMode: .sourceAccurate)
      if let token = tokens.first(where: { reading(at: $0) == .conformance }) {
        mark(token, .written)
      } else {
        kept.append(try trimmed(inherited.type))
      }
    }
    if kept.count == clause.inheritedTypes.count { return try children(Syntax(clause)) }
    let end = clause.trailingTrivia.description
    return kept.isEmpty ? (end.isEmpty ? " " : end) : clause.colon.description + kept.joined(separator: ", ") + end
  }

  /// Renders a declaration, or leaves it as a comment. Marks say where it is in the new file.
  private func declaration(_ node: Syntax, _ text: () throws(Unportable) -> String) -> String {
    let place = source.location(of: node.firstToken(viewMode: .sourceAccurate)!)
    let number = marks.number(of: place)
    return DeclarationMarks.begin(number) + unmarkedDeclaration(node, place, text) + DeclarationMarks.end
  }

  private func unmarkedDeclaration(
    _ node: Syntax, _ place: CodeLocation, _ text: () throws(Unportable) -> String
  ) -> String {
    if let handler = context.lostHandler(node, in: source) {
      markAll(in: node, .dropped)
      note(unported: node, isLeftOut: true)
      return Self.comment(node, "koine port: \(context.writer.title) does not report it; \(handler)")
    }
    if context.isIdleHandler(node, in: source) {
      markAll(in: node, .dropped)
      note(unported: node, isLeftOut: true)
      return Self.comment(node, "koine port: it handles what \(context.writer.title) does not report, and does nothing")
    }
    if let handler = context.foreignHandler(node, in: source) {
      note(unported: node)
      return comment(node, .unknown(context.reason(for: handler)))
    }
    if let symbol = context.unknownRequirement(node, in: source) {
      // Nothing would call it.
      note(unported: node)
      return comment(node, .unknown(symbol))
    }
    let found = refusals.filter { $0.place == place }
    // A `default` is tried once.
    let others = found.filter { !$0.needsDefault } + found.filter(\.needsDefault).dropFirst()
    if let refusal = others.first {
      if others.count == 1, let text = withoutBody(node, .unknown(refusal.reason)) { return text }
      note(unported: node)
      return comment(node, .unknown(refusal.reason))
    }
    do {
      let outer = needsDefault
      defer { needsDefault = outer }
      needsDefault = !found.isEmpty
      return try text()
    } catch {
      if let text = withoutBody(node, error) { return text }
      if case .unknown = error { note(unported: node) } else { note(unported: node, isLeftOut: true) }
      return comment(node, error)
    }
  }

  /// A member that a protocol of the app's requires, with its statements as a comment: the type still conforms.
  /// - Returns: nil for other declarations, and if the member's own types cannot be written.
  private func withoutBody(_ node: Syntax, _ error: Unportable) -> String? {
    guard let member = node.as(MemberBlockItemSyntax.self), context.isRequired(member, in: source) else { return nil }
    do {
      if let function = member.decl.as(FunctionDeclSyntax.self), let body = function.body {
        let value = Self.emptyValue(of: function.signature.returnClause?.type, function.name.text)
        return try children(Syntax(function), before: Syntax(body)) + body.leftBrace.description
          + commented(body.statements, error, then: value.map { [$0] } ?? []) + body.rightBrace.description
          + (member.semicolon?.description ?? "")
      }
      guard let variable = member.decl.as(VariableDeclSyntax.self), variable.bindings.count == 1,
        let binding = variable.bindings.first, let type = binding.typeAnnotation, let block = binding.accessorBlock,
        let value = Self.emptyValue(of: type.type, binding.pattern.trimmedDescription)
      else { return nil }
      let start =
        try children(Syntax(variable), before: Syntax(variable.bindings)) + render(Syntax(binding.pattern))
        + render(Syntax(type)) + block.leftBrace.description
      switch block.accessors {
      case .getter(let statements):
        return start + commented(statements, error, then: [value]) + block.rightBrace.description
          + (member.semicolon?.description ?? "")
      case .accessors(let accessors):
        let names = accessors.map(\.accessorSpecifier.text)
        guard names.contains("get") else { return nil }
        return start
          + commented(accessors, error, then: ["get { \(value) }"] + (names.contains("set") ? ["set {}"] : []))
          + block.rightBrace.description + (member.semicolon?.description ?? "")
      @unknown default: return nil
      }
    } catch { return nil }
  }

  /// Code as a comment, and statements that take its place.
  private func commented(_ code: some SyntaxProtocol, _ error: Unportable, then statements: [String]) -> String {
    let text = comment(code, error)
    let margin = Self.margin(of: code)
    if code.leadingTrivia.description.contains("\n") {
      return text + statements.map { "\n" + margin + $0 }.joined()
    }
    return text + statements.map { "  \($0)\n\(margin)" }.joined()
  }

  /// A statement that returns an empty value of a type; nil if there is nothing to return.
  private static func emptyValue(of type: TypeSyntax?, _ name: String) -> String? {
    guard let type else { return nil }
    if type.is(OptionalTypeSyntax.self) || type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return "return nil" }
    if type.is(ArrayTypeSyntax.self) { return "return []" }
    if type.is(DictionaryTypeSyntax.self) { return "return [:]" }
    return switch type.trimmedDescription {
    case "Void", "()": nil
    case "Bool": "return false"
    case "String": "return \"\""
    case "Int", "Int32", "Int64", "UInt", "UInt32", "UInt64", "Float", "Double", "CGFloat": "return 0"
    default: "fatalError(\"PORT: \(name) is not ported\")"
    }
  }

  private func note(unported node: Syntax, isLeftOut: Bool = false) {
    for token in node.tokens(viewMode: .sourceAccurate) {
      for occurrence in source.occurrences(at: token) where !occurrence.roles.contains(.reference) {
        let symbol = occurrence.symbol
        guard !symbol.isAccessor, context.isMember(symbol.usr) else { continue }
        if unported.insert(symbol.usr).inserted { hasNews = true }
        if isLeftOut { leftOut.insert(symbol.usr) }
      }
    }
  }

  /// The node as a comment, with the reason.
  private func comment(_ node: some SyntaxProtocol, _ error: Unportable) -> String {
    let place = source.location(of: node.firstToken(viewMode: .sourceAccurate)!)
    var error = error
    if case .lost(let symbol, _) = error, takesMore(node, than: symbol) {
      error = .unknown("\(symbol), and the code that needs it")
    }
    if case .leftOut(let name) = error, hasEffect(in: node) { error = .unknown("'\(name)', which is not ported") }
    switch error {
    case .lost(let symbol, let instead):
      markAll(in: node, .dropped)
      return Self.comment(node, "koine port: \(context.writer.title) has no \(symbol); \(instead)")
    case .leftOut(let name):
      markAll(in: node, .dropped)
      return Self.comment(node, "koine port: \(name) is left out")
    case .unknown(let symbol):
      markAll(in: node, .warned)
      warnings.append((place, symbol))
      let text = symbol.replacing("\\", with: "").replacing("\"", with: "'")
      return Self.comment(node, nil, warning: "PORT 3: not known to \(context.writer.title): \(text)")
    }
  }

  /// The white space at the beginning of the line that a node begins in.
  private static func margin(of node: some SyntaxProtocol) -> String {
    let line = node.root.description.utf8.prefix(node.positionAfterSkippingLeadingTrivia.utf8Offset)
      .reversed().prefix { $0 != UInt8(ascii: "\n") }.reversed()
    return String(String(decoding: line, as: UTF8.self).prefix { $0 == " " || $0 == "\t" })
  }

  /// The source of a node as lines of comments, each with the node's indentation.
  static func comment(_ node: some SyntaxProtocol, _ reason: String?, warning: String? = nil) -> String {
    let leading = node.leadingTrivia.description
    let isOnLineOfItsOwn = leading.contains("\n")
    let margin = margin(of: node)
    let indent = isOnLineOfItsOwn ? margin : margin + "  "
    var lines: [String] = []
    if let warning { lines.append("#warning(\"\(warning)\")") }
    if let reason { lines.append("// \(reason)") }
    lines += node.trimmedDescription.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      "// " + (line.hasPrefix(margin) ? line.dropFirst(margin.count) : line)
    }
    let text = lines.joined(separator: "\n" + indent)
    return isOnLineOfItsOwn ? leading + text + node.trailingTrivia.description : "\n\(indent)\(text)\n\(margin)"
  }

  // MARK: Statements

  private func text(of items: CodeBlockItemListSyntax) throws(Unportable) -> String {
    // What is missing from a closure of one statement changes its type: then the statement around it is the unit.
    guard let owner = items.parent, !owner.is(ClosureExprSyntax.self) || items.count > 1,
      !owner.is(SourceFileSyntax.self)
    else { return try children(Syntax(items)) }
    var text = ""
    var hasCode = false
    let outer = locals.count
    defer { locals.removeLast(locals.count - outer) }
    for item in items {
      if isOnlyForDropped(item, in: owner) {
        text += Self.comment(item, "koine port: only what has no counterpart needs it")
        markAll(in: item, .dropped)
        continue
      }
      let local = Self.local(item)
      do {
        text += try children(Syntax(item))
        hasCode = true
        if let local { locals.append((local, nil)) }
      } catch {
        // What uses the variable is a comment, too, and not all of the function.
        if let local { locals.append((local, error)) }
        guard local != nil || Self.isAlone(item, in: items) else { throw error }
        text += comment(item, error)
      }
    }
    guard !hasCode, owner.is(SwitchCaseSyntax.self), let last = items.last else { return text }
    // A case without statements is none.
    let margin = Self.margin(of: last)
    return text + (last.leadingTrivia.description.contains("\n") ? "\n\(margin)break" : "  break")
  }

  /// The local variable that a statement declares.
  private static func local(_ item: CodeBlockItemSyntax) -> String? {
    guard let variable = item.item.as(VariableDeclSyntax.self), variable.bindings.count == 1 else { return nil }
    return variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
  }

  /// Why an expression cannot be written that names a local variable whose declaration is a comment.
  private func useOfMissingLocal(_ node: Syntax) -> Unportable? {
    guard !locals.isEmpty else { return nil }
    let token: TokenSyntax
    if let name = node.as(DeclReferenceExprSyntax.self),
      node.parent?.as(MemberAccessExprSyntax.self)?.declName.id != name.id,
      node.parent?.is(KeyPathPropertyComponentSyntax.self) != true
    {
      token = name.baseName
    } else if let binding = node.as(OptionalBindingConditionSyntax.self), binding.initializer == nil,
      let name = binding.pattern.as(IdentifierPatternSyntax.self)
    {
      token = name.identifier
    } else if let capture = node.as(ClosureCaptureSyntax.self), capture.initializer == nil {
      token = capture.name
    } else {
      return nil
    }
    guard let error = locals.last(where: { $0.name == token.text })?.error else { return nil }
    switch error {
    case .unknown: return error
    // What sets up the variable goes with it. What gets it has an effect of its own.
    case .lost, .leftOut: return isSetUp(node) ? error : .unknown("'\(token.text)', which has no counterpart")
    }
  }

  /// Whether a statement assigns to a member of a variable, or calls a function of it.
  private func isSetUp(_ name: Syntax) -> Bool {
    var node = name
    while let parent = node.parent {
      if let member = parent.as(MemberAccessExprSyntax.self) {
        guard member.base?.id == node.id else { return false }
      } else if let call = parent.as(FunctionCallExprSyntax.self) {
        guard call.calledExpression.id == node.id else { return false }
      } else if let list = parent.as(ExprListSyntax.self) {
        guard list.first?.id == node.id, list.dropFirst().first?.is(AssignmentExprSyntax.self) == true else {
          return false
        }
      } else if parent.is(CodeBlockItemSyntax.self) {
        return true
      } else if !parent.is(TryExprSyntax.self), !parent.is(AwaitExprSyntax.self), !parent.is(SequenceExprSyntax.self),
        !parent.is(OptionalChainingExprSyntax.self), !parent.is(ForceUnwrapExprSyntax.self)
      {
        return false
      }
      node = parent
    }
    return false
  }

  /// Whether a statement makes a constant that is used only in expressions without counterpart.
  private func isOnlyForDropped(_ item: CodeBlockItemSyntax, in owner: Syntax) -> Bool {
    guard !dropped.isEmpty, let variable = item.item.as(VariableDeclSyntax.self), variable.bindings.count == 1,
      let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
    else { return false }
    let uses = owner.tokens(viewMode: .sourceAccurate).filter {
      $0.text == name && $0.parent?.is(DeclReferenceExprSyntax.self) == true
    }
    return !uses.isEmpty && uses.allSatisfy { isDropped(Syntax($0)) }
  }

  private func isDropped(_ node: Syntax) -> Bool {
    var next: Syntax? = node
    while let current = next, !current.is(CodeBlockItemSyntax.self) {
      if current.is(ExprSyntax.self), let first = current.firstToken(viewMode: .sourceAccurate),
        current.parent?.is(LabeledExprSyntax.self) == true, dropped.contains(source.location(of: first))
      {
        return true
      }
      next = current.parent
    }
    return false
  }

  /// Whether the code around the statement compiles without it.
  private static func isAlone(_ item: CodeBlockItemSyntax, in items: CodeBlockItemListSyntax) -> Bool {
    if item.item.is(DeclSyntax.self) || item.item.is(GuardStmtSyntax.self) || item.item.is(ReturnStmtSyntax.self) {
      return item.item.as(GuardStmtSyntax.self).map { !bindsNames($0) } ?? false
    }
    guard item.tokens(viewMode: .sourceAccurate).allSatisfy({ $0.tokenKind != .keyword(.return) }) else { return false }
    var (node, block) = (items.parent, items)
    while let current = node {
      if let function = current.as(FunctionDeclSyntax.self) {
        return function.signature.returnClause == nil || block.count > 1
      }
      if current.is(AccessorDeclSyntax.self) || current.is(AccessorBlockSyntax.self) { return block.count > 1 }
      if current.is(InitializerDeclSyntax.self) || current.is(ClosureExprSyntax.self) { return block.count > 1 }
      if current.is(SwitchExprSyntax.self) || current.is(IfExprSyntax.self), isValue(current) { return false }
      if let list = current.as(CodeBlockItemListSyntax.self) { block = list }
      node = current.parent
    }
    return true
  }

  /// Whether an `if` or `switch` gives a value to the code around it.
  private static func isValue(_ expression: Syntax) -> Bool {
    guard let parent = expression.parent else { return false }
    if parent.is(IfExprSyntax.self) { return isValue(parent) }
    return !parent.is(ExpressionStmtSyntax.self) && !parent.is(CodeBlockItemSyntax.self)
  }

  private static func bindsNames(_ statement: GuardStmtSyntax) -> Bool {
    statement.conditions.contains { $0.condition.is(OptionalBindingConditionSyntax.self) }
  }
}

extension TokenSyntax {
  /// Whether the token is part of a pattern: of a `case`.
  fileprivate var isInPattern: Bool {
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
