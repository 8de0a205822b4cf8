import AppCheck
import ArgumentParser
import Foundation

/// Writes the copy of an app's sources that Linux compiles.
struct Linux: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copies an app's Swift sources in the form that compiles on Linux.",
    discussion: """
      The app's own files stay as they are. In the copy, `@objc`, `@IBAction` and `@IBOutlet` are left out, `#selector` names a \
      method that controls, gestures and notifications really call, and imports fit the modules here. Errors of the compiler name \
      the app's own files and lines. `koine check` lists each of these changes.

      Name the copy in the manifest, inside `#if os(Linux)`: `.target(name: "TeaTime", …, path: ".koine/TeaTime")`. Run the \
      command again after each change of the app; it writes only what has changed.

      Exit code: 0; 1 if a line of the copy cannot work (`koine check` lists them); 66 if there are no sources, or the copy cannot \
      be written.
      """)

  @Argument(help: "The folder of the app's Swift files.")
  var path: String

  @Option(name: .shortAndLong, help: ArgumentHelp("The folder for the copy. Default: .koine/ and the folder's name."))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "A file or folder inside it that the copy does not have. Repeat the option for several.", valueName: "file"))
  var exclude: [String] = []

  func run() throws {
    let name = URL(fileURLWithPath: path).lastPathComponent
    let output = output ?? ".koine/" + name
    let check: AppCheck
    let copy: LinuxCopy
    do {
      let sources = try AppSources(path: path, excluding: exclude)
      copy = LinuxCopy(sources)
      try copy.write(from: path, to: output)
      check = AppCheck(sources, path: path)
    } catch {
      try FileHandle.standardError.write(contentsOf: Data("koine linux: \(error)\n".utf8))
      throw ExitCode(66)
    }
    print(
      "\(path): \(copy.files.count == 1 ? "1 file" : "\(copy.files.count) files") in \(output), \(copy.changes.count) changes"
    )
    let products = copy.products.joined(separator: ", ")
    if !products.isEmpty { print("Products of Koine that it imports: \(products)") }
    guard check.canWork else {
      let count = check.problems.count == 1 ? "1 line" : "\(check.problems.count) lines"
      print("\(count) cannot work; `koine check \(path)` lists them:")
      for problem in check.problems.prefix(10) { print("  \(problem.location): \(problem.what)") }
      throw ExitCode(1)
    }
  }
}
