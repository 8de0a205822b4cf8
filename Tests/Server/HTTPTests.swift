import Foundation
import FoundationNetworking
import Koine
import KoineServer
import KoineTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPTests {
  private func get(_ path: String, of rooms: ServedRooms, headers: [String: String] = [:]) async throws -> (Int, String)
  {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(rooms.server.port)\(path)")))
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await URLSession.shared.data(for: request)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
  }

  @Test func healthAndMetricsAreServed() async throws {
    let rooms = try await ServedRooms()
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: rooms.world())
    try await ana.join()
    #expect(try await get("/healthz", of: rooms) == (200, "ok\n"))
    let (status, page) = try await get("/metrics", of: rooms)
    #expect(status == 200)
    #expect(page.contains("\nkoine_rooms 1\n"))
    #expect(page.contains("\nkoine_participants 1\n"))
    #expect(page.contains("# TYPE koine_rooms gauge\n"))
    #expect(try await get("/nothing", of: rooms).0 == 404)
    #expect(try await get("/signaling", of: rooms).0 == 426)
    await ana.leave()
    await rooms.server.stop()
  }

  @Test func connectionBeyondTheLimitOfAnAddressIsRefused() async throws {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 2
    let rooms = try await ServedRooms(limits: limits)
    let (ana, ben, chris) = (session("Ana", rooms), session("Ben", rooms), session("Chris", rooms))
    try await ana.join()
    try await ben.join()
    await #expect(throws: Failure.self) { try await chris.join() }
    await ana.leave()
    await ben.leave()
    await rooms.server.stop()
  }

  /// RFC 6455, 5.1 and 5.2: unmasked, and with a bit that was not negotiated.
  @Test(arguments: ["81027b7d", "c182000000007b7d"]) func invalidFramesEndTheConnection(_ frame: String)
    async throws
  {
    let rooms = try await ServedRooms()
    let script = """
      import socket
      line = socket.create_connection(("127.0.0.1", \(rooms.server.port)))
      line.sendall(b"GET /signaling HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n"
                   b"Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
      heard = b""
      while b"\\r\\n\\r\\n" not in heard: heard += line.recv(1)
      line.sendall(bytes.fromhex("\(frame)"))
      print(line.recv(4).hex())
      """
    #expect(try await Command("python3", "-c", script).run() == "880203ea\n", "1002, a protocol error")
    await rooms.server.stop()
  }

  @Test func connectionWithTooManyMessagesIsClosed() async throws {
    var limits = ServerLimits()
    limits.messageBurst = 20
    limits.messagesPerSecond = 1
    let rooms = try await ServedRooms(limits: limits)
    let ana = session("Ana", rooms)
    let events = ana.events()
    try await ana.join()
    for number in 0..<50 { try ana.send(DataMessage(topic: "chat", payload: Array("\(number)".utf8))) }
    for await event in events {
      if case .stateChanged(.reconnecting) = event { break }
      if case .stateChanged(.ended) = event { break }
    }
    await ana.leave()
    await rooms.server.stop()
  }

  @Test func roomsBeyondTheLimitAreNotOpened() async throws {
    var limits = ServerLimits()
    limits.rooms = 1
    limits.participants = 2
    let rooms = try await ServedRooms(limits: limits)
    let people = ["Ana", "Ben", "Chris"].map { session($0, rooms) }
    try await people[0].join()
    try await people[1].join()
    await #expect(throws: Failure.self) { try await people[2].join() }
    let other = Session(JoinRequest(room: "coffee", name: "Dora"), in: rooms.world())
    await #expect(throws: Failure.self) { try await other.join() }
    for person in people { await person.leave() }
    await rooms.server.stop()
  }

  private func session(_ name: String, _ rooms: ServedRooms) -> Session {
    Session(JoinRequest(room: "tea", name: name), in: rooms.world())
  }
}
