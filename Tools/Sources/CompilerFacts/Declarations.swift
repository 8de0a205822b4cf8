/// The declarations of some modules, by the compiler's identifiers.
public struct Declarations: Sendable {
  public struct Declaration: Hashable, Sendable {
    public let symbol: IndexSymbol
    public let module: String
    public let location: CodeLocation
    /// The type that the declaration is a member of, also where an extension has it.
    public let owner: IndexSymbol?
    /// What the declaration overrides, and the requirements that it fulfils.
    public let overridden: [IndexSymbol]
    /// True for an initializer that the compiler has added.
    public let isImplicit: Bool
  }

  private var declarations: [String: Declaration] = [:]
  /// Superclasses and protocols of types, by the types' identifiers.
  private var bases: [String: [IndexSymbol]] = [:]
  /// The types that extensions extend, by the extensions' identifiers.
  private var extendedTypes: [String: String] = [:]
  /// The properties of getters, setters and observers.
  private var properties: [String: String] = [:]

  public init() {}

  /// Adds what a file declares.
  public mutating func add(_ occurrences: [IndexOccurrence], of module: String) {
    var extended: [String: IndexSymbol] = [:]
    for occurrence in occurrences where occurrence.roles.contains(.extendedBy) {
      for addition in occurrence.related(.extendedBy) {
        extended[addition.usr] = occurrence.symbol
        extendedTypes[addition.usr] = occurrence.symbol.usr
      }
    }
    // The index calls members of an extension the extension's, and also its conformances.
    let type = { (symbol: IndexSymbol) in symbol.kind == .extension ? extended[symbol.usr] ?? symbol : symbol }
    for occurrence in occurrences {
      if occurrence.roles.contains(.baseOf) {
        for derived in occurrence.related(.baseOf) { bases[type(derived).usr, default: []].append(occurrence.symbol) }
      }
      if occurrence.symbol.isAccessor, let property = occurrence.related(.accessorOf).first {
        properties[occurrence.symbol.usr] = property.usr
      }
      guard !occurrence.roles.isDisjoint(with: [.definition, .declaration]), !occurrence.symbol.isAccessor,
        occurrence.symbol.kind != .extension
      else { continue }
      declarations[occurrence.symbol.usr] = Declaration(
        symbol: occurrence.symbol, module: module, location: occurrence.location,
        owner: occurrence.related(.childOf).first.map(type), overridden: occurrence.related(.overrideOf),
        isImplicit: occurrence.roles.contains(.implicit))
    }
  }

  public subscript(usr: String) -> Declaration? { declarations[usr] }

  /// Names of the types around a declaration, outermost first: `Call`, for a member of `Call`; empty for one of a module's own.
  public func owners(of usr: String) -> [String] {
    var names: [String] = []
    var next = declarations[usr]?.owner
    while let owner = next, names.count < 16 {
      names.insert(owner.name, at: 0)
      next = declarations[owner.usr]?.owner
    }
    return names
  }

  /// A type's superclass and protocols, and theirs, as far as the modules declare them.
  public func bases(of usr: String) -> [IndexSymbol] {
    var found: [IndexSymbol] = []
    var waiting = bases[usr] ?? []
    while let next = waiting.popLast() {
      guard !found.contains(next) else { continue }
      found.append(next)
      waiting += bases[next.usr] ?? []
    }
    return found
  }

  /// The members that the source gives a type, its extensions' among them, in the order of files and lines.
  public func members(of usr: String) -> [Declaration] {
    declarations.values.filter { $0.owner?.usr == usr && !$0.isImplicit }.sorted { $0.location < $1.location }
  }

  /// Types by their name, without the types around them.
  public func types(named name: String) -> [Declaration] { types(named: [name]) }

  /// Types that have one of the names, in the order of the names.
  public func types(named names: [String]) -> [Declaration] {
    let wanted = Set(names)
    let found = declarations.values.filter { $0.symbol.kind.isType && wanted.contains($0.symbol.name) }
    let groups = Dictionary(grouping: found, by: \.symbol.name)
    return names.flatMap { groups[$0, default: []].sorted { $0.location < $1.location } }
  }

  /// Whether a use is in the code of a type: of its members, of its extensions and conformances, of types inside it, and of its subclasses.
  public func isInside(_ occurrence: IndexOccurrence, _ type: String) -> Bool {
    var symbols = occurrence.related([.containedBy, .calledBy, .childOf, .baseOf, .extendedBy]).map(\.usr)
    var seen: Set<String> = []
    while let usr = symbols.popLast() {
      guard seen.insert(usr).inserted else { continue }
      if usr == type || bases(of: usr).contains(where: { $0.usr == type }) { return true }
      symbols += [properties[usr], extendedTypes[usr], declarations[usr]?.owner?.usr].compactMap { $0 }
    }
    return false
  }

  /// A declaration's name with its module and the types around it: `VideoSDKRTC.Meeting`.
  public func qualifiedName(of usr: String) -> String? {
    declarations[usr].map { ([$0.module] + owners(of: usr) + [$0.symbol.name]).joined(separator: ".") }
  }

  /// All types, by their qualified names.
  public func typesByQualifiedName() -> [String: Declaration] {
    Dictionary(
      declarations.values.filter { $0.symbol.kind.isType && $0.symbol.kind != .alias }
        .map { (qualifiedName(of: $0.symbol.usr) ?? "", $0) }, uniquingKeysWith: { one, _ in one })
  }
}
