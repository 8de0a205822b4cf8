import CompilerFacts
import SwiftSyntax

/// Requirements with values in place of the vendor's types.
extension SeamValues {
  /// - Throws: `Obstacle` if the member cannot be replaced: it then stays as it is, with the vendor's types.
  func requirements(
    of member: Declarations.Declaration, _ uses: [CallClass.Use], _ callClass: CallClass
  ) throws(Obstacle) -> [Requirement] {
    try undoing { () throws(Obstacle) in try written(of: member, uses, callClass) }
  }

  private func written(
    of member: Declarations.Declaration, _ uses: [CallClass.Use], _ callClass: CallClass
  ) throws(Obstacle) -> [Requirement] {
    guard let typed = callClass.facts.declaration(member.symbol.usr) else {
      throw Obstacle(reason: "its type is not known")
    }
    let isolation = typed.isOnMainActor && !callClass.isOnMainActor ? "@MainActor " : ""
    switch member.symbol.kind {
    case .property:
      return try requirements(ofProperty: member.symbol.name, typed, uses, isolation, isNested: isNested(member))
    case .method:
      guard let source = callClass.source(of: member.location.file), let token = source.token(at: member.location),
        let function = token.parent?.as(FunctionDeclSyntax.self)
      else { throw Obstacle(reason: "its declaration cannot be read") }
      return try [requirement(of: function, isolation, source)]
    default: throw Obstacle(reason: "it is neither a property nor a method of a value")
    }
  }

  private func requirements(
    ofProperty name: String, _ typed: TypedDeclaration, _ uses: [CallClass.Use], _ isolation: String, isNested: Bool
  ) throws(Obstacle) -> [Requirement] {
    let isSet = uses.contains { $0.isWrite && !$0.isProjection }
    guard !isSet || isNested else { throw Obstacle(reason: "other code sets it") }
    let form = try form(of: typed.type.description)
    var found: [Requirement] = []
    if uses.contains(where: { !$0.isProjection }) {
      let head = "\(isolation)var \(name)Value: \(form.text)"
      if isSet {
        guard let back = form.back else { throw Obstacle(reason: "other code sets it") }
        found.append(
          Requirement(
            text: "\(head) { get set }",
            witness: "\(head) {\n    get { \(form.convert(name)) }\n    set { \(name) = \(back("newValue")) }\n  }"))
      } else {
        found.append(Requirement(text: "\(head) { get }", witness: "\(head) { \(form.convert(name)) }"))
      }
    }
    if uses.contains(where: \.isProjection) {
      guard let projected = typed.projectedType, projected.description.hasSuffix(">.Publisher") else {
        throw Obstacle(reason: "'$\(name)' is no publisher")
      }
      let head = "\(isolation)var \(name)ValuePublisher: AnyPublisher<\(form.text), Never>"
      found.append(
        Requirement(
          text: "\(head) { get }",
          witness: "\(head) { $\(name).map { \(form.convert("$0")) }.eraseToAnyPublisher() }"))
    }
    return found
  }

  private func requirement(
    of function: FunctionDeclSyntax, _ isolation: String, _ source: CompiledSource
  ) throws(Obstacle) -> Requirement {
    guard function.genericParameterClause == nil else { throw Obstacle(reason: "it is generic") }
    var (parameters, arguments): ([String], [String]) = ([], [])
    for parameter in function.signature.parameterClause.parameters {
      let form = try form(of: qualified(parameter.type, source))
      guard parameter.ellipsis == nil, let back = form.back else {
        throw Obstacle(reason: "there is no way back from \(form.text) to \(parameter.type.trimmedDescription)")
      }
      let names = [parameter.firstName.text, parameter.secondName?.text].compactMap { $0 }.joined(separator: " ")
      // A type that stays keeps its own spelling, with its attributes.
      let isSame = form.isSame
      parameters.append("\(names): \(isSame ? parameter.type.trimmedDescription : form.text)")
      let label = parameter.firstName.text == "_" ? "" : parameter.firstName.text + ": "
      arguments.append(label + back((parameter.secondName ?? parameter.firstName).text))
    }
    let effects = function.signature.effectSpecifiers
    let calls = (effects?.throwsClause == nil ? "" : "try ") + (effects?.asyncSpecifier == nil ? "" : "await ")
    let call = "\(calls)\(function.name.text)(\(arguments.joined(separator: ", ")))"
    var (result, body) = ("", call)
    if let type = function.signature.returnClause?.type {
      let form = try form(of: qualified(type, source))
      (result, body) = (" -> " + (form.isSame ? type.trimmedDescription : form.text), form.convert(call))
    }
    let discardable = function.attributes.contains { $0.trimmedDescription == "@discardableResult" }
    let isolated = function.modifiers.contains { $0.name.text == "nonisolated" }
    let beginning =
      isolation + (discardable ? "@discardableResult " : "") + (isolated ? "nonisolated " : "")
      + "func \(function.name.text)"
    let ending = (effects.map { " " + $0.trimmedDescription } ?? "") + result
    let head = "\(beginning)(\(parameters.joined(separator: ", ")))\(ending)"
    let convenience = convenience(function, parameters, source).map { shorter, arguments in
      "\(beginning)(\(shorter))\(ending) { \(calls)\(function.name.text)(\(arguments)) }"
    }
    let hasDefaults = function.signature.parameterClause.parameters.contains { $0.defaultValue != nil }
    // The class has both methods, and code that is not changed yet calls the old one: `.high` fits both.
    return Requirement(
      text: head, witness: "@_disfavoredOverload \(head) { \(body) }", convenience: convenience,
      remark: hasDefaults && convenience == nil
        ? "a default argument names what each layer has for itself: write the argument there" : nil)
  }

  /// The parameters without defaults, and the arguments with them; nil if a default names what the protocol does not have.
  ///
  /// A case of an enum (`.high`) is a case of the enum's value, too.
  private func convenience(
    _ function: FunctionDeclSyntax, _ texts: [String], _ source: CompiledSource
  ) -> (parameters: String, arguments: String)? {
    let parameters = Array(function.signature.parameterClause.parameters)
    let defaults = parameters.compactMap(\.defaultValue)
    let isNamed = defaults.flatMap { $0.tokens(viewMode: .sourceAccurate) }.flatMap { source.occurrences(at: $0) }
      .contains { $0.symbol.kind != .enumCase && isOfLayer($0.symbol) }
    guard !defaults.isEmpty, !isNamed else { return nil }
    let shorter = zip(parameters, texts).filter { $0.0.defaultValue == nil }.map(\.1)
    let arguments = parameters.map { parameter in
      let label = parameter.firstName.text == "_" ? "" : parameter.firstName.text + ": "
      return label
        + (parameter.defaultValue?.value.trimmedDescription ?? (parameter.secondName ?? parameter.firstName).text)
    }
    return (shorter.joined(separator: ", "), arguments.joined(separator: ", "))
  }

  /// What makes the vendor's views: other code hands them to the layer.
  func factory(_ callClass: CallClass) -> Requirement? {
    guard let name = viewClass else { return nil }
    let head = "\(callClass.isOnMainActor ? "" : "@MainActor ")func makeVideoView() -> UIView"
    return Requirement(text: head, witness: "\(head) { \(name)(frame: .zero) }")
  }
}
