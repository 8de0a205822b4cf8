import CallModel
import CompilerFacts
import Foundation
import KoinePorting
import SwiftSyntax

// Expressions in the target's words.

extension LayerRenderer {
  /// Whether code names a vendor's module, before a name that others have, too: `VideoSDKRTC.Participant`.
  private func isVendorModule(_ node: some SyntaxProtocol) -> Bool {
    guard let token = node.firstToken(viewMode: .sourceAccurate), token == node.lastToken(viewMode: .sourceAccurate)
    else { return false }
    return source.occurrences(at: token).contains {
      $0.symbol.kind == .module && VendorSites.style(of: $0.symbol.name) != nil
    }
  }

  func text(of member: MemberAccessExprSyntax) throws(Unportable) -> String? {
    let token = member.declName.baseName
    if let base = member.base, isVendorModule(base) {
      return member.leadingTrivia.description + (try render(Syntax(member.declName)))
    }
    if let base = member.base, token.text == "rawValue", let type = type(of: base), context.isVendor(type) {
      // The compiler has made the property: the table has no row for it.
      let isSame = context.reader.reader.typesWithSameRawValues.contains { type.hasSuffix("." + $0) }
      guard let name = isSame ? "rawValue" : context.writer.rawValue(of: type) else {
        throw .unknown("\(type).rawValue")
      }
      return try render(Syntax(base)) + member.period.description + token.replaced(by: name)
    }
    // A property of all views, which the target's view has under a name of its own.
    if token.text == "contentMode", let base = member.base, let type = type(of: base), context.isVendor(type) {
      let name = context.writer.name(of: "UIView.contentMode").text
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
      var text = try trimmed(base)
      // At its end, an optional chain has no question mark.
      if base.is(OptionalChainingExprSyntax.self), member.isEndOfChain, text.hasSuffix("?") { text.removeLast() }
      return base.leadingTrivia.description + text + token.trailingTrivia.description
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

  func text(of wait: AwaitExprSyntax) throws(Unportable) -> String? {
    guard let call = wait.expression.as(FunctionCallExprSyntax.self),
      let token = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName,
      case .intent? = reading(at: token)
    else { return nil }
    // The target's calls return at once.
    return wait.awaitKeyword.leadingTrivia.description + (try render(Syntax(call)))
  }

  /// Without `try`, if the target's call throws nothing.
  func text(of attempt: TryExprSyntax) throws(Unportable) -> String? {
    guard let call = attempt.expression.as(FunctionCallExprSyntax.self),
      let token = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName,
      let symbol = symbol(at: token), context.reader.reader.nonthrowing.contains(symbol)
    else { return nil }
    return attempt.tryKeyword.leadingTrivia.description + (try render(Syntax(call)))
  }

  /// A type inside another one of the vendor's: `IVSBroadcastConfiguration.AspectMode`.
  func text(of type: MemberTypeSyntax) throws(Unportable) -> String? {
    if isVendorModule(type.baseType) {
      let arguments = try type.genericArgumentClause.map { clause throws(Unportable) in try render(Syntax(clause)) }
      return type.leadingTrivia.description + (try render(Syntax(type.name))) + (arguments ?? "")
    }
    guard case .code(let text)? = reading(at: type.name) else { return nil }
    let code = context.writer.code(text)
    markAll(in: type, code.share)
    return type.leadingTrivia.description + code.text + type.trailingTrivia.description
  }

  /// Without `any`, if the target's type is no protocol.
  func text(of type: SomeOrAnyTypeSyntax) throws(Unportable) -> String? {
    guard let token = type.constraint.lastToken(viewMode: .sourceAccurate), case .code? = reading(at: token) else {
      return nil
    }
    return type.someOrAnySpecifier.leadingTrivia.description + (try render(Syntax(type.constraint)))
  }

  /// A constant that has a value instead of an object becomes a variable.
  func text(of declaration: VariableDeclSyntax) throws(Unportable) -> String? {
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

  /// The modifier `weak` of a property whose type is a value in the target; nil for other properties.
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
      let found = try context.reader.reader.text(
        ofCast: operand, to: symbol, isTest: isTest, from: self.type(of: value))
    else { return nil }
    mark(named, found.share)
    return value.leadingTrivia.description + found.text + (sign == "!" ? "!" : "") + type.trailingTrivia.description
  }

  func text(of sequence: SequenceExprSyntax) throws(Unportable) -> String {
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
    if let text = try context.reader.reader.comparison(value, sign, other, self) { return text }
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
    fullType(of: expression).map { $0.filter { $0 != "?" && $0 != "!" } }
      .map { String($0.split(separator: " ").last ?? "") }
  }

  /// The type of an expression, as the compiler writes it.
  func fullType(of expression: some ExprSyntaxProtocol) -> String? {
    source.type(of: expression, context.facts)?.description
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
}

extension MemberAccessExprSyntax {
  /// Whether nothing is asked of the member, not even its type.
  fileprivate var isEndOfChain: Bool {
    guard let parent else { return true }
    if let elements = parent.as(ExprListSyntax.self) {
      return !elements.contains { $0.is(UnresolvedAsExprSyntax.self) || $0.is(UnresolvedIsExprSyntax.self) }
    }
    return !parent.is(MemberAccessExprSyntax.self) && !parent.is(OptionalChainingExprSyntax.self)
      && !parent.is(ForceUnwrapExprSyntax.self) && !parent.is(FunctionCallExprSyntax.self)
      && !parent.is(SubscriptCallExprSyntax.self)
  }
}
