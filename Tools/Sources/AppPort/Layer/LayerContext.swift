import CallModel
import CompilerFacts
import SwiftSyntax

/// What rendering needs to know of an app's call layer.
final class LayerContext {
  let callClass: CallClass
  let layer: LayerDeclarations
  private(set) var model: CallModel
  let table: StyleTable
  let writer: LayerWriter
  let reader: LayerReader
  let sites: Set<CodeLocation>
  let prefix: String
  /// Whether the new layer is in another module than the app.
  let isOutside: Bool
  /// Whether the app's own files change.
  let isInPlace: Bool
  var facts: any TypeFacts { callClass.facts }

  init(
    _ callClass: CallClass, _ layer: LayerDeclarations, _ reader: LayerReader, sites: Set<CodeLocation>, prefix: String,
    isOutside: Bool, isInPlace: Bool = false
  ) {
    (self.callClass, self.layer, self.reader, self.sites) = (callClass, layer, reader, sites)
    (self.prefix, self.isOutside, self.isInPlace) = (prefix, isOutside, isInPlace)
    (model, table) = (reader.model(of: layer), reader.table)
    writer = reader.writer.init(
      taken: Set(callClass.app.declarations.members(of: callClass.type.symbol.usr).map(\.symbol.name)),
      isOnMainActor: callClass.isOnMainActor, helperWords: reader.reader.helperWords)
  }

  /// Makes a reading of the app's code one that the target has no word for.
  func leaveOut(_ symbol: String, at place: CodeLocation, _ instead: String) {
    model.add(.lost(symbol: symbol, instead: instead), at: place)
  }

  func forget() { writer.forget() }

  /// The functions that call the app's handlers, but for those that are not ported.
  func dispatch(of type: String, without unported: Set<String>) -> String {
    let model = model.without(unported)
    return writer.dispatch(model, reader.reader, of: type)
  }

  /// The name of a declaration in the new layer; nil if it keeps its name.
  func newName(of usr: String, _ old: String) -> String? {
    if layer.renamed.contains(usr) {
      // `Self` is the type, too.
      return old == callClass.app.declarations[usr]?.symbol.name.prefix { $0 != "(" } ?? "" ? prefix + old : nil
    }
    if isOutside, let declaration = callClass.app.declarations[usr], declaration.module == callClass.type.module,
      declaration.owner == nil, declaration.symbol.kind.isType, declaration.symbol.name == old
    {
      // Modules of Koine's have types of some of these names.
      return declaration.module + "." + old
    }
    guard let handler = model.handler(usr), handler.name.prefix(while: { $0 != "(" }) == old else { return nil }
    return writer.handlerName(handler)
  }

  /// Whether it is a declaration that other code of the app can name: no parameter, and nothing inside a function.
  func isMember(_ usr: String) -> Bool {
    guard let declaration = callClass.app.declarations[usr], declaration.symbol.kind != .parameter else { return false }
    return declaration.owner?.kind.isType ?? (declaration.symbol.kind != .variable || layer.isAtTop(declaration))
  }

  func isVendor(_ type: String) -> Bool { VendorSites.style(of: String(type.prefix { $0 != "." })) == model.style }

  /// What the call class's body gets in addition, if the block is its body.
  func classBody(_ block: MemberBlockSyntax, in source: CompiledSource) -> String? {
    guard let type = block.parent?.as(ClassDeclSyntax.self),
      source.occurrences(at: type.name).contains(where: {
        $0.symbol.usr == callClass.type.symbol.usr && $0.roles.contains(.definition)
      })
    else { return nil }
    return writer.placeOfMembers
  }

  /// Why the target does not report what a function of the app handles; nil for other declarations.
  func lostHandler(_ node: Syntax, in source: CompiledSource) -> String? {
    lostRequirement(node, in: source).map { "\($0.symbol): \($0.instead)" }
  }

  /// The vendor's callback that a function of the app handles and that the target does not have; nil for other declarations.
  func lostRequirement(_ node: Syntax, in source: CompiledSource) -> (symbol: String, instead: String)? {
    let declaration = node.as(MemberBlockItemSyntax.self)?.decl
    guard let name = declaration?.as(FunctionDeclSyntax.self)?.name else { return nil }
    for occurrence in source.occurrences(at: name) where !occurrence.roles.contains(.reference) {
      for requirement in callClass.app.declarations[occurrence.symbol.usr]?.overridden ?? [] {
        guard let symbol = reader.vendorName(requirement.usr) else { continue }
        let type = facts.declaration(occurrence.symbol.usr)?.type.description
        if let instead = reader.reader.instead(ofCallback: symbol, type: type) ?? table.instead(of: symbol) {
          return (symbol, instead)
        }
      }
    }
    return nil
  }

