import CompilerFacts
import Foundation
import TestSupport
import Testing

@Suite struct CompileCommandTests {
  private let compilation: Compilation

  init() throws {
    compilation = try Compilation()
    try FileManager.default.createDirectory(
      atPath: compilation.path("build/debug/index/store"), withIntermediateDirectories: true)
  }

  private var store: String { compilation.path("build/debug/index/store") }

  private func command(_ arguments: [String], sources: String) throws -> CompileCommand {
    try sources.write(toFile: compilation.path("sources"), atomically: true, encoding: .utf8)
    let line = String(decoding: try JSONEncoder().encode(["swiftc", "-module-name", "App"] + arguments), as: UTF8.self)
      .replacing("\\/", with: "/")
    try "commands:\n  \"C.App\":\n    tool: shell\n    args: \(line)\n".write(
      toFile: compilation.path("build/debug.yaml"), atomically: true, encoding: .utf8)
    return try CompileCommand(module: "App", ofBuildWith: store, toolchain: compilation.toolchain)
  }

  @Test func commandOfABuildTypechecksItsFiles() throws {
    try "let one = two\n".write(toFile: compilation.path("One.swift"), atomically: true, encoding: .utf8)
    try "#if EXTRA\nlet two = 2\n#endif\n".write(
      toFile: compilation.path("Two file.swift"), atomically: true, encoding: .utf8)
    let command = try command(
      [
        "-emit-module", "-emit-module-path", compilation.path("no.swiftmodule"), "-c",
        "@" + compilation.path("sources"), "-j2", "-enable-batch-mode", "-D", "EXTRA", "-parseable-output",
        "-index-store-path", store, "-Xcc", "-g",
      ], sources: "\(compilation.path("One.swift"))\n'\(compilation.path("Two file.swift"))'\n")
    #expect(command.files == ["One.swift", "Two file.swift"].map(compilation.path))
    #expect(try command.typecheck().succeeded)
    let outcome = try command.with(files: [compilation.path("One.swift")]).typecheck()
    #expect(!outcome.succeeded)
    #expect(outcome.errors.first?.hasSuffix("One.swift:1:11: error: cannot find 'two' in scope") == true)
    #expect(!FileManager.default.fileExists(atPath: compilation.path("no.swiftmodule")))
  }

  @Test func someFilesAreCheckedWithWhatTheyNeedOfTheOthers() throws {
    for (name, text) in [("One.swift", "let one = two\n"), ("Two.swift", "let two = 2\nlet three = four\n")] {
      try text.write(toFile: compilation.path(name), atomically: true, encoding: .utf8)
    }
    let files = ["One.swift", "Two.swift"].map(compilation.path)
    let command = try command(["-c"] + files, sources: "")
    #expect(try command.typecheck(only: [files[0]]).succeeded)
    let outcome = try command.typecheck(only: [files[1]])
    #expect(outcome.errors.map { $0.hasSuffix("Two.swift:2:13: error: cannot find 'four' in scope") } == [true])
    #expect(try !command.typecheck(only: files).succeeded)
  }

  @Test func commandThatLinksAnExecutableIsNotTheModules() throws {
    let line = { (arguments: [String]) in
      "    args: " + String(decoding: try JSONEncoder().encode(arguments), as: UTF8.self).replacing("\\/", with: "/")
    }
    let link = try line(["swiftc", "-module-name", "App", "-emit-executable"])
    let compile = try line(["swiftc", "-module-name", "App", "-c", compilation.path("One.swift")])
    try "commands:\n\(link)\n\(compile)\n".write(
      toFile: compilation.path("build/debug.yaml"), atomically: true, encoding: .utf8)
    let command = try CompileCommand(module: "App", ofBuildWith: store, toolchain: compilation.toolchain)
    #expect(command.files == [compilation.path("One.swift")])
  }

  @Test func buildWithoutDescriptionOrModuleIsReported() throws {
    let missing = #expect(throws: FactsFailure.self) {
      _ = try CompileCommand(module: "App", ofBuildWith: store, toolchain: compilation.toolchain)
    }
    #expect(missing?.description.hasPrefix("there is no description of the build (debug.yaml)") == true)
    _ = try command([], sources: "")
    let other = #expect(throws: FactsFailure.self) {
      _ = try CompileCommand(module: "Other", ofBuildWith: store, toolchain: compilation.toolchain)
    }
    #expect(other?.description == "the build with the index store '\(store)' has no Swift module 'Other'")
  }

  @Test func errorsOfTheDriverCountAsWellAsThoseOfFiles() {
    let output = "a.swift:1:2: error: no\nerror: filename \"a.swift\" used twice\na.swift:1:2: note: here\n"
    let outcome = CompileCommand.Outcome(succeeded: false, output: output)
    #expect(outcome.errors == ["a.swift:1:2: error: no", "error: filename \"a.swift\" used twice"])
  }
}
