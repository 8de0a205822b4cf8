import CallModel
import SwiftSyntax

// What a comment in the place of code would take along.

extension LayerRenderer {
  /// Whether a comment for a symbol without counterpart would take code along that has an effect of its own: other statements, or a call
  /// that gets what has no counterpart.
  func takesMore(_ node: some SyntaxProtocol, than symbol: String) -> Bool {
    func isLost(_ token: TokenSyntax) -> Bool {
      if case .lost(let found, _)? = reading(at: token) { found == symbol } else { false }
    }
    guard let token = node.tokens(viewMode: .sourceAccurate).first(where: isLost) else { return false }
    let around = Set(sequence(first: Syntax(token), next: \.parent).prefix { $0.id != node.parent?.id }.map(\.id))
    var waiting = [Syntax(node)]
    while let next = waiting.popLast() {
      if let item = next.as(CodeBlockItemSyntax.self), !around.contains(next.id), !Self.isJump(item),
        !goesAlong(item, in: Syntax(node)), !next.tokens(viewMode: .sourceAccurate).contains(where: isLost)
      {
        return true
      }
      if let check = next.as(GuardStmtSyntax.self), around.contains(check.conditions.id) {
        // What the app does in a case that the target does not have.
        waiting.append(Syntax(check.conditions))
        continue
      }
      // An argument, or a closure that is one.
      if let call = next.as(FunctionCallExprSyntax.self), around.contains(next.id) {
        if around.contains(call.calledExpression.id) {
          // Arguments of what has no counterpart go with it.
          waiting.append(Syntax(call.calledExpression))
          continue
        }
        if hasEffect(call) { return true }
      }
      waiting += next.children(viewMode: .sourceAccurate)
    }
    return false
  }

  /// Whether a statement of the node goes with what is lost: it names it, or a value of it, or makes a local value. A call with an effect
  /// does not.
  private func goesAlong(_ item: CodeBlockItemSyntax, in node: Syntax) -> Bool {
    if hasEffect(in: item) { return false }
    if item.item.is(VariableDeclSyntax.self) { return true }
    let names = Set(node.tokens(viewMode: .sourceAccurate).filter(isLost).compactMap(Self.nameOfValue))
    return item.tokens(viewMode: .sourceAccurate).contains { isLost($0) || names.contains($0.text) }
  }

  private func isLost(_ token: TokenSyntax) -> Bool {
    if case .lost? = reading(at: token) { true } else { false }
  }

  /// The variable or parameter that gets what a token names.
  private static func nameOfValue(_ token: TokenSyntax) -> String? {
    for node in sequence(first: Syntax(token), next: \.parent) {
      if let parameter = node.as(FunctionParameterSyntax.self) {
        return (parameter.secondName ?? parameter.firstName).text
      }
      let pattern = node.as(OptionalBindingConditionSyntax.self)?.pattern ?? node.as(PatternBindingSyntax.self)?.pattern
      if let pattern { return pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
      if node.is(CodeBlockItemSyntax.self) { return nil }
    }
    return nil
  }

  /// `return`, as a `guard` has it.
  private static func isJump(_ item: CodeBlockItemSyntax) -> Bool {
    item.item.is(ReturnStmtSyntax.self) || item.item.is(BreakStmtSyntax.self) || item.item.is(ContinueStmtSyntax.self)
  }

  /// Whether there is a call in a node of a function that the vendor does not declare: it may do more than its result says.
  func callsApp(in node: some SyntaxProtocol) -> Bool {
    Self.calls(in: node).contains { Self.name(of: $0).flatMap(reading) == nil }
  }

  /// Whether there is a call in a node that the target has to make.
  func hasEffect(in node: some SyntaxProtocol) -> Bool { Self.calls(in: node).contains(where: hasEffect) }

  private func hasEffect(_ call: FunctionCallExprSyntax) -> Bool {
    switch Self.name(of: call).flatMap(reading) {
    case .intent, .registration, .structure, .unknown: true
    default: false
    }
  }

  private static func calls(in node: some SyntaxProtocol) -> [FunctionCallExprSyntax] {
    var (found, waiting): ([FunctionCallExprSyntax], [Syntax]) = ([], [Syntax(node)])
    while let next = waiting.popLast() {
      if let call = next.as(FunctionCallExprSyntax.self) { found.append(call) }
      waiting += next.children(viewMode: .sourceAccurate)
    }
    return found
  }

  private static func name(of call: FunctionCallExprSyntax) -> TokenSyntax? {
    call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName
      ?? call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName
  }
}
