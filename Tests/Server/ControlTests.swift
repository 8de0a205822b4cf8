import Dispatch
import Foundation
import Koine
import KoineRouter
import KoineServerBackend
import KoineTestSupport
import Testing

@testable import KoineServer

/// A running server's control socket, and participants of real sessions.
@Suite(.timeLimit(.minutes(2))) struct ControlTests {
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(UUID().uuidString).sock")
    .path

  private func serve() async throws -> (server: Server, world: World) {
    var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
    configuration.control = path
    let server = try await Server.start(configuration)
    let address = try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))
    return (server, World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "control"))))
  }

  /// Off the test's threads: the client blocks.
  private func perform(_ request: ControlRequest) async throws -> ControlAnswer {
    let path = path
    return try await withCheckedThrowingContinuation { done in
      DispatchQueue.global().async { done.resume(with: Result { try ControlClient(path).perform(request) }) }
    }
  }

  private func join(_ name: String, _ world: World) async throws -> Session {
    let session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
    try await session.join()
    return session
  }

  private func request(_ command: ControlRequest.Command, _ participant: String? = nil) -> ControlRequest {
    var request = ControlRequest(command)
    (request.room, request.participant, request.reason) = ("tea", participant, "a test")
    return request
  }

  private func wait(until condition: @escaping () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !condition() {
      try #require(ContinuousClock.now < deadline, "in time")
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test func participantsAreListedMutedLimitedAndRemoved() async throws {
    let (server, world) = try await serve()
    let (ana, ben) = (try await join("ana", world), try await join("ben", world))
    try ana.publish(camera: Devices.camera("stamp:ana,320x180@30"))
    try await wait { ben.participants.first?.tracks.isEmpty == false }
    let rooms = try #require(try await perform(ControlRequest(.list)).rooms)
    #expect(rooms.map(\.name) == ["tea"])
    #expect(rooms[0].members.map(\.participant.id) == ["ana", "ben"])
    let track = try #require(rooms[0].members[0].participant.tracks.first)

    var mute = request(.mute, "ana")
    mute.track = track.id.track
    #expect(try await perform(mute).failure == nil)
    try await wait { ben.participants.first?.tracks.first?.isMuted == true }

    var grant = request(.grant, "ana")
    grant.grants = GrantChanges()
    grant.grants?.publish = []
    #expect(try await perform(grant).failure == nil)
    try await wait { ben.participants.first?.tracks.isEmpty == true }

    #expect(try await perform(request(.remove, "ana")).failure == nil)
    try await wait { ana.state == .ended(.removed) && ben.participants.isEmpty }
    #expect(try await perform(request(.remove, "ana")).failure?.code == .unknownParticipant)
    #expect(try await perform(request(.close)).failure == nil)
    try await wait { ben.state == .ended(.roomClosed) }
    #expect(try await perform(request(.close)).failure?.code == .unknownRoom)
    #expect(try await perform(request(.record)).failure?.code == .unknownRoom)
    await server.stop()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func onlyTheServersUserMayConnect() async throws {
    let (server, _) = try await serve()
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    await server.stop()
  }

  @Test func socketOfAServerThatIsGoneIsReplacedAndALiveOneIsNot() async throws {
    let (server, _) = try await serve()
    await #expect(throws: ServerError.self) { _ = try await serve() }
    #expect(try await perform(ControlRequest(.list)).rooms == [])
    await server.stop()
    // A socket file that no process listens on.
    let stale = try stalledSocket(path)
    close(stale)
    let (again, _) = try await serve()
    #expect(try await perform(ControlRequest(.list)).rooms == [])
    await again.stop()
  }

  private func stalledSocket(_ path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    return descriptor
  }

  @Test func fileThatIsNoSocketIsLeftAlone() async throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    await #expect(throws: ServerError.self) { _ = try await serve() }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  @Test(arguments: [
    "", "{}", "[]", #"{"command":"dance"}"#, #"{"command":"remove"}"#, #"{"command":"close","room":7}"#, "\u{0}",
  ])
  func lineThatIsNoCommandIsRefused(_ line: String) {
    let request = Array(line.utf8).withUnsafeBytes { bytes in Result { try ControlRequest(line: bytes) } }
    guard case .success(let request) = request else { return }
    #expect(throws: Failure.self) { _ = try request.roomCommand() }
  }
}
