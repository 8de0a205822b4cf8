import CompilerFacts
import SwiftSyntax

/// A member of the call class as a requirement of a protocol.
struct Requirement {
  let text: String
  /// What the class needs in an extension to fulfil it.
  var witness: String?
  /// What calls of the protocol need to leave out arguments that have defaults.
  var convenience: String?
  /// What other code loses by the protocol, although the member is in it.
  var remark: String?
}

/// Why a member is not in the protocol.
struct Inexpressible: Error {
  let reason: String
}

/// Writes requirements from the members' own source: syntax places the edits, the compiler says what names mean and what types are.
struct RequirementWriter {
  let callClass: CallClass

  /// - Throws: `Inexpressible` with the reason.
  func requirements(
    of declaration: Declarations.Declaration, _ uses: [CallClass.Use]
  ) throws(Inexpressible) -> [Requirement] {
    let usr = declaration.symbol.usr
    let typed = callClass.facts.declaration(usr)
    if let access = typed?.access, access == .private || access == .fileprivate {
      throw Inexpressible(reason: "it is \(access.rawValue); a protocol's requirements are visible in the whole module")
    }
    guard let source = callClass.source(of: declaration.location.file),
      let token = source.token(at: declaration.location)
    else { throw Inexpressible(reason: "its declaration cannot be read") }
    switch declaration.symbol.kind {
    case .initializer:
      throw Inexpressible(reason: "it makes an object of the class: choose the layer at this place")
    case .class, .struct, .enum, .alias, .protocol:
      throw Inexpressible(
        reason: "it is a type inside the class: other layers name it as \(callClass.name).\(declaration.symbol.name)")
    default: break
    }
    let isolation = typed?.isOnMainActor == true && !callClass.isOnMainActor ? "@MainActor " : ""
    var node = token.parent
    while let current = node {
      if let function = current.as(FunctionDeclSyntax.self) {
        return [try requirement(of: function, isolation, source)]
      }
      if let property = current.as(VariableDeclSyntax.self) {
        return try requirements(of: property, declaration, typed, uses, isolation, source)
      }
      if let subscripted = current.as(SubscriptDeclSyntax.self) {
        let parameters = parameters(subscripted.parameterClause, source)
        let result = text(subscripted.returnClause, source)
        return [
          Requirement(
            text: "\(isolation)subscript\(parameters)\(result) { get\(uses.contains(where: \.isWrite) ? " set" : "") }")
        ]
      }
      node = current.parent
    }
    throw Inexpressible(reason: "the seam has no form for it")
  }

  // MARK: Functions

  private func requirement(
    of function: FunctionDeclSyntax, _ isolation: String, _ source: CompiledSource
  ) throws(Inexpressible) -> Requirement {
    let name = function.name.text
    guard name.first.map({ $0.isLetter || $0 == "_" || $0 == "`" }) == true else {
      throw Inexpressible(reason: "it is an operator, which has parameters of the class itself")
    }
    if let result = function.signature.returnClause, result.type.is(SomeOrAnyTypeSyntax.self),
      result.type.trimmedDescription.hasPrefix("some ")
    {
      throw Inexpressible(reason: "its result has an opaque type ('\(result.type.trimmedDescription)')")
    }
    let isStatic = function.modifiers.contains { ["static", "class"].contains($0.name.text) }
    let keeps = function.modifiers.filter { ["nonisolated", "mutating"].contains($0.name.text) }
    let discardable = function.attributes.contains { $0.trimmedDescription == "@discardableResult" }
    let beginning =
      isolation + (discardable ? "@discardableResult " : "") + keeps.map { $0.trimmedDescription + " " }.joined()
      + (isStatic ? "static " : "") + "func " + name + (function.genericParameterClause?.trimmedDescription ?? "")
    let effects = function.signature.effectSpecifiers.map { " " + $0.trimmedDescription } ?? ""
    let ending =
      effects + text(function.signature.returnClause, source)
      + (function.genericWhereClause.map { " " + $0.trimmedDescription } ?? "")
    let clause = function.signature.parameterClause
    return Requirement(
      text: beginning + parameters(clause, source) + ending, witness: nil,
      convenience: convenience(function, beginning, ending, source))
  }

  private func parameters(
    _ clause: FunctionParameterClauseSyntax, withDefaults: Bool = true, _ source: CompiledSource
  ) -> String {
    let kept = clause.parameters.filter { withDefaults || $0.defaultValue == nil }
    let texts = kept.map { parameter in
      let names = [parameter.firstName.text, parameter.secondName?.text].compactMap { $0 }.joined(separator: " ")
      return "\(names): \(text(of: parameter.type, source))\(parameter.ellipsis?.text ?? "")"
    }
    return "(" + texts.joined(separator: ", ") + ")"
  }

