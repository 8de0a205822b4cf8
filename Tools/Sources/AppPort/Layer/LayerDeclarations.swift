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

  init(_ callClass: CallClass, isVendor: (IndexOccurrence) -> Bool) {
    let declarations = callClass.app.declarations
    var all: [Item] = []
    for source in callClass.sources {
      for statement in source.tree.statements
      where statement.item.is(DeclSyntax.self) && !statement.item.is(ImportDeclSyntax.self) {
        all.append(Self.item(statement, source, isVendor))
      }
    }
    let type = callClass.type.symbol.usr
    let protocols = declarations.bases(of: type).filter { $0.kind == .protocol }.map(\.usr)
    var members = Self.closure(of: all, ignoring: [])
    let declared = { (members: Set<Int>) in members.reduce(into: Set<String>()) { $0.formUnion(all[$1].declared) } }
    // A protocol that the vendor's types do not leak through is a seam: then the rest of the app need not come along.
    let initializers = all.flatMap(\.declared).filter { usr in
      declarations[usr].map { $0.symbol.kind == .initializer && $0.owner?.usr == type } ?? false
    }
    let withoutMentions = Self.closure(of: all, ignoring: Set(initializers + [type]))
    let seam = protocols.first { usr in
      all.contains { $0.declared.contains(usr) } && !declared(withoutMentions).contains(usr)
    }
    if seam != nil { members = withoutMentions }
    self.seam = seam.flatMap { declarations[$0]?.symbol.name }
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
