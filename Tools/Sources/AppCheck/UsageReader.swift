import KoinePorting
import SwiftSyntax

/// Finds the vendors' and Apple's symbols in a file, by what can be seen of the types of values without a compiler.
final class UsageReader: ScopeReader {
  struct Usage {
    let member: SymbolIndex.Member
    let location: CodeLocation
    /// True where the receiver's type identifies the symbol, false where only the name does.
    let isCertain: Bool
  }

  private let file: AppSources.File
  private(set) var usages: [Usage] = []
  private(set) var problems: [Problem] = []
  /// Whether the file imports modules that AppCheck does not know. A type of theirs may have the name of an absent entry.
  private let hasOtherModules: Bool
  /// Whether the file imports modules of other packages, whose functions are not known.
  private let importsUnknownModules: Bool

  init(_ file: AppSources.File, _ index: AppIndex, _ knowledge: SymbolIndex, _ conditions: Conditions) {
    self.file = file
    let known = Set(VendorAPI.all.values.flatMap(\.modules)).union(LinuxHindrances.current.modules)
      .union(["Foundation", "Dispatch"]).subtracting(["Combine"])
    hasOtherModules = !index.modules(of: file.path).subtracting(known).isEmpty
    let modules = index.modules(of: file.path)
    importsUnknownModules = !modules.isSubset(of: conditions.modules) || modules.contains { $0.hasPrefix("Koine") }
    super.init(index, knowledge, conditions)
  }

  // MARK: Symbols

