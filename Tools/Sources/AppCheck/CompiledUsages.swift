import CompilerFacts
import KoinePorting

/// Finds the vendors' symbols in compiled files, by the declarations that the compiler has chosen.
struct CompiledUsages {
  private let app: CompiledApp
  private let knowledge: [Style: SymbolIndex]

  /// The vendors' modules.
  static let styles = Dictionary(
    VendorAPI.all.flatMap { style, api in api.modules.map { ($0, style) } }, uniquingKeysWith: { one, _ in one })

  init(_ app: CompiledApp) {
    self.app = app
    knowledge = Dictionary(uniqueKeysWithValues: Style.vendors.map { ($0, SymbolIndex(styles: [$0])) })
  }

  func usages(in file: CompiledApp.File) -> [UsageReader.Usage] {
    file.occurrences.flatMap { occurrence -> [UsageReader.Usage] in
      guard !occurrence.roles.contains(.implicit), !occurrence.symbol.isAccessor else { return [] }
      let symbols =
        occurrence.roles.contains(.definition) ? occurrence.related(.overrideOf) : [occurrence.symbol]
      let receivers = occurrence.related(.receivedBy)
      return symbols.compactMap { symbol in
        member(symbol, of: receivers).map {
          UsageReader.Usage(member: $0, location: occurrence.location, isCertain: true)
        }
      }
    }
  }

  /// Lines of methods that fulfil a requirement or override a member, with the methods' names.
  func overrides(in file: CompiledApp.File) -> Set<String> {
    Set(
      file.occurrences.filter { $0.roles.contains(.definition) && !$0.related(.overrideOf).isEmpty }
        .map { Self.key(line: $0.location.line, name: $0.symbol.name) })
  }

  /// A declaration in a file. Columns differ between a file and its copy.
  static func key(line: Int, name: String) -> String { "\(line) \(name)" }

  /// The entry of the vendors' catalogues for a declaration; nil if it is not in a vendor's module.
  /// - Parameter receivers: the types of the values whose member is used. The catalogue may list an inherited member as theirs.
  private func member(_ symbol: IndexSymbol, of receivers: [IndexSymbol] = []) -> SymbolIndex.Member? {
    guard let declaration = app.declarations[symbol.usr], let style = Self.styles[declaration.module],
      symbol.kind != .parameter, let api = VendorAPI.all[style]
    else { return nil }
    let owner = app.declarations.owners(of: symbol.usr).joined(separator: ".")
    let name = owner.isEmpty ? symbol.name : owner + "." + symbol.name
    let received = receivers.lazy.compactMap { api.entries[$0.name + "." + symbol.name] }
    if let entry = api.entries[name] ?? received.first ?? alternative(to: symbol, of: owner, in: api, style) {
      return SymbolIndex.Member(
        symbol: entry.symbol, status: entry.status, why: entry.why, type: .unknown, parameters: [], style: style)
    }
    // A class of Koine's own between the vendor's types: the vendor's declaration is the one that it overrides or fulfils.
    if let entry = declaration.overridden.lazy.compactMap({ member($0) }).first { return entry }
    return SymbolIndex.Member(symbol: name, status: .works, why: nil, type: .unknown, parameters: [], style: style)
  }

  /// The entry of a declaration that the catalogue spells in another way: with a completion handler instead of `async`, or with
  /// parameters that have defaults here.
  private func alternative(
    to symbol: IndexSymbol, of owner: String, in api: VendorAPI, _ style: Style
  ) -> VendorAPI.Entry? {
    guard !symbol.kind.isType, let knowledge = knowledge[style], let type = knowledge.type(named: owner) else {
      return nil
    }
    let parts = symbol.name.split(separator: "(", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    let labels = parts[1].dropLast().split(separator: ":").map(String.init)
    guard
      case .found(let member) = knowledge.member(String(parts[0]), labels: labels, closures: 1, of: type)
    else { return nil }
    return api.entries[member.symbol]
  }
}
