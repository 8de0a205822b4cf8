import Dispatch
import Foundation
import Koine
import KoineServerBackend
import KoineTestSupport
import Testing

/// `koine cluster` as a program, at a Redis and at nodes of this test's own.
@Suite(.timeLimit(.minutes(3))) struct ClusterCommandTests {
  private struct Unexpected: Error, CustomStringConvertible { let description: String }

  private static var built: String {
    URL(fileURLWithPath: Swift.CommandLine.arguments[0]).deletingLastPathComponent().path
  }

  private let folder: Folder
  private let redis: Int

  init() throws { (folder, redis) = (try Folder(), try Ports.free()) }

  /// The lines of both outputs, and the code.
  private func cluster(_ words: String) async throws -> [String] {
    let text = try await KoineTestSupport.Command(
      ["sh", "-c", "\(Self.built)/koine cluster \(words) 2>&1; echo \"code $?\""],
      environment: ["KOINE_SERVE_CLUSTER": "redis://127.0.0.1:\(redis)"]
    ).run()
    return text.split(separator: "\n").map(String.init)
  }

  /// Repeats a command until its lines are as expected: the nodes are other processes.
  /// - Parameter expected: returns the result of the test's search; nil if the lines are not as expected yet.
  private func poll<Found>(_ words: String, _ expected: ([String]) -> Found?) async throws -> Found {
    for _ in 0..<300 {
      if let found = expected(try await cluster(words)) { return found }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Unexpected(description: "\(words): \(try await cluster(words))")
  }

  /// Waits for a line that begins with these words.
  private func line(_ start: String, of words: String) async throws -> String {
    try await poll(words) { lines in
      lines.map { $0.split(separator: " ").joined(separator: " ") }.first { $0.hasPrefix(start) }
    }
  }

  /// Nodes `n1` and `n2`, and `n3`, which homes no rooms and has keys, while the others are open.
  private func served(_ body: @Sendable (_ address: String) async throws -> Void) async throws {
    let ports = (try Ports.free(), try Ports.free(), try Ports.free())
    let (koine, keys) = ("'\(Self.built)/koine'", folder.file("keys.json"))
    func node(_ number: Int, _ port: Int, _ options: String) -> String {
      "\(koine) serve --listen 127.0.0.1:\(port) --node n\(number) --log-level notice \(options) "
        + "</dev/null 2>\(folder.file("n\(number).log")) & all=\"$all $!\""
    }
    let script = """
      redis-server --port \(redis) --bind 127.0.0.1 --dir \(folder.path) --save '' >/dev/null & all=$!
      \(koine) token keys \(keys) >/dev/null
      export KOINE_SERVE_CLUSTER=redis://127.0.0.1:\(redis)
      \(node(1, ports.0, "--open --public ws://127.0.0.1:\(ports.0)"))
      \(node(2, ports.1, "--open --public ws://127.0.0.1:\(ports.1)"))
      \(node(3, ports.2, "--keys \(keys)"))
      echo $all
      wait
      """
    try await KoineTestSupport.Command("sh", "-c", script).run(beside: { line in
      // The shell may be killed before it could end them.
      defer { for process in line.split(separator: " ").compactMap({ pid_t($0) }) { kill(process, SIGKILL) } }
      try await body("ws://127.0.0.1:\(ports.0)")
    })
  }

  private func session(at address: String) throws -> Session {
    let backend = ServerBackend(try #require(ServerAddress(address)))
    return Session(
      JoinRequest(room: "tea", participantID: "ana", name: "Ana"),
      in: World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery"))))
  }

  @Test func operatorSeesNodesAndRoomsAndMovesThem() async throws {
    try await served { address in
      #expect(try await line("n1 serving", of: "status").hasSuffix(address))
      _ = try await line("n2 serving", of: "status")
      #expect(try await line("n3 serving", of: "status").hasSuffix("homes no rooms"))
      #expect(
        try await line("Nodes", of: "status") == "Nodes with different --keys or --open: n1, n2 | n3")
      let ana = try session(at: address)
      try await ana.join()

      let first = try await line("n", of: "rooms")
      let home = String(first.prefix(2))
      let other = home == "n1" ? "n2" : "n1"
      #expect(first.hasPrefix("\(home) 1 ") && first.hasSuffix(" tea"), "\(first)")
      #expect(try await cluster("move cake") == ["koine cluster: there is no room 'cake'", "code 66"])
      #expect(try await cluster("move tea --wait 30") == ["the room is at \(other)", "code 0"])
      _ = try await line("\(other) 1 ", of: "rooms")
      #expect(try await cluster("drain \(other) --wait 30") == ["\(other) has no rooms and takes none", "code 0"])
      _ = try await line("\(home) 1 ", of: "rooms")
      let stuck = try await cluster("drain \(home) --wait 1")
      #expect(
        stuck.first?.contains("it drains; rooms left: 1, because no other node has capacity for them") == true,
        "\(stuck)")
      #expect(stuck.last == "code 69")
      #expect(try await cluster("serve \(home) --json --wait 30") == [#"{"done":true}"#, "code 0"])
      await ana.leave()
      try await poll("rooms") { lines in lines.count == 2 ? () : nil }  // the heading and the code

      let log = try String(contentsOfFile: folder.file("n3.log"), encoding: .utf8)
      for node in ["n1", "n2"] {
        let warning = "node=\(node) [KoineServer] another node has other keys"
        #expect(log.components(separatedBy: warning).count == 2, "\(log)")
      }

      // Redis loses the list, as by an operator's mistake: the nodes register again.
      #expect(try await KoineTestSupport.Command("redis-cli", "-p", "\(redis)", "del", "k:nodes").run().contains("1"))
      for node in ["n1", "n2", "n3"] { _ = try await line("\(node) ", of: "status") }
      #expect(try await cluster("move tea --wait 9223372036854775807").last == "code 64")
    }
  }

  @Test func missingLedgerAndMissingNodeHaveTheirExitCodes() async throws {
    let gone = try await cluster("status")
    #expect(gone.first?.hasPrefix("koine cluster: there is no way to the ledger") == true, "\(gone)")
    #expect(gone.last == "code 69")
    #expect(try await cluster("status --cluster http://a").last == "code 64")
  }
}
