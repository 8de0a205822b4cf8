public import CompilerFacts
public import KoinePorting
import SwiftSyntax

/// What an app's sources use of the vendors' SDKs, and how that stands here.
///
/// For files that a build has compiled, the compiler's index says which declaration each name means. Of other files it reads the syntax:
/// what a value is, it knows where the sources say so (annotations, initialisers, parameters, and what the adapters declare); of others, it
/// judges by the name, and only where that is a vendor's own.
public struct AppCheck: Sendable {
  /// A vendor's symbol, and where the app uses it.
  public struct Symbol: Sendable {
    public let name: String
    public let style: Style
    public let status: VendorAPI.Status
    public let why: String?
    public internal(set) var places: [CodeLocation]
    /// Whether the receiver's type is known; false where the symbol was found by name alone.
    public internal(set) var isCertain: Bool
  }

  /// What the check of the app's files rests on.
  public struct Basis: Sendable {
    /// The index store that was read; nil if there is none.
    public internal(set) var index: String?
    /// How many files the index describes.
    public internal(set) var compiledCount = 0
    /// Files that were checked by their syntax although there is an index.
    public internal(set) var uncompiled: [(file: String, state: CompiledApp.State)] = []
    /// Why the index was not read.
    public internal(set) var reason: String?
  }

  public let path: String
  public let fileCount: Int
  public let basis: Basis
  /// Styles with an imported module. In source without such imports: the style with the most symbols in it.
  public let styles: [Style]
  public let symbols: [Symbol]
  /// Problems that keep the app from working, in source order.
  public let problems: [Problem]
  /// Code that compiles in the copy that `koine linux` writes, in source order.
  public let changes: [Problem]
  /// Remarks about code that compiles.
  public let remarks: [Problem]

  public var canWork: Bool { problems.isEmpty }

  /// - Parameter build: what a build has recorded of the sources.
  public init(_ sources: AppSources, path: String, build: AppBuild = .none(reason: "no build was given")) {
    self.path = path
    fileCount = sources.files.count
    basis = build.basis(sources.files.count)
    let compiled = build.app.map(CompiledUsages.init)
    var overrides: [String: Set<String>] = [:]
    let hindrances = LinuxHindrances.current
    let brought = Self.linuxModules(hindrances)
    let conditions = Conditions(modules: brought)
    let index = AppIndex(sources, conditions)
    styles = Self.styles(of: index, sources, conditions)
    let knowledge = SymbolIndex(styles: styles)

    var knowledgeOfStyles = [styles: knowledge]
    var usages: [UsageReader.Usage] = []
    var problems: [Problem] = []
    var remarks: [Problem] = []
    for file in sources.files {
      if let compiled, let facts = build.compiledFile(file.path) {
        usages += compiled.usages(in: facts)
        overrides[file.path] = compiled.overrides(in: facts)
        // What Linux lacks does not compile: only remarks are left to make.
        let linux = LinuxReader(file, brought: brought.union(build.modules), conditions)
        linux.walk(file.tree)
        remarks += linux.remarks
        continue
      }
      let styles = Self.styles(of: index.modules(of: file.path), amidst: styles)
      let own = knowledgeOfStyles[styles] ?? SymbolIndex(styles: styles)
      knowledgeOfStyles[styles] = own
      let reader = UsageReader(file, index, own, conditions)
      reader.walk(file.tree)
      usages += reader.usages
      let renamed = Set(hindrances.renames.keys)
      let linux = LinuxReader(file, brought: brought.union(renamed).union(Self.ownModules(of: index)), conditions)
      linux.walk(file.tree)
      let seen = Set(linux.problems.map(\.location))
      problems += linux.problems + reader.problems.filter { !seen.contains($0.location) }
      remarks += linux.remarks
    }
    let callbacks = Callbacks(index, knowledge, overrides: overrides)
    usages += callbacks.usages
    problems += callbacks.problems
    let symbols = Self.symbols(of: usages)
    for symbol in symbols where symbol.status == .unavailable || symbol.status == .absent {
      for location in symbol.places {
        problems.append(
          Problem(
            .unavailable, at: location, "\(symbol.name) is not to be had" + (symbol.isCertain ? "" : " (by its name)"),
            instead: symbol.why ?? "", style: symbol.style))
      }
    }
    self.symbols = symbols
    self.problems = Set(problems).sorted { ($0.location, $0.what) < ($1.location, $1.what) }
    changes = LinuxCopy(sources, index, conditions).changes
    self.remarks = Set(remarks).sorted { ($0.location, $0.what) < ($1.location, $1.what) }
  }

