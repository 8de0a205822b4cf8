import AppCheck
import AppPort
import ArgumentParser
import CompilerFacts
import Foundation
import KoinePorting

/// Help for porting an app's calls to another style.
struct Port: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ports an app's calls to another style.",
    discussion: """
      All commands read the compiler's index, so build the app first: swift build. A file that was edited after the build, or does not \
      compile, is reported.
      """, subcommands: [LayerCommand.self, SeamCommand.self, SitesCommand.self], defaultSubcommand: LayerCommand.self)
}

/// Writes a second call layer.
struct LayerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "layer",
    abstract:
      "Writes a second call layer beside the app's own, in another style. Needs no name: koine port PATH TYPE --to STYLE.",
    discussion: """
      The new file has the app's statements byte for byte, but for what is rewritten, and the app's own declarations that see the \
      vendor's types, under new names. What the target has no counterpart for is in a second file, which is the same for every app. A \
      statement that the command cannot port stays as a comment under #warning("PORT 3: …"). No other file changes. The command \
      compiles the new files beside the app before it writes them. It does not read files that it has written before, and those of \
      the same layer give way to the new ones.

      With --plan it writes no Swift file but says what it would do: which vendor types other code sees, what it ports without a question, \
      what it asks (at most 10 questions, each with a default and its cost), and what the style has no word for. --output FILE.html makes \
      it a page. The plan does not compile the new file: declarations that the compiler refuses are reported by the port only. With --answers, too, the command writes the answers into that file, or adds the questions that are new to it.

      Layers are ported from \(PortedStyles.text).

      Exit code: 0; 1 if the new file does not compile beside the app; 66 if there are no sources, no build, no such class, or no reader \
      or writer of the style.
      """)

  @Argument(help: "A folder of the app's Swift files.")
  var path: String

  @Argument(help: "The class that owns the SDK's objects.")
  var type: String

  @Option(help: ArgumentHelp("The style of the new layer.", valueName: "style"))
  var to: Style

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write, with the helper's files beside it. Without it, it is printed, and the report goes to the standard error.",
      valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "The beginning of the new names, in place of the answers'. With another one, the layers of several apps can be in one module.",
      valueName: "name"))
  var prefix: String?

  @Flag(help: "Writes the file for a test target, which imports the app's module with @testable.")
  var forTests = false

  @Flag(
    help:
      "Changes the app's own files, and no names: for apps that need no protocol in front of the class. The new files of the helper are beside the class."
  )
  var inPlace = false

  @Flag(help: "Writes what the command would do, ask and leave out, and no Swift file.")
  var plan = false

  @Option(
    help: ArgumentHelp(
      "Answers to the plan's questions, as JSON. With --plan the file is written; otherwise it is read.",
      valueName: "file"))
  var answers: String?

  @Option(
    help: ArgumentHelp(
      "Writes what became of each call site, one in a line: its place, its symbol and its share, separated by tabs.",
      valueName: "file"))
  var list: String?

  @Option(
    help: ArgumentHelp(
      "Writes the new file with a switch around each written statement (Scripts/check-mutants), and the statements as JSON into this file.",
      valueName: "file", visibility: .hidden))
  var switches: String?

  @OptionGroup var build: BuildOptions

  func run() throws {
    let layer: CallLayer
    let answered: PortAnswers?
    let outcome: CompileCommand.Outcome
    do {
      try requireFolders(of: output, answers, list, switches)
      let build = try self.build.require(around: path, try AppSources.paths(in: path))
      let toolchain = try Toolchain.current()
      let command = { (module: String) throws(FactsFailure) in
        try CompileCommand(module: module, ofBuildWith: build.index, toolchain: toolchain)
      }
      // The plan makes the file of answers, if there is none yet.
      let isNew = plan && answers.map { !FileManager.default.fileExists(atPath: $0) } ?? true
      answered = try answers.flatMap { file throws(FactsFailure) in
        isNew ? nil : try PortAnswers(file: file, type: type, to: to)
      }
      let facts = { (module: String) throws(FactsFailure) -> any TypeFacts in
        try TreeDump(try command(module), toolchain: toolchain)
      }
      if plan {
        let layer = try CallLayer(
          of: type, in: build.app, to: to, isForTests: forTests, prefix: prefix, answers: answered, facts: facts)
        try writeList(of: layer)
        return try write(layer.plan, answered)
      }
      (layer, outcome) = try CallLayer.compiled(
        of: type, in: build.app, to: to, isForTests: forTests, prefix: prefix, isInPlace: inPlace,
        answers: answered, command, facts: facts)
      try writeList(of: layer)
      if let switches, outcome.succeeded {
        let switched = try StatementSwitches(of: layer, build.app, beside: try command(layer.module))
        try switched.json.write(toFile: switches, atomically: false, encoding: .utf8)
        return print(layer.written(switched.source), terminator: "")
      }
      if let output, outcome.succeeded { try write(layer, to: output) }
      if inPlace, outcome.succeeded { try writeInPlace(layer) }
    } catch {
      try FileHandle.standardError.write(contentsOf: Data("koine port: \(error)\n".utf8))
      throw ExitCode(66)
    }
    let result =
      inPlace
      ? outcome.succeeded ? "The changed files compile." : "The changed files do not compile:"
      : outcome.succeeded ? "The new file compiles beside the app." : "The new file does not compile:"
    let asked = answered.map { _ in layer.plan.unansweredText } ?? []
    // The compiler names the first module that it misses in each file.
    let isWithoutModule = outcome.errors.contains { $0.contains("no such module") }
    let imports =
      isWithoutModule
      ? [
        "The app's target needs these products of Koine: \(KoineProducts.of(layer.imports).joined(separator: ", ")). Add them, and build it."
      ] : []
    let report = ([layer.report] + asked + ["", result] + outcome.errors + imports).joined(separator: "\n")
    if inPlace {
      let paths = layer.changedFiles.map(\.path).joined(separator: ", ")
      print(report + (outcome.succeeded ? "\nChanged: \(paths)." : "\nNothing is changed."))
    } else if let output {
      let written =
        "\nWritten to \(output), with \(layer.helpers.map(\.fileName).joined(separator: " and ")) beside it."
      print(report + (outcome.succeeded ? written : "\nNothing is written."))
    } else {
      print(layer.written(layer.source))
      let needed = layer.helpers.map(\.fileName).joined(separator: ", ")
      let missing = "The file needs \(needed) beside it, which --output FILE writes, too."
      try FileHandle.standardError.write(
        contentsOf: Data((report + "\n" + (needed.isEmpty ? "" : missing + "\n")).utf8))
    }
    if !outcome.succeeded { throw ExitCode(1) }
  }

  private func writeList(of layer: CallLayer) throws {
    let lines = layer.outcomes.map { "\($0.place)\t\($0.symbol)\t\($0.share)\n" }
    if let list { try lines.joined().write(toFile: list, atomically: false, encoding: .utf8) }
  }

  func validate() throws {
    guard !inPlace || (output == nil && prefix == nil && switches == nil && !forTests && !plan) else {
      throw ValidationError(
        "--in-place goes without --output, --prefix, --for-tests and --plan: it changes the app's own files, and no names."
      )
    }
  }

  private func writeInPlace(_ layer: CallLayer) throws {
    for (path, text) in layer.changedFiles { try text.write(toFile: path, atomically: true, encoding: .utf8) }
    let folder = URL(fileURLWithPath: layer.classPath).deletingLastPathComponent()
    for helper in layer.helpers {
      try helper.source.write(to: folder.appendingPathComponent(helper.fileName), atomically: false, encoding: .utf8)
    }
  }

  /// Writes the plan, and the answers beside it.
  private func write(_ plan: PortPlan, _ answered: PortAnswers?) throws {
    if let output {
      let text = output.hasSuffix(".html") ? plan.html : plan.text + "\n"
      try text.write(toFile: output, atomically: false, encoding: .utf8)
      print("The plan is in \(output).")
    } else {
      print(plan.text)
    }
    guard let answers else { return }
    let all = plan.answers(answered ?? PortAnswers(type: type, to: to))
    try all.json.write(toFile: answers, atomically: false, encoding: .utf8)
    print(
      "The answers are in \(answers): \(plan.questions.count { $0.isAnswered }) of \(plan.questions.count) given before."
    )
  }

  private func write(_ layer: CallLayer, to output: String) throws {
    let folder = URL(fileURLWithPath: output).deletingLastPathComponent()
    let helpers = layer.helpers.map { ($0.source, folder.appendingPathComponent($0.fileName)) }
    // A file that stays as it is keeps its date: builds and the index go by it.
    for (text, file) in helpers + [(layer.written(layer.source), URL(fileURLWithPath: output))]
    where (try? String(contentsOf: file, encoding: .utf8)) != text {
      try text.write(to: file, atomically: false, encoding: .utf8)
    }
  }
}

