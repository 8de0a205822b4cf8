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
}
