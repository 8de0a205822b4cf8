import Foundation
import KoineTestSupport
import Testing

@testable import KoineSampleSupport

/// Error texts and exit codes for invalid arguments.
@Suite struct CommandLineErrorTests {
  private let folder: Folder
  private let keys: String

  init() async throws {
    folder = try Folder()
    keys = folder.file("keys.json")
    #expect(try await said("token keys \(keys)").last == "code 0")
  }

  /// The lines of both outputs, and the code.
  private func said(_ words: String, environment: [String: String?] = [:]) async throws -> [String] {
    let built = URL(fileURLWithPath: Swift.CommandLine.arguments[0]).deletingLastPathComponent().path
    let text = try await KoineTestSupport.Command(
      ["sh", "-c", "\(built)/koine \(words) 2>&1; echo \"code $?\""], environment: environment
    ).run()
    return text.split(separator: "\n").map(String.init)
  }

  @Test(arguments: [
    ("call-agent --identity ''", "--identity is empty"), ("stage-strategy --room ''", "--room is empty"),
    ("meeting-session --room '' --user Ana", "--room is empty"), ("event-listener --room ''", "--room is empty"),
    ("stage-strategy --room r --attribute foo", "--attribute takes NAME=VALUE, not 'foo'"),
    ("stage-strategy --room r --attribute a=1 --attribute a=2", "--attribute says 'a' twice"),
    ("meeting-session --room r --user Ana --backend nonsense://", "nonsense://"),
    ("meeting-session --room r --user A", "--user"),
  ])
  func invalidTokenArgumentsPrintTheSubcommandUsage(_ words: String, _ complaint: String) async throws {
    let lines = try await said("token \(words) --keys \(keys)")
    #expect(lines.first?.contains(complaint) == true && lines.last == "code 64", "\(lines)")
    #expect(lines.contains { $0.hasPrefix("Usage: koine token \(words.prefix { $0 != " " })") }, "\(lines)")
  }

  @Test func keyFileErrorsHaveTheirExitCodes() async throws {
    #expect(try await said("token stage-strategy --room r --keys /no/keys").last == "code 66")
    try "none".write(toFile: folder.file("none.json"), atomically: true, encoding: .utf8)
    #expect(try await said("token stage-strategy --room r --keys \(folder.file("none.json"))").last == "code 65")
    #expect(try await said("token keys /no/keys").last == "code 73")
    #expect(
      try await said("token stage-strategy --room r --attribute a=1 --attribute a=1 --keys \(keys)").last == "code 0")
  }

  @Test func publicKeyFileCannotSignTokens() async throws {
    let file = folder.file("public.json")
    #expect(try await said("token keys \(keys) --public \(file)").last == "code 0")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains(#""x":"#))
    #expect(!text.contains(#""d":"#))
    #expect(try await said("token room --keys \(file)").last == "code 64")
    var facts = stat()
    #expect(stat(keys, &facts) == 0)
    #expect(facts.st_mode & 0o777 == 0o600)
    #expect(try await said("token keys /no/keys --public \(file)").last == "code 66")
  }

  @Test func networkOptionIsRefusedWithServerBackend() async throws {
    let server = ["KOINE_BACKEND": "ws://127.0.0.1:1"]
    let lines = try await said("demo --network loss=1%", environment: server)
    #expect(lines.first?.contains("KOINE_BACKEND says 'ws://127.0.0.1:1'") == true)
    #expect(lines.last == "code 64")
    let suite = try await said("conformance --backend ws://127.0.0.1:1 --network loss=1%")
    #expect(suite.first?.contains("--network") == true)
    #expect(suite.last == "code 64")
  }

  @Test func unreachableServerIsReportedOnce() async throws {
    let expected = "the server cannot be reached: Connection refused (127.0.0.1:1)"
    let suite = try await said("conformance --backend ws://127.0.0.1:1")
    #expect(suite == ["koine conformance: " + expected, "code 69"])
    let recorder = try await said("record --to \(folder.file("x.webm")) --backend ws://127.0.0.1:1")
    #expect(recorder.first?.contains(expected) == true)
    #expect(recorder.last == "code 69")
    let nameless = try await said("conformance --backend ws://nobody.invalid:1")
    #expect(nameless.first?.contains("the name 'nobody.invalid' cannot be resolved") == true, "\(nameless)")
  }

  @Test func fileArgumentsAreCheckedBeforeStart() async throws {
    #expect(try await said("conformance --compare /no/trace").first == "Error: --compare: cannot read '/no/trace'")
    let picture = try await said("demo --snapshot \(folder.path)")
    #expect(picture == ["koine demo: cannot write '\(folder.path)': it is a folder", "code 73"])
    #expect(
      try await said("serve --configuration \(folder.path)").first
        == "Error: '\(folder.path)' is a folder, no file of settings")
    let cluster = try await said("serve --open --cluster 'rediss://:x@localhost?ca=/no/file'")
    #expect(cluster.first == "Error: cluster: ca: '/no/file' cannot be read")
    #expect(cluster.last == "code 64")
    let encoder = try await said("record --to \(folder.file("x.webm")) --video-encoder libx264")
    #expect(encoder.first?.contains("--video-encoder") == true)
    #expect(encoder.last == "code 64")
  }

  @Test func listenAddressWithoutHostIsRefused() async throws {
    let lines = try await said("serve --open --listen :8080")
    #expect(lines.first?.contains("0.0.0.0:8080 or [::]:8080") == true)
    #expect(lines.last == "code 64")
  }

  /// On SIGINT, the demo finishes its files.
  @Test func interruptedDemoFinishesItsRecordings() async throws {
    let built = URL(fileURLWithPath: Swift.CommandLine.arguments[0]).deletingLastPathComponent().path
    let script = """
      \(built)/koine demo --styles stage-strategy meeting-session --seconds 600 --record \(folder.path) >/dev/null 2>&1 & demo=$!
      timeout 60 sh -c 'until ls \(folder.path)/*/*.webm.part >/dev/null 2>&1; do sleep 0.1; done'
      kill -INT $demo; wait $demo; echo code $?; ls \(folder.path)/*
      """
    let text = try await KoineTestSupport.Command("bash", "-c", script).run()
    #expect(text.contains("code 0") && text.contains("Ana.webm") && !text.contains(".part"), "\(text)")
  }

  @Test func controlCharactersInNamesAreEscapedInReportRows() {
    var way = DirectionReport(receiver: "Ana", sender: "", video: nil, audio: nil, joinToFirstPicture: nil)
    way.sender = "Eve\n\u{1B}[2J"
    let rows = CallReport(seconds: 1, directions: [way]).table.split(separator: "\n")
    #expect(rows.count == 2)
    #expect(rows.last?.hasPrefix(#"Ana < Eve\u{a}\u{1b}[2J "#) == true)
  }
}
