public import CompilerFacts
public import KoinePorting

/// The call sites of an app: the places in its compiled files at which a symbol of a vendor's module occurs.
///
/// A place counts once, also where a type and its initializer occur there. Imports and uses that the compiler adds do not count.
public struct VendorSites: Sendable {
  public struct Site: Hashable, Sendable {
    public let style: Style
    public let module: String
    /// With the types around it: `Meeting.leave()`.
    public let symbol: String
    public let location: CodeLocation
  }

  public let sites: [Site]
  /// Files without facts.
  public let uncompiled: [CompiledApp.File]
  private let fileCount: Int

  private static let styles = Dictionary(
    VendorAPI.all.flatMap { style, api in api.modules.map { ($0, style) } }, uniquingKeysWith: { one, _ in one })

  /// The style of a vendor's module; nil for other modules.
  static func style(of module: String) -> Style? { styles[module] }

  /// - Parameter isCounted: which occurrences count; all by default.
  public init(_ app: CompiledApp, where isCounted: (IndexOccurrence) -> Bool = { _ in true }) {
    var sites: [CodeLocation: Site] = [:]
    for file in app.files {
      for occurrence in file.occurrences
      where occurrence.roles.contains(.reference) && !occurrence.roles.contains(.implicit) && isCounted(occurrence) {
        let symbol = occurrence.symbol
        guard !symbol.isAccessor, symbol.kind != .module, symbol.kind != .extension,
          let declaration = app.declarations[symbol.usr], let style = Self.styles[declaration.module]
        else { continue }
        let name = (app.declarations.owners(of: symbol.usr) + [symbol.name]).joined(separator: ".")
        // An initializer says more than its type.
        if sites[occurrence.location] != nil, symbol.kind.isType { continue }
        sites[occurrence.location] = Site(
          style: style, module: declaration.module, symbol: name, location: occurrence.location)
      }
    }
    self.sites = sites.values.sorted { $0.location < $1.location }
    uncompiled = app.files.filter { $0.state != .compiled }
    fileCount = app.files.count
  }

  /// The counts as text: by style, by file, by symbol.
  public func text(for path: String) -> String {
    let byStyle = Dictionary(grouping: sites, by: \.style).sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($1.count) of \($0.title)" }
    let compiled = "\(fileCount - uncompiled.count) of \(fileCount) files compiled"
    var lines = [
      "\(path): \(sites.count) call sites\(byStyle.isEmpty ? "" : ": ")\(byStyle.joined(separator: ", ")); \(compiled)"
    ]
    let part = { (title: String, found: [String]) in if !found.isEmpty { lines += ["", title] + found } }
    part("Not compiled", uncompiled.map { "  \($0.path): \($0.state.explanation)" })
    part("Files", Self.counts(sites.map(\.location.file)))
    part("Symbols", Self.counts(sites.map(\.symbol)))
    return lines.joined(separator: "\n")
  }

  private static func counts(_ names: [String]) -> [String] {
    Dictionary(grouping: names) { $0 }.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
      .map { "  \($0.value.count)  \($0.key)" }
  }
}
