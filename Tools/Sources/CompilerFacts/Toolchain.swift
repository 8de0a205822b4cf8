public import Foundation

/// A Swift toolchain: its compiler, and the libraries that read the compiler's output.
public struct Toolchain: Sendable {
  /// The folder that contains `bin` and `lib`.
  public let folder: URL

  public init(folder: URL) { self.folder = folder }

  /// The toolchain of `KOINE_TOOLCHAIN` (the folder that contains `usr`), or of the first `swiftc` in `PATH`. The package manifest chooses
  /// the toolchain in the same way.
  /// - Throws: `FactsFailure` if there is none.
  public static func current(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(FactsFailure) -> Toolchain {
    if let toolchain = environment["KOINE_TOOLCHAIN"] {
      return Toolchain(folder: URL(fileURLWithPath: toolchain + "/usr"))
    }
    for folder in (environment["PATH"] ?? "").split(separator: ":")
    where FileManager.default.isExecutableFile(atPath: "\(folder)/swiftc") {
      let compiler = URL(fileURLWithPath: "\(folder)/swiftc").resolvingSymlinksInPath()
      return Toolchain(folder: compiler.deletingLastPathComponent().deletingLastPathComponent())
    }
    throw FactsFailure("there is no Swift compiler: neither KOINE_TOOLCHAIN nor PATH names one")
  }

  public var compiler: URL { folder.appendingPathComponent("bin/swiftc") }

  /// The path of a library in `lib`.
  func library(_ name: String) -> String { folder.appendingPathComponent("lib/\(name)").path }
}
