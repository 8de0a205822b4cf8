import Foundation
import KoineTestSupport
import Testing

/// `koine map` and `koine check` as they are called, in a folder that has nothing of this repository.
@Suite struct CommandLineTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
    let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(
      "koine")
    try FileManager.default.createSymbolicLink(atPath: folder.file("koine"), withDestinationPath: built.path)
    try "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }\n".write(
      toFile: folder.file("sound.swift"), atomically: true, encoding: .utf8)
    try "import CallKit\n".write(toFile: folder.file("unsound.swift"), atomically: true, encoding: .utf8)
  }

  /// The lines of both outputs, and the exit code.
  private func lines(_ words: String) async throws -> [String] {
    let text = try await Command("sh", "-c", "cd \(folder.path) && ./koine \(words) 2>&1; echo \"code $?\"").run()
    return text.split(separator: "\n").map(String.init)
  }

  @Test func mapCommandRunsWithoutRepositoryFiles() async throws {
    let lines = try await lines("map muteMic --to stage")
    #expect(lines.first == "mute the local microphone")
    #expect(lines.last == "code 0")
    #expect(lines.contains("  stage strategy  IVSLocalStageStream.setMuted(_:)"))
    #expect(try await self.lines("map Meeting.muteMick").last == "code 1")
    #expect(try await self.lines("map --from zoom --to stage").last == "code 64")
    #expect(try await self.lines("map muteMic --json").first?.hasPrefix("{") == true)
  }

  @Test func checkCommandExitsWithOneOnUnsupportedCode() async throws {
    #expect(try await lines("check sound.swift").last == "code 0")
    #expect(try await lines("check .").last == "code 1")
    #expect(try await lines("check . --exclude unsound.swift").last == "code 0")
    #expect(try await lines("check sound.swift --to meeting").first == "mute the local microphone")
    #expect(try await lines("check unsound.swift --json").first?.contains(#""canWork":false"#) == true)
  }

  @Test func missingPathPrintsOneLineAndExitsWith66() async throws {
    #expect(
      try await lines("check nothing") == ["koine check: there is no file or folder 'nothing'", "code 66"])
    #expect(
      try await lines("check . --exclude nothing") == [
        "koine check: there is no 'nothing' in '.' to leave out", "code 66",
      ])
  }
}
