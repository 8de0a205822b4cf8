public import CompilerFacts
import Foundation
import Synchronization

/// Sources of a test, compiled by the toolchain's compiler in a folder that is removed with the value.
public final class Compilation: Sendable {
  public let folder: String
  public let toolchain: Toolchain

  public var store: String { folder + "/index" }

  public init() throws {
    folder =
      FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("koine-facts-\(UUID().uuidString)").path
    toolchain = try Toolchain.current()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// Begins with a module that many tests import: it is compiled once in this process, and copied for each of them.
  /// - Parameter source: its only file.
  public convenience init(importing module: String, _ source: String) throws {
    try self.init()
    let compiled = try Self.modules.withLock { modules in
      let key = module + "\n" + source
      if let known = modules[key] { return known }
      let new = try Compilation()
      guard try new.compile(module, [module + ".swift": source]) else { throw Refused(module: module) }
      modules[key] = new
      atexit { Compilation.removeModules() }
      return new
    }
    for item in try FileManager.default.contentsOfDirectory(atPath: compiled.folder) {
      try FileManager.default.copyItem(atPath: compiled.path(item), toPath: path(item))
    }
  }

  private struct Refused: Error { let module: String }

  /// By their names and sources, until the process ends.
  private static let modules = Mutex<[String: Compilation]>([:])
  private static func removeModules() { modules.withLock { $0 = [:] } }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  public func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Compiles a module into the folder's index store; modules that were compiled before can be imported.
  /// - Returns: whether the compiler had no error.
  @discardableResult public func compile(_ module: String, _ files: KeyValuePairs<String, String>) throws -> Bool {
    for (name, source) in files { try source.write(toFile: path(name), atomically: true, encoding: .utf8) }
    let process = Process()
    process.executableURL = toolchain.compiler
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.arguments =
      [
        "-module-name", module, "-emit-module", "-c", "-enable-batch-mode", "-parse-as-library", "-I", folder,
        "-index-store-path", store, "-index-ignore-system-modules", "-serialize-diagnostics",
      ] + files.map(\.key)
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
