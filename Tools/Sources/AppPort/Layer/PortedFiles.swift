import CompilerFacts
import Foundation

/// The app's files that `koine port` has written: layers in other styles, or the same layer before. A port does not read them, and the new
/// files take the place of those with the same types.
struct PortedFiles {
  /// By the path that the app has it by: the file that the compiler reads.
  private let paths: [String: String]

  /// - Parameter type: the call class. If it is in such a file itself, all files of its folder are the app's own.
  init(in app: CompiledApp, but type: String) {
    let written = app.files.filter { Self.isWritten($0.path) }.map {
      (name: $0.path, path: Self.resolved($0.compiledPath ?? $0.path))
    }
    let name = type.split(separator: ".").last.map(String.init) ?? type
    let places = Set(app.declarations.types(named: name).map(\.location.file))
    let own = Set(written.filter { places.contains($0.name) }.map { Self.folder(of: $0.path) })
    paths = Dictionary(
      written.filter { !own.contains(Self.folder(of: $0.path)) }.map { ($0.name, $0.path) },
      uniquingKeysWith: { one, _ in one })
  }

  private static func folder(of path: String) -> String { URL(fileURLWithPath: path).deletingLastPathComponent().path }

  func contains(_ file: CompiledApp.File) -> Bool { paths[file.path] != nil }
  /// What the compiler reads of a file of the app, if the command has written it.
  func path(of file: String) -> String? { paths[file] }
  func files(named names: [String]) -> Set<String> {
    Set(paths.values.filter { names.contains(URL(fileURLWithPath: $0).lastPathComponent) })
  }

  /// Whether the command has written a file under one of these names.
  static func isWritten(_ path: String, as names: some Collection<String>) -> Bool {
    names.contains(URL(fileURLWithPath: path).lastPathComponent) && isWritten(path)
  }

  static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
  }

  /// Such a file says so in its first lines: a layer that it is written, a helper that it is the same for every app. A protocol that
  /// `koine port seam` has written is the app's own.
  private static func isWritten(_ path: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 512) else { return false }
    let comments = String(decoding: data, as: UTF8.self).split(separator: "\n").prefix { $0.hasPrefix("//") }
    return comments.contains { line in
      line.hasPrefix("// Written by `koine port` ") || line.hasSuffix(": the same file for every app.")
        || line.hasSuffix(": the same for every app.")
    }
  }
}