  override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
    if node.parent?.is(MemberTypeSyntax.self) != true { mention(node.name.text, at: node) }
    return .visitChildren
  }

  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind {
    LinuxHindrances.current.rewrittenAttributes.contains(node.attributeName.trimmedDescription)
      ? .skipChildren : .visitChildren
  }

  override func visit(_ node: MemberTypeSyntax) -> SyntaxVisitorContinueKind {
    mention(ValueType.withoutModule(node.trimmedDescription), at: node)
    return .visitChildren
  }

  /// A type's name in the source.
  private func mention(_ name: String, at node: some SyntaxProtocol) {
    guard !index.declares(name), !isNested(name) else {
      return
    }
    if let found = knowledge.type(named: name) {
      guard found.api.style != nil else { return }
      let entry = found.api.entries[name] ?? found.api.entries[found.name]
      if entry?.status == .absent, hasOtherModules,
        importsUnknownModules || !SymbolIndex.looksLikeAVendors(name, of: found.api.style)
      {
        return
      }
      let member = SymbolIndex.Member(
        symbol: entry?.symbol ?? name, status: entry?.status ?? .works, why: entry?.why, type: .meta(found.name),
        parameters: [], style: found.api.style)
      usages.append(Usage(member: member, location: file.location(of: node), isCertain: true))
    } else if SymbolIndex.looksLikeApples(name), !name.contains("."), knowledge.global(name, labels: nil) == nil {
      problems.append(
        Problem(
          .linux, at: file.location(of: node), "\(name) is not there on Linux",
          instead: "leave files that only draw, or start the app, out (`exclude:`)"))
    } else if let style = knowledge.styles.first(where: { SymbolIndex.looksLikeAVendors(name, of: $0) }),
      !name.contains("."), !importsUnknownModules
    {
      problems.append(
        Problem(
          .missing, at: file.location(of: node), "\(name) is not among the types of the \(style.title) style",
          instead: "a type of your own that hides it", style: style))
    }
  }

  override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
    if let access = node.parent?.as(MemberAccessExprSyntax.self), access.declName.id == node.id {
      return .visitChildren
    }
    let name = node.baseName.text
    if isLocal(name) { return .visitChildren }
    let call = node.parent?.as(FunctionCallExprSyntax.self).flatMap { $0.calledExpression.id == node.id ? $0 : nil }
    if name.first?.isUppercase == true {
      mention(name, at: node)
      if let call { construct(name, call, at: node) }
    } else if name.hasPrefix("kC") {
      mention(name, at: node)
    } else if let call, isMissingOfSuperclass(name, call) {
      problems.append(
        Problem(
          .missing, at: file.location(of: node),
          "neither the app nor \(foreignSuperclass ?? "UIKit") has '\(name)' here",
          instead: "leave it out, or keep it behind a type of your own"))
    } else if let call, index.functions[name] == nil,
      let member = knowledge.global(name, labels: Self.labels(of: call)),
      member.style != nil
    {
      usages.append(Usage(member: member, location: file.location(of: node), isCertain: true))
    }
    return .visitChildren
  }

  /// A call without a receiver, in a class of the app's below one of UIKit's: it is a member of the latter if nothing else has the name.
  private func isMissingOfSuperclass(_ name: String, _ call: FunctionCallExprSyntax) -> Bool {
    guard !importsUnknownModules, foreignSuperclass != nil, let type = selfType.name, index.functions[name] == nil,
      index.variables[name] == nil, name.dropFirst().contains(where: \.isUppercase),
      !name.hasPrefix("with"), !Self.globalFunctions.contains(name),
      !SymbolIndex.everywhere.contains(name), knowledge.global(name, labels: Self.labels(of: call)) == nil
    else { return false }
    let outer = enclosingTypes
    guard !outer.contains(where: { isOwn(name, of: $0) }), !index.hasFunction(name) else { return false }
    return outer.allSatisfy { candidate in
      let parents = index.foreignParents(of: candidate)
      return parents.allSatisfy { isWithout(name, $0) } && (candidate == type || index.declares(candidate))
    }
  }

  /// The class of UIKit's above the class around.
  private var foreignSuperclass: String? {
    selfType.name.flatMap { index.foreignParents(of: $0).first }.flatMap { parent in
      let found = knowledge.type(named: parent)
      return found?.api.style == nil && found?.declaration?.kind == "class" ? parent : nil
    }
  }

  /// Functions of Swift's and Foundation's whose names have capitals.
  private static let globalFunctions: Set<String> = [
    "assertionFailure", "preconditionFailure", "fatalError", "unsafeBitCast", "unsafeDowncast", "numericCast",
    "readLine", "debugPrint", "repeatElement", "isKnownUniquelyReferenced", "dispatchPrecondition", "dispatchMain",
    "extendLifetime",
  ]

  private func construct(_ name: String, _ call: FunctionCallExprSyntax, at node: some SyntaxProtocol) {
    guard !index.declares(name), let found = knowledge.type(named: name) else { return }
    guard
      case .found(let member) = knowledge.member(
        "init", labels: Self.labels(of: call), closures: Self.closures(of: call), of: found)
    else { return }
    usages.append(Usage(member: member, location: file.location(of: node), isCertain: true))
  }

  override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
    guard let base = node.base else { return .visitChildren }
    let name = Self.name(node.declName.baseName)
    if let whole = nestedType(node), !index.declares(whole) {
      mention(whole, at: node)
      if let call = Self.call(of: node) { construct(whole, call, at: node) }
      return .visitChildren
    }
    let call = Self.call(of: node)
    // `call(_:didChangeState:)` may be named without being called.
    let labels = call.map(Self.labels) ?? node.declName.argumentNames?.arguments.map(\.name.text)
    let closures = call.map(Self.closures) ?? 0
    switch type(of: base) {
    case .named(let type), .meta(let type):
      see(name, labels, closures, of: type, at: node.declName)
    case .unknown: guess(name, labels, at: node.declName)
    default: break
    }
    return .visitChildren
  }

  /// `A.B`, where that is a type.
  private func nestedType(_ node: MemberAccessExprSyntax) -> String? {
    let whole = node.trimmedDescription
    guard node.declName.baseName.text.first?.isUppercase == true,
      whole.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" })
    else { return nil }
    return knowledge.type(named: whole).map { _ in whole }
  }

  private func see(_ name: String, _ labels: [String]?, _ closures: Int, of type: String, at node: some SyntaxProtocol)
  {
    if index.types[type] != nil, isOwn(name, of: type) { return }
    let candidates = index.declares(type) ? index.foreignParents(of: type) : [type]
    for candidate in candidates {
      guard let found = knowledge.type(named: candidate) else { continue }
      switch knowledge.member(name, labels: labels, closures: closures, of: found) {
      case .found(let member):
        if member.style != nil {
          usages.append(Usage(member: member, location: file.location(of: node), isCertain: true))
        }
        return
      case .none where knowledge.type(named: candidate + "." + name) != nil:
        return mention(candidate + "." + name, at: node)
      case .none where !index.declares(type) && found.declaration != nil:
        guard labels == nil || !hasMember(name, of: found) else { return }
        problems.append(
          Problem(
            .missing, at: file.location(of: node), "\(candidate) has no '\(name)' here",
            instead: near(name, of: found), style: found.api.style))
      default: break
      }
    }
    if index.declares(type) { miss(name, of: type, at: node) }
  }

  /// A member of an app's own class that neither it nor the class of Apple's or a vendor's above it has.
  private func miss(_ name: String, of type: String, at node: some SyntaxProtocol) {
    let parents = index.foreignParents(of: type)
    guard let parent = parents.first, let found = knowledge.type(named: parent), found.declaration?.kind == "class",
      !parents.contains(where: { index.types[$0] != nil && isOwn(name, of: $0) }),
      parents.allSatisfy({ isWithout(name, $0) })
    else { return }
    problems.append(
      Problem(
        .missing, at: file.location(of: node), "\(parent) has no '\(name)' here", instead: near(name, of: found),
        style: found.api.style))
  }

  private func isWithout(_ name: String, _ parent: String) -> Bool {
    guard let found = knowledge.type(named: parent) else { return false }
    if case .none = knowledge.member(name, labels: nil, of: found) { return true }
    return false
  }

  private func isOwn(_ name: String, of type: String) -> Bool {
    index.property(name, of: type) != nil || index.function(name, of: type) != nil
      || index.types[type]?.nested.contains(name) == true
  }

  private func hasMember(_ name: String, of found: SymbolIndex.Found) -> Bool {
    if case .found = knowledge.member(name, labels: nil, of: found) { true } else { false }
  }

  private func near(_ name: String, of found: SymbolIndex.Found) -> String {
    let known = knowledge.line(of: found).types.flatMap { $0.declaration?.members.keys.map { $0 } ?? [] }
    let near = Spelling.nearest(to: name, among: known)
    return near.isEmpty
      ? "leave it out, or keep it behind a type of your own" : "there is " + near.joined(separator: ", ")
  }

  /// A member of a value that nothing is known of: taken for a vendor's only where its name says enough.
  private func guess(_ name: String, _ labels: [String]?, at node: some SyntaxProtocol) {
    guard
      !index.types.values.contains(where: { $0.properties[name] != nil || $0.functions.contains { $0.name == name } })
    else { return }
    let members = knowledge.members(named: name, labels: labels)
    guard let first = members.first, members.allSatisfy({ $0.status == first.status && $0.style == first.style }) else {
      return
    }
    let saysEnough = labels?.isEmpty == false || name.dropFirst(4).contains { $0.isUppercase }
    guard saysEnough, !SymbolIndex.everywhere.contains(name) else { return }
    usages.append(Usage(member: first, location: file.location(of: node), isCertain: false))
  }

  /// A name without the marks that let a keyword be one.
}
