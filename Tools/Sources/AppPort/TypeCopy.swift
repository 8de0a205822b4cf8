import CompilerFacts
import SwiftSyntax

/// A struct or enum of the app under a new name, with its code: for types inside the call class that use no vendor's type.
///
/// Extensions come along that are free of the layer's types, too.
struct TypeCopy {
  private let type: Declarations.Declaration
  private let old: String
  private let new: String
  private let callClass: CallClass
  private let parts: [(syntax: DeclSyntax, source: CompiledSource)]
  /// Identifiers of the members that the copy has.
  let members: Set<String>
  /// The stored properties of a struct.
  private let stored: [String]

  /// Nil if the type's code uses the vendor's types or others that each layer has for itself.
  init?(of type: Declarations.Declaration, as new: String, _ callClass: CallClass, isOfLayer: (String) -> Bool) {
    let declarations = callClass.app.declarations
    guard [.struct, .enum].contains(type.symbol.kind), let source = callClass.source(of: type.location.file),
      let token = source.token(at: type.location), let main = token.parent?.as(DeclSyntax.self),
      Self.isFree(main, source, of: type, callClass, isOfLayer)
    else { return nil }
    // Data of the type's own kind, or of a type inside it, would need conversions of their own.
    let usesOwnTypes = Self.data(in: main).contains { data in
      data.tokens(viewMode: .sourceAccurate).flatMap { source.occurrences(at: $0) }.contains {
        $0.roles.contains(.reference) && $0.symbol.kind.isType && isOfLayer($0.symbol.usr)
      }
    }
    guard !usesOwnTypes else { return nil }
    var parts = [(syntax: main, source: source)]
    for source in callClass.sources {
      for statement in source.tree.statements {
        guard let addition = statement.item.as(ExtensionDeclSyntax.self),
          let name = addition.extendedType.lastToken(viewMode: .sourceAccurate),
          source.occurrences(at: name).contains(where: { $0.symbol.usr == type.symbol.usr }),
          Self.isFree(DeclSyntax(addition), source, of: type, callClass, isOfLayer)
        else { continue }
        parts.append((DeclSyntax(addition), source))
      }
    }
    let all = declarations.members(of: type.symbol.usr)
    members = Set(
      all.filter { member in
        parts.contains { syntax, source in
          guard source.file.path == member.location.file, let token = source.token(at: member.location) else {
            return false
          }
          return token.position >= syntax.position && token.endPosition <= syntax.endPosition
        }
      }.map(\.symbol.usr))
    guard let stored = type.symbol.kind == .enum ? [] : Self.stored(in: main) else { return nil }
    (self.type, self.new, self.callClass, self.parts, self.stored) = (type, new, callClass, parts, stored)
    old = (declarations.owners(of: type.symbol.usr) + [type.symbol.name]).joined(separator: ".")
  }

  private static func isFree(
    _ syntax: DeclSyntax, _ source: CompiledSource, of type: Declarations.Declaration, _ callClass: CallClass,
    _ isOfLayer: (String) -> Bool
  ) -> Bool {
    let declarations = callClass.app.declarations
    return syntax.tokens(viewMode: .sourceAccurate).allSatisfy { token in
      source.occurrences(at: token).allSatisfy { occurrence in
        guard occurrence.roles.contains(.reference), let declaration = declarations[occurrence.symbol.usr] else {
          return true
        }
        let usr = occurrence.symbol.usr
        if VendorSites.style(of: declaration.module) != nil { return false }
        return !isOfLayer(usr) || usr == type.symbol.usr || isInside(usr, type.symbol.usr, declarations)
          || isQualifier(token, usr, callClass)
      }
    }
  }

  /// What a value of the type consists of: the values of cases, and stored properties.
  private static func data(in main: DeclSyntax) -> [Syntax] {
    let members = main.asProtocol((any DeclGroupSyntax).self)?.memberBlock.members.map(\.decl) ?? []
    let cases = members.compactMap { $0.as(EnumCaseDeclSyntax.self) }.flatMap(\.elements).compactMap(\.parameterClause)
    let properties = members.compactMap { $0.as(VariableDeclSyntax.self) }
      .filter { !$0.modifiers.contains { $0.name.text == "static" } }.flatMap(\.bindings).filter(isStored)
    return cases.map { Syntax($0) } + properties.map { Syntax($0) }
  }

