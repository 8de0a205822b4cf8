import Foundation

/// How a build compiles a module: the compiler's arguments, without those that name results.
public struct CompileCommand: Sendable {
  public let module: String
  /// The module's source files.
  public let files: [String]
  private let options: [String]
  private let toolchain: Toolchain

  public init(module: String, files: [String], options: [String], toolchain: Toolchain) {
    (self.module, self.files, self.options, self.toolchain) = (module, files, options, toolchain)
  }

  /// Reads the description that SwiftPM writes of a build, beside the folder of the configuration.
  /// - Parameter indexStore: the build's index store.
  /// - Throws: `FactsFailure` if there is no such description, or it has no such module.
  public init(module: String, ofBuildWith indexStore: String, toolchain: Toolchain) throws(FactsFailure) {
    let configuration = URL(fileURLWithPath: indexStore).deletingLastPathComponent().deletingLastPathComponent()
    let places = [configuration, configuration.resolvingSymlinksInPath()].flatMap { folder in
      let parent = folder.deletingLastPathComponent()
      return [parent, parent.deletingLastPathComponent()].map {
        $0.appendingPathComponent(folder.lastPathComponent + ".yaml").path
      }
    }
    guard let text = places.lazy.compactMap({ try? String(contentsOfFile: $0, encoding: .utf8) }).first else {
      throw FactsFailure("there is no description of the build (debug.yaml) beside the index store '\(indexStore)'")
    }
    guard let arguments = Self.arguments(of: module, in: text) else {
      throw FactsFailure("the build with the index store '\(indexStore)' has no Swift module '\(module)'")
    }
    let expanded = try Self.expanded(arguments.dropFirst())
    let (options, files) = Self.split(expanded)
    self.init(module: module, files: files, options: options, toolchain: toolchain)
  }

  /// The line `args: [...]` of the module's command. SwiftPM writes the lists of its YAML as JSON.
  private static func arguments(of module: String, in text: String) -> [String]? {
    let name = #""-module-name","\#(module)""#
    for line in text.split(separator: "\n") where line.contains(name) {
      let line = line.drop { $0 == " " }
      guard line.hasPrefix("args: ") else { continue }
      guard let arguments = try? JSONDecoder().decode([String].self, from: Data(line.dropFirst(6).utf8)) else {
        continue
      }
      // The command that links an executable names the module, too.
      if !arguments.contains("-emit-executable"), !arguments.contains("-emit-library") { return arguments }
    }
    return nil
  }

  /// Replaces `@file` by the lines of the file.
  private static func expanded(_ arguments: some Sequence<String>) throws(FactsFailure) -> [String] {
    var expanded: [String] = []
    for argument in arguments {
      guard argument.hasPrefix("@") else {
        expanded.append(argument)
        continue
      }
      guard let text = try? String(contentsOfFile: String(argument.dropFirst()), encoding: .utf8) else {
        throw FactsFailure("the list of sources '\(argument.dropFirst())' cannot be read")
      }
      // The shell's quotes stand around names with spaces.
      expanded += text.split(separator: "\n").map { $0.filter { $0 != "'" && $0 != "\\" } }
    }
    return expanded
  }

  /// Options that name results, alone and with a value.
  private static let results: Set<String> = [
    "-c", "-emit-module", "-emit-dependencies", "-incremental", "-serialize-diagnostics", "-enable-batch-mode",
    "-parseable-output", "-emit-objc-header", "-whole-module-optimization", "-wmo", "-emit-library", "-static",
  ]
  private static let resultsWithValue: Set<String> = [
    "-emit-module-path", "-output-file-map", "-index-store-path", "-emit-objc-header-path", "-o", "-num-threads",
    "-index-unit-output-path", "-emit-const-values-path", "-module-name",
  ]

  private static func split(_ arguments: [String]) -> (options: [String], files: [String]) {
    var (options, files): ([String], [String]) = ([], [])
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if resultsWithValue.contains(argument) {
        rest = rest.dropFirst()
      } else if argument == "-Xcc" || argument == "-Xfrontend" || argument == "-Xllvm" {
        options += [argument] + rest.prefix(1)
        rest = rest.dropFirst()
      } else if argument.hasPrefix("-j"), Int(argument.dropFirst(2)) != nil || results.contains(argument) {
        continue
      } else if results.contains(argument) {
        continue
      } else if argument.hasSuffix(".swift"), !argument.hasPrefix("-") {
        files.append(argument)
      } else {
        options.append(argument)
      }
    }
    return (options, files)
  }

  /// The same module with another set of files.
  public func with(files: [String]) -> CompileCommand { with(files: files, module: module) }

  /// Another module, compiled with the same options.
  public func with(files: [String], module: String) -> CompileCommand {
    CompileCommand(module: module, files: files, options: options, toolchain: toolchain)
  }

  // MARK: Running the compiler

  public struct Outcome: Sendable {
    public let succeeded: Bool
    /// Everything that the compiler has printed.
    let output: Data
    public init(succeeded: Bool, output: String) {
      (self.succeeded, self.output) = (succeeded, Data(output.utf8))
    }

    init(succeeded: Bool, output: Data) { (self.succeeded, self.output) = (succeeded, output) }

    /// The same without a folder that is gone by now before the names of files.
    public func without(folder: String) -> Outcome {
      let text = String(decoding: output, as: UTF8.self).replacing(folder + "/", with: "")
      return Outcome(succeeded: succeeded, output: text)
    }

    /// The lines with errors: of files, and those of the driver, such as a name that two files have.
    public var errors: [String] {
      String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        .filter { $0.contains(": error: ") || $0.hasPrefix("error: ") }
    }
  }

  /// Checks the module's types, and writes nothing.
  /// - Throws: `FactsFailure` if the compiler cannot be started.
  public func typecheck() throws(FactsFailure) -> Outcome { try typecheck(only: files) }

  /// Checks the types in some of the module's files, and of the others what these need: much faster in a large module.
  /// - Throws: `FactsFailure` if the compiler cannot be started.
  public func typecheck(only primary: [String]) throws(FactsFailure) -> Outcome {
    // Once for all files: in batches, each compiler reads the other files and the imports again.
    let mode = ["-typecheck", "-whole-module-optimization"]
    let others = files.filter { !primary.contains($0) }
    // The driver needs an input.
    guard !others.isEmpty else { return try run(mode) }
    // The driver hands its inputs on, in a list from a number on, and the compiler refuses a file that is there twice or only beside a list.
    let chosen = primary.flatMap { ["-Xfrontend", "-primary-file", "-Xfrontend", $0] }
    return try with(files: others).run(mode + ["-driver-filelist-threshold", "\(Int32.max)"] + chosen)
  }

  /// - Throws: `FactsFailure` if the compiler cannot be started.
  func run(_ mode: [String]) throws(FactsFailure) -> Outcome {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = toolchain.compiler
    process.arguments = mode + ["-module-name", module] + options + files
    process.standardOutput = pipe
    process.standardError = pipe
    do { try process.run() } catch {
      throw FactsFailure("\(toolchain.compiler.path) cannot be started: \(error.localizedDescription)")
    }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(succeeded: process.terminationStatus == 0, output: output)
  }
}
