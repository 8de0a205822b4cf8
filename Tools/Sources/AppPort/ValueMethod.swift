import CompilerFacts
import SwiftSyntax

/// A method of the app's type in the value type that stands for it: a closure, which calls the layer's own.
///
/// Without parameters the closure has the method's name. A call of a closure has no labels, so that other methods call a closure of
/// another name.
struct ValueMethod {
  /// The closure's name.
  let property: String
  let properties: [String]
  let functions: [String]
  /// For the value's initializer, in a scope with the old one as `value`.
  let argument: String

  /// - Parameter taken: names of the value's other properties.
  /// - Throws: `SeamValues.Obstacle` if a closure cannot stand for the method.
  init(
    _ member: Declarations.Declaration, _ values: SeamValues, _ callClass: CallClass, _ taken: Set<String>
  ) throws(SeamValues.Obstacle) {
    guard let source = callClass.source(of: member.location.file), let token = source.token(at: member.location),
      let function = token.parent?.as(FunctionDeclSyntax.self)
    else { throw SeamValues.Obstacle(reason: "its declaration cannot be read") }
    if let reason = Self.obstacle(function) { throw SeamValues.Obstacle(reason: reason) }
    var (parameters, types, inner, outer): ([String], [String], [String], [String]) = ([], [], [], [])
    for (index, parameter) in function.signature.parameterClause.parameters.enumerated() {
      let form = try values.form(of: values.qualified(parameter.type, source))
      guard let back = form.back else {
        throw SeamValues.Obstacle(
          reason: "there is no way back from \(form.text) to \(parameter.type.trimmedDescription)")
      }
      let type = form.isSame ? Self.text(of: parameter.type, source, callClass) : form.text
      let names = [parameter.firstName.text, parameter.secondName?.text].compactMap { $0 }.joined(separator: " ")
      parameters.append("\(names): \(type)" + (try Self.defaultValue(of: parameter, source, callClass)))
      types.append(type)
      let label = parameter.firstName.text == "_" ? "" : parameter.firstName.text + ": "
      let reference = parameter.type.trimmedDescription.hasPrefix("inout ") ? "&" : ""
      inner.append(label + back(reference + "$\(index)"))
      outer.append(reference + (parameter.secondName ?? parameter.firstName).text)
    }
    let effects = function.signature.effectSpecifiers
    let calls = (effects?.throwsClause == nil ? "" : "try ") + (effects?.asyncSpecifier == nil ? "" : "await ")
    var (result, body) = ("Void", "\(calls)value.\(function.name.text)(\(inner.joined(separator: ", ")))")
    if let type = function.signature.returnClause?.type {
      let form = try values.form(of: values.qualified(type, source))
      (result, body) = (form.isSame ? Self.text(of: type, source, callClass) : form.text, form.convert(body))
    }
    let written = effects.map { " " + $0.trimmedDescription } ?? ""
    let isOnMain = callClass.facts.declaration(member.symbol.usr)?.isOnMainActor == true
    let isolation = isOnMain ? "@MainActor " : ""
    let type = "\(isolation)(\(types.joined(separator: ", ")))\(written) -> \(result)"
    property = Self.property(for: function)
    guard !taken.contains(property) else {
      throw SeamValues.Obstacle(reason: "another member has its name, or the name of its closure, '\(property)'")
    }
    argument = "\(property): { \(body) }"
    guard !parameters.isEmpty else {
      (properties, functions) = (["  let \(property): \(type)"], [])
      return
    }
    properties = ["  /// What `\(member.symbol.name)` calls.", "  let \(property): \(type)"]
    let discardable = function.attributes.contains { $0.trimmedDescription == "@discardableResult" }
    let head = "\(discardable ? "@discardableResult " : "")\(isolation)func \(function.name.text)"
    functions = [
      "",
      "  \(head)(\(parameters.joined(separator: ", ")))\(written) -> \(result) { \(calls)\(property)(\(outer.joined(separator: ", "))) }",
    ]
  }

  private static func obstacle(_ function: FunctionDeclSyntax) -> String? {
    let effects = function.signature.effectSpecifiers?.trimmedDescription ?? ""
    if function.modifiers.contains(where: { $0.name.text == "mutating" }) { return "it changes the value" }
    if function.genericParameterClause != nil { return "it is generic" }
    if effects.contains("rethrows") { return "it rethrows" }
    if function.signature.parameterClause.parameters.contains(where: { $0.ellipsis != nil }) { return "it is variadic" }
    for token in function.signature.tokens(viewMode: .sourceAccurate) {
      if token.tokenKind == .keyword(.some) { return "it has an opaque type" }
      if token.tokenKind == .keyword(.Self) { return "it names Self" }
    }
    return nil
  }

  private static func text(of type: TypeSyntax, _ source: CompiledSource, _ callClass: CallClass) -> String {
    RequirementWriter(callClass: callClass).text(of: type, source)
  }

  /// `title(of:short:)` is called by `titleOfShort`.
  private static func property(for function: FunctionDeclSyntax) -> String {
    let parameters = function.signature.parameterClause.parameters
    guard !parameters.isEmpty else { return function.name.text }
    let labels = parameters.map(\.firstName.text).filter { $0 != "_" }
    let words = labels.isEmpty ? ["call"] : labels
    return function.name.text + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// With its sign; empty if there is none.
  private static func defaultValue(
    of parameter: FunctionParameterSyntax, _ source: CompiledSource, _ callClass: CallClass
  ) throws(SeamValues.Obstacle) -> String {
    guard let value = parameter.defaultValue else { return "" }
    let names = value.tokens(viewMode: .sourceAccurate).flatMap { source.occurrences(at: $0) }
    guard !names.contains(where: { callClass.app.declarations[$0.symbol.usr]?.module == callClass.type.module }) else {
      throw SeamValues.Obstacle(reason: "the default of '\(parameter.firstName.text)' names a declaration of the app")
    }
    return " " + value.trimmedDescription
  }
}
