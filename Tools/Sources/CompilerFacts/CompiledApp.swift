import Foundation

/// What a build recorded of an app's source files, and of the modules whose symbols they use.
public struct CompiledApp: Sendable {
  /// Whether the index says what a source file contains now.
  public enum State: Hashable, Sendable {
    case compiled
    /// The build has no such file.
    case notBuilt
    /// The file has been edited after the build.
    case changed
    /// The last build has written no object file for it.
    case failed

    /// Why a file has no facts, as a part of a message.
    public var explanation: String {
      switch self {
      case .compiled: "compiled"
      case .notBuilt: "not part of the build; build again if the file is new"
      case .changed: "edited after the build"
      case .failed: "does not compile: the last build has no object file of it"
      }
    }
  }

  public struct File: Sendable {
    /// The path under which the file was asked for.
    public let path: String
    public let state: State
    public let module: String?
    /// The file that the compiler read: `path` itself, or its copy (`koine linux`).
    public let compiledPath: String?
    /// The places in `path`, by those in `compiledPath`.
    public let map: CopyMap
    /// The file's symbols, at places of the file itself; empty unless it is compiled.
    public let occurrences: [IndexOccurrence]
  }

  public private(set) var files: [File]
  /// Declarations of the app's modules, and of those other modules that were asked for.
  public let declarations: Declarations

  /// - Parameters:
  ///   - files: paths of the app's source files.
  ///   - modules: modules whose declarations are read too, as far as the store has them.
  /// - Throws: `FactsFailure` if a unit or record of the store cannot be read.
  public init(_ store: IndexStore, files: [String], modules: Set<String>) throws(FactsFailure) {
    let units = try store.units()
    let matches = UnitMatches(units)
    let matched = files.map { (path: $0, unit: matches.unit(of: $0)) }
    let freshness = Freshness(matched.compactMap { path, unit in unit.map { (path, $0) } })
    var declarations = Declarations()
    self.files = try matched.map { (path, found) throws(FactsFailure) in
      guard let (unit, copy) = found else {
        return File(path: path, state: .notBuilt, module: nil, compiledPath: nil, map: .same, occurrences: [])
      }
      let state = freshness.state(of: path, unit)
      guard state == .compiled else {
        return File(
          path: path, state: state, module: unit.module, compiledPath: unit.file, map: .same, occurrences: [])
      }
      let text = copy.flatMap { _ in try? String(contentsOfFile: path, encoding: .utf8) }
      let map = copy.flatMap { copy in text.map { CopyMap(copy: copy, of: $0) } } ?? .same
      let occurrences = try store.occurrences(in: unit).map { $0.moved(to: path, by: map) }
      declarations.add(occurrences, of: unit.module)
      return File(
        path: path, state: .compiled, module: unit.module, compiledPath: unit.file, map: map,
        occurrences: occurrences)
    }
    for unit in units where modules.contains(unit.module) {
      declarations.add(try store.occurrences(in: unit), of: unit.module)
    }
    self.declarations = declarations
    builtModules = Set(units.map(\.module))
  }

  /// All modules that the store has units of.
  public let builtModules: Set<String>

  /// The app without some files. Their declarations stay known.
  public func leavingOut(_ isLeftOut: (File) -> Bool) -> CompiledApp {
    var app = self
    app.files.removeAll(where: isLeftOut)
    return app
  }

  public func file(_ path: String) -> File? { files.first { $0.path == path } }

  /// Whether the index has facts about any of the files.
  public var hasFacts: Bool { files.contains { $0.state == .compiled } }
}

extension IndexOccurrence {
  fileprivate func moved(to file: String, by map: CopyMap) -> IndexOccurrence {
    let place = map.original(CopyMap.Place(line: location.line, column: location.column))
    return IndexOccurrence(
      symbol: symbol, roles: roles, location: CodeLocation(file: file, line: place.line, column: place.column),
      relations: relations)
  }
}

/// Finds the unit of a source file: by its path, behind links, or by the copy that `koine linux` has written of it.
private struct UnitMatches {
  private var byFile: [String: IndexUnit] = [:]
  private var copies: [(original: String, text: String, unit: IndexUnit)] = []

  /// The ending of a copy's name, as `koine linux` writes it.
  private static let copyEnding = ".linux.swift"

  init(_ units: [IndexUnit]) {
    for unit in units {
      if let (original, text) = Self.original(of: unit.file) { copies.append((original, text, unit)) }
      let path = Self.resolved(unit.file)
      if let other = byFile[path], (other.written ?? .distantPast) > (unit.written ?? .distantPast) { continue }
      byFile[path] = unit
    }
  }

