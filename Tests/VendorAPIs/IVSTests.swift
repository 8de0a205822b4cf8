import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

@Suite struct IVSTests {
  private struct Stage: Decodable {
    struct Endpoints: Decodable {
      var events: String
      var whip: String
    }
    var arn: String
    var name: String
    var activeSessionId: String?
    var tags: [String: String]
    var endpoints: Endpoints?
  }
  private struct Token: Decodable {
    var participantId: String
    var token: String
    var userId: String?
    var duration: Int
    var capabilities: [String]
    var expirationTime: String
  }
  private struct Created: Decodable {
    var stage: Stage
    var participantTokens: [Token]?
  }
  private struct Minted: Decodable { var participantToken: Token }
  private struct Stages: Decodable {
    var stages: [Stage]
    var nextToken: String?
  }
  private struct Session: Decodable {
    var sessionId: String
    var startTime: String
    var endTime: String?
  }
  private struct Sessions: Decodable { var stageSessions: [Session] }
  private struct Person: Decodable {
    var participantId: String
    var userId: String
    var state: String
    var published: Bool
  }
  private struct People: Decodable {
    var participants: [Person]
    var nextToken: String?
  }
  private struct Event: Decodable {
    var name: String
    var remoteParticipantId: String?
  }
  private struct Events: Decodable { var events: [Event] }
  private struct Key: Decodable {
    var arn: String
    var fingerprint: String?
  }
  private struct Imported: Decodable { var publicKey: Key }

  private let harness: APIHarness
  init() throws { harness = try APIHarness() }

  private func call(_ operation: String, _ body: String = "{}") async -> APIResponse {
    await harness.aws("POST", "/" + operation, body, service: "ivs", region: "us-east-1")
  }

  private func call<Answer: Decodable>(_ operation: String, _ body: String = "{}") async throws -> Answer {
    let answer = await call(operation, body)
    #expect(answer.status == 200, "\(operation): \(answer.text)")
    return try answer.decoded()
  }

  private func error(_ operation: String, _ body: String = "{}") async -> String? {
    await call(operation, body).header("x-amzn-ErrorType")
  }

  private func createStage(_ more: String = "") async throws -> Created {
    try await call("CreateStage", #"{"name":"tea"\#(more)}"#)
  }

  private func verdict(_ token: String, stage: String) -> Result<Grants, Failure> {
    let keys = Authorization.tokens(trusting: .keys(harness.apis.verificationKeys))
    let join = Join(
      room: stage, credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    return harness.apis.authorization(after: keys).check(join).flatMap { grants in
      switch harness.apis.rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: nil)) {
      case .admit(let grants), .wait(let grants): return .success(grants)
      case .refuse(let failure): return .failure(failure)
      }
    }
  }

  private func code(_ result: Result<Grants, Failure>) -> Failure.Code? {
    if case .failure(let failure) = result { failure.code } else { nil }
  }

  private func id(_ arn: String) -> String { String(arn.split(separator: "/").last ?? "") }

  @Test func stageIsCreatedWithTokensThatAdmit() async throws {
    let created = try await createStage(
      #","participantTokenConfigurations":[{"userId":"ana","attributes":{"name":"Ana"}},{"capabilities":["SUBSCRIBE"],"duration":60}]"#
    )
    let stage = created.stage
    #expect(stage.arn.hasPrefix("arn:aws:ivs:us-east-1:123456789012:stage/"))
    #expect(id(stage.arn).count == 12)
    #expect(stage.tags.isEmpty)
    #expect(stage.activeSessionId == nil)
    #expect(stage.endpoints?.events == "ws://127.0.0.1:8080/signaling")
    let tokens = try #require(created.participantTokens)
    #expect(tokens.map(\.duration) == [720, 60])
    #expect(tokens[1].expirationTime == harness.time.withLock { $0 }.adding(seconds: 3_600).iso8601Seconds)
    let ana = try verdict(tokens[0].token, stage: id(stage.arn)).get()
    #expect(ana.participantID == tokens[0].participantId)
    #expect(ana.externalID == "ana")
    #expect(ana.attributes == ["name": "Ana"])
    let viewer = try verdict(tokens[1].token, stage: id(stage.arn)).get()
    #expect(viewer.publish == [])
    #expect(viewer.canSubscribe)
    #expect(code(verdict(tokens[0].token, stage: "other")) == .forbidden)
    let claims = try JSONWebToken.uncheckedClaims(IVSStageToken.self, in: tokens[0].token)
    #expect(claims.version == "1.0")
    #expect(claims.resource == stage.arn)
  }

