import CIndexStore
public import Foundation

/// An index store: the compiler writes into it, for each file that it compiles, which symbols occur where.
///
/// Life cycle: open it with `init(path:toolchain:)`, list the compiled files with `units()`, and read a file's symbols with
/// `occurrences(in:)`. SwiftPM keeps the store of a debug build at `<scratch path>/debug/index/store`. A store is used by one thread at a
/// time.
public final class IndexStore {
  public let path: String
  private let library: IndexLibrary
  private let store: UnsafeMutableRawPointer

  /// - Throws: `FactsFailure` if `path` is not an index store, or one of another format than the toolchain's.
  public init(path: String, toolchain: Toolchain) throws(FactsFailure) {
    library = try IndexLibrary(toolchain)
    self.path = path
    try Self.checkFormat(of: path, version: library.functions.format_version())
    var error: UnsafeMutableRawPointer?
    guard let store = library.functions.store_create(path, &error) else {
      throw library.failure(error, "the index store '\(path)'")
    }
    self.store = store
  }

  deinit { library.functions.store_dispose(store) }

  private static func checkFormat(of path: String, version: UInt32) throws(FactsFailure) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
      throw FactsFailure("there is no index store '\(path)'; build the app first: swift build")
    }
    let formats = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter {
      $0.hasPrefix("v") && Int($0.dropFirst()) != nil
    }.sorted()
    guard !formats.contains("v\(version)") else { return }
    guard let other = formats.last else {
      throw FactsFailure("'\(path)' is not an index store: it has no folder 'v\(version)'")
    }
    throw FactsFailure(
      "the index store '\(path)' has the format \(other) of another compiler; this toolchain reads v\(version): build again"
    )
  }

  // MARK: Units

  /// The compiled files, in no special order, without those of precompiled modules.
  /// - Throws: `FactsFailure` if a unit cannot be read.
  public func units() throws(FactsFailure) -> [IndexUnit] {
    var names: [String] = []
    withUnsafeMutablePointer(to: &names) { names in
      _ = library.functions.store_units_apply_f(store, 0, names) { context, name in
        context?.assumingMemoryBound(to: [String].self).pointee.append(String(name))
        return true
      }
    }
    var units: [IndexUnit] = []
    for name in names { if let unit = try unit(named: name) { units.append(unit) } }
    return units
  }

  private func unit(named name: String) throws(FactsFailure) -> IndexUnit? {
    let functions = library.functions
    var error: UnsafeMutableRawPointer?
    guard let reader = functions.unit_reader_create(store, name, &error) else {
      throw library.failure(error, "the unit '\(name)' of the index store '\(path)'")
    }
    defer { functions.unit_reader_dispose(reader) }
    let mainFile = String(functions.unit_reader_get_main_file(reader))
    guard !mainFile.isEmpty, !functions.unit_reader_is_module_unit(reader) else { return nil }
    var record: String?
    visitAll({ functions.unit_reader_dependencies_apply_f(reader, $0, $1) }) { dependency in
      guard functions.unit_dependency_get_kind(dependency) == Self.recordDependency,
        String(functions.unit_dependency_get_filepath(dependency)) == mainFile
      else { return }
      record = String(functions.unit_dependency_get_name(dependency))
    }
    let folder = String(functions.unit_reader_get_working_dir(reader))
    return IndexUnit(
      name: name, module: String(functions.unit_reader_get_module_name(reader)),
      file: Self.absolute(mainFile, in: folder),
      output: Self.absolute(String(functions.unit_reader_get_output_file(reader)), in: folder),
      compiler: String(functions.unit_reader_get_provider_identifier(reader)) + " "
        + String(functions.unit_reader_get_provider_version(reader)),
      written: writingTime(of: name), record: record)
  }

  private static let recordDependency: UInt32 = 2

  private static func absolute(_ path: String, in folder: String) -> String {
    path.hasPrefix("/") || folder.isEmpty ? path : folder + "/" + path
  }

  private func writingTime(of unit: String) -> Date? {
    var seconds: Int64 = 0
    var nanoseconds: Int64 = 0
    var error: UnsafeMutableRawPointer?
    guard !library.functions.store_get_unit_modification_time(store, unit, &seconds, &nanoseconds, &error) else {
      if let error { library.functions.error_dispose(error) }
      return nil
    }
    return Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
  }

  // MARK: Occurrences

  /// The occurrences of symbols in a file, in the order of the source.
  /// - Throws: `FactsFailure` if the file's record cannot be read.
  public func occurrences(in unit: IndexUnit) throws(FactsFailure) -> [IndexOccurrence] {
    guard let record = unit.record else { return [] }  // a file without a symbol
    let functions = library.functions
    var error: UnsafeMutableRawPointer?
    guard let reader = functions.record_reader_create(store, record, &error) else {
      throw library.failure(error, "the record '\(record)' of the index store '\(path)'")
    }
    defer { functions.record_reader_dispose(reader) }
    var symbols: [UnsafeMutableRawPointer: IndexSymbol] = [:]
    let symbol = { (raw: UnsafeMutableRawPointer) -> IndexSymbol in
      if let known = symbols[raw] { return known }
      let read = self.symbol(raw)
      symbols[raw] = read
      return read
    }
    var occurrences: [IndexOccurrence] = []
    visitAll({ functions.record_reader_occurrences_apply_f(reader, $0, $1) }) { occurrence in
      guard let raw = functions.occurrence_get_symbol(occurrence) else { return }
      var (line, column): (UInt32, UInt32) = (0, 0)
      functions.occurrence_get_line_col(occurrence, &line, &column)
      var relations: [IndexOccurrence.Relation] = []
      visitAll({ functions.occurrence_relations_apply_f(occurrence, $0, $1) }) { relation in
        guard let related = functions.symbol_relation_get_symbol(relation) else { return }
        relations.append(
          IndexOccurrence.Relation(
            roles: IndexRoles(rawValue: functions.symbol_relation_get_roles(relation)), symbol: symbol(related)))
      }
      occurrences.append(
        IndexOccurrence(
          symbol: symbol(raw), roles: IndexRoles(rawValue: functions.occurrence_get_roles(occurrence)),
          location: CodeLocation(file: unit.file, line: Int(line), column: Int(column)), relations: relations))
    }
    return occurrences.sorted { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
  }

  private func symbol(_ raw: UnsafeMutableRawPointer) -> IndexSymbol {
    let functions = library.functions
    return IndexSymbol(
      usr: String(functions.symbol_get_usr(raw)), name: String(functions.symbol_get_name(raw)),
      kind: IndexSymbol.Kind(functions.symbol_get_kind(raw)),
      isAccessor: Self.accessors.contains(functions.symbol_get_subkind(raw)))
  }

  /// Kinds of accessors: 3 and 4 in all languages, the others in Swift.
  private static let accessors: Set<UInt32> = [3, 4, 1000, 1001, 1002, 1003, 1014, 1015, 1016, 1017, 1018]
}

/// The index of one compiled source file.
public struct IndexUnit: Hashable, Sendable {
  let name: String
  public let module: String
  /// The source file, by an absolute path.
  public let file: String
  /// The object file that the compiler was asked for.
  public let output: String
  /// The program that wrote the unit, and its version.
  public let compiler: String
  /// When the unit was written.
  public let written: Date?
  let record: String?
}