  /// A method of the protocol without the parameters that have defaults in the class: requirements cannot have defaults.
  private func convenience(
    _ function: FunctionDeclSyntax, _ beginning: String, _ ending: String, _ source: CompiledSource
  ) -> String? {
    let parameters = function.signature.parameterClause.parameters
    guard parameters.contains(where: { $0.defaultValue != nil }), function.genericParameterClause == nil else {
      return nil
    }
    let usesMembers = parameters.compactMap(\.defaultValue).contains { value in
      value.tokens(viewMode: .sourceAccurate).contains { token in
        source.occurrences(at: token).contains {
          callClass.app.declarations[$0.symbol.usr]?.owner?.usr == callClass.type.symbol.usr
        }
      }
    }
    guard !usesMembers, !parameters.contains(where: { $0.ellipsis != nil }) else { return nil }
    let arguments = parameters.map { parameter in
      let label = parameter.firstName.text == "_" ? "" : parameter.firstName.text + ": "
      let isInOut = parameter.type.trimmedDescription.hasPrefix("inout ")
      let name = (parameter.secondName ?? parameter.firstName).text
      return label + (parameter.defaultValue?.value.trimmedDescription ?? (isInOut ? "&" : "") + name)
    }
    let effects = function.signature.effectSpecifiers
    let calls = (effects?.throwsClause == nil ? "" : "try ") + (effects?.asyncSpecifier == nil ? "" : "await ")
    let body = "\(calls)\(function.name.text)(\(arguments.joined(separator: ", ")))"
    let shorter = self.parameters(function.signature.parameterClause, withDefaults: false, source)
    return "\(beginning)\(shorter)\(ending) { \(body) }"
  }

  // MARK: Properties

  private func requirements(
    of property: VariableDeclSyntax, _ declaration: Declarations.Declaration, _ typed: TypedDeclaration?,
    _ uses: [CallClass.Use], _ isolation: String, _ source: CompiledSource
  ) throws(Inexpressible) -> [Requirement] {
    let name = declaration.symbol.name
    let bindings = Array(property.bindings)
    let index = bindings.firstIndex { binding in
      binding.pattern.tokens(viewMode: .sourceAccurate).contains { source.location(of: $0) == declaration.location }
    }
    let written = bindings[(index ?? 0)...].lazy.compactMap(\.typeAnnotation).first
    let ownAnnotation = index.flatMap { bindings[$0].typeAnnotation }
    let annotation = ownAnnotation ?? (index.map { bindings[$0].initializer == nil } == true ? written : nil)
    guard
      let type = annotation.map({ self.text(of: $0.type, source) })
        ?? typed.map({ TypeText(callClass.app).text($0.type) })
    else { throw Inexpressible(reason: "its type is not known") }
    if type.hasPrefix("some ") { throw Inexpressible(reason: "it has an opaque type ('\(type)')") }
    let isStatic = property.modifiers.contains { ["static", "class"].contains($0.name.text) } ? "static " : ""
    let isolated = property.modifiers.contains { $0.name.text == "nonisolated" } ? "nonisolated " : ""
    var found: [Requirement] = []
    if uses.contains(where: { !$0.isProjection }) {
      let effects = index.flatMap { self.effects(of: bindings[$0]) } ?? ""
      let set = uses.contains { $0.isWrite && !$0.isProjection } ? " set" : ""
      found.append(Requirement(text: "\(isolation)\(isolated)\(isStatic)var \(name): \(type) { get\(effects)\(set) }"))
    }
    if uses.contains(where: \.isProjection) {
      guard let projected = typed?.projectedType else {
        throw Inexpressible(reason: "the type of '$\(name)' is not known")
      }
      let projectedType = TypeText(callClass.app).text(projected)
      let ending = projectedType.hasSuffix(".Publisher") ? "Publisher" : "Projection"
      let head = "\(isolation)\(isStatic)var \(name)\(ending): \(projectedType)"
      found.append(Requirement(text: "\(head) { get }", witness: "\(head) { $\(name) }"))
    }
    return found
  }

  private func effects(of binding: PatternBindingSyntax) -> String? {
    guard case .accessors(let accessors)? = binding.accessorBlock?.accessors else { return nil }
    return accessors.first { $0.accessorSpecifier.text == "get" }?.effectSpecifiers.map { " " + $0.trimmedDescription }
  }

  // MARK: Types

  private func text(_ clause: ReturnClauseSyntax?, _ source: CompiledSource) -> String {
    clause.map { " -> " + text(of: $0.type, source) } ?? ""
  }

  /// A type as it is written, with types inside the class under their whole names.
  func text(of type: TypeSyntax, _ source: CompiledSource) -> String {
    var text = ""
    for token in type.tokens(viewMode: .sourceAccurate) {
      if !text.isEmpty, !token.leadingTrivia.isEmpty { text += " " }
      let isFirstPart = token.parent?.is(IdentifierTypeSyntax.self) == true
      if isFirstPart, let symbol = source.occurrences(at: token).first(where: { $0.symbol.kind.isType })?.symbol {
        let owners = callClass.app.declarations.owners(of: symbol.usr)
        text += owners.map { $0 + "." }.joined()
      }
      text += token.text
      if !token.trailingTrivia.isEmpty, token != type.lastToken(viewMode: .sourceAccurate) { text += " " }
    }
    return text
  }
}

/// Writes a type that only the compiler has spelled, as source does.
struct TypeText {
  private let types: [String: Declarations.Declaration]

  init(_ app: CompiledApp) { types = app.declarations.typesByQualifiedName() }

  /// Without modules, and with `any` before protocols.
  func text(_ type: CompiledType) -> String {
    var (text, word) = ("", "")
    for letter in type.description + " " {
      if letter.isLetter || letter.isNumber || letter == "_" || letter == "." {
        word.append(letter)
        continue
      }
      text += name(word) + String(letter)
      word = ""
    }
    return String(text.dropLast()).replacing("-> ()", with: "-> Void").replacing(" : ", with: ": ")
  }

  private func name(_ word: String) -> String {
    guard let dot = word.firstIndex(of: "."), dot != word.startIndex else { return word }
    let short = String(word[word.index(after: dot)...])
    return types[word]?.symbol.kind == .protocol ? "(any \(short))" : short
  }
}
