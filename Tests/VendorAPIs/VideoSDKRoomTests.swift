import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Rooms of VideoSDK's API, and the joins that they admit.
@Suite struct VideoSDKRoomTests {
  private typealias Room = VideoSDKCalls.Room

  private let calls: VideoSDKCalls
  init() throws { calls = try VideoSDKCalls() }

  @Test func roomIsCreatedFromJSONFormAndNothing() async throws {
    #expect(try await calls.makeRoom().roomId.split(separator: "-").map(\.count) == [4, 4, 4])
    let json = try await calls.makeRoom(#"{"customRoomId":"standup"}"#)
    #expect(json.customRoomId == "standup")
    let form = try await calls.send(
      "POST", "/v2/rooms", "customRoomId=standup&x=y+z", type: "application/x-www-form-urlencoded")
    #expect(try form.decoded(Room.self).roomId == json.roomId)
    #expect(try await calls.call("GET", "/v2/rooms/validate/standup", as: Room.self).roomId == json.roomId)
    #expect(try await calls.call("GET", "/v2/rooms/\(json.roomId)", as: Room.self).id == json.id)
    #expect(try await calls.send("GET", "/v2/rooms/validate/none").status == 400)
    #expect(try await calls.send("GET", "/v2/rooms/none").status == 404)
  }

  @Test func tokenOfTheBackEndAdmitsByBothNamesOfTheRoom() async throws {
    let room = try await calls.makeRoom(#"{"customRoomId":"standup"}"#)
    for name in [room.roomId, "standup"] {
      let own = try calls.token(room: name, participant: "ana")
      for asked in [room.roomId, "standup"] {
        let entered = try calls.enter(own, room: asked).get()
        #expect(entered.room == room.roomId)
        #expect(entered.grants.participantID == "ana")
      }
      #expect(calls.refusal(own, room: "other") == .forbidden)
    }
    let foreign = try calls.token(of: .init(apiKey: "unknown", secret: VideoSDKCalls.Key.first.secret))
    #expect(calls.refusal(foreign, room: room.roomId) == .unauthorized)
  }

  @Test func equalCustomIDsOfTwoKeysAreTwoRooms() async throws {
    let one = try await calls.makeRoom(#"{"customRoomId":"standup"}"#)
    let two = try await calls.makeRoom(#"{"customRoomId":"standup"}"#, by: .second)
    #expect(one.roomId != two.roomId)
    for (key, own, others) in [(VideoSDKCalls.Key.first, one, two), (.second, two, one)] {
      let token = try calls.token(of: key)
      #expect(try calls.enter(token, room: "standup").get().room == own.roomId)
      #expect(calls.refusal(token, room: others.roomId) == .forbidden)
      #expect(try await calls.call("GET", "/v2/rooms/standup", by: key, as: Room.self) == own)
      #expect(try await calls.send("GET", "/v2/rooms/\(others.roomId)", by: key).status == 404)
      #expect(
        try await calls.send("POST", "/v2/rooms/deactivate", #"{"roomId":"\#(others.roomId)"}"#, by: key).status
          == 402)
    }
    #expect(calls.harness.takeCommands().isEmpty)
  }

  @Test func customIDThatIsAnotherKeysRoomIDLeadsToTheOwnRoom() async throws {
    let foreign = try await calls.makeRoom(by: .second)
    let own = try await calls.makeRoom(#"{"customRoomId":"\#(foreign.roomId)"}"#)
    #expect(try calls.enter(calls.token(), room: foreign.roomId).get().room == own.roomId)
    #expect(try calls.enter(calls.token(of: .second), room: foreign.roomId).get().room == foreign.roomId)
    #expect(try await calls.call("GET", "/v2/rooms/\(foreign.roomId)", as: Room.self) == own)
    #expect(try await calls.call("GET", "/v2/rooms/\(foreign.roomId)", by: .second, as: Room.self) == foreign)
    // And one that is an own room's: the room's id comes first, at the door as at the API.
    let twin = try await calls.makeRoom(#"{"customRoomId":"\#(own.roomId)"}"#)
    #expect(twin.roomId != own.roomId)
    #expect(try calls.enter(calls.token(), room: own.roomId).get().room == own.roomId)
    #expect(try await calls.call("GET", "/v2/rooms/\(own.roomId)", as: Room.self) == own)
  }

  @Test func roomThatNoBackEndHasMadeBelongsToTheKeyWhoseParticipantsAreInIt() async throws {
    let (one, two) = (try calls.token(), try calls.token(of: .second))
    #expect(try calls.enter(one, room: "tea").get().grants.issuer == "vsdk-key")
    #expect(calls.refusal(one, room: "tea", with: ["vsdk-key"]) == nil)
    #expect(calls.refusal(two, room: "tea", with: ["vsdk-key"]) == .forbidden)
    #expect(calls.refusal(two, room: "tea", with: []) == nil)
  }

  @Test func tokensOfTheServersOwnKeysEnterRoomsThatNoBackEndHasMade() async throws {
    _ = try await calls.makeRoom(#"{"customRoomId":"tea"}"#)
    let pair = try SigningKey(generating: .p384, id: "own")
    let token = try KoineToken(room: "tea", name: "Ana", issued: calls.now, expires: calls.now + 60).signed(with: pair)
    let join = Join(
      room: "tea", credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    let base = Authorization.tokens(trusting: .keys([try pair.verificationKey]))
    let grants = try calls.harness.apis.authorization(after: base).check(join).get()
    // The custom id is the API key's: other tokens mean a room of that name.
    #expect(grants.room == nil)
    #expect(grants.issuer == nil)
  }

  @Test func deactivatedRoomIsClosedAndRefuses() async throws {
    let room = try await calls.makeRoom()
    let answer = try await calls.send("POST", "/v2/rooms/deactivate", #"{"roomId":"\#(room.roomId)"}"#)
    #expect(try answer.decoded(Room.self).disabled)
    #expect(calls.harness.takeCommands().map(\.command) == [.close(room: room.roomId)])
    #expect(calls.refusal(try calls.token(room: room.roomId), room: room.roomId) == .ended)
  }

  @Test func parametersAreKeptAndReturned() async throws {
    let parameters = [
      #""webhook":{"endPoint":"https://a.example/b","events":["session-*"]}"#, #""geoFence":"eu001""#,
      #""autoCloseConfig":{"type":"session-ends","duration":60}"#, #""allowedParticipantIds":["ana","ben"]"#,
      #""autoStartConfig":{"recording":{"config":{"layout":{"gridSize":2}}}}"#, #""multiComposition":{"hls":true}"#,
    ]
    let body = "{\(parameters.joined(separator: ",")),\"later\":1}"
    let made = try await calls.makeRoom(body)
    #expect(made.webhook == .init(endPoint: "https://a.example/b", events: ["session-*"]))
    #expect(made.geoFence == "eu001")
    #expect(made.autoCloseConfig == .init(type: "session-ends", duration: 60))
    #expect(made.allowedParticipantIds == ["ana", "ben"])
    #expect(try await calls.call("GET", "/v2/rooms/\(made.roomId)", as: Room.self) == made)
    let text = try await calls.send("GET", "/v2/rooms/\(made.roomId)").text
    for parameter in parameters.suffix(2) { #expect(text.contains(parameter), "\(text)") }
    #expect(try await calls.makeRoom(#"{"region":"us002"}"#).geoFence == "us002")
  }

  @Test func onlyAllowedParticipantsEnter() async throws {
    let room = try await calls.makeRoom(#"{"allowedParticipantIds":["ana"]}"#)
    #expect(calls.refusal(try calls.token(participant: "ana"), room: room.roomId) == nil)
    #expect(calls.refusal(try calls.token(participant: "ben"), room: room.roomId) == .forbidden)
  }

  @Test func pagesOfOtherSitesMayCall() async throws {
    let answer = await calls.harness.apis.answer(APIRequest(method: "OPTIONS", target: "/v2/rooms"))
    #expect(answer.status == 204)
    #expect(answer.header("Access-Control-Allow-Origin") == "*")
    #expect(calls.harness.apis.answersOtherSites(method: "POST", target: "/v2/rooms"))
    #expect(!calls.harness.apis.answersOtherSites(method: "POST", target: "/meetings"))
  }
}

extension VideoSDKCalls {
  /// `call` with the type of the answer at the end.
  func call<Answer: Decodable>(
    _ method: String, _ target: String, _ body: String = "", by key: Key = .first, as type: Answer.Type
  ) async throws -> Answer {
    try await call(method, target, body, by: key)
  }

  /// A character may have many bytes: limits of what is kept are those of its bytes.
  @Test func textsAreLimitedInBytes() async throws {
    let calls = try VideoSDKCalls()
    let family = "👨‍👩‍👧‍👦"
    #expect(family.count == 1 && family.utf8.count == 25)
    func status(_ member: String, _ text: String) async throws -> Int {
      try await calls.send("POST", "/v2/rooms", #"{"\#(member)":"\#(text)"}"#).status
    }
    #expect(try await status("customRoomId", String(repeating: "é", count: 64)) == 200)
    #expect(try await status("customRoomId", String(repeating: "é", count: 65)) == 400)
    #expect(try await status("geoFence", String(repeating: family, count: 20)) == 200)
    #expect(try await status("geoFence", String(repeating: family, count: 21)) == 400)
  }
}
