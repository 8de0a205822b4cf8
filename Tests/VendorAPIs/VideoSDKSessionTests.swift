import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// Sessions of VideoSDK's rooms, and their participants.
@Suite struct VideoSDKSessionTests {
  private typealias Page = VideoSDKCalls.Page<VideoSDKCalls.Session>
  private typealias Session = VideoSDKCalls.Session

  private func seconds(_ session: Session, _ visitor: Int) -> [String] {
    session.participants[visitor].timelog.map { stay in
      "\(stay.start.dropFirst(17).prefix(2))-\(stay.end.map { String($0.dropFirst(17).prefix(2)) } ?? "")"
    }
  }

  /// At the beginning of a minute, so that a test can tell seconds by their two digits. It has passed, because the room server checks
  /// tokens by the machine's time.
  private func calls(_ change: (inout APISettings) -> Void = { _ in }) throws -> VideoSDKCalls {
    var settings = APISettings()
    change(&settings)
    let calls = try VideoSDKCalls(settings)
    calls.harness.time.withLock { $0 = APITime(milliseconds: ($0.milliseconds / 60_000 - 1) * 60_000) }
    return calls
  }

  @Test func timelogHasAllStaysOfAParticipant() async throws {
    let calls = try calls()
    let room = try await calls.makeRoom(#"{"customRoomId":"standup"}"#).roomId
    await calls.join(room, "ana", "ben")
    await calls.leave(room, "ana")
    await calls.join(room, "ana")
    let list = try await calls.sessions("/?roomId=\(room)")
    let session = try #require(list.data.first)
    #expect(list.pageInfo == .init(currentPage: 1, perPage: 20, lastPage: 1, total: 1))
    #expect(session.status == "ongoing")
    #expect(session.end == nil)
    #expect(session.customRoomId == "standup")
    #expect(session.participants.map(\.participantId) == ["ana", "ben"])
    #expect(session.participants.map(\.name) == ["ANA", "BEN"])
    #expect(seconds(session, 0) == ["00-02", "03-"])
    #expect(seconds(session, 1) == ["01-"])
    await calls.leave(room, "ben", "ana")
    let ended = try await calls.call("GET", "/v2/sessions/\(session.id)", as: Session.self)
    #expect(ended.status == "ended")
    #expect(seconds(ended, 0) == ["00-02", "03-05"])
    #expect(seconds(ended, 1) == ["01-04"])
    #expect(ended.end == ended.participants[0].timelog[1].end)
    #expect(try await calls.sessions("?customRoomId=standup").data.map(\.id) == [session.id])
  }

  @Test func participantsComeByPagesAndOneByOne() async throws {
    let calls = try calls()
    let room = try await calls.makeRoom().roomId
    let ids = ["zoe", "ana", "mia", "ben", "cal"]
    for id in ids { await calls.join(room, id) }
    await calls.leave(room, "ana")
    let id = try #require(try await calls.sessions().data.first).id
    var found: [String] = []
    for page in 1...3 {
      let answer = try await calls.call(
        "GET", "/v2/sessions/\(id)/participants?page=\(page)&perPage=2", as: Page.self)
      #expect(answer.pageInfo == .init(currentPage: page, perPage: 2, lastPage: 3, total: 5))
      found += answer.data[0].participants.map(\.participantId)
    }
    #expect(found == ids)
    let active = try await calls.call("GET", "/v2/sessions/\(id)/participants/active", as: Page.self)
    #expect(active.data[0].participants.map(\.participantId) == ["zoe", "mia", "ben", "cal"])
    let one = try await calls.call("GET", "/v2/sessions/\(id)/participants/ana", as: Session.self)
    #expect(one.participants.map(\.participantId) == ["ana"])
    #expect(try await calls.send("GET", "/v2/sessions/\(id)/participants/eve").status == 404)
  }

  @Test func sessionsAreFilteredAndComeNewestFirst() async throws {
    let calls = try calls()
    let (tea, coffee) = (try await calls.makeRoom().roomId, try await calls.makeRoom().roomId)
    for room in [tea, coffee, tea] {
      await calls.join(room, "ana")
      if room == tea { await calls.leave(room, "ana") }
    }
    let all = try await calls.sessions()
    #expect(all.data.map(\.roomId) == [tea, coffee, tea])
    #expect(try await calls.sessions("?status=ongoing").data.map(\.roomId) == [coffee])
    #expect(try await calls.sessions("?status=ended&roomId=\(tea)").pageInfo.total == 2)
    #expect(try await calls.sessions("?perPage=1&page=2").data.map(\.id) == [all.data[1].id])
    #expect(try await calls.sessions("?userId=other").data.isEmpty)
    let middle = try #require(APITime(iso8601: all.data[1].start)).milliseconds
    #expect(try await calls.sessions("?startDate=\(middle)").data.map(\.id) == all.data.prefix(2).map(\.id))
    #expect(try await calls.sessions("?endDate=\(middle)").data.map(\.id) == all.data.suffix(2).map(\.id))
    #expect(try await calls.sessions(by: .second).data.isEmpty)
    #expect(try await calls.send("GET", "/v2/sessions/\(all.data[0].id)", by: .second).status == 404)
  }

  @Test func sessionsOfRoomsThatNoBackEndHasMadeAreTheirKeys() async throws {
    let calls = try calls()
    for (key, id) in [("vsdk-key", "ana"), ("vsdk-other", "ben")] {
      for change: RoomEvent.Change in [.joined(Participant(id: id, name: id)), .left(.left)] {
        calls.harness.apis.observe(RoomEvent(room: "tea/1", epoch: "e", participant: id, issuer: key, change))
      }
    }
    await calls.join("coffee", "eve")  // with a token of the server's own
    let session = try #require(try await calls.sessions().data.first)
    #expect(session.roomId == "tea/1")
    #expect(session.participants.map(\.participantId) == ["ana"])
    #expect(
      try await calls.sessions("?roomId=tea%2F1", by: .second).data[0].participants.map(\.participantId) == ["ben"])
    #expect(try await calls.sessions().pageInfo.total == 1)
    #expect(try await calls.sessions(by: .second).pageInfo.total == 1)
  }

