import AmazonIVSBroadcast
import AzureCommunicationCalling
import Foundation
import KoineTestingAPIs
import Testing
import VideoSDKRTC

@MainActor @Suite(.serialized) struct VendorBackEndTests {
  private struct StageAnswer: Decodable { let token, stageArn: String }

  @Test(arguments: TestRoom.clocks) func disconnectedParticipantAndDeletedStageGiveTheirErrors(
    clock: TestRoom.Time
  ) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.stageBackEnd()
    let answer = try await room.outside { try await BackEnd.load(url, as: StageAnswer.self) }
    let stage = try #require(answer.stageArn.split(separator: "/").last.map(String.init))
    let bea = try await room.join("Bea", in: stage)
    let app = StageApp()
    try room.enter(as: "Ana") { try app.join(with: answer.token) }
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
    let ana = try #require(bea.session?.participants.first?.id)
    let disconnect = #"{"stageArn":"\#(answer.stageArn)","participantId":"\#(ana)","reason":"tea is over"}"#
    #expect(try await room.api(.ivs).send(.post("/DisconnectParticipant", disconnect)).status == 200)
    await room.until("Ana's app is disconnected", within: .seconds(1)) { app.states.last == .disconnected }
    #expect(app.errors.last?.code == 1026)
    #expect(!bea.isOut)

    let again = #"{"stageArn":"\#(answer.stageArn)","userId":"ana2"}"#
    let created = try await room.api(.ivs).send(.post("/CreateParticipantToken", again))
    let token = try created.string("participantToken", "token")
    let second = StageApp()
    try room.enter(as: "Ana") { try second.join(with: token) }
    await room.until("Ana is back") { second.states.last == .connected }
    let arn = #"{"arn":"\#(answer.stageArn)"}"#
    #expect(try await room.api(.ivs).send(.post("/DeleteStage", arn)).status == 200)
    await room.until("the stage is gone", within: .seconds(1)) { second.states.last == .disconnected }
    #expect(second.errors.last?.code == 1027)
  }

  private struct CallAnswer: Decodable {
    struct User: Decodable {
      struct Identity: Decodable { let id: String }
      struct Token: Decodable { let token: String }
      let identity: Identity
      let accessToken: Token
    }
    let user: User
    let roomId: String
    var token: String { user.accessToken.token }
    var userId: String { user.identity.id }
  }

  /// Adds users to the roster of a room, changes their roles, or removes them.
  private func change(_ id: String, to properties: String, in call: String, _ room: TestRoom) async throws {
    let target = "/rooms/\(call)/participants?api-version=2025-03-13"
    let body = #"{"participants":{"\#(id)":\#(properties)}}"#
    let changed = try await room.api(.azure).send(.patch(target, body, type: "application/merge-patch+json"))
    #expect(changed.status == 200, "\(changed.text)")
  }

  @Test(arguments: TestRoom.clocks) func roleChangesAndTheRosterEndsTheCall(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.callBackEnd()
    let answer = try await room.outside { try await BackEnd.load(url, as: CallAnswer.self) }
    let app = CallApp()
    try await room.enter(as: "Ana") {
      try await room.run { try await app.signIn(with: answer.token) }
      try await room.run { try await app.join(room: answer.roomId) }
    }
    let other = try await room.api(.azure).send(.post("/identities?api-version=2023-10-01")).string("identity", "id")
    try await change(other, to: #"{"role":"Attendee"}"#, in: answer.roomId, room)
    let bea = try await room.join("Bea", id: other, in: answer.roomId)
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }

    try await change(answer.userId, to: #"{"role":"Consumer"}"#, in: answer.roomId, room)
    let changed = room.now
    await room.until("Ana has stopped sending") { bea.session?.participants.allSatisfy { $0.tracks.isEmpty } == true }
    #expect(room.now - changed <= .seconds(1))
    #expect(app.call?.state == .connected)
    try await change(answer.userId, to: "null", in: answer.roomId, room)
    await room.until("Ana is out", within: .seconds(1)) { app.states.last == .disconnected }
    #expect(app.call?.callEndReason.subcode == 5000)
    #expect(!bea.isOut)
  }

  @Test(arguments: TestRoom.clocks) func deletedRoomEndsTheCallAndIsUnknown(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.callBackEnd()
    let answer = try await room.outside { try await BackEnd.load(url, as: CallAnswer.self) }
    let app = CallApp()
    try await room.enter(as: "Ana") {
      try await room.run { try await app.signIn(with: answer.token) }
      try await room.run { try await app.join(room: answer.roomId) }
    }
    await room.until("Ana is in") { app.states.last == .connected }
    #expect(try await room.api(.azure).send(.delete("/rooms/\(answer.roomId)?api-version=2025-03-13")).status == 204)
    await room.until("the call ends", within: .seconds(1)) { app.states.last == .disconnected }
    let first = app.call
    // The app's preview of the first call is still there, so this one has none.
    await #expect(throws: NSError.self) { try await room.run { try await app.join(room: answer.roomId) } }
    await room.until("Ana is refused") { app.call !== first && app.call?.state == .disconnected }
    #expect(app.call?.callEndReason.code == 404)
  }

  private struct ListenerAnswer: Decodable { let token, roomId: String }

  @Test(arguments: TestRoom.clocks) func removedParticipantAndEndedSessionGiveTheirReasons(
    clock: TestRoom.Time
  ) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.listenerBackEnd()
    let answer = try await room.outside { try await BackEnd.load(url, as: ListenerAnswer.self) }
    let bea = try await room.join("Bea", in: answer.roomId)
    VideoSDK.config(token: answer.token)
    func join(as id: String) -> ListenerApp {
      room.enter(as: "Ana") {
        let app = ListenerApp(meetingID: answer.roomId, participantID: id)
        app.join()
        return app
      }
    }
    let app = join(as: "ana")
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
    let remove = #"{"participantId":"ana","roomId":"\#(answer.roomId)"}"#
    #expect(try await room.api(.videoSDK).send(.post("/v2/sessions/participants/remove", remove)).status == 200)
    await room.until("Ana is out", within: .seconds(1)) { app.leaveReasons == [.removePeerApi] }
    #expect(!bea.isOut)
    let second = join(as: "ana")
    await room.until("Ana is back") { second.log.first == "joined" }
    let end = #"{"roomId":"\#(answer.roomId)"}"#
    #expect(try await room.api(.videoSDK).send(.post("/v2/sessions/end", end)).status == 200)
    await room.until("the session has ended", within: .seconds(1)) { second.leaveReasons == [.meetingEndApi] }
    await room.until("also for Bea") { bea.isOut }
  }

  /// A back end's closure may answer with the credential of a style instead of an API's answer.
  @Test func credentialOfTheRoomIsAnAnswer() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let url = try room.backEnd { [unowned room] request in
      .json(#"{"token":"\#(try room.credential(.stageStrategy, for: request.query("name") ?? "").token)"}"#)
    }
    struct Answer: Decodable { let token: String }
    let address = try #require(URL(string: url.absoluteString + "/token?name=Ana"))
    let answer = try await room.outside { try await BackEnd.load(address, as: Answer.self) }
    let app = StageApp()
    try room.enter(as: "Ana") { try app.join(with: answer.token) }
    let bea = try await room.join("Bea")
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
  }
}
