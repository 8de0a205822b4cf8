import Dispatch
import Foundation
import Koine
import KoineBackends
import KoineRouter
import KoineServerBackend
import KoineTestSupport
import Testing

@testable import KoineServer

/// Links of rooms, from HTTP and from the control socket, over a restart of the server.
@Suite(.timeLimit(.minutes(5))) struct LinkServerTests {
  private static let credentials =
    #"{"koine":[{"accessKeyId":"KOINEEXAMPLE","secretAccessKey":"a secret of Koine's own"}]}"#

  private static func start(_ folder: String) async throws -> Server {
    var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
    configuration.control = folder + "/control"
    configuration.backEndAPIs = BackEndAPIs(
      access: .credentials(json: Array(credentials.utf8)), registry: folder + "/registry.jsonl")
    return try await Server.start(configuration)
  }

  private static func curl(
    _ port: Int, _ body: String, secret: String, method: String = "POST"
  ) async throws -> String {
    try await Command([
      "curl", "-sS", "--request", method, "--max-time", "60", "--aws-sigv4", "aws:amz:local:koine", "--user",
      "KOINEEXAMPLE:\(secret)",
      "-H", "Content-Type: application/json", "--data", body, "http://127.0.0.1:\(port)/koine/v1/links",
    ]).run()
  }

  /// By the control socket, on a thread that may wait.
  private static func send(_ command: RoomCommand, at path: String) async throws -> RoomReply {
    try await withCheckedThrowingContinuation { done in
      DispatchQueue.global().async {
        done.resume(
          with: Result { try ControlClient(path: path, patience: 60).send(ControlRequest(command, by: "ana")) })
      }
    }
  }

  /// The names of the rooms while somebody is in the room `name`.
  private static func rooms(of server: Server, joining name: String) async throws -> [String] {
    let address = try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))
    let world = World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let session = Session(JoinRequest(room: name, name: "Ana"), in: world)
    try await session.join()
    guard
      case .rooms(let rooms) = try await server.execute(
        RoomRequest(.listRooms, by: CommandOrigin(.test, "test"))
      ).get()
    else { return [] }
    await session.leave()
    return rooms.map(\.name)
  }

  @Test func linksOfBothWaysSurviveARestart() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("koine-links-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let server = try await Self.start(folder)
    let secret = "a secret of Koine's own"
    let answer = try await Self.curl(server.port, #"{"rooms":["tea","stage"]}"#, secret: secret)
    #expect(answer == #"{"room":"tea","names":["tea","stage"]}"#)
    #expect(try await Self.curl(server.port, #"{"rooms":["tea","x"]}"#, secret: "wrong").contains("InvalidSignature"))
    #expect(try await Self.send(.link(["tea", "meeting"]), at: folder + "/control").ok)
    #expect(try await Self.rooms(of: server, joining: "stage") == ["tea"])
    await server.stop()
    let again = try await Self.start(folder)
    for name in ["stage", "meeting"] { #expect(try await Self.rooms(of: again, joining: name) == ["tea"]) }
    #expect(try await Self.rooms(of: again, joining: "x") == ["x"])
    let removed = try await Self.curl(again.port, #"{"rooms":["stage"]}"#, secret: secret, method: "DELETE")
    #expect(removed == #"{"names":["stage"]}"#)
    #expect(try await Self.rooms(of: again, joining: "stage") == ["stage"])
    await again.stop()
    let third = try await Self.start(folder)
    #expect(try await Self.rooms(of: third, joining: "stage") == ["stage"])
    #expect(try await Self.rooms(of: third, joining: "meeting") == ["tea"])
    #expect(try await Self.send(.unlink(["tea"]), at: folder + "/control").ok)
    #expect(try await Self.rooms(of: third, joining: "meeting") == ["meeting"])
    await third.stop()
    try FileManager.default.removeItem(atPath: folder)
  }
}
