import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// Sessions, participants and events of stages.
@Suite struct IVSHistoryTests {
  private struct Session: Decodable {
    var sessionId: String
    var startTime: String
    var endTime: String?
  }
  private struct Sessions: Decodable {
    var stageSessions: [Session]
    var nextToken: String?
  }
  private struct Person: Decodable {
    var participantId: String
    var state: String
    var published: Bool
  }
  private struct People: Decodable {
    var participants: [Person]
    var nextToken: String?
  }
  private struct Exchanged: Decodable, Equatable {
    var capabilities: [String]
    var attributes: [String: String]
    var userId: String
    var expirationTime: String?
  }
  private struct Event: Decodable {
    var name: String
    var errorCode: String?
    var previousToken: Exchanged?
    var newToken: Exchanged?
  }
  private struct Events: Decodable {
    var events: [Event]
    var nextToken: String?
  }

  private func calls(_ change: (inout APISettings) -> Void = { _ in }) throws -> IVSCalls {
    var settings = APISettings()
    change(&settings)
    return IVSCalls(harness: try APIHarness(settings: settings))
  }

  private func session(_ stage: IVSCalls.Stage, _ ivs: IVSCalls) async throws -> String {
    let now: IVSCalls.Created = try await ivs.call("GetStage", #"{"arn":"\#(stage.arn)"}"#)
    return try #require(now.stage.activeSessionId)
  }

  private func sessions(_ stage: IVSCalls.Stage, _ ivs: IVSCalls, _ more: String = "") async throws -> Sessions {
    try await ivs.call("ListStageSessions", #"{"stageArn":"\#(stage.arn)"\#(more)}"#)
  }

  private func people(
    _ stage: IVSCalls.Stage, _ session: String, _ ivs: IVSCalls, _ more: String = ""
  ) async throws -> People {
    try await ivs.call("ListParticipants", #"{"stageArn":"\#(stage.arn)","sessionId":"\#(session)"\#(more)}"#)
  }

  private func events(
    _ stage: IVSCalls.Stage, _ session: String, _ id: String, _ ivs: IVSCalls, _ more: String = ""
  ) async throws -> Events {
    try await ivs.call(
      "ListParticipantEvents",
      #"{"stageArn":"\#(stage.arn)","sessionId":"\#(session)","participantId":"\#(id)"\#(more)}"#)
  }

  private func storedKeys(_ ivs: IVSCalls, _ prefix: String) async throws -> [String] {
    try await ivs.harness.store.list(prefix: prefix, after: nil, limit: 10_000).map(\.key)
  }

  @Test func sessionsBeyondTheLimitAreForgottenWithTheirParticipants() async throws {
    let ivs = try calls { $0.sessionsPerRoom = 3 }
    let stage = try await ivs.createStage().stage
    for _ in 0..<5 {
      await ivs.enter(stage.id, "ana1")
      await ivs.report(stage.id, "ana1", .left(.left))
    }
    let kept = try await sessions(stage, ivs).stageSessions
    #expect(kept.count == 3)
    #expect(kept.map(\.startTime) == kept.map(\.startTime).sorted(by: >))
    #expect(try await storedKeys(ivs, "ivs/visit/").count == 3)
  }

  @Test func historyIsForgottenAfterItsTime() async throws {
    let ivs = try calls { $0.historySeconds = 1_000 }
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    let first = try await session(stage, ivs)
    await ivs.report(stage.id, "ana1", .left(.left))
    ivs.harness.advance(seconds: 997)
    #expect(try await sessions(stage, ivs).stageSessions.map(\.sessionId) == [first])
    ivs.harness.advance(seconds: 2)
    #expect(try await sessions(stage, ivs).stageSessions.isEmpty)
    #expect(try await storedKeys(ivs, "ivs/visit/").isEmpty)
    #expect(try await storedKeys(ivs, "ivs/sessions/").isEmpty)
  }

  @Test func eventsBeyondTheLimitDropTheOldest() async throws {
    let ivs = try calls { $0.eventsPerParticipant = 4 }
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    for _ in 0..<3 {
      await ivs.report(stage.id, "ana1", .published(.camera, isOn: true))
      await ivs.report(stage.id, "ana1", .published(.camera, isOn: false))
    }
    let found = try await events(stage, try await session(stage, ivs), "ana1", ivs).events.map(\.name)
    #expect(found == ["PUBLISH_STOPPED", "PUBLISH_STARTED", "PUBLISH_STOPPED", "PUBLISH_STARTED"])
  }

  @Test func pagesOfEventsDoNotShiftWhenNewEventsCome() async throws {
    let ivs = try calls { $0.eventsPerParticipant = 6 }
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    for isOn in [true, false, true, false, true] {
      await ivs.report(stage.id, "ana1", .subscribed(to: "ben1", isOn: isOn))
    }
    let where_ = try await session(stage, ivs)
    let first = try await events(stage, where_, "ana1", ivs, #","maxResults":2"#)
    #expect(first.events.map(\.name) == ["SUBSCRIBE_STARTED", "SUBSCRIBE_STOPPED"])
    await ivs.report(stage.id, "ana1", .subscribed(to: "ben1", isOn: false))
    let token = try #require(first.nextToken)
    let second = try await events(stage, where_, "ana1", ivs, #","maxResults":2,"nextToken":"\#(token)""#)
    #expect(second.events.map(\.name) == ["SUBSCRIBE_STARTED", "SUBSCRIBE_STOPPED"])
    #expect(
      await ivs.error(
        "ListParticipantEvents",
        #"{"stageArn":"\#(stage.arn)","sessionId":"\#(where_)","participantId":"ana1","nextToken":"other"}"#)
        == "400 ValidationException")
  }

  @Test func participantsAndSessionsAreListedByPages() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    let ids = ["zoe", "ana", "mia", "ben", "cal"]
    for id in ids { await ivs.enter(stage.id, id) }
    let where_ = try await session(stage, ivs)
    var (found, token): ([String], String?) = ([], nil)
    repeat {
      let next = token.map { #","nextToken":"\#($0)""# } ?? ""
      let page = try await people(stage, where_, ivs, #","maxResults":2"# + next)
      found += page.participants.map(\.participantId)
      token = page.nextToken
    } while token != nil
    #expect(found == ids)
    for id in ids { await ivs.report(stage.id, id, .left(.left)) }
    await ivs.enter(stage.id, "ana")
    let newest = try await sessions(stage, ivs, #","maxResults":1"#)
    #expect(newest.stageSessions.map(\.endTime) == [nil])
    let oldest = try await sessions(
      stage, ivs, #","maxResults":1,"nextToken":"\#(try #require(newest.nextToken))""#)
    #expect(oldest.stageSessions.map(\.sessionId) == [where_])
    #expect(oldest.nextToken == nil)
  }

  @Test(arguments: [
    #","filterByUserId":"a","filterByState":"CONNECTED""#, #","filterByPublished":false,"filterByState":"CONNECTED""#,
    #","filterByRecordingState":"ACTIVE","filterByUserId":"a""#, #","filterByState":"GONE""#,
    #","filterByRecordingState":"NONE""#,
  ]) func twoFiltersAndUnknownStatesAreRefused(filters: String) async throws {
    let ivs = try calls()
    let arn = try await ivs.createStage().stage.arn
    #expect(
      await ivs.error("ListParticipants", #"{"stageArn":"\#(arn)","sessionId":"st-0123456789abc"\#(filters)}"#)
        == "400 ValidationException")
  }

  @Test func recordingStateFiltersLikeTheOthers() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    let where_ = try await session(stage, ivs)
    #expect(try await people(stage, where_, ivs, #","filterByRecordingState":"DISABLED""#).participants.count == 1)
    #expect(try await people(stage, where_, ivs, #","filterByRecordingState":"ACTIVE""#).participants.isEmpty)
  }

  @Test func participantThatComesBackStaysOneParticipant() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ben1")
    await ivs.enter(stage.id, "ana1")
    await ivs.report(stage.id, "ana1", .left(.left))
    let where_ = try await session(stage, ivs)
    #expect(try await people(stage, where_, ivs).participants.map(\.state) == ["CONNECTED", "DISCONNECTED"])
    await ivs.enter(stage.id, "ana1")
    #expect(try await people(stage, where_, ivs).participants.map(\.state) == ["CONNECTED", "CONNECTED"])
    #expect(try await events(stage, where_, "ana1", ivs).events.map(\.name) == ["JOINED", "LEFT", "JOINED"])
  }

  @Test func exchangedTokensAreRecordedAsTheyWere() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    var ana = Participant(id: "ana1", name: "Ana")
    (ana.externalUserID, ana.attributes) = ("ana", ["role": "guest"])
    await ivs.report(stage.id, "ana1", .joined(ana))
    var viewer = Grants()
    (viewer.publish, viewer.credentialExpiry) = ([], 1_700_000_000_000)
    var host = Grants()
    host.credentialExpiry = 1_700_003_600_000
    await ivs.report(
      stage.id, "ana1", .renewed(externalID: "ana", attributes: ["role": "host"], host, before: viewer))
    let entry = try #require(try await events(stage, try await session(stage, ivs), "ana1", ivs).events.first)
    #expect(entry.name == "TOKEN_EXCHANGED")
    #expect(
      entry.previousToken
        == Exchanged(
          capabilities: ["SUBSCRIBE"], attributes: ["role": "guest"], userId: "ana",
          expirationTime: "2023-11-14T22:13:20Z"))
    #expect(
      entry.newToken
        == Exchanged(
          capabilities: ["PUBLISH", "SUBSCRIBE"], attributes: ["role": "host"], userId: "ana",
          expirationTime: "2023-11-14T23:13:20Z"))
  }

  @Test func refusedJoinsHaveEventsAndAreNoParticipants() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    let where_ = try await session(stage, ivs)
    await ivs.report(stage.id, "eve1", .refused(Failure(.unauthorized, "revoked")))
    await ivs.report(stage.id, "eve1", .refused(Failure(.roomFull, "full")))
    let refused = try await events(stage, where_, "eve1", ivs).events
    #expect(refused.map(\.name) == ["JOIN_ERROR", "JOIN_ERROR"])
    #expect(refused.map(\.errorCode) == ["QUOTA_EXCEEDED", "INSUFFICIENT_CAPABILITIES"])
    #expect(try await people(stage, where_, ivs).participants.map(\.participantId) == ["ana1"])
    #expect(
      await ivs.error(
        "GetParticipant", #"{"stageArn":"\#(stage.arn)","sessionId":"\#(where_)","participantId":"eve1"}"#)
        == "404 ResourceNotFoundException")
  }

  @Test func refusedJoinsFillNeitherTheRegistryNorAnothersEvents() async throws {
    let ivs = try calls { $0.refusedPerSession = 5 }
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    let failure = Failure(.unauthorized, "no")
    for number in 0..<20 { await ivs.report(stage.id, "eve\(number)", .refused(failure)) }
    for _ in 0..<40 { await ivs.report(stage.id, "ana1", .refused(failure)) }
    for id in ["", "a/b", String(repeating: "x", count: 65)] { await ivs.report(stage.id, id, .refused(failure)) }
    #expect(try await storedKeys(ivs, "ivs/visit/").count == 6)
    let found = try await events(stage, try await session(stage, ivs), "ana1", ivs, #","maxResults":100"#).events
    #expect(found.count { $0.name == "JOIN_ERROR" } == 16)
    #expect(found.last?.name == "JOINED")
  }

  @Test func sessionOfAFormerProcessHasEndedWithItsLastEvent() async throws {
    let ivs = try calls()
    let stage = try await ivs.createStage().stage
    await ivs.enter(stage.id, "ana1")
    let last = ivs.harness.time.withLock { $0 }.iso8601
    await ivs.report(stage.id, "ana1", .published(.camera, isOn: true))
    let former = try await session(stage, ivs)
    ivs.harness.advance(seconds: 600)
    let store = ivs.harness.store
    let later = IVSCalls(harness: try APIHarness(store: { _ in store }))
    later.harness.time.withLock { [time = ivs.harness.time.withLock { $0 }] in $0 = time }
    try await later.harness.apis.load()
    #expect(try await sessions(stage, later).stageSessions.map(\.endTime) == [last])
    #expect(try await people(stage, former, later).participants.map(\.state) == ["DISCONNECTED"])
    await later.enter(stage.id, "ben1")
    #expect(try await sessions(stage, later).stageSessions.map(\.endTime) == [nil, last])
  }

  @Test func eventsOfOtherRoomsAreNotRecorded() async throws {
    let ivs = try calls()
    await ivs.enter("some-room", "ana1")
    #expect(try await storedKeys(ivs, "ivs/").isEmpty)
  }
}
