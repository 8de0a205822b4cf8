import CompilerFacts
import Foundation
import SwiftParser
import SwiftSyntax

/// An app's Swift sources, parsed.
public struct AppSources: Sendable {
  /// A path that gives no sources.
  public struct Failure: Error, Hashable, CustomStringConvertible {
    public let description: String
  }

  struct File: Sendable {
    /// As it was said, with the folder that was asked for.
    let path: String
    let tree: SourceFileSyntax
    let converter: SourceLocationConverter

    init(path: String, source: String) {
      self.path = path
      tree = Parser.parse(source: source)
      converter = SourceLocationConverter(fileName: path, tree: tree)
    }

    func location(of node: some SyntaxProtocol) -> CodeLocation {
      let location = converter.location(for: node.positionAfterSkippingLeadingTrivia)
      return CodeLocation(file: path, line: location.line, column: location.column)
    }

    func line(at offset: Int) -> Int { converter.location(for: AbsolutePosition(utf8Offset: offset)).line }
  }

  let files: [File]

  /// One source text that is not in a file.
  public init(source: String, path: String = "app.swift") { files = [File(path: path, source: source)] }

  public init(sources: [(path: String, source: String)]) {
    files = sources.map { File(path: $0.path, source: $0.source) }
  }

  private init(files: [File]) { self.files = files }

  /// Without the files at some paths.
  public func without(_ paths: Set<String>) -> AppSources {
    AppSources(files: files.filter { !paths.contains($0.path) })
  }

  /// With further files.
  public func with(_ sources: [(path: String, source: String)]) -> AppSources {
    AppSources(files: files + sources.map { File(path: $0.path, source: $0.source) })
  }

  /// The sources of a file or folder, as `paths` finds them.
  public init(path: String, excluding excluded: [String] = []) throws(Failure) {
    var files: [File] = []
    for path in try Self.paths(in: path, excluding: excluded) {
      guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
        throw Failure(description: "'\(path)' cannot be read as text")
      }
      files.append(File(path: path, source: text))
    }
    self.files = files
  }

  public var paths: [String] { files.map(\.path) }

  /// A file, or all of a folder's `.swift` files but those of hidden folders (`.build`) and `Package.swift`, by name.
  /// - Parameter excluded: files and folders of the folder that are left out, as in a manifest's `exclude:`.
  public static func paths(in path: String, excluding excluded: [String] = []) throws(Failure) -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw Failure(description: "there is no file or folder '\(path)'")
    }
    let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
    let out = excluded.map { folder + "/" + ($0.hasSuffix("/") ? String($0.dropLast()) : $0) }
    for (given, path) in zip(excluded, out) where !FileManager.default.fileExists(atPath: path) {
      throw Failure(description: "there is no '\(given)' in '\(folder)' to leave out")
    }
    let paths =
      isFolder.boolValue
      ? sources(in: folder).filter { path in !out.contains { path == $0 || path.hasPrefix($0 + "/") } } : [path]
    guard !paths.isEmpty else { throw Failure(description: "no Swift sources in '\(path)'") }
    return paths
  }

  private static func sources(in folder: String) -> [String] {
    guard
      let found = FileManager.default.enumerator(
        at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    else { return [] }
    let root = URL(fileURLWithPath: folder).path
    return found.compactMap { ($0 as? URL)?.path }
      .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("/Package.swift") }
      .map { folder + $0.dropFirst(root.count) }
      .sorted()
  }
}
