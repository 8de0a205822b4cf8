import Foundation
import Testing

/// A folder of a test's own, which is removed with it.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// `koine-tools` run as a program, in a folder that has nothing of this repository.
@Suite struct CommandLineTests {
  private let folder: Folder
  private let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    .appendingPathComponent("koine-tools").path

  init() throws {
    folder = try Folder()
    try "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }\n".write(
      toFile: folder.file("sound.swift"), atomically: true, encoding: .utf8)
    try "import Intents\n".write(toFile: folder.file("unsound.swift"), atomically: true, encoding: .utf8)
  }

  /// The lines of output and errors, and a last line with the exit code.
  private func lines(_ words: String) throws -> [String] {
    let output = folder.file("output")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "cd '\(folder.path)' && '\(program)' \(words) >'\(output)' 2>&1; echo \"code $?\" >>'\(output)'",
    ]
    try process.run()
    process.waitUntilExit()
    return try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func checkExitsWithOneIfASymbolIsUnavailable() throws {
    #expect(try lines("check sound.swift").last == "code 0")
    #expect(try lines("check .").last == "code 1")
    #expect(try lines("check . --exclude unsound.swift").last == "code 0")
    #expect(try lines("check sound.swift --to meeting").first == "mute the local microphone")
    #expect(try lines("check unsound.swift --json").first?.contains(#""canWork":false"#) == true)
  }

  @Test func missingPathIsReportedInOneLineWithExitCode66() throws {
    #expect(try lines("check nothing") == ["koine check: there is no file or folder 'nothing'", "code 66"])
    #expect(
      try lines("check . --exclude nothing") == [
        "koine check: there is no 'nothing' in '.' to leave out", "code 66",
      ])
  }

  @Test func buildsIndexIsReadIfThePackageHasOne() throws {
    let compilation = try Compilation()
    try compilation.compileVideoSDK()
    try compilation.compile("App", ["App.swift": "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }\n"])
    let path = compilation.folder.file("App.swift")
    let store = compilation.folder.file("index")
    #expect(
      try lines("check \(path)").dropFirst().first
        == "Read by the sources' syntax: the app's package has no debug build")
    let used = "Read by the compiler's index (\(store)): 1 of 1 files"
    #expect(try lines("check \(path) --index \(store)").dropFirst().first == used)
    // As SwiftPM keeps it.
    try FileManager.default.createDirectory(
      atPath: compilation.folder.file(".build/debug/index"), withIntermediateDirectories: true)
    let kept = compilation.folder.file(".build/debug/index/store")
    try FileManager.default.createSymbolicLink(atPath: kept, withDestinationPath: store)
    try Data().write(to: URL(fileURLWithPath: compilation.folder.file("Package.swift")))
    let found = "Read by the compiler's index (\(kept)): 1 of 1 files"
    #expect(try lines("check \(path)").dropFirst().first == found)
    #expect(try lines("check \(path) --build \(compilation.folder.file(".build"))").dropFirst().first == found)
  }

  @Test func namedBuildThatCannotBeReadIsReportedInOneLineWithExitCode66() throws {
    #expect(
      try lines("check . --index nothing") == [
        "koine check: there is no index store 'nothing'; build the app first: swift build", "code 66",
      ])
    #expect(
      try lines("check . --build nothing") == ["koine check: there is no build folder 'nothing'", "code 66"])
    #expect(
      try lines("check . --build .") == [
        "koine check: the build folder '.' has no index store; only debug builds have one: swift build", "code 66",
      ])
  }

  @Test func portCommandsNeedABuild() throws {
    let missing = "the app's package has no debug build; build the app first, or name its build with --build"
    #expect(try lines("port sites .") == ["koine port sites: \(missing)", "code 66"])
    #expect(try lines("port seam . Model") == ["koine port seam: \(missing)", "code 66"])
  }

  @Test func portCommandsLookForTheFoldersOfTheirFilesFirst() throws {
    let reason = "there is no folder for 'none/new.swift'; make it first"
    for words in ["-o none/new.swift", "--plan --answers none/new.swift", "--list none/new.swift"] {
      #expect(try lines("port . Model --to koine \(words)") == ["koine port: \(reason)", "code 66"])
    }
    #expect(try lines("port seam . Model -o none/new.swift") == ["koine port seam: \(reason)", "code 66"])
    #expect(try lines("port seam . Model -o sound.swift/new.swift").first?.contains("no folder for") == true)
  }

  @Test func portCommandsReportFilesThatAreNotCompiled() throws {
    let compilation = try Compilation()
    try compilation.compileVideoSDK()
    try compilation.compile("App", ["App.swift": "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }\n"])
    let path = compilation.folder.file("App.swift")
    let store = compilation.folder.file("index")
    let sites = try lines("port sites \(path) --index \(store)")
    #expect(sites.first == "\(path): 2 call sites: 2 of event listener; 1 of 1 files compiled")
    #expect(sites.last == "code 0")
    Thread.sleep(forTimeInterval: 0.02)
    try "class Model {}\n".write(toFile: path, atomically: true, encoding: .utf8)
    let changed = try lines("port sites \(path) --index \(store)")
    #expect(changed.contains("  \(path): edited after the build"))
    #expect(changed.last == "code 1")
    #expect(
      try lines("port seam \(path) Model --index \(store)") == [
        "koine port seam: there is no type 'Model' in the compiled files", "  \(path): edited after the build",
        "code 66",
      ])
  }
}
