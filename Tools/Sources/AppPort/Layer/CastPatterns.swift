import CallModel
import KoinePorting
import SwiftSyntax

/// Patterns with a cast to a vendor's type that has no type of its own in the new layer: `case let camera as IVSCamera`. There cameras and
/// microphones have one type, and so have identifiers of users and of telephones: the kind is a condition.
enum CastPatterns {
  /// Code for a case of a switch or a loop with such a pattern; nil for other code.
  /// - Throws: `Unportable` for such a pattern in another place.
  static func text(of node: Syntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    if let item = node.as(SwitchCaseItemSyntax.self) { return try text(of: item, renderer) }
    if let loop = node.as(ForStmtSyntax.self) { return try text(of: loop, renderer) }
    if let pattern = node.as(PatternSyntax.self), let cast = Cast(pattern, renderer) {
      throw .unknown("\(cast.symbol) in a pattern that is no case of a switch and no loop")
    }
    return nil
  }

  private struct Cast {
    /// Nil in `case is IVSCamera`.
    let name: String?
    let type: TokenSyntax
    let symbol: String
    /// What follows the value's name: `.kind == .camera`. Nil for the stage, which is the source of errors.
    let condition: String?

    init?(_ pattern: PatternSyntax, _ renderer: LayerRenderer) {
      if let test = pattern.as(IsTypePatternSyntax.self) {
        (name, type) = (nil, test.type.lastToken(viewMode: .sourceAccurate)!)
      } else {
        guard let binding = pattern.as(ValueBindingPatternSyntax.self),
          let cast = binding.pattern.as(ExpressionPatternSyntax.self)?.expression.as(SequenceExprSyntax.self),
          cast.elements.count == 3, cast.elements.dropFirst().first?.is(UnresolvedAsExprSyntax.self) == true,
          let name = cast.elements.first?.as(PatternExprSyntax.self)?.pattern,
          let type = cast.elements.last?.lastToken(viewMode: .sourceAccurate)
        else { return nil }
        (self.name, self.type) = (name.trimmedDescription, type)
      }
      guard let symbol = renderer.symbol(at: type) else { return nil }
      (self.symbol, condition) = (symbol, renderer.context.reader.reader.condition(ofType: symbol))
      if condition == nil, StageReader.kind(ofSource: symbol) == nil { return nil }
    }
  }

  private static func text(of item: SwitchCaseItemSyntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    guard let cast = Cast(item.pattern, renderer) else { return nil }
    let subject = sequence(first: Syntax(item)) { $0.parent }.lazy.compactMap { $0.as(SwitchExprSyntax.self) }.first?
      .subject
    let isSource = subject.flatMap(renderer.type)?.hasSuffix("IVSErrorSource") == true
    if isSource, cast.name != nil { throw .unknown("\(cast.symbol) of an error's source") }
    guard isSource || cast.condition != nil else { return nil }
    let comma =
      item.trailingComma?.description ?? (item.whereClause?.trailingTrivia ?? item.pattern.trailingTrivia).description
    renderer.mark(cast.type, .written)
    if isSource, let kind = StageReader.kind(ofSource: cast.symbol) {
      let rest: String = if let clause = item.whereClause { try renderer.trimmed(clause) } else { "" }
      return item.leadingTrivia.description + kind + (rest.isEmpty ? "" : " " + rest) + comma
    }
    let value: String
    if let name = cast.name {
      value = name
    } else {
      guard let subject, isName(subject) else { throw .unknown("is \(cast.symbol) of a value without a name") }
      value = try renderer.trimmed(subject)
    }
    let condition = try condition(value + (cast.condition ?? ""), and: item.whereClause, renderer)
    return item.leadingTrivia.description + (cast.name.map { "let " + $0 } ?? "_") + " where \(condition)" + comma
  }

  private static func text(of loop: ForStmtSyntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    guard let keyword = loop.caseKeyword, let cast = Cast(loop.pattern, renderer), let name = cast.name,
      let test = cast.condition
    else { return nil }
    renderer.mark(cast.type, .written)
    let condition = try condition(name + test, and: loop.whereClause, renderer)
    return loop.forKeyword.description + keyword.leadingTrivia.description + name + " " + loop.inKeyword.description
      + (try renderer.trimmed(loop.sequence)) + " where \(condition) " + (try renderer.render(Syntax(loop.body)))
  }

  private static func condition(
    _ first: String, and clause: WhereClauseSyntax?, _ renderer: LayerRenderer
  ) throws(Unportable) -> String {
    guard let clause else { return first }
    return first + " && (" + (try renderer.trimmed(clause.condition)) + ")"
  }

  /// Whether an expression is a name or a property of one: asked twice, it has the same value.
  private static func isName(_ expression: ExprSyntax) -> Bool {
    if let member = expression.as(MemberAccessExprSyntax.self) { return member.base.map(isName) ?? false }
    return expression.is(DeclReferenceExprSyntax.self)
  }
}
