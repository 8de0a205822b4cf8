import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

// Blocks of statements. Statements that use or set up a missing value are left out with it.

extension LayerRenderer {
  func text(of items: CodeBlockItemListSyntax) throws(Unportable) -> String {
    // Without its only statement a closure has another type: then the statement around the closure is the unit.
    guard let owner = items.parent, !owner.is(ClosureExprSyntax.self) || items.count > 1,
      !owner.is(SourceFileSyntax.self)
    else {
      do { return try children(Syntax(items)) } catch {
        guard let item = items.first, items.count == 1, let rest = assignments(in: item, besides: error) else {
          throw error
        }
        return rest
      }
    }
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
        if let local { locals.append(local(nil)) }
        let set = Set(Self.assigned(in: item).map(\.text))
        // Not in one of several branches: another one may leave it out.
        for index in locals.indices.dropFirst(outer) where set.contains(locals[index].name) {
          locals[index].isUnset = false
        }
      } catch {
        if let rest = assignments(in: item, besides: error) {
          text += rest
          hasCode = true
          continue
        }
        // The statements behind a `guard` say whether its constant is needed.
        if item.item.is(GuardStmtSyntax.self), let name = constant(of: item) {
          for later in items.drop(while: { $0.id != item.id }).dropFirst() where Self.names(name, in: later) {
            _ = try? children(Syntax(later))
          }
          if isOnlyForDropped(item, in: owner) {
            text += Self.comment(item, "koine port: only what has no counterpart needs it")
            markAll(in: item, .dropped)
            continue
          }
        }
        // What uses the variable is a comment, too, and not all of the function.
        if let local { locals.append(local(error)) }
        guard local != nil || isAlone(item, in: items) else { throw error }
        if let name = property(setBy: item) { throw .unknown("the value of '\(name)'") }
        text += comment(item, error)
        if let name = unsetLocal(setBy: item) {
          // What comes after it would go on without the value.
          text = Self.text(text, inPlaceOf: item, then: [Self.stop("the value of \(name)")])
        }
      }
    }
    guard !hasCode, owner.is(SwitchCaseSyntax.self), let last = items.last else { return text }
    // A case without statements is none.
    let margin = Self.margin(of: last)
    return text + (last.leadingTrivia.description.contains("\n") ? "\n\(margin)break" : "  break")
  }

  /// Of several assignments in one statement, `(a.delegate, b) = (self, c)`, those that the target has; the statement is a comment before
  /// them. Nil if it is no such statement, or what has no counterpart has an effect of its own.
  private func assignments(in item: CodeBlockItemSyntax, besides error: Unportable) -> String? {
    guard case .lost(let symbol, let instead) = error,
      let elements = item.item.as(SequenceExprSyntax.self)?.elements, elements.count == 3,
      let targets = elements.first?.as(TupleExprSyntax.self)?.elements,
      elements.dropFirst().first?.is(AssignmentExprSyntax.self) == true,
      let values = elements.last?.as(TupleExprSyntax.self)?.elements, targets.count == values.count, targets.count > 1
    else { return nil }
    markAll(in: item, .dropped)
    var kept: [(target: String, value: String)] = []
    for (target, value) in zip(targets, values) {
      do { kept.append((try trimmed(target.expression), try trimmed(value.expression))) } catch {
        guard case .lost = error, !hasEffect(in: target), !hasEffect(in: value) else { return nil }
      }
    }
    guard !kept.isEmpty, property(setBy: item) == nil else { return nil }
    let (left, right) = (kept.map(\.target).joined(separator: ", "), kept.map(\.value).joined(separator: ", "))
    let comment = Self.comment(item, "koine port: \(context.writer.title) has no \(symbol); \(instead)")
    return Self.text(
      comment, inPlaceOf: item, then: [kept.count == 1 ? "\(left) = \(right)" : "(\(left)) = (\(right))"])
  }

  /// The local variable that a statement declares, by the reason for which it is a comment.
  private static func local(_ item: CodeBlockItemSyntax) -> ((Unportable?) -> LocalVariable)? {
    guard let variable = item.item.as(VariableDeclSyntax.self), variable.bindings.count == 1,
      let binding = variable.bindings.first,
      let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
    else { return nil }
    // One of the form `T!` is there to be set, too: another optional can stay nil.
    let isForced = binding.typeAnnotation?.type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) == true
    let isUnset = !unset(variable).isEmpty || isForced && binding.initializer == nil
    return { LocalVariable(name: name, error: $0, isUnset: isUnset) }
  }

  /// A local variable from outside of a statement that has its value from an assignment in it only; nil for other statements.
  private func unsetLocal(setBy item: CodeBlockItemSyntax) -> String? {
    let names = Self.assigned(in: item).map(\.text)
    return locals.last { $0.isUnset && $0.error == nil && names.contains($0.name) }?.name
  }

  /// The error of an expression that names a local variable whose declaration is a comment; nil for other expressions.
  func useOfMissingLocal(_ node: Syntax) -> Unportable? {
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

  /// Whether a statement makes a constant that is used only in expressions without counterpart: `let track = …`, or `guard let track = …`.
  private func isOnlyForDropped(_ item: CodeBlockItemSyntax, in owner: Syntax) -> Bool {
    guard !dropped.isEmpty, let name = constant(of: item) else { return false }
    let uses = Self.uses(of: name, in: owner)
    return !uses.isEmpty && uses.allSatisfy { isDropped(Syntax($0)) }
  }

  /// Whether an expression is a call of the vendor's that has no counterpart: `try? VideoSDK.createCameraVideoTrack()`.
  private func isLost(_ expression: ExprSyntax) -> Bool {
    if let attempt = expression.as(TryExprSyntax.self) { return isLost(attempt.expression) }
    guard let call = expression.as(FunctionCallExprSyntax.self),
      let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName,
      case .lost? = reading(at: name)
    else { return false }
    return !call.arguments.contains { hasEffect(in: $0) }
  }

  private static func names(_ name: String, in node: some SyntaxProtocol) -> Bool { !uses(of: name, in: node).isEmpty }

  private static func uses(of name: String, in node: some SyntaxProtocol) -> [TokenSyntax] {
    node.tokens(viewMode: .sourceAccurate).filter { token in
      guard token.text == name, let parent = token.parent else { return false }
      // `[track]` of a closure, and `if let track`, name it, too.
      let binding = parent.parent?.as(OptionalBindingConditionSyntax.self)
      return parent.is(DeclReferenceExprSyntax.self) || parent.is(ClosureCaptureSyntax.self)
        || binding.map { $0.initializer == nil } == true
    }
  }

  /// The name of the one constant or variable that a statement makes. A `guard` is the app's own logic, unless it asks for what the target
  /// does not have.
  private func constant(of item: CodeBlockItemSyntax) -> String? {
    let pattern: PatternSyntax?
    if let variable = item.item.as(VariableDeclSyntax.self) {
      pattern = variable.bindings.count == 1 ? variable.bindings.first?.pattern : nil
    } else {
      let conditions = item.item.as(GuardStmtSyntax.self)?.conditions
      let binding = conditions?.count == 1 ? conditions?.first?.condition : nil
      pattern = binding?.as(OptionalBindingConditionSyntax.self).flatMap { binding in
        binding.initializer.map { isLost($0.value) } == true ? binding.pattern : nil
      }
    }
    return pattern?.as(IdentifierPatternSyntax.self)?.identifier.text
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

  /// A property that has no value but that of an assignment in an initializer; nil for other statements. The compiler finds it out only
  /// after the types.
  private func property(setBy item: CodeBlockItemSyntax) -> String? {
    let around = sequence(first: Syntax(item)) { $0.parent }.prefix {
      !$0.is(ClosureExprSyntax.self) && !$0.is(FunctionDeclSyntax.self) && !$0.is(AccessorBlockSyntax.self)
    }
    guard let initializer = around.lazy.compactMap({ $0.as(InitializerDeclSyntax.self) }).first,
      let members = initializer.parent?.parent?.as(MemberBlockItemListSyntax.self)
    else { return nil }
    let unset = Set(members.compactMap { $0.decl.as(VariableDeclSyntax.self) }.flatMap(Self.unset))
    return Self.assigned(in: item).first { name in
      unset.contains(name.text) && !source.occurrences(at: name).contains { unported.contains($0.symbol.usr) }
    }?.text
  }

  /// The names of variables that a declaration gives no value.
  private static func unset(_ variable: VariableDeclSyntax) -> [String] {
    let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
    // `let a, b: Int`: the type stands behind the last name.
    var type: TypeSyntax?
    return variable.bindings.reversed().compactMap { binding in
      type = binding.typeAnnotation?.type ?? type
      guard binding.initializer == nil, isStored(binding.accessorBlock),
        let name = binding.pattern.firstToken(viewMode: .sourceAccurate)
      else { return nil }
      let hasNone =
        type?.is(OptionalTypeSyntax.self) == true || type?.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) == true
      return hasNone && !isConstant ? nil : name.text
    }
  }

  private static func isStored(_ block: AccessorBlockSyntax?) -> Bool {
    guard let block else { return true }
    guard case .accessors(let accessors) = block.accessors else { return false }
    return accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
  }

  /// The names that a statement, or one in it, assigns a value to: `name`, `self.name`, or those of a tuple. Closures run later.
  private static func assigned(in item: some SyntaxProtocol) -> [TokenSyntax] {
    let finder = AssignmentFinder(viewMode: .sourceAccurate)
    finder.walk(item)
    return finder.names
  }

  /// Whether the code around the statement compiles without it.
  private func isAlone(_ item: CodeBlockItemSyntax, in items: CodeBlockItemListSyntax) -> Bool {
    if item.item.is(DeclSyntax.self) || item.item.is(GuardStmtSyntax.self) || item.item.is(ReturnStmtSyntax.self) {
      return item.item.as(GuardStmtSyntax.self).map { !Self.bindsNames($0) } ?? false
    }
    guard item.tokens(viewMode: .sourceAccurate).allSatisfy({ $0.tokenKind != .keyword(.return) }) else { return false }
    var (node, block) = (items.parent, items)
    while let current = node {
      if let function = current.as(FunctionDeclSyntax.self) {
        return function.signature.returnClause == nil || block.count > 1
      }
      if let accessor = current.as(AccessorDeclSyntax.self) {
        return block.count > 1 || ["didSet", "willSet", "set"].contains(accessor.accessorSpecifier.text)
      }
      if current.is(AccessorBlockSyntax.self) || current.is(InitializerDeclSyntax.self) { return block.count > 1 }
      // A statement inside of a closure's only one is not its value, unless that is a `switch` or an `if` of values.
      if let closure = current.as(ClosureExprSyntax.self) {
        return block.count > 1 || block.id != items.id && (items.count > 1 || isAction(closure))
      }
      if current.is(SwitchExprSyntax.self) || current.is(IfExprSyntax.self), Self.isValue(current) { return false }
      if let list = current.as(CodeBlockItemListSyntax.self) { block = list }
      node = current.parent
    }
    return true
  }

  /// Whether a closure has no result, by its type.
  private func isAction(_ closure: ClosureExprSyntax) -> Bool {
    guard let type = fullType(of: closure) else { return false }
    return type.hasSuffix("-> ()") || type.hasSuffix("-> Swift.Void")
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

/// Finds the names that statements assign values to.
private final class AssignmentFinder: SyntaxVisitor {
  private(set) var names: [TokenSyntax] = []

  override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
    if node.elements.count > 2, node.elements.dropFirst().first?.is(AssignmentExprSyntax.self) == true,
      let target = node.elements.first
    {
      add(target)
    }
    return .visitChildren
  }

  private func add(_ target: ExprSyntax) {
    if let tuple = target.as(TupleExprSyntax.self) { return tuple.elements.forEach { add($0.expression) } }
    let member = target.as(MemberAccessExprSyntax.self)
    if let member, member.base?.trimmedDescription == "self" { return names.append(member.declName.baseName) }
    if let name = target.as(DeclReferenceExprSyntax.self) { names.append(name.baseName) }
  }
}