  /// The vendor's callback that a function of the app handles and that no fact says; nil for other declarations.
  func unknownRequirement(_ node: Syntax, in source: CompiledSource) -> String? {
    guard let function = node.as(MemberBlockItemSyntax.self)?.decl.as(FunctionDeclSyntax.self) else { return nil }
    for occurrence in source.occurrences(at: function.name) {
      guard !occurrence.roles.contains(.reference), model.handler(occurrence.symbol.usr) == nil else { continue }
      let overridden = callClass.app.declarations[occurrence.symbol.usr]?.overridden ?? []
      if let symbol = overridden.lazy.compactMap({ self.reader.vendorName($0.usr) }).first { return symbol }
    }
    return nil
  }

  /// Whether a protocol of the app's requires a member of the type: it has to stay, or the type would not conform.
  func isRequired(_ member: MemberBlockItemSyntax, in source: CompiledSource) -> Bool {
    let name =
      member.decl.as(FunctionDeclSyntax.self)?.name
      ?? member.decl.as(VariableDeclSyntax.self)?.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier
    guard let name else { return false }
    let declarations = callClass.app.declarations
    for occurrence in source.occurrences(at: name) where !occurrence.roles.contains(.reference) {
      guard let declaration = declarations[occurrence.symbol.usr], let owner = declaration.owner?.usr else { continue }
      let protocols = declarations.bases(of: owner).filter { base in
        base.kind == .protocol && declarations[base.usr]?.module == callClass.type.module
      }
      if protocols.contains(where: { base in
        declarations.members(of: base.usr).contains { $0.symbol.name == declaration.symbol.name }
      }) {
        return true
      }
    }
    return false
  }

  /// The function of another class than the call class that handles what only the call class gets; nil for other declarations.
  func foreignHandler(_ node: Syntax, in source: CompiledSource) -> Handler? {
    guard let function = node.as(MemberBlockItemSyntax.self)?.decl.as(FunctionDeclSyntax.self) else { return nil }
    let usrs = source.occurrences(at: function.name).filter { !$0.roles.contains(.reference) }.map(\.symbol.usr)
    return model.foreign.first { usrs.contains($0.usr) }
  }

  /// Why a function of another class is not ported, with the vendor's callback.
  func reason(for handler: Handler) -> String {
    let overridden = callClass.app.declarations[handler.usr]?.overridden ?? []
    let symbol = overridden.lazy.compactMap { self.reader.vendorName($0.usr) }.first ?? handler.name
    return "\(symbol) in another class than \(callClass.name)"
  }

  /// What to do with the functions of other classes; nil if there are none.
  var foreignText: String? {
    guard !model.foreign.isEmpty else { return nil }
    let functions = model.foreign.map { handler in
      let owners = callClass.app.declarations.owners(of: handler.usr)
      return "\((owners + [handler.name]).joined(separator: ".")) (\(handler.location))"
    }
    return
      "What the call reports reaches \(callClass.name) only, so these callbacks of other classes are comments under "
      + "#warning: \(functions.joined(separator: ", ")). Let \(callClass.name) handle them and call the other classes."
  }

  /// Why a function without statements that handles what the vendor reports is left out; nil for other declarations.
  func idleHandler(_ node: Syntax, in source: CompiledSource) -> String? {
    guard let member = node.as(MemberBlockItemSyntax.self), let function = member.decl.as(FunctionDeclSyntax.self),
      function.body?.statements.isEmpty == true
    else { return nil }
    if unknownRequirement(node, in: source) != nil {
      return "it handles what \(writer.title) does not report, and does nothing"
    }
    // What objects report to a delegate of their own has a handler that knows the callback.
    let isHandler = source.occurrences(at: function.name).contains {
      !$0.roles.contains(.reference)
        && model.handler($0.symbol.usr).map { !reader.reader.factsOfObjects.contains($0.fact) } ?? false
    }
    return isHandler && !isRequired(member, in: source) ? "nothing has to call it: it does nothing" : nil
  }

  /// How code at a place names the call object: the kept property, in the call class.
  func callExpression(at node: Syntax, in source: CompiledSource) -> String? {
    guard isInCallClass(node, in: source), let kept = model.kept(as: .call) else { return nil }
    let isOptional =
      facts.declaration(kept.usr)?.type.description.hasSuffix("?") == true
      || facts.declaration(kept.usr)?.type.description.contains("Optional") == true
    return kept.name + (isOptional ? "?" : "")
  }

  func callType(at node: Syntax, in source: CompiledSource) -> String? {
    isInCallClass(node, in: source) ? callClass.type.symbol.usr : nil
  }

  func isInCallClass(_ node: Syntax, in source: CompiledSource) -> Bool {
    owners(of: node, in: source).contains(callClass.type.symbol.usr)
  }

  /// The class around a place.
  func owner(of node: Syntax, in source: CompiledSource) -> String? { owners(of: node, in: source).first }

  /// The classes around a place, the innermost first.
  private func owners(of node: Syntax, in source: CompiledSource) -> [String] {
    sequence(first: node) { $0.parent }.compactMap { current in
      let name =
        current.as(ClassDeclSyntax.self)?.name
        ?? current.as(ExtensionDeclSyntax.self)?.extendedType.lastToken(viewMode: .sourceAccurate)
      return name.flatMap { source.occurrences(at: $0).first { $0.symbol.kind.isType }?.symbol.usr }
    }
  }
}