  private static func symbols(of usages: [UsageReader.Usage]) -> [Symbol] {
    var found: [String: Symbol] = [:]
    for usage in usages {
      guard let style = usage.member.style else { continue }
      let key = style.rawValue + " " + usage.member.symbol
      var symbol =
        found[key]
        ?? Symbol(
          name: usage.member.symbol, style: style, status: usage.member.status, why: usage.member.why, places: [],
          isCertain: false)
      if !symbol.places.contains(usage.location) { symbol.places.append(usage.location) }
      symbol.isCertain = symbol.isCertain || usage.isCertain
      found[key] = symbol
    }
    return found.values.map { symbol in
      var symbol = symbol
      symbol.places.sort()
      return symbol
    }.sorted { ($0.style.rawValue, $0.name) < ($1.style.rawValue, $1.name) }
  }

  // MARK: Which style

  /// Modules that can be imported on Linux.
  static func linuxModules(_ hindrances: LinuxHindrances) -> Set<String> {
    toolchain.union(hindrances.modules).union(VendorAPI.all.values.flatMap(\.modules))
  }

  /// The rest of what the toolchain brings on Linux.
  private static let toolchain: Set<String> = [
    "Swift", "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking",
    "FoundationXML", "Glibc", "Dispatch", "Synchronization", "Observation", "RegexBuilder", "Testing", "XCTest",
    "_Concurrency", "Distributed",
  ]

  /// What a package of one's own, or this one, brings by a name that the sources use.
  private static func ownModules(of index: AppIndex) -> Set<String> {
    Set(index.modules.filter { $0.hasPrefix("Koine") || index.declares($0) })
  }

  /// Those that a file imports; where it imports none, all of the app's, as values travel; but for the common layer's files.
  private static func styles(of modules: Set<String>, amidst all: [Style]) -> [Style] {
    let imported = all.filter { VendorAPI.all[$0]?.modules.contains(where: modules.contains) ?? false }
    guard imported.isEmpty else { return imported }
    return modules.contains { $0.hasPrefix("Koine") } ? [] : all
  }

  private static func styles(of index: AppIndex, _ sources: AppSources, _ conditions: Conditions) -> [Style] {
    let imported = Style.vendors.filter { style in
      VendorAPI.all[style]?.modules.contains { index.modules.contains($0) } ?? false
    }
    guard imported.isEmpty else { return imported }
    // Source without a vendor's import: the style with the most symbols in it.
    let counts = Style.vendors.map { style -> (style: Style, count: Int) in
      let knowledge = SymbolIndex(styles: [style])
      var named: Set<String> = []
      for file in sources.files {
        let reader = UsageReader(file, index, knowledge, conditions)
        reader.walk(file.tree)
        for usage in reader.usages where usage.isCertain && usage.member.style == style {
          named.insert(usage.member.symbol)
        }
      }
      return (style, named.count)
    }
    guard let most = counts.max(by: { $0.count < $1.count }), most.count > 1 else { return [] }
    return [most.style]
  }

  // MARK: Porting

  /// The rows of the porting table that the app needs: those that name what it uses.
  public var rows: [PortingTable.Row] {
    PortingTable.current.rows.filter { row in
      symbols.contains { row.symbols[$0.style]?.contains($0.name) == true }
    }
  }
}
