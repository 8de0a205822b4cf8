import SwiftSyntax

/// What of an `#if` is compiled on Linux.
struct Conditions {
  /// Modules that can be imported there.
  let modules: Set<String>

  /// The clauses that may be compiled: those before them are not, or it is not known.
  func active(_ node: IfConfigDeclSyntax) -> [IfConfigClauseSyntax] {
    var active: [IfConfigClauseSyntax] = []
    for clause in node.clauses {
      let holds = clause.condition.map(holds) ?? true
      if holds != false { active.append(clause) }
      if holds == true { break }
    }
    return active
  }

  /// The clause that is compiled, if that is known.
  func certain(_ node: IfConfigDeclSyntax) -> IfConfigClauseSyntax? {
    let active = active(node)
    guard active.count == 1, let only = active.first, only.condition.map(holds) ?? true == true else { return nil }
    return only
  }

  /// nil: not known, as `DEBUG`.
  func holds(_ condition: ExprSyntax) -> Bool? {
    if let sequence = condition.as(SequenceExprSyntax.self) { return holds(Array(sequence.elements)) }
    if let tuple = condition.as(TupleExprSyntax.self) {
      return tuple.elements.first.flatMap { holds($0.expression) }
    }
    if let not = condition.as(PrefixOperatorExprSyntax.self), not.operator.text == "!" {
      return holds(not.expression).map { !$0 }
    }
    if let literal = condition.as(BooleanLiteralExprSyntax.self) { return literal.literal.text == "true" }
    guard let call = condition.as(FunctionCallExprSyntax.self), let argument = call.arguments.first?.expression
    else { return nil }
    let word = argument.trimmedDescription
    switch call.calledExpression.trimmedDescription {
    case "os": return word == "Linux"
    case "canImport": return modules.contains(String(word.prefix { $0 != "." }))
    case "targetEnvironment": return false
    default: return nil
    }
  }

  /// `||` of `&&`.
  private func holds(_ elements: [ExprSyntax]) -> Bool? {
    var any: Bool? = false
    var all: Bool? = true
    for element in elements {
      if let word = element.as(BinaryOperatorExprSyntax.self)?.operator.text {
        guard word == "||" || word == "&&" else { return nil }
        if word == "||" {
          any = Self.or(any, all)
          all = true
        }
        continue
      }
      all = Self.and(all, holds(element))
    }
    return Self.or(any, all)
  }

  private static func and(_ one: Bool?, _ other: Bool?) -> Bool? {
    if one == false || other == false { return false }
    return one == nil || other == nil ? nil : true
  }

  private static func or(_ one: Bool?, _ other: Bool?) -> Bool? {
    if one == true || other == true { return true }
    return one == nil || other == nil ? nil : false
  }
}

/// A visitor that skips code that is not compiled on Linux.
class LinuxVisitor: SyntaxVisitor {
  let conditions: Conditions

  init(_ conditions: Conditions) {
    self.conditions = conditions
    super.init(viewMode: .sourceAccurate)
  }

  override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind {
    for clause in conditions.active(node) { if let elements = clause.elements { walk(elements) } }
    return .skipChildren
  }
}
