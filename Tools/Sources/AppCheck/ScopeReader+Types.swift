import KoinePorting
import SwiftSyntax

/// Types of expressions, as far as they can be seen.
extension ScopeReader {
  func type(of expression: ExprSyntax) -> ValueType {
    if let node = expression.as(DeclReferenceExprSyntax.self) {
      let name = node.baseName.text
      return name == "self" ? selfType : name == "Self" ? .meta(selfType.name ?? "") : lookUp(name)
    }
    if let node = expression.as(OptionalChainingExprSyntax.self) { return type(of: node.expression) }
    if let node = expression.as(ForceUnwrapExprSyntax.self) { return type(of: node.expression) }
    if let node = expression.as(TryExprSyntax.self) { return type(of: node.expression) }
    if let node = expression.as(AwaitExprSyntax.self) { return type(of: node.expression) }
    if let node = expression.as(TupleExprSyntax.self), node.elements.count == 1, let only = node.elements.first {
      return type(of: only.expression)
    }
    if let node = expression.as(SequenceExprSyntax.self) { return type(of: Array(node.elements)) }
    if let node = expression.as(AsExprSyntax.self) { return ValueType(node.type.trimmedDescription) }
    if let node = expression.as(MemberAccessExprSyntax.self) { return type(of: node, in: nil) }
    if let node = expression.as(FunctionCallExprSyntax.self) { return type(of: node) }
    if let node = expression.as(SubscriptCallExprSyntax.self) {
      switch type(of: node.calledExpression) {
      case .array(let element): return element
      case .dictionary(_, let value): return value
      default: return .unknown
      }
    }
    if let node = expression.as(ArrayExprSyntax.self), let first = node.elements.first {
      return .array(type(of: first.expression))
    }
    return .unknown
  }

  /// `a as? B`, `a ?? b`, `x ? a : b`: unfolded.
  private func type(of elements: [ExprSyntax]) -> ValueType {
    if elements.count == 3, elements[1].is(UnresolvedAsExprSyntax.self) {
      return ValueType(elements[2].trimmedDescription)
    }
    if elements.count > 1, elements[1].as(BinaryOperatorExprSyntax.self)?.operator.text == "??" {
      let first = type(of: elements[0])
      return first == .unknown ? type(of: Array(elements.dropFirst(2))) : first
    }
    if elements.count == 1 { return type(of: elements[0]) }
    if elements.count > 2, let ternary = elements[1].as(UnresolvedTernaryExprSyntax.self) {
      return type(of: ternary.thenExpression)
    }
    return .unknown
  }

  private func type(of call: FunctionCallExprSyntax) -> ValueType {
    if let callee = call.calledExpression.as(MemberAccessExprSyntax.self) { return type(of: callee, in: call) }
    if let callee = call.calledExpression.as(DeclReferenceExprSyntax.self) {
      let name = callee.baseName.text
      switch lookUp(name) {
      case .meta(let type): return .named(type)
      case .function(_, let result): return result
      default: break
      }
      for type in [selfType.name].compactMap({ $0 }) {
        if let result = index.function(name, of: type) { return result }
      }
      if let result = index.functions[name] { return result }
      if let member = knowledge.global(name, labels: Self.labels(of: call)) { return member.type }
      return name.first?.isUppercase == true ? .named(name) : .unknown
    }
    let called = call.calledExpression.trimmedDescription
    return called.hasPrefix("[") ? ValueType(called) : .unknown
  }

