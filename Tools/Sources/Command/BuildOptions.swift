import AppCheck
import ArgumentParser
import CompilerFacts

/// The build whose index a command reads.
struct BuildOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The scratch path of a debug build of the app. Default: .build of the package that contains the sources.",
      valueName: "folder"))
  var build: String?

  @Option(help: ArgumentHelp("The index store of a build, in place of --build.", valueName: "folder"))
  var index: String?

  func validate() throws {
    if build != nil, index != nil { throw ValidationError("Use one of --build and --index.") }
  }

  /// - Parameter files: the paths of the app's sources.
  /// - Throws: `FactsFailure` if a build or store was named and cannot be read.
  func find(around path: String, _ files: [String]) throws(FactsFailure) -> AppBuild {
    let named = try build.map { build throws(FactsFailure) in try BuildFolder.indexStore(in: build) } ?? index
    guard let named else { return .found(around: path, of: files) }
    return try AppBuild(of: files, index: named, toolchain: try Toolchain.current())
  }

  /// - Throws: `FactsFailure` if there is no build.
  func require(
    around path: String, _ files: [String]
  ) throws(FactsFailure) -> (app: CompiledApp, index: String) {
    let build = try find(around: path, files)
    guard let app = build.app, let index = build.index else {
      throw FactsFailure("\(build.reason ?? "there is no build"); build the app first, or name its build with --build")
    }
    return (app, index)
  }
}
