import KoinePorting
import SwiftSyntax

/// Follows scopes through a file: which names stand for what, as far as their types can be seen without a compiler.
class ScopeReader: LinuxVisitor {
  let index: AppIndex
  let knowledge: SymbolIndex
  private var scopes: [[String: ValueType]] = [[:]]
  /// The types around, innermost last.
  private var open: [String] = []

  init(_ index: AppIndex, _ knowledge: SymbolIndex, _ conditions: Conditions) {
    self.index = index
    self.knowledge = knowledge
    super.init(conditions)
  }

  /// Whether a variable or parameter around has this name.
  func isLocal(_ name: String) -> Bool { scopes.contains { $0[name] != nil } }

  /// Whether one of the types around has a type of this name in it.
  func isNested(_ name: String) -> Bool { open.contains { index.types[$0]?.nested.contains(name) == true } }

  func lookUp(_ name: String) -> ValueType {
    for scope in scopes.reversed() { if let type = scope[name] { return type } }
    for type in open.reversed() {
      if let property = index.property(name, of: type) { return property }
      for parent in index.foreignParents(of: type) {
        if let found = knowledge.type(named: parent),
          case .found(let member) = knowledge.member(name, labels: nil, of: found)
        {
          return member.type
        }
      }
    }
    if let variable = index.variables[name] { return variable }
    if index.declares(name) || knowledge.type(named: name) != nil { return .meta(name) }
    return .unknown
  }

  /// The types around, outermost first.
  var enclosingTypes: [String] { open }

  func declare(_ name: String, _ type: ValueType) { scopes[scopes.count - 1][name] = type }

  var selfType: ValueType { open.last.map(ValueType.named) ?? .unknown }

  override func visit(_ node: CodeBlockSyntax) -> SyntaxVisitorContinueKind { openScope() }
  override func visitPost(_ node: CodeBlockSyntax) { scopes.removeLast() }
  override func visit(_ node: AccessorBlockSyntax) -> SyntaxVisitorContinueKind { openScope() }
  override func visitPost(_ node: AccessorBlockSyntax) { scopes.removeLast() }
  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: ClassDeclSyntax) { exit() }
  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: StructDeclSyntax) { exit() }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: EnumDeclSyntax) { exit() }
  override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: ActorDeclSyntax) { exit() }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.extendedType.trimmedDescription)
  }
  override func visitPost(_ node: ExtensionDeclSyntax) { exit() }

  private func openScope() -> SyntaxVisitorContinueKind {
    scopes.append([:])
    return .visitChildren
  }

  private func enter(_ name: String) -> SyntaxVisitorContinueKind {
    open.append(name)
    return openScope()
  }

  private func exit() {
    open.removeLast()
    scopes.removeLast()
  }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    if node.parent?.is(CodeBlockItemSyntax.self) == true, scopes.count > 1 { declare(node.name.text, .unknown) }
    return enter(node.signature.parameterClause)
  }
  override func visitPost(_ node: FunctionDeclSyntax) { scopes.removeLast() }
  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.signature.parameterClause)
  }
  override func visitPost(_ node: InitializerDeclSyntax) { scopes.removeLast() }

  private func enter(_ parameters: FunctionParameterClauseSyntax) -> SyntaxVisitorContinueKind {
    scopes.append([:])
    for parameter in parameters.parameters {
      let type = ValueType(parameter.type.trimmedDescription)
      declare((parameter.secondName ?? parameter.firstName).text, parameter.ellipsis == nil ? type : .array(type))
    }
    return .visitChildren
  }

  override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind {
    scopes.append([:])
    let given = parameters(of: node)
    // Parameters of an unknown type, too: they hide the parameters of the closure around this one.
    for number in 0..<max(given.count, 4) { declare("$\(number)", number < given.count ? given[number] : .unknown) }
    if given.count == 1, case .pair(let key, let value) = given[0] {
      declare("$1", value)
      if !node.statements.trimmedDescription.contains("$0.value") { declare("$0", .pair(key, value)) }
    }
    switch node.signature?.parameterClause {
    case .simpleInput(let names)?:
      for (number, name) in names.enumerated() {
        declare(name.name.text, number < given.count ? given[number] : .unknown)
      }
    case .parameterClause(let clause)?:
      for (number, parameter) in clause.parameters.enumerated() {
        let type = parameter.type.map { ValueType($0.trimmedDescription) }
        declare(
          (parameter.secondName ?? parameter.firstName).text, type ?? (number < given.count ? given[number] : .unknown))
      }
    case nil: break
    @unknown default: break  // the library of a later toolchain: its parameters stay unknown values
    }
    return .visitChildren
  }
  override func visitPost(_ node: ClosureExprSyntax) { scopes.removeLast() }

  // MARK: Bindings

  override func visitPost(_ node: VariableDeclSyntax) {
    var type = ValueType.unknown
    for binding in node.bindings.reversed() {
      if let annotation = binding.typeAnnotation {
        type = ValueType(annotation.type.trimmedDescription)
      } else if let value = binding.initializer?.value {
        type = self.type(of: value)
      }
      bind(binding.pattern, to: type)
    }
  }

  override func visitPost(_ node: OptionalBindingConditionSyntax) {
    if let annotation = node.typeAnnotation {
      return bind(node.pattern, to: ValueType(annotation.type.trimmedDescription))
    }
    if let value = node.initializer?.value { bind(node.pattern, to: type(of: value)) }
  }

  override func visit(_ node: ForStmtSyntax) -> SyntaxVisitorContinueKind {
    scopes.append([:])
    bind(node.pattern, to: type(of: node.sequence).element)
    return .visitChildren
  }
  override func visitPost(_ node: ForStmtSyntax) { scopes.removeLast() }

  private func bind(_ pattern: PatternSyntax, to type: ValueType) {
    if let name = pattern.as(IdentifierPatternSyntax.self)?.identifier.text { return declare(name, type) }
    guard let tuple = pattern.as(TuplePatternSyntax.self), case .pair(let one, let other) = type else { return }
    for (part, type) in zip(tuple.elements, [one, other]) { bind(part.pattern, to: type) }
  }

  // MARK: Syntax

  static func name(_ token: TokenSyntax) -> String { token.text.filter { $0 != "`" } }

  static func call(of node: some ExprSyntaxProtocol) -> FunctionCallExprSyntax? {
    guard let call = node.parent?.as(FunctionCallExprSyntax.self), call.calledExpression.id == node.id else {
      return nil
    }
    return call
  }

  static func labels(of call: FunctionCallExprSyntax) -> [String] {
    call.arguments.map { $0.label?.text ?? "_" }
  }

  static func closures(of call: FunctionCallExprSyntax) -> Int {
    (call.trailingClosure == nil ? 0 : 1) + call.additionalTrailingClosures.count
  }
}