  private func type(of node: MemberAccessExprSyntax, in call: FunctionCallExprSyntax?) -> ValueType {
    guard let base = node.base else { return .unknown }
    let name = Self.name(node.declName.baseName)
    let whole = node.trimmedDescription
    if name.first?.isUppercase == true, knowledge.type(named: whole) != nil {
      return call == nil ? .meta(whole) : .named(whole)
    }
    switch type(of: base) {
    case .named(let type): return memberType(name, call, of: type)
    case .meta(let type):
      return name == "self" ? .meta(type) : name == "init" ? .named(type) : memberType(name, call, of: type)
    case .array(let element): return Self.ofArray(name, element)
    case .dictionary(let key, let value): return Self.ofDictionary(name, key, value)
    case .pair(let key, let value):
      return ["key", "0"].contains(name) ? key : ["value", "1"].contains(name) ? value : .unknown
    case .function, .unknown: return .unknown
    }
  }

  private func memberType(_ name: String, _ call: FunctionCallExprSyntax?, of type: String) -> ValueType {
    if index.types[type] != nil {
      if let own = call == nil ? index.property(name, of: type) : index.function(name, of: type) { return own }
    }
    for candidate in index.declares(type) ? index.foreignParents(of: type) : [type] {
      guard let found = knowledge.type(named: candidate) else { continue }
      let lookup = knowledge.member(
        name, labels: call.map(Self.labels), closures: call.map(Self.closures) ?? 0, of: found)
      guard case .found(let member) = lookup else { continue }
      if case .meta(let feature) = member.type, call == nil { return .meta(feature) }
      // `feature(Features.x)` gives one of what it is asked for.
      if name == "feature", let argument = call?.arguments.first?.expression,
        case .meta(let asked) = self.type(of: argument)
      {
        return .named(asked)
      }
      return member.type
    }
    return .unknown
  }

  private static func ofArray(_ name: String, _ element: ValueType) -> ValueType {
    switch name {
    case "first", "last", "randomElement", "min", "max", "removeFirst", "removeLast", "popLast", "remove": element
    case "filter", "sorted", "reversed", "dropFirst", "dropLast", "prefix", "suffix", "lazy": .array(element)
    case "enumerated": .array(.pair(.named("Int"), element))
    default: .unknown
    }
  }

  private static func ofDictionary(_ name: String, _ key: ValueType, _ value: ValueType) -> ValueType {
    switch name {
    case "first", "randomElement", "min", "max": .pair(key, value)
    case "values": .array(value)
    case "keys": .array(key)
    case "filter": .dictionary(key, value)
    case "removeValue", "updateValue": value
    default: .unknown
    }
  }

  // MARK: Closures

  /// What a closure is called with: by the function that it is given to.
  func parameters(of closure: ClosureExprSyntax) -> [ValueType] {
    var node = Syntax(closure).parent
    while let current = node, !current.is(FunctionCallExprSyntax.self) {
      guard
        current.is(LabeledExprSyntax.self) || current.is(LabeledExprListSyntax.self)
          || current.is(MultipleTrailingClosureElementSyntax.self)
          || current.is(MultipleTrailingClosureElementListSyntax.self)
      else { return [] }
      node = current.parent
    }
    guard let call = node?.as(FunctionCallExprSyntax.self) else { return [] }
    if let callee = call.calledExpression.as(MemberAccessExprSyntax.self), let base = callee.base {
      switch type(of: base) {
      case .array(let element): return [element]
      case .dictionary(let key, let value): return [.pair(key, value)]
      case .named(let type), .meta(let type):
        return parameters(callee.declName.baseName.text, call, of: type, closure: closure)
      default: return []
      }
    }
    return []
  }

  private func parameters(
    _ name: String, _ call: FunctionCallExprSyntax, of type: String, closure: ClosureExprSyntax
  ) -> [ValueType] {
    for candidate in index.declares(type) ? index.foreignParents(of: type) : [type] {
      guard let found = knowledge.type(named: candidate),
        case .found(let member) = knowledge.member(
          name, labels: Self.labels(of: call), closures: Self.closures(of: call), of: found),
        let types = member.parameters.first
      else { continue }
      // The last closure is the trailing one, and the usual.
      for text in types.reversed() {
        if case .function(let parameters, _) = ValueType(text) { return parameters }
      }
    }
    return []
  }
}
