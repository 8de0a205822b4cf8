import AppCheck
import CompilerFacts
import Foundation

/// How the compiler here reads new files of an app that was built from copies (`koine linux`): as the copies that the next run of
/// `koine linux` makes of them.
struct LinuxForm: Sendable {
  private let own: AppSources

  /// - Returns: nil if the app was built from its own files.
  init?(_ app: CompiledApp) {
    guard app.files.contains(where: \.map.isOfCopy) else { return nil }
    own = AppSources(
      sources: app.files.compactMap { file in
        (try? String(contentsOfFile: file.path, encoding: .utf8)).map { (file.path, $0) }
      })
  }

  /// - Parameters:
  ///   - files: new files. Errors in their copies name these paths and lines.
  ///   - changed: files of the app whose new text is among them.
  func copies(of files: [(path: String, text: String)], inPlaceOf changed: Set<String>) -> [String] {
    let sources = own.without(changed).with(files.map { ($0.path, $0.text) })
    let copies = LinuxCopy(sources, of: Set(files.map(\.path))).files
    let texts = Dictionary(copies.map { ($0.path, $0.text) }, uniquingKeysWith: { one, _ in one })
    return files.map { texts[$0.path] ?? $0.text }
  }

  /// The copy of a new file that stands for itself: without the places in the file that it was made from.
  func standalone(_ text: String) -> String {
    let name = "new.swift"
    var lines = copies(of: [(name, text)], inPlaceOf: [])[0].split(separator: "\n", omittingEmptySubsequences: false)
    // Imports that the copy needs are in a line before the first of the file.
    if let added = lines.first, added.hasPrefix("import "), !text.hasPrefix(added) {
      lines.removeFirst()
      lines.insert(added, at: lines.firstIndex { $0.hasPrefix("import ") } ?? 0)
    }
    let named = #"#sourceLocation(file: "\#(name)", "#
    return lines.filter { !$0.hasPrefix(named) && $0 != "#sourceLocation()" }.joined(separator: "\n")
  }
}