  @Test func endAndRemovalReachTheRoom() async throws {
    let calls = try calls()
    let room = try await calls.makeRoom(#"{"customRoomId":"standup"}"#).roomId
    await calls.join(room, "ana", "ben")
    let id = try #require(try await calls.sessions().data.first).id
    let bodies = [#""roomId":"\#(room)""#, #""roomId":"standup""#, #""sessionId":"\#(id)""#]
    for body in bodies {
      let answer = try await calls.send(
        "POST", "/v2/sessions/participants/remove", #"{"participantId":"ben",\#(body)}"#)
      #expect(answer.status == 200)
    }
    let commands = calls.harness.takeCommands()
    #expect(commands.map(\.command) == Array(repeating: .remove("ben", room: room), count: 3))
    #expect(Set(commands.map(\.origin)) == [CommandOrigin(.vendorAPI, "vsdk-key")])
    let ended = try await calls.call("POST", "/v2/sessions/end", #"{"sessionId":"\#(id)"}"#, as: Session.self)
    #expect(ended.status == "ended")
    #expect(ended.end != nil)
    #expect(calls.harness.takeCommands().map(\.command) == [.close(room: room)])
    await calls.leave(room, "ana", "ben")
    for body in bodies {
      #expect(try await calls.send("POST", "/v2/sessions/end", "{\(body)}").status == 404)
      #expect(
        try await calls.send("POST", "/v2/sessions/participants/remove", #"{"participantId":"ben",\#(body)}"#).status
          == 404)
    }
    #expect(calls.harness.takeCommands().isEmpty)
  }

  @Test func sessionEndsAtTheRoomsLimit() async throws {
    let calls = try calls()
    let room = try await calls.makeRoom(
      #"{"autoCloseConfig":{"type":"session-end-and-deactivate","duration":1}}"#)
    #expect(room.autoCloseConfig == .init(type: "session-end-and-deactivate", duration: 1))
    let other = try await calls.makeRoom(#"{"autoCloseConfig":{"type":"session-ends","duration":1}}"#).roomId
    await calls.join(room.roomId, "ana")
    await calls.join(other, "ben")
    await calls.harness.apis.handleTimeout()
    #expect(calls.harness.takeCommands().isEmpty)
    calls.harness.advance(seconds: 60)
    await calls.harness.apis.handleTimeout()
    #expect(Set(calls.harness.takeCommands().map(\.command)) == [.close(room: room.roomId), .close(room: other)])
    #expect(try await calls.call("GET", "/v2/rooms/\(room.roomId)", as: VideoSDKCalls.Room.self).disabled)
    #expect(calls.refusal(try calls.token(), room: room.roomId) == .ended)
    #expect(calls.refusal(try calls.token(), room: other) == nil)
  }

  // MARK: Bounds

  private func storedKeys(_ calls: VideoSDKCalls, _ prefix: String) async throws -> [String] {
    try await calls.harness.store.list(prefix: prefix, after: nil, limit: 10_000).map(\.key)
  }

  @Test func sessionsBeyondTheLimitAreForgottenWithTheirParticipants() async throws {
    let calls = try calls { $0.sessionsPerRoom = 3 }
    let room = try await calls.makeRoom().roomId
    for _ in 0..<5 {
      await calls.join(room, "ana")
      await calls.leave(room, "ana")
    }
    let kept = try await calls.sessions().data
    #expect(kept.count == 3)
    #expect(kept.map(\.start) == kept.map(\.start).sorted(by: >))
    #expect(try await storedKeys(calls, "videosdk/visit/").count == 3)
    #expect(try await storedKeys(calls, "videosdk/session/").count == 3)
  }

  private func happen(_ calls: VideoSDKCalls, _ room: String, _ id: String, _ change: RoomEvent.Change) async {
    calls.harness.apis.observe(RoomEvent(room: room, epoch: "e", participant: id, issuer: "vsdk-key", change))
    await calls.harness.apis.settle()
  }

  @Test func historyOfRoomsThatNoBackEndHasMadeIsBounded() async throws {
    let calls = try calls { ($0.unmadeRoomsPerKey, $0.unmadeVisitsPerKey) = (3, 30) }
    let made = try await calls.makeRoom().roomId
    func visit(_ room: String, _ id: String) async {
      await happen(calls, room, id, .joined(Participant(id: id, name: id)))
      await happen(calls, room, id, .left(.left))
    }
    for number in 0..<10 { await visit("room\(number)", "ana") }
    #expect(try await calls.sessions().data.map(\.roomId).sorted() == ["room0", "room1", "room2"])
    for number in 0..<100 { await visit("room0", "p\(number)") }
    #expect(try await calls.sessions("?roomId=room0").pageInfo.total == 10)
    #expect(try await storedKeys(calls, "videosdk/session/").count == 12)
    for number in 0..<100 { await visit("room1", "q\(number)") }
    await happen(calls, "room2", "keeper", .joined(Participant(id: "keeper", name: "")))
    for number in 0..<100 { await visit("room2", "r\(number)") }
    #expect(try await storedKeys(calls, "videosdk/visit/").count == 30)
    for number in 0..<40 { await visit(made, "p\(number)") }
    #expect(try await storedKeys(calls, "videosdk/visit/").count == 70, "rooms of the back end are not counted")
    calls.harness.advance(seconds: 7 * 24 * 60 * 60)
    await calls.harness.apis.handleTimeout()
    await visit("another", "ana")
    #expect(try await calls.sessions("?roomId=another").pageInfo.total == 1, "there is space again")
    #expect(try await calls.sessions("?roomId=room0").pageInfo.total == 0)
    #expect(try await calls.sessions("?roomId=\(made)").pageInfo.total == 40)
  }

  @Test func sessionWithoutHistoryIsEndedByTheBackEnd() async throws {
    let calls = try calls { $0.unmadeRoomsPerKey = 0 }
    await happen(calls, "tea", "ana", .joined(Participant(id: "ana", name: "")))
    #expect(try await calls.sessions().data.isEmpty)
    #expect(
      try await calls.send("POST", "/v2/sessions/participants/remove", #"{"roomId":"tea","participantId":"ana"}"#)
        .status == 200)
    let ended = try await calls.call("POST", "/v2/sessions/end", #"{"roomId":"tea"}"#, as: Session.self)
    #expect(ended.status == "ended" && ended.roomId == "tea")
    #expect(calls.harness.takeCommands().map(\.command) == [.remove("ana", room: "tea"), .close(room: "tea")])
    await happen(calls, "tea", "ana", .left(.roomClosedByService))
    #expect(try await storedKeys(calls, "videosdk/").isEmpty)
  }

  private static let day: Int64 = 24 * 60 * 60

  @Test func sessionThatLastsLongerThanItsHistoryIsEndedByTheBackEnd() async throws {
    let calls = try calls()
    await happen(calls, "tea", "ana", .joined(Participant(id: "ana", name: "Ana")))
    let id = try #require(try await calls.sessions("?roomId=tea").data.first).id
    calls.harness.advance(seconds: 8 * Self.day)
    await calls.harness.apis.handleTimeout()
    for target in [#""sessionId":"\#(id)""#, #""roomId":"tea""#] {
      let removal = try await calls.send(
        "POST", "/v2/sessions/participants/remove", #"{\#(target),"participantId":"ana"}"#)
      #expect(removal.status == 200, "\(target): \(removal.text)")
      let ended = try await calls.call("POST", "/v2/sessions/end", "{\(target)}", as: Session.self)
      #expect(ended.status == "ended" && ended.id == id && ended.roomId == "tea")
      #expect(calls.harness.takeCommands().map(\.command) == [.remove("ana", room: "tea"), .close(room: "tea")])
    }
    #expect(
      try await calls.send("POST", "/v2/sessions/end", #"{"sessionId":"\#(id)"}"#, by: .second).status == 404,
      "another API key's")
  }

  @Test func listedSessionsOfRoomsThatNoBackEndHasMadeHaveDetails() async throws {
    let calls = try calls()
    func visit(days: Int64) async {
      await happen(calls, "tea", "ana", .joined(Participant(id: "ana", name: "Ana")))
      calls.harness.advance(seconds: days * Self.day)
      await happen(calls, "tea", "ana", .left(.left))
    }
    func listed() async throws -> Int {
      let (all, room) = (try await calls.sessions().data, try await calls.sessions("?roomId=tea").data)
      #expect(all.map(\.id) == room.map(\.id))
      for session in all {
        #expect(session.participants.map(\.participantId) == ["ana"])
        #expect(try await calls.send("GET", "/v2/sessions/\(session.id)").status == 200)
      }
      return all.count
    }
    await visit(days: 1)
    calls.harness.advance(seconds: 3 * Self.day)
    await visit(days: 2)
    #expect(try await listed() == 2)
    calls.harness.advance(seconds: 2 * Self.day)
    await calls.harness.apis.handleTimeout()
    #expect(try await listed() == 1, "the first has ended 7 days ago")
    calls.harness.advance(seconds: 4 * Self.day)
    await calls.harness.apis.handleTimeout()
    #expect(try await listed() == 1, "the second has begun 8 days ago, and ended 6 days ago")
  }

  @Test func sessionsBeforeABackEndMadeTheirRoomKeepTheirParticipantsInLists() async throws {
    let calls = try calls()
    await happen(calls, "tea", "ana", .joined(Participant(id: "ana", name: "Ana")))
    await happen(calls, "tea", "ana", .left(.left))
    let now = calls.harness.time.withLock { $0 }
    let room = VideoSDKRoom(id: "1", roomID: "tea", apiKey: "vsdk-key", created: now, updated: now)
    _ = try await Registry(store: calls.harness.store).create(room.key, room)
    #expect(try await calls.sessions().data.map { $0.participants.map(\.participantId) } == [["ana"]])
  }

  @Test func lackOfSpaceForHistoryIsLoggedOnceAnHour() async throws {
    let calls = try calls { $0.unmadeRoomsPerKey = 1 }
    func lines() -> Int { calls.harness.log.withLock { $0.count { $0.contains("is not kept") } } }
    for number in 0..<20 {
      await happen(calls, "room\(number)", "ana", .joined(Participant(id: "ana", name: "Ana")))
      await happen(calls, "room\(number)", "ana", .left(.left))
    }
    #expect(lines() == 1)
    calls.harness.advance(seconds: 3_600)
    await happen(calls, "another", "ana", .joined(Participant(id: "ana", name: "Ana")))
    #expect(lines() == 2)
  }

  @Test func staysBeyondTheLimitDropTheOldest() async throws {
    let calls = try calls { $0.eventsPerParticipant = 2 }
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ben")
    for _ in 0..<4 {
      await calls.join(room, "ana")
      await calls.leave(room, "ana")
    }
    let session = try #require(try await calls.sessions().data.first)
    #expect(seconds(session, 1) == ["05-06", "07-08"])
  }

  @Test func historyIsForgottenAfterItsTime() async throws {
    let calls = try calls { $0.historySeconds = 1_000 }
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    await calls.leave(room, "ana")
    calls.harness.advance(seconds: 997)
    #expect(try await calls.sessions().data.count == 1)
    calls.harness.advance(seconds: 3)
    #expect(try await calls.sessions().data.isEmpty)
    for kind in ["visit", "session", "sessions"] {
      #expect(try await storedKeys(calls, "videosdk/\(kind)/").isEmpty)
    }
  }

  @Test func sessionOfAFormerProcessHasEndedWithItsLastEvent() async throws {
    let calls = try calls()
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana", "ben")
    await calls.leave(room, "ben")
    let id = try #require(try await calls.sessions().data.first).id
    calls.harness.advance(seconds: 600)
    let later = try VideoSDKCalls(store: calls.harness.store)
    later.harness.time.withLock { [time = calls.harness.time.withLock { $0 }] in $0 = time }
    try await later.harness.apis.load()
    let session = try await later.call("GET", "/v2/sessions/\(id)", as: Session.self)
    #expect(session.status == "ended")
    #expect(session.end?.dropFirst(17).prefix(2) == "02")
    #expect(seconds(session, 0) == ["00-02"])
    #expect(try await later.call("GET", "/v2/sessions/\(id)/participants/active", as: Page.self).pageInfo.total == 0)
    #expect(try await later.send("POST", "/v2/sessions/end", #"{"sessionId":"\#(id)"}"#).status == 404)
    await later.join(room, "cal")
    #expect(try await later.sessions().data.map(\.status) == ["ongoing", "ended"])
  }

  @Test(arguments: 1...10) func historyIsCompleteOverAStoreThatLosesAnswers(seed: UInt64) async throws {
    let clock = Lock(APITime(milliseconds: 0))
    let calls = try VideoSDKCalls(
      store: FaultyRegistry(MemoryRegistry(clock: { clock.withLock { $0 } }), seed: seed, failures: 4))
    func stubborn(_ method: String, _ target: String) async throws -> APIResponse {
      for _ in 0..<200 {
        let answer = try await calls.send(method, target)
        if answer.status != 503 { return answer }
      }
      return APIResponse(status: 503)
    }
    let room = try await stubborn("POST", "/v2/rooms").decoded(VideoSDKCalls.Room.self).roomId
    await calls.join(room, "ana", "ben")
    await calls.leave(room, "ana")
    await calls.join(room, "ana")
    await calls.leave(room, "ana", "ben")
    let sessions = try await stubborn("GET", "/v2/sessions?roomId=\(room)").decoded(Page.self).data
    #expect(sessions.map(\.status) == ["ended"])
    #expect(sessions.first?.participants.map(\.participantId) == ["ana", "ben"])
    #expect(sessions.first?.participants.map(\.timelog.count) == [2, 1])
  }
}