  /// Whether a declaration is a member of a type, or of a type inside it.
  static func isInside(_ usr: String, _ type: String, _ declarations: Declarations) -> Bool {
    var next = declarations[usr]?.owner?.usr
    while let owner = next {
      if owner == type { return true }
      next = declarations[owner]?.owner?.usr
    }
    return false
  }

  /// Whether a token is the class in `Model.Phase`.
  private static func isQualifier(_ token: TokenSyntax, _ usr: String, _ callClass: CallClass) -> Bool {
    usr == callClass.type.symbol.usr && token.nextToken(viewMode: .sourceAccurate)?.tokenKind == .period
  }

  /// The stored properties that an initializer sets; nil if another one than the copy's cannot set them.
  private static func stored(in main: DeclSyntax) -> [String]? {
    guard let structure = main.as(StructDeclSyntax.self) else { return nil }
    var names: [String] = []
    for property in structure.memberBlock.members.compactMap({ $0.decl.as(VariableDeclSyntax.self) }) {
      let words = Set(property.modifiers.map(\.name.text))
      if words.contains("static") { continue }
      for binding in property.bindings where isStored(binding) {
        guard property.attributes.isEmpty, words.isDisjoint(with: ["private", "fileprivate", "lazy", "weak"]),
          let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        else { return nil }
        // A constant with a value is never set again.
        if property.bindingSpecifier.tokenKind == .keyword(.let), binding.initializer != nil { continue }
        names.append(name)
      }
    }
    return names
  }

  /// Whether a property has a place of its own, with or without observers.
  static func isStored(_ binding: PatternBindingSyntax) -> Bool {
    guard let block = binding.accessorBlock else { return true }
    guard case .accessors(let accessors) = block.accessors else { return false }
    return accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
  }

  // MARK: Text

  /// - Parameter comesBack: whether other code hands values to the layer.
  func text(comesBack: Bool) -> (value: [String], conversion: [String]) {
    var value = ["/// \(old), as every layer shows it."]
    for (index, part) in parts.enumerated() {
      if index > 0 { value.append("") }
      value += lines(of: part.syntax, part.source)
    }
    let conversion = initializer(of: new, from: old) + (comesBack ? [""] + initializer(of: old, from: new) : [])
    return (value, conversion)
  }

  private func initializer(of target: String, from origin: String) -> [String] {
    var lines = ["extension \(target) {", "  init(_ value: \(origin)) {"]
    if type.symbol.kind == .enum {
      let cases = callClass.app.declarations.members(of: type.symbol.usr).filter { $0.symbol.kind == .enumCase }
      lines += ["    switch value {"] + cases.map { "    " + conversion(of: $0.symbol.name) } + ["    }"]
    } else {
      lines += stored.map { "    \($0) = value.\($0)" }
    }
    return lines + ["  }", "}"]
  }

  /// Of a case with its labels: `failed(code:_:)`.
  private func conversion(of name: String) -> String {
    let base = String(name.prefix { $0 != "(" })
    let labels = name.dropFirst(base.count).dropFirst().dropLast().split(separator: ":").map(String.init)
    guard !labels.isEmpty else { return "case .\(base): self = .\(base)" }
    let bound = labels.indices.map { "let value\($0)" }.joined(separator: ", ")
    let values = labels.enumerated().map { ($1 == "_" ? "" : "\($1): ") + "value\($0)" }.joined(separator: ", ")
    return "case .\(base)(\(bound)): self = .\(base)(\(values))"
  }

  /// The text of a part under the new name, without the indentation that it has inside the class.
  private func lines(of syntax: DeclSyntax, _ source: CompiledSource) -> [String] {
    var (text, isAfterOwner) = ("", false)
    let tokens = Array(syntax.tokens(viewMode: .sourceAccurate))
    for (index, token) in tokens.enumerated() {
      let usrs = source.occurrences(at: token).map(\.symbol.usr)
      let isOwner =
        usrs.contains { $0 == callClass.type.symbol.usr } && tokens[index...].dropFirst().first?.tokenKind == .period
      if index > 0, !isAfterOwner { text += token.leadingTrivia.description }
      if isOwner || isAfterOwner && token.tokenKind == .period {
        isAfterOwner = true
        continue
      }
      isAfterOwner = false
      text += usrs.contains(type.symbol.usr) ? new : token.text
      if index < tokens.count - 1 { text += token.trailingTrivia.description }
    }
    let column = source.location(of: tokens[0]).column - 1
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
      index > 0 && line.prefix(column).allSatisfy { $0 == " " } ? String(line.dropFirst(column)) : String(line)
    }
  }
}
