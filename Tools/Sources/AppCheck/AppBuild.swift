public import CompilerFacts
import KoinePorting

/// A build of an app's sources, as far as there is one.
public struct AppBuild: Sendable {
  /// The index store.
  public let index: String?
  public let app: CompiledApp?
  /// Why there is no index to read.
  public let reason: String?
  private let numbers: [String: Int]

  private init(index: String?, app: CompiledApp?, reason: String?) {
    (self.index, self.app, self.reason) = (index, app, reason)
    let files = app?.files ?? []
    numbers = Dictionary(files.enumerated().map { ($1.path, $0) }, uniquingKeysWith: { $1 })
  }

  public static func none(reason: String) -> AppBuild { AppBuild(index: nil, app: nil, reason: reason) }

  /// Reads an index store.
  /// - Parameter files: the paths of the app's sources.
  /// - Throws: `FactsFailure` if it cannot be read, or if it lacks a vendor's module that the app imports.
  public init(of files: [String], index: String, toolchain: Toolchain) throws(FactsFailure) {
    let store = try IndexStore(path: index, toolchain: toolchain)
    let app = try CompiledApp(store, files: files, modules: Set(CompiledUsages.styles.keys))
    for file in app.files {
      for occurrence in file.occurrences where occurrence.symbol.kind == .module {
        guard CompiledUsages.styles[occurrence.symbol.name] != nil, !app.builtModules.contains(occurrence.symbol.name)
        else { continue }
        throw FactsFailure(
          "the index store '\(index)' has nothing of the module \(occurrence.symbol.name): build the app with Koine as a package"
        )
      }
    }
    self.init(index: index, app: app, reason: nil)
  }

  /// The build of the package around the sources, if there is one whose index can be read.
  /// - Parameter files: the paths of the app's sources.
  public static func found(around path: String, of files: [String]) -> AppBuild {
    guard let index = BuildFolder.indexStore(ofPackageAround: path) else {
      return .none(reason: "the app's package has no debug build")
    }
    do {
      let build = try AppBuild(of: files, index: index, toolchain: try Toolchain.current())
      return build.app?.hasFacts == true || build.app?.files.contains { $0.state != .notBuilt } == true
        ? build : .none(reason: "the build of the app's package does not contain these files")
    } catch { return .none(reason: error.description) }
  }

  func compiledFile(_ path: String) -> CompiledApp.File? {
    guard let app, let number = numbers[path], app.files[number].state == .compiled else { return nil }
    return app.files[number]
  }

  /// All modules that the build has compiled.
  var modules: Set<String> { app?.builtModules ?? [] }

  func basis(_ count: Int) -> AppCheck.Basis {
    let uncompiled = app?.files.filter { $0.state != .compiled }.map { (file: $0.path, state: $0.state) } ?? []
    return AppCheck.Basis(
      index: index, compiledCount: app == nil ? 0 : count - uncompiled.count, uncompiled: uncompiled, reason: reason)
  }
}