/// Writes a protocol in front of the call class.
struct SeamCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seam",
    abstract: "Writes a protocol of the call class's members that the app's other code uses.",
    discussion: """
      The new file has the protocol and an extension by which the class conforms to it; no other file changes. The command checks the \
      file's types beside the app's. It writes a seam once: if the app has a protocol of that name, it stops. The report lists the vendor types that other code sees through the class, and uses that a protocol \
      cannot express, with places and reasons. Without --output the file is printed, and the report goes to the standard error.

      Exit code: 0; 1 if the new file does not compile beside the app; 66 if there are no sources, no build or no such class.
      """)

  @Argument(help: "A folder of the app's Swift files.")
  var path: String

  @Argument(help: "The class that owns the SDK's objects.")
  var type: String

  @Option(name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "file"))
  var output: String?

  @Option(help: ArgumentHelp("The protocol's name. Default: the class's name and Protocol.", valueName: "name"))
  var name: String?

  @OptionGroup var build: BuildOptions

  func run() throws {
    let seam: Seam
    let outcome: CompileCommand.Outcome
    do {
      try requireFolders(of: output)
      let build = try self.build.require(around: path, try AppSources.paths(in: path))
      let toolchain = try Toolchain.current()
      let command = { (module: String) throws(FactsFailure) in
        try CompileCommand(module: module, ofBuildWith: build.index, toolchain: toolchain)
      }
      seam = try Seam(of: type, in: build.app, name: name) { module throws(FactsFailure) in
        try TreeDump(try command(module), toolchain: toolchain)
      }
      outcome = try seam.typecheck(beside: try command(seam.module))
      if let output, outcome.succeeded { try seam.source.write(toFile: output, atomically: false, encoding: .utf8) }
    } catch {
      try FileHandle.standardError.write(contentsOf: Data("koine port seam: \(error)\n".utf8))
      throw ExitCode(66)
    }
    let result = outcome.succeeded ? "The new file compiles beside the app." : "The new file does not compile:"
    let report = ([seam.report, "", result] + outcome.errors).joined(separator: "\n")
    if let output {
      let wayOut =
        "\nNothing is written. Without --output the command prints the file: correct it by hand, and report what it got wrong."
      print(report + (outcome.succeeded ? "\nWritten to \(output)." : wayOut))
    } else {
      print(seam.source)
      try FileHandle.standardError.write(contentsOf: Data((report + "\n").utf8))
    }
    if !outcome.succeeded { throw ExitCode(1) }
  }
}

/// Counts the call sites.
struct SitesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sites",
    abstract: "Counts the places at which an app's code uses symbols of the vendors' modules.",
    discussion: """
      A place counts once, also where a type and its initializer stand there. Imports do not count.

      Exit code: 0; 1 if a file is not compiled; 66 if there are no sources or no build.
      """)

  @Argument(help: "A Swift file, or a folder of Swift files.")
  var path: String

  @OptionGroup var build: BuildOptions

  func run() throws {
    let sites: VendorSites
    do {
      sites = VendorSites(try build.require(around: path, try AppSources.paths(in: path)).app)
    } catch {
      try FileHandle.standardError.write(contentsOf: Data("koine port sites: \(error)\n".utf8))
      throw ExitCode(66)
    }
    print(sites.text(for: path))
    if !sites.uncompiled.isEmpty { throw ExitCode(1) }
  }
}

/// Checks the folders of the files that a command is to write. Commands call it first, since the rest may take a minute.
/// - Throws: `FactsFailure` if the folder of one does not exist.
private func requireFolders(of files: String?...) throws(FactsFailure) {
  for case let file? in files {
    let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw FactsFailure("there is no folder for '\(file)'; make it first")
    }
  }
}
