import Dispatch
import Foundation
import Koine
import KoineServer
import KoineServerBackend
import KoineTestSupport
import Logging
import Testing

/// `koine rooms` as a program, at a server of this process or of its own.
@Suite(.timeLimit(.minutes(3))) struct RoomsTests {
  private let folder: Folder
  private var path: String { folder.file("c") }

  init() throws { folder = try Folder() }

  private static var built: String {
    URL(fileURLWithPath: Swift.CommandLine.arguments[0]).deletingLastPathComponent().path
  }

  /// The lines of both outputs, and the code.
  private func rooms(_ words: String, environment: [String: String?] = [:]) async throws -> [String] {
    let text = try await KoineTestSupport.Command(
      ["sh", "-c", "\(Self.built)/koine rooms \(words) 2>&1; echo \"code $?\""], environment: environment
    ).run()
    return text.split(separator: "\n").map(String.init)
  }

  private func served(_ body: (Session) async throws -> Void) async throws {
    var configuration = ServerConfiguration(
      port: 0, access: .open, logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() })
    configuration.control = path
    let server = try await Server.start(configuration)
    let ana = try session("Ana", port: server.port)
    try ana.publish(microphone: Devices.microphone("tone"))
    try await ana.join()
    try await body(ana)
    await ana.leave()
    await server.stop()
  }

  private func session(_ name: String, port: Int) throws -> Session {
    let address = try #require(ServerAddress("ws://127.0.0.1:\(port)"))
    var request = JoinRequest(room: "tea", participantID: name.lowercased(), name: name)
    request.clientDescription = "Tea 1.2\n  eve"
    return Session(
      request,
      in: World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery"))))
  }

  @Test func roomsAreListedShownAndChanged() async throws {
    try await served { ana in
      let at = "--control \(path)"
      let events = ana.events()
      let list = try await rooms("list \(at)")
      #expect(list.first?.hasPrefix("tea  1 participants  0:00:") == true, "\(list)")
      #expect(try await rooms("list", environment: ["KOINE_SERVE_CONTROL": path]).last == "code 0")
      let json = try await rooms("list --json \(at)")
      #expect(json.first?.hasPrefix(#"{"ok":true,"rooms":[{"#) == true, "\(json)")
      var shown: [String] = []
      while !shown.contains(where: { $0.contains("    microphone ") }) { shown = try await rooms("show tea \(at)") }
      #expect(shown.contains { $0.hasPrefix("  ana  Ana  0:00:") }, "\(shown)")
      #expect(shown.contains { $0.hasPrefix("    app: Tea 1.2") && $0.hasSuffix("eve") }, "\(shown)")
      #expect(shown.contains("    may: admit camera data microphone moderate record screen screenSound subscribe"))

      #expect(try await rooms("mute tea ana \(at)") == ["code 0"])
      for await event in events { if case .streamMuted = event { break } }
      #expect(try await rooms("grant tea ana --deny camera --deny moderate \(at)") == ["code 0"])
      let fewer = "    may: admit data microphone record screen screenSound subscribe"
      #expect(try await rooms("show tea \(at)").contains(fewer))
      #expect(try await rooms("grant tea ana --allow camera \(at)") == ["code 0"])
      #expect(try await rooms("record tea \(at)").last == "code 1")
      #expect(try await rooms("remove tea ana --reason 'too loud' \(at)") == ["code 0"])
      for await event in events { if case .stateChanged(.ended(let reason)) = event { #expect(reason == .removed) } }
      #expect(try await rooms("list \(at)") == ["no rooms", "code 0"])
    }
  }

  @Test func failuresHaveTheirExitCodes() async throws {
    try await served { _ in
      let at = "--control \(path)"
      #expect(try await rooms("close cake \(at)") == ["koine rooms: there is no room “cake”", "code 66"])
      #expect(try await rooms("remove tea eve \(at)").last == "code 66")
      #expect(try await rooms("mute tea ana --track none \(at)").last == "code 66")
      let json = try await rooms("close cake --json \(at)")
      #expect(json.first?.hasPrefix(#"{"ok":false,"error":{"code":"noSuchRoom""#) == true, "\(json)")
      #expect(json.last == "code 66")
    }
    let gone = try await rooms("list --control \(path)")
    #expect(gone.first?.hasPrefix("koine rooms: no server takes commands at '\(path)'") == true, "\(gone)")
    #expect(gone.last == "code 69")
    #expect(try await rooms("list", environment: ["KOINE_SERVE_CONTROL": nil]).last == "code 64")
  }

  @Test(arguments: [
    "grant tea ana", "grant tea ana --allow fly", "grant tea ana --allow data --deny data", "mute tea",
    "mute tea ana --kind microphone --track m", "record tea --people 0", "record tea --kind livestream",
    "record tea --to rtmp://a", "record tea --wait -1", "list --reason ''", "list --control ''", "dance",
  ])
  func invalidArgumentsAreRefused(_ words: String) async throws {
    let lines = try await rooms(words, environment: ["KOINE_SERVE_CONTROL": path])
    #expect(lines.last == "code 64", "\(lines)")
  }

  /// Returns once the server has written frames to the file.
  private func untilWritten(_ file: URL) async throws {
    while (try? Data(contentsOf: file).count) ?? 0 <= 1_000 { try await Task.sleep(for: .milliseconds(50)) }
  }

  @Test func recordCommandStartsAndStopsRecordingOfServer() async throws {
    let (port, recordings) = (try Ports.free(), folder.file("recordings"))
    let script = """
      trap 'kill $server' TERM
      '\(Self.built)/koine' serve --open --listen 127.0.0.1:\(port) --recordings \(recordings) --control \(path) \
        --log-level error </dev/null & server=$!
      until test -S \(path); do kill -0 $server || exit 1; sleep 0.05; done
      echo $server; wait $server
      """
    try await KoineTestSupport.Command("sh", "-c", script).run(beside: { _ in
      let ana = try session("Ana", port: port)
      try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
      try await ana.join()
      let begun = try await rooms("record tea --control \(path) --wait 60")
      #expect(begun.first?.hasPrefix("tea-") == true && begun.first?.hasSuffix(".webm") == true, "\(begun)")
      #expect(begun.last == "code 0")
      #expect(try await rooms("record tea --control \(path)").last == "code 1", "it goes on")
      let shown = try await rooms("show tea --control \(path)")
      #expect(shown.contains { $0.hasPrefix("  koine.recording: started ") }, "\(shown)")
      let file = URL(fileURLWithPath: recordings).appendingPathComponent(begun.first ?? "")
      try await untilWritten(file.appendingPathExtension("part"))
      #expect(try await rooms("record tea --stop --control \(path) --wait 60") == ["code 0"])
      #expect(try await rooms("record tea --stop --control \(path)").last == "code 1")
      #expect((try? Data(contentsOf: file).count) ?? 0 > 1_000)
      await ana.leave()
    })
  }
}
