import CompilerFacts
import SwiftSyntax

/// The declarations of an app that a second call layer has to have of its own: those that use the vendor, and those that see them.
///
/// The smallest closed set of declarations at the top of files: a declaration belongs to it if it contains a symbol of the vendor, extends
/// a type of the set, or names a declaration of the set. If a protocol of the app stands before the call class, code that only names the
/// class does not belong to it: there the app chooses the layer.
struct LayerDeclarations {
  struct Item {
    let source: CompiledSource
    let syntax: CodeBlockItemSyntax
    /// The identifiers of the declarations in it, members included.
    let declared: Set<String>
    let references: Set<String>
    let usesVendor: Bool
    /// Identifiers of the types that it is or extends.
    let types: Set<String>
    let location: CodeLocation
  }

  /// In the order of files and lines.
  let items: [Item]
  /// Types and functions that get new names, since the old layer stays: identifiers.
  let renamed: Set<String>
  /// The protocol before the call class that both layers fulfil.
  let seam: String?
  /// The app's protocols before the call class that are no seam: what they name that each layer has of its own.
  let obstacles: [Obstacle]

  struct Obstacle: Sendable {
    let protocolName: String
    /// Types of the app and of the vendor, with the types around them.
    let names: [String]
    /// Where the protocol names the first of them.
    let place: CodeLocation
  }

  init(_ callClass: CallClass, isVendor: (IndexOccurrence) -> Bool) {
    let declarations = callClass.app.declarations
    let all = Self.all(of: callClass, isVendor)
    let type = callClass.type.symbol.usr
    let protocols = declarations.bases(of: type).filter { $0.kind == .protocol }.map(\.usr)
    var members = Self.closure(of: all, ignoring: [])
    // A protocol that the vendor's types do not leak through is a seam: then the rest of the app need not come along.
    let withoutMentions = Self.withoutMentions(of: callClass, all)
    let copied = Self.declared(in: withoutMentions, of: all)
    let own = protocols.filter { usr in all.contains { $0.declared.contains(usr) } }
    let seam = own.first { !copied.contains($0) }
    if seam != nil { members = withoutMentions }
    self.seam = seam.flatMap { declarations[$0]?.symbol.name }
    obstacles = seam == nil ? own.compactMap { Self.obstacle($0, copied, all, callClass, isVendor) } : []
    items = members.sorted().map { all[$0] }
    renamed = Set(
      items.flatMap { item in
        item.declared.filter { usr in
          guard let declaration = declarations[usr], declaration.owner == nil else { return false }
          return declaration.symbol.kind.isType || declaration.symbol.kind == .function
            || declaration.symbol.kind == .variable
        }
      }.filter { declarations[$0].map { Self.isAtTop($0, in: all) } ?? false })
  }

  /// The identifiers that a layer behind a protocol declares anew: what uses the vendor, and what sees these declarations. A protocol
  /// that names none of them is a seam.
  static func copied(with callClass: CallClass, isVendor: (IndexOccurrence) -> Bool) -> Set<String> {
    let all = all(of: callClass, isVendor)
    return declared(in: withoutMentions(of: callClass, all), of: all)
  }

  private static func all(of callClass: CallClass, _ isVendor: (IndexOccurrence) -> Bool) -> [Item] {
    var all: [Item] = []
    for source in callClass.sources {
      for statement in source.tree.statements
      where statement.item.is(DeclSyntax.self) && !statement.item.is(ImportDeclSyntax.self) {
        all.append(item(statement, source, isVendor))
      }
    }
    return all
  }

  /// The closure in which code may name the call class and make its objects: the app chooses the layer there.
  private static func withoutMentions(of callClass: CallClass, _ all: [Item]) -> Set<Int> {
    let type = callClass.type.symbol.usr
    let initializers = all.flatMap(\.declared).filter { usr in
      callClass.app.declarations[usr].map { $0.symbol.kind == .initializer && $0.owner?.usr == type } ?? false
    }
    return closure(of: all, ignoring: Set(initializers + [type]))
  }

  private static func declared(in members: Set<Int>, of all: [Item]) -> Set<String> {
    members.reduce(into: Set<String>()) { $0.formUnion(all[$1].declared) }
  }

