import SwiftSyntax

/// What an app's own sources declare.
struct AppIndex {
  struct Function {
    let name: String
    /// `name(label:)`
    let signature: String
    let parameters: [String]
    let result: ValueType
    let location: CodeLocation
    let isOverride: Bool
  }

  struct Declaration {
    var kind = "extension"
    /// What it inherits from and conforms to, by its extensions too.
    var parents: [String] = []
    var properties: [String: ValueType] = [:]
    var functions: [Function] = []
    var nested: Set<String> = []
    var location: CodeLocation?
  }

  private(set) var types: [String: Declaration] = [:]
  private(set) var functions: [String: ValueType] = [:]
  private(set) var variables: [String: ValueType] = [:]
  /// By file.
  private var imports: [String: Set<String>] = [:]

  init(_ sources: AppSources, _ conditions: Conditions) {
    for file in sources.files {
      let visitor = IndexVisitor(file, conditions)
      visitor.walk(file.tree)
      for (name, found) in visitor.types { merge(found, into: name) }
      functions.merge(visitor.functions) { $1 }
      variables.merge(visitor.variables) { $1 }
      imports[file.path] = visitor.modules
    }
  }

  var modules: Set<String> { imports.values.reduce(into: []) { $0.formUnion($1) } }
  func modules(of file: String) -> Set<String> { imports[file] ?? [] }

  private mutating func merge(_ found: Declaration, into name: String) {
    guard var own = types[name] else {
      types[name] = found
      return
    }
    if own.kind == "extension" { (own.kind, own.location) = (found.kind, found.location) }
    own.parents += found.parents
    own.properties.merge(found.properties) { $1 }
    own.functions += found.functions
    own.nested.formUnion(found.nested)
    types[name] = own
  }

  /// Declared by the app, not only extended.
  func declares(_ name: String) -> Bool { types[name].map { $0.kind != "extension" } ?? false }

  /// The type and the app's own classes above it.
  func line(of name: String) -> [String] {
    var line: [String] = []
    var waiting = [name]
    while let next = waiting.popLast() {
      guard types[next] != nil, !line.contains(next) else { continue }
      line.append(next)
      waiting += types[next]?.parents ?? []
    }
    return line
  }

  func property(_ name: String, of type: String) -> ValueType? {
    for ancestor in line(of: type) {
      if let found = types[ancestor]?.properties[name] { return found }
    }
    return nil
  }

  func function(_ name: String, of type: String) -> ValueType? {
    for ancestor in line(of: type) {
      if let found = types[ancestor]?.functions.first(where: { $0.name == name }) { return found.result }
    }
    return nil
  }

  /// Whether any type of the app's has a method or a closure of this name.
  func hasFunction(_ name: String) -> Bool {
    types.values.contains { $0.properties[name] != nil || $0.functions.contains { $0.name == name } }
  }

  /// Parents of the type and of its ancestors that the app itself does not declare.
  func foreignParents(of name: String) -> [String] {
    line(of: name).flatMap { types[$0]?.parents ?? [] }.filter { !declares($0) }
  }
}

private final class IndexVisitor: LinuxVisitor {
  private let file: AppSources.File
  private(set) var types: [String: AppIndex.Declaration] = [:]
  private(set) var functions: [String: ValueType] = [:]
  private(set) var variables: [String: ValueType] = [:]
  private(set) var modules: Set<String> = []
  private var open: [String] = []

  init(_ file: AppSources.File, _ conditions: Conditions) {
    self.file = file
    super.init(conditions)
  }

  override func visit(_ node: ImportDeclSyntax) -> SyntaxVisitorContinueKind {
    if let module = node.path.first?.name.text { modules.insert(module) }
    return .skipChildren
  }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("class", node.name.text, node.inheritanceClause, node)
  }
  override func visitPost(_ node: ClassDeclSyntax) { open.removeLast() }
  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("struct", node.name.text, node.inheritanceClause, node)
  }
  override func visitPost(_ node: StructDeclSyntax) { open.removeLast() }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("enum", node.name.text, node.inheritanceClause, node)
  }
  override func visitPost(_ node: EnumDeclSyntax) { open.removeLast() }
  override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("actor", node.name.text, node.inheritanceClause, node)
  }
  override func visitPost(_ node: ActorDeclSyntax) { open.removeLast() }
  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("protocol", node.name.text, node.inheritanceClause, node)
  }
  override func visitPost(_ node: ProtocolDeclSyntax) { open.removeLast() }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    enter("extension", node.extendedType.trimmedDescription, node.inheritanceClause, node)
  }
  override func visitPost(_ node: ExtensionDeclSyntax) { open.removeLast() }

  override func visit(_ node: TypeAliasDeclSyntax) -> SyntaxVisitorContinueKind {
    types[node.name.text, default: AppIndex.Declaration()].kind = "alias"
    return .skipChildren
  }

  private func enter(
    _ kind: String, _ name: String, _ inheritance: InheritanceClauseSyntax?, _ node: some SyntaxProtocol
  ) -> SyntaxVisitorContinueKind {
    if let outer = open.last { types[outer]?.nested.insert(name) }
    var found = types[name] ?? AppIndex.Declaration()
    if kind != "extension" { (found.kind, found.location) = (kind, file.location(of: node)) }
    for inherited in inheritance?.inheritedTypes ?? [] {
      let type = inherited.type.as(AttributedTypeSyntax.self)?.baseType ?? inherited.type
      found.parents += type.trimmedDescription.split(separator: "&").map { $0.filter { !$0.isWhitespace } }
    }
    types[name] = found
    open.append(name)
    return .visitChildren
  }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    // `var a, b: Int`: those without a type of their own have the next one's.
    var type = ValueType.unknown
    for binding in node.bindings.reversed() {
      type = Self.type(of: binding) ?? type
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else { continue }
      if let owner = open.last { types[owner]?.properties[name] = type } else { variables[name] = type }
    }
    return .skipChildren
  }

  static func type(of binding: PatternBindingSyntax) -> ValueType? {
    if let annotation = binding.typeAnnotation { return ValueType(annotation.type.trimmedDescription) }
    guard let value = binding.initializer?.value else { return nil }
    let call = value.as(TryExprSyntax.self)?.expression ?? value
    guard let called = call.as(FunctionCallExprSyntax.self)?.calledExpression.trimmedDescription else { return nil }
    return called.first?.isUppercase == true ? ValueType(called) : called.hasPrefix("[") ? ValueType(called) : nil
  }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    let parameters = node.signature.parameterClause.parameters
    let labels = parameters.map { $0.firstName.text + ":" }.joined()
    let function = AppIndex.Function(
      name: node.name.text, signature: "\(node.name.text)(\(labels))",
      parameters: parameters.map(\.type.trimmedDescription),
      result: node.signature.returnClause.map { ValueType($0.type.trimmedDescription) } ?? .unknown,
      location: file.location(of: node.name), isOverride: node.modifiers.contains { $0.name.text == "override" })
    if let owner = open.last {
      types[owner]?.functions.append(function)
    } else {
      functions[function.name] = function.result
    }
    return .skipChildren
  }

  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
}
