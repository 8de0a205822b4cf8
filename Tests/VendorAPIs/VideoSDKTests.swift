import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

@Suite struct VideoSDKTests {
  private struct Room: Decodable {
    var id: String
    var roomId: String
    var customRoomId: String?
    var disabled: Bool
  }
  private struct Page<Item: Decodable>: Decodable {
    struct Info: Decodable {
      var total: Int
      var lastPage: Int
    }
    var pageInfo: Info
    var data: [Item]
  }
  private struct Session: Decodable {
    struct Stay: Decodable {
      var start: String
      var end: String?
    }
    struct Visitor: Decodable {
      var participantId: String
      var timelog: [Stay]
    }
    var id: String
    var status: String
    var participants: [Visitor]
  }

  /// Of a token for the API only.
  private struct Claims: Encodable {
    var apikey: String
    var roles: [String]
    var exp: NumericDate
  }

  private let harness: APIHarness
  init() throws { harness = try APIHarness() }

  private static let secret = String(repeating: "s", count: 64)

  private func token(
    apiKey: String = "vsdk-key", secret: String = secret, roles: [VideoSDKToken.Role]? = nil, room: String? = nil,
    participant: String? = nil, expires: Double = 600
  ) throws -> String {
    let now = NumericDate(Double(harness.time.withLock { $0 }.seconds))
    return try VideoSDKToken(
      apiKey: apiKey, roomID: room, participantID: participant, roles: roles, issued: now, expires: now + expires
    ).signed(with: SigningKey(secret: Array(secret.utf8)))
  }

  private func call(
    _ method: String, _ target: String, _ body: String = "", token: String? = nil, type: String = "application/json"
  ) async throws -> APIResponse {
    let authorization = try token ?? self.token()
    return await harness.apis.answer(
      APIRequest(
        method: method, target: target,
        headers: [("Host", "127.0.0.1:8080"), ("Authorization", authorization), ("Content-Type", type)],
        body: Array(body.utf8)))
  }

  private func makeRoom(_ body: String = "") async throws -> Room {
    let answer = try await call("POST", "/v2/rooms", body)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.decoded()
  }

  @Test func tokenWithAndWithoutBearerIsBelieved() async throws {
    let now = NumericDate(Double(harness.time.withLock { $0 }.seconds))
    let claims = Claims(apikey: "vsdk-key", roles: ["crawler"], exp: now + 600)
    let good = try JSONWebToken.sign(claims, with: SigningKey(secret: Array(Self.secret.utf8))).text
    #expect(try await call("GET", "/v2/rooms", token: good).status == 200)
    #expect(try await call("GET", "/v2/rooms/", token: "Bearer " + good).status == 200)
  }

  @Test func wrongTokensAreRefused() async throws {
    let wrong = [
      try token(roles: [.rtc]),
      "", "nonsense", try token(secret: String(repeating: "x", count: 64)), try token(apiKey: "other"),
      try token(expires: -1),
    ]
    for token in wrong { #expect(try await call("GET", "/v2/rooms", token: token).status == 401, "\(token)") }
    let request = APIRequest(method: "GET", target: "/v2/rooms")
    #expect(await harness.apis.answer(request).status == 401)
  }

  private func happen(_ room: String, _ id: String, _ change: RoomEvent.Change) async {
    harness.apis.observe(RoomEvent(room: room, epoch: "e", participant: id, change))
    await harness.apis.settle()
    harness.advance(seconds: 1)
  }

  @Test func sessionHasTheTimesOfItsParticipants() async throws {
    let room = try await makeRoom().roomId
    for id in ["ana", "ben"] { await happen(room, id, .joined(Participant(id: id, name: id))) }
    await happen(room, "ana", .left(.left))
    await happen(room, "ana", .joined(Participant(id: "ana", name: "ana")))
    let list = try await call("GET", "/v2/sessions/?roomId=\(room)").decoded(Page<Session>.self)
    let session = try #require(list.data.first)
    #expect(list.pageInfo.total == 1)
    #expect(session.status == "ongoing")
    #expect(session.participants.map(\.participantId) == ["ana", "ben"])
    #expect(session.participants.map(\.timelog.count) == [2, 1])
    await happen(room, "ben", .left(.left))
    let active = try await call("GET", "/v2/sessions/\(session.id)/participants/active").decoded(Page<Session>.self)
    #expect(active.data.first?.participants.map(\.participantId) == ["ana"])
    #expect(
      try await call("POST", "/v2/sessions/participants/remove", #"{"participantId":"ana","roomId":"\#(room)"}"#)
        .status == 200)
    #expect(try await call("POST", "/v2/sessions/end", #"{"sessionId":"\#(session.id)"}"#).text.contains("ended"))
    #expect(
      harness.takeCommands().map(\.command) == [.remove("ana", room: room), .close(room: room)])
    await happen(room, "ana", .left(.roomClosedByService))
    #expect(try await call("GET", "/v2/sessions/\(session.id)").decoded(Session.self).status == "ended")
    #expect(try await call("POST", "/v2/sessions/end", #"{"roomId":"\#(room)"}"#).status == 404)
  }

  @Test func sessionEndsAtTheRoomsLimit() async throws {
    let room = try await makeRoom(#"{"autoCloseConfig":{"type":"session-end-and-deactivate","duration":1}}"#).roomId
    await happen(room, "ana", .joined(Participant(id: "ana", name: "ana")))
    await harness.apis.handleTimeout()
    #expect(harness.takeCommands().isEmpty)
    harness.advance(seconds: 60)
    await harness.apis.handleTimeout()
    #expect(harness.takeCommands().map(\.command) == [.close(room: room)])
    #expect(try await call("GET", "/v2/rooms/\(room)").decoded(Room.self).disabled)
  }

  @Test func recordingNeedsASession() async throws {
    let room = try await makeRoom().roomId
    #expect(try await call("POST", "/v2/recordings/start", #"{"roomId":"\#(room)"}"#).status == 400)
    await happen(room, "ana", .joined(Participant(id: "ana", name: "ana")))
    #expect(
      try await call("POST", "/v2/recordings/start", #"{"roomId":"\#(room)"}"#).text
        == #""Recording started successfully""#)
    #expect(
      try await call("POST", "/v2/recordings/end", #"{"roomId":"\#(room)"}"#).text
        == #""Recording stopped successfully""#)
    #expect(try await call("GET", "/v2/recordings?roomId=\(room)").text.contains(#""total":1"#))
    #expect(
      harness.takeCommands().map(\.command) == [
        .startRecording(RecordingOrder(.file), room: room), .stopRecording(.file, room: room),
      ])
  }

  @Test func roomsOfAnotherKeyAreNotThere() async throws {
    let room = try await makeRoom()
    let open = try APIHarness(access: .open) { _ in harness.store }
    let other = try VideoSDKToken(apiKey: "other", issued: NumericDate(0), expires: nil)
      .signed(with: SigningKey(secret: Array(Self.secret.utf8)))
    let request = APIRequest(
      method: "GET", target: "/v2/rooms/\(room.roomId)", headers: [("Authorization", other)])
    #expect(await open.apis.answer(request).status == 404)
  }
}
