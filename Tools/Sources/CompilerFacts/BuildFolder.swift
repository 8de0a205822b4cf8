import Foundation

/// Where SwiftPM keeps the index store of a build.
public enum BuildFolder {
  /// The index store of a scratch path (`.build`), or of the folder of one configuration in it (`.build/debug`).
  /// - Throws: `FactsFailure` if neither has one.
  public static func indexStore(in build: String) throws(FactsFailure) -> String {
    guard FileManager.default.fileExists(atPath: build) else {
      throw FactsFailure("there is no build folder '\(build)'")
    }
    if let store = existingStore(in: build) { return store }
    throw FactsFailure("the build folder '\(build)' has no index store; only debug builds have one: swift build")
  }

  /// The index store of the package that contains an app's sources; nil if it was not built.
  public static func indexStore(ofPackageAround path: String) -> String? {
    var folder = URL(fileURLWithPath: path).standardizedFileURL
    while folder.path != "/" {
      if FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) {
        return existingStore(in: folder.appendingPathComponent(".build").path)
      }
      folder.deleteLastPathComponent()
    }
    return nil
  }

  private static func existingStore(in build: String) -> String? {
    ["debug/index/store", "index/store"].map { "\(build)/\($0)" }.first { FileManager.default.fileExists(atPath: $0) }
  }
}