  private static func obstacle(
    _ usr: String, _ copied: Set<String>, _ all: [Item], _ callClass: CallClass, _ isVendor: (IndexOccurrence) -> Bool
  ) -> Obstacle? {
    let declarations = callClass.app.declarations
    guard let declaration = declarations[usr], let item = all.first(where: { $0.declared.contains(usr) }) else {
      return nil
    }
    var (names, place): ([String], CodeLocation?) = ([], nil)
    for token in item.syntax.tokens(viewMode: .sourceAccurate) {
      for occurrence in item.source.occurrences(at: token)
      where occurrence.roles.contains(.reference) && occurrence.symbol.kind.isType
        && occurrence.symbol.usr != callClass.type.symbol.usr
      {
        let symbol = occurrence.symbol
        guard isVendor(occurrence) || copied.contains(symbol.usr) && !item.declared.contains(symbol.usr) else {
          continue
        }
        let name = (declarations.owners(of: symbol.usr) + [symbol.name]).joined(separator: ".")
        if !names.contains(name) { names.append(name) }
        place = place ?? occurrence.location
      }
    }
    return place.map { Obstacle(protocolName: declaration.symbol.name, names: names, place: $0) }
  }

  func isAtTop(_ declaration: Declarations.Declaration) -> Bool { Self.isAtTop(declaration, in: items) }

  private static func isAtTop(_ declaration: Declarations.Declaration, in all: [Item]) -> Bool {
    all.contains { item in
      guard item.source.file.path == declaration.location.file, item.declared.contains(declaration.symbol.usr),
        let token = item.source.token(at: declaration.location)
      else { return false }
      var node = token.parent
      while let current = node, current.id != item.syntax.id {
        if current.is(MemberBlockSyntax.self) || current.is(CodeBlockSyntax.self) || current.is(ClosureExprSyntax.self)
          || current.is(FunctionParameterSyntax.self)
        {
          return false
        }
        node = current.parent
      }
      return true
    }
  }

  private static func item(
    _ statement: CodeBlockItemSyntax, _ source: CompiledSource, _ isVendor: (IndexOccurrence) -> Bool
  ) -> Item {
    var (declared, references, types): (Set<String>, Set<String>, Set<String>) = ([], [], [])
    var usesVendor = false
    let extended = statement.item.as(ExtensionDeclSyntax.self)?.extendedType
    for token in statement.tokens(viewMode: .sourceAccurate) {
      for occurrence in source.occurrences(at: token) {
        if occurrence.roles.contains(.reference) {
          references.insert(occurrence.symbol.usr)
          if !occurrence.roles.contains(.implicit), isVendor(occurrence) { usesVendor = true }
          if let extended, token.position >= extended.position, token.endPosition <= extended.endPosition {
            types.insert(occurrence.symbol.usr)
          }
        } else {
          declared.insert(occurrence.symbol.usr)
        }
      }
    }
    return Item(
      source: source, syntax: statement, declared: declared, references: references, usesVendor: usesVendor,
      types: types.union(declared), location: source.location(of: statement.firstToken(viewMode: .sourceAccurate)!))
  }

  /// The positions of the items that use the vendor, and of all that see these.
  private static func closure(of all: [Item], ignoring: Set<String>) -> Set<Int> {
    var members = Set(all.indices.filter { all[$0].usesVendor })
    var declared = members.reduce(into: Set<String>()) { $0.formUnion(all[$1].declared) }
    while true {
      let added = all.indices.filter { index in
        guard !members.contains(index) else { return false }
        let item = all[index]
        let isExtension = item.syntax.item.is(ExtensionDeclSyntax.self)
        if isExtension, !item.types.isDisjoint(with: declared) { return true }
        return !item.references.subtracting(ignoring).isDisjoint(with: declared)
          || isHidden(item, from: members.map { all[$0] })
      }
      if added.isEmpty { return members }
      members.formUnion(added)
      for index in added { declared.formUnion(all[index].declared) }
    }
  }

  /// Whether the item is private to its file, and a member of the set uses it.
  private static func isHidden(_ item: Item, from members: [Item]) -> Bool {
    guard let modifiers = item.syntax.item.asProtocol((any WithModifiersSyntax).self)?.modifiers,
      modifiers.contains(where: {
        $0.name.tokenKind == .keyword(.private) || $0.name.tokenKind == .keyword(.fileprivate)
      })
    else { return false }
    return members.contains {
      $0.source.file.path == item.source.file.path && !$0.references.isDisjoint(with: item.declared)
    }
  }
}
