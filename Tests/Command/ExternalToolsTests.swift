import Foundation
import KoineTestSupport
import Testing

/// `koine map`, and the subcommands that run a program of the package in `Tools`, in a folder that has nothing of this repository.
@Suite struct ExternalToolsTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
    // Not a symbolic link: that would resolve to the checkout, which may have a build of `Tools`.
    let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/koine"
    do {
      try FileManager.default.linkItem(atPath: built, toPath: folder.file("koine"))
    } catch {
      try FileManager.default.copyItem(atPath: built, toPath: folder.file("koine"))  // another file system
    }
  }

  /// The lines of output and errors, and a last line with the exit code.
  private func lines(_ words: String) async throws -> [String] {
    let text = try await Command("sh", "-c", "cd \(folder.path) && ./koine \(words) 2>&1; echo \"code $?\"").run()
    return text.split(separator: "\n").map(String.init)
  }

  @Test func mapAnswersWithoutAFileBesideIt() async throws {
    let lines = try await lines("map muteMic --to stage")
    #expect(lines.first == "mute the local microphone")
    #expect(lines.last == "code 0")
    #expect(lines.contains("  stage strategy  IVSLocalStageStream.setMuted(_:)"))
    #expect(try await self.lines("map Meeting.muteMick").last == "code 1")
    #expect(try await self.lines("map --from zoom --to stage").last == "code 64")
    #expect(try await self.lines("map muteMic --json").first?.hasPrefix("{") == true)
  }

  @Test func checkWithoutItsProgramExitsWith69AndNamesTheBuildCommand() async throws {
    let lines = try await lines("check .")
    #expect(lines.last == "code 69")
    #expect(lines.first?.contains("swift build --package-path Tools") == true)
  }

  @Test func checkRunsTheProgramBesideItWithAllArgumentsAndKeepsItsExitCode() async throws {
    try "#!/bin/sh\necho \"$@\"\nexit 3\n".write(toFile: folder.file("koine-tools"), atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("koine-tools"))
    #expect(try await lines("check app --json --help --to stage") == ["check app --json --help --to stage", "code 3"])
    #expect(try await lines("help port layer") == ["help port layer", "code 3"])
    #expect(try await lines("help map").last == "code 0")
  }
}