  /// - Returns: the unit, and the copy's text if it is of a copy.
  func unit(of path: String) -> (unit: IndexUnit, copy: String?)? {
    let path = Self.resolved(path)
    if let unit = byFile[path] { return (unit, nil) }
    let found = copies.filter { path == $0.original || path.hasSuffix("/" + $0.original) }
    return found.max { ($0.unit.written ?? .distantPast) < ($1.unit.written ?? .distantPast) }
      .map { ($0.unit, $0.text) }
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
  }

  /// The file that a copy is of, as the copy's first directive names it: in the first line, or behind imports that the file misses; and the
  /// copy's text.
  private static func original(of path: String) -> (path: String, text: String)? {
    guard path.hasSuffix(copyEnding), let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    guard
      let line = text.split(separator: "\n", maxSplits: 2).prefix(2).first(where: { $0.hasPrefix(CopyMap.directive) }),
      line.hasSuffix(", line: 1)")
    else { return nil }
    return (String(line.dropFirst(CopyMap.directive.count).prefix { $0 != "\"" }), text)
  }
}

/// Tells whether a unit is of a file's present text, and of a build without an error in the file.
///
/// The compiler writes units for files with errors, too, but no object files. So a file is compiled if its object is not older than its
/// text, and its unit was not written by a later build that failed. The object of unchanged code keeps its date, though: then an empty
/// file of diagnostics says that a later build had no error.
private struct Freshness {
  /// By module: when its earliest file that has no object of its present text was edited.
  private var firstEdit: [String: Date] = [:]
  /// A compiler writes a unit at most so long after the object, in seconds.
  private static let longestBatch = 60.0
  /// The size of a file of diagnostics without any, in bytes. One diagnostic takes more than the difference to 268, the size today.
  private static let emptyDiagnostics = 300

  init(_ files: [(path: String, found: (unit: IndexUnit, copy: String?))]) {
    var lastEdit: [String: Date] = [:]
    for (path, found) in files {
      guard let edited = Self.edited(path, found.unit) else { continue }
      lastEdit[found.unit.module] = max(lastEdit[found.unit.module] ?? .distantPast, edited)
    }
    for (path, found) in files {
      let unit = found.unit
      guard let edited = Self.edited(path, unit) else { continue }
      let first = firstEdit[unit.module] ?? .distantFuture
      if Self.built(unit).map({ $0 < edited }) ?? true {
        firstEdit[unit.module] = min(first, edited)
      } else if let last = lastEdit[unit.module], let object = Self.date(of: unit.output), object < last,
        let diagnostics = Self.diagnostics(of: unit), diagnostics.date > last, !diagnostics.isEmpty
      {
        // The build after the module's last edit had something to say about this file, and left its object.
        firstEdit[unit.module] = min(first, last)
      }
    }
  }

  func state(of path: String, _ unit: IndexUnit) -> CompiledApp.State {
    guard let edited = Self.edited(path, unit), let written = unit.written else { return .changed }
    if written < edited { return .changed }
    guard let built = Self.built(unit), built >= edited else { return .failed }
    if let edit = firstEdit[unit.module], written > edit { return .failed }
    return written.timeIntervalSince(built) > Self.longestBatch ? .failed : .compiled
  }

  /// The later date of the file and of its copy.
  private static func edited(_ path: String, _ unit: IndexUnit) -> Date? {
    [path, unit.file].compactMap { date(of: URL(fileURLWithPath: $0).resolvingSymlinksInPath().path) }.max()
  }

  /// When a build had the unit's object without an error in the file; nil if there is no object.
  private static func built(_ unit: IndexUnit) -> Date? {
    guard let object = date(of: unit.output) else { return nil }
    guard let diagnostics = diagnostics(of: unit), diagnostics.isEmpty else { return object }
    return max(object, diagnostics.date)
  }

  /// The compiler's file of diagnostics, which stands beside the object: `A.dia` for `A.swift.o` and `A.o`.
  private static func diagnostics(of unit: IndexUnit) -> (date: Date, isEmpty: Bool)? {
    var name = unit.output
    for ending in [".o", ".swift"] where name.hasSuffix(ending) { name.removeLast(ending.count) }
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: name + ".dia"),
      let date = attributes[.modificationDate] as? Date, let size = attributes[.size] as? Int
    else { return nil }
    return (date, size < emptyDiagnostics)
  }

  private static func date(of path: String) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
  }
}