  @Test func deletedStageIsClosedAndItsTokensAreInvalid() async throws {
    let created = try await createStage(#","participantTokenConfigurations":[{}]"#)
    let (arn, token) = (created.stage.arn, try #require(created.participantTokens?.first?.token))
    #expect(await call("DeleteStage", #"{"arn":"\#(arn)"}"#).text == "{}")
    #expect(harness.takeCommands().map(\.command) == [.close(room: id(arn))])
    #expect(code(verdict(token, stage: id(arn))) == .unauthorized)
    #expect(await error("GetStage", #"{"arn":"\#(arn)"}"#) == "ResourceNotFoundException")
    #expect(await error("DeleteStage", #"{"arn":"\#(arn)"}"#) == "ResourceNotFoundException")
    #expect(await error("CreateParticipantToken", #"{"stageArn":"\#(arn)"}"#) == "ResourceNotFoundException")
  }

  @Test func disconnectedParticipantIsRemovedWithTheReasonAndRefused() async throws {
    let created = try await createStage(#","participantTokenConfigurations":[{}]"#)
    let (arn, token) = (created.stage.arn, try #require(created.participantTokens?.first))
    let body = #"{"stageArn":"\#(arn)","participantId":"\#(token.participantId)","reason":"bad words"}"#
    #expect(await call("DisconnectParticipant", body).status == 200)
    let request = try #require(harness.takeCommands().first)
    #expect(request.command == .remove(token.participantId, room: id(arn)))
    #expect(request.reason == "bad words")
    #expect(code(verdict(token.token, stage: id(arn))) == .unauthorized)
    #expect(await call("DisconnectParticipant", body).status == 200)
  }

  @Test func stagesAreListedByPages() async throws {
    var arns: [String] = []
    for _ in 0..<5 { arns.append(try await createStage().stage.arn) }
    let first: Stages = try await call("ListStages", #"{"maxResults":3}"#)
    #expect(first.stages.map(\.arn) == Array(arns[..<3]))
    let token = try #require(first.nextToken)
    let second: Stages = try await call("ListStages", #"{"maxResults":3,"nextToken":"\#(token)"}"#)
    #expect(second.stages.map(\.arn) == Array(arns[3...]))
    #expect(second.nextToken == nil)
    // A token of another list, as of another region, and one that no list has given.
    for (operation, region, token) in [
      ("ListStages", "eu-west-1", token), ("ListPublicKeys", "us-east-1", token),
      ("ListStages", "us-east-1", id(arns[0])), ("ListStages", "us-east-1", "other_0123456789abcdef"),
    ] {
      let answer = await harness.aws(
        "POST", "/" + operation, #"{"nextToken":"\#(token)"}"#, service: "ivs", region: region)
      #expect(
        answer.status == 400 && answer.header("x-amzn-ErrorType") == "ValidationException", "\(operation) \(token)")
    }
  }

  private func happen(_ stage: String, _ id: String, _ change: RoomEvent.Change) async {
    harness.apis.observe(RoomEvent(room: stage, epoch: "e", participant: id, change))
    await harness.apis.settle()
    harness.advance(seconds: 1)
  }

  @Test func historyHasSessionsParticipantsAndEvents() async throws {
    let arn = try await createStage().stage.arn
    let stage = id(arn)
    var ana = Participant(id: "ana1", name: "Ana")
    ana.externalUserID = "ana"
    await happen(stage, "ana1", .joined(ana))
    await happen(stage, "ana1", .published(.microphone, isOn: true))
    await happen(stage, "ana1", .published(.camera, isOn: true))
    await happen(stage, "ben1", .joined(Participant(id: "ben1", name: "Ben")))
    await happen(stage, "ana1", .subscribed(to: "ben1", isOn: true))
    let active: Created = try await call("GetStage", #"{"arn":"\#(arn)"}"#)
    let session = try #require(active.stage.activeSessionId)
    #expect(session.count == 16)
    func people(_ filter: String = "") async throws -> [String] {
      let found: People = try await call(
        "ListParticipants", #"{"stageArn":"\#(arn)","sessionId":"\#(session)"\#(filter)}"#)
      return found.participants.map(\.participantId)
    }
    #expect(try await people() == ["ana1", "ben1"])
    #expect(try await people(#","filterByUserId":"ana""#) == ["ana1"])
    #expect(try await people(#","filterByPublished":false"#) == ["ben1"])
    #expect(try await people(#","filterByState":"DISCONNECTED""#) == [])
    #expect(
      await error(
        "ListParticipants",
        #"{"stageArn":"\#(arn)","sessionId":"\#(session)","filterByState":"CONNECTED","filterByUserId":"x"}"#)
        == "ValidationException")
    await happen(stage, "ana1", .published(.camera, isOn: false))
    await happen(stage, "ana1", .published(.microphone, isOn: false))
    await happen(stage, "ana1", .left(.left))
    let events: Events = try await call(
      "ListParticipantEvents", #"{"stageArn":"\#(arn)","sessionId":"\#(session)","participantId":"ana1"}"#)
    #expect(
      events.events.map(\.name) == [
        "LEFT", "PUBLISH_STOPPED", "SUBSCRIBE_STARTED", "PUBLISH_STARTED", "JOINED",
      ])
    #expect(events.events[2].remoteParticipantId == "ben1")
    await happen(stage, "ben1", .left(.left))
    let ended: Sessions = try await call("ListStageSessions", #"{"stageArn":"\#(arn)"}"#)
    #expect(ended.stageSessions.map(\.sessionId) == [session])
    #expect(ended.stageSessions[0].endTime != nil)
    await happen(stage, "ana1", .joined(ana))
    let two: Sessions = try await call("ListStageSessions", #"{"stageArn":"\#(arn)"}"#)
    #expect(two.stageSessions.count == 2)
    #expect(two.stageSessions[0].endTime == nil)
    #expect(two.stageSessions[1].sessionId == session)
  }

  @Test func importedKeyAdmitsItsTokensUntilItIsDeleted() async throws {
    let arn = try await createStage().stage.arn
    let own = try SigningKey(generating: .p384)
    let privatePEM = try #require(try own.pem)
    let pem = try #require(try own.verificationKey.pem).replacing("\n", with: "\\n")
    let imported: Imported = try await call("ImportPublicKey", #"{"publicKeyMaterial":"\#(pem)","name":"k"}"#)
    #expect(imported.publicKey.fingerprint?.count == 47)
    #expect(await error("ImportPublicKey", #"{"publicKeyMaterial":"\#(pem)"}"#) == "ConflictException")
    let now = NumericDate.ofSystemClock()
    func token(_ resource: String, _ stage: String) throws -> String {
      try IVSStageToken(participantID: "self1", stage: stage, resource: resource, issued: now, expires: now + 600)
        .signed(with: try SigningKey(pem: privatePEM, id: imported.publicKey.arn))
    }
    #expect(try verdict(try token(arn, id(arn)), stage: id(arn)).get().participantID == "self1")
    #expect(
      code(verdict(try token(arn.replacing("us-east-1", with: "eu-west-1"), id(arn)), stage: id(arn))) == .unauthorized)
    #expect(await call("DeletePublicKey", #"{"arn":"\#(imported.publicKey.arn)"}"#).status == 200)
    #expect(code(verdict(try token(arn, id(arn)), stage: id(arn))) == .unauthorized)
    #expect(await error("GetPublicKey", #"{"arn":"\#(imported.publicKey.arn)"}"#) == "ResourceNotFoundException")
    let small = try #require(try SigningKey(generating: .p256).verificationKey.pem).replacing("\n", with: "\\n")
    #expect(await error("ImportPublicKey", #"{"publicKeyMaterial":"\#(small)"}"#) == "ValidationException")
  }

  @Test(arguments: [
    ("CreateStage", #"{"name":"a b"}"#), ("CreateStage", #"{"tags":{"aws:x":"y"}}"#), ("GetStage", "{}"),
    ("GetStage", #"{"arn":"nonsense"}"#), ("ListStages", #"{"maxResults":101}"#), ("ListStages", #"{"maxResults":0}"#),
    ("CreateParticipantToken", #"{"stageArn":"arn:aws:ivs:us-east-1:123456789012:stage/x","duration":20161}"#),
    ("CreateParticipantToken", #"{"stageArn":"arn:aws:ivs:us-east-1:123456789012:stage/x","capabilities":["ALL"]}"#),
    ("GetStageSession", #"{"stageArn":"arn:aws:ivs:us-east-1:123456789012:stage/x","sessionId":"st-1"}"#),
    ("ImportPublicKey", #"{"publicKeyMaterial":"nonsense"}"#),
  ]) func invalidRequestIsAValidationException(operation: String, body: String) async {
    let answer = await call(operation, body)
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "ValidationException")
    #expect(answer.text.contains("exceptionMessage"))
  }

  @Test func tagsOfStagesAreChangedByTheirEncodedARN() async throws {
    let arn = try await createStage(#","tags":{"team":"tea"}"#).stage.arn
    let path = "/tags/" + PercentEncoding.encode(arn)
    func tags(_ method: String, _ query: String = "", _ body: String = "") async -> APIResponse {
      await harness.aws(method, path + query, body, service: "ivs")
    }
    #expect(await tags("POST", "", #"{"tags":{"a":"1","b":"2"}}"#).text == "{}")
    #expect(await tags("DELETE", "?tagKeys=team&tagKeys=b&tagKeys=none").status == 200)
    #expect(await tags("GET").text == #"{"tags":{"a":"1"}}"#)
  }

  @Test(arguments: IVSAPI.notServed.union(IVSAPI.chat).sorted()) func operationThatIsNotServedIsNamed(name: String)
    async
  {
    let service = IVSAPI.chat.contains(name) ? "ivschat" : "ivs"
    #expect(harness.apis.owns(method: "POST", target: "/\(name)"))
    let answer = await harness.aws("POST", "/\(name)", "{}", service: service)
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "UnsupportedOperation")
    #expect(answer.text.contains(name))
    #expect(harness.log.withLock { $0.count } == 1)
  }

  @Test(arguments: ["GET", "POST", "DELETE"]) func tagsOfChatRoomsAreNotServed(method: String) async {
    let path = "/tags/arn%3Aaws%3Aivschat%3Aus-east-1%3A000000000000%3Aroom%2FabcdefghijkL"
    let answer = await harness.aws(method, path, method == "POST" ? "{}" : "", service: "ivschat")
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "UnsupportedOperation")
    #expect(await harness.aws(method, path, service: "ivs").status == 403)
  }

  @Test func deletedStageStaysDeletedInALaterProcess() async throws {
    let created = try await createStage(#","participantTokenConfigurations":[{}]"#)
    let (arn, token) = (created.stage.arn, try #require(created.participantTokens?.first?.token))
    _ = await call("DeleteStage", #"{"arn":"\#(arn)"}"#)
    let store = harness.store
    let later = VendorAPIs(
      .init(store: store, access: .open, keys: try .makeTemporary(), clock: { APITime(milliseconds: 0) }) { _ in
        .success(.done)
      })
    try await later.load()
    let join = Join(
      room: id(arn), credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    guard case .refuse = later.rules.policy.decide(.init(occasion: .join, join: join, grants: Grants(), room: nil))
    else {
      Issue.record("the stage admits")
      return
    }
  }
}
