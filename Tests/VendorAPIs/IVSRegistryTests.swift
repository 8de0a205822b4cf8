import KoineBase
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Stages over a registry that fails, that others write to, and that a later process reads.
@Suite struct IVSRegistryTests {
  private static let day: Int64 = 24 * 60 * 60
  private static let unavailable = "503 InternalServerException"

  /// A server over a registry that fails when a test says so.
  private func faulty() throws -> (ivs: IVSCalls, store: FaultyRegistry) {
    let harness = try APIHarness { FaultyRegistry(MemoryRegistry(clock: $0), seed: 1, failures: 0) }
    return (IVSCalls(harness: harness), try #require(harness.store as? FaultyRegistry))
  }

  private func sign(
    _ participant: String, _ stage: IVSCalls.Stage, with pair: SigningKey, seconds: Double = 600,
    hasTimeOfIssue: Bool = true
  ) throws -> String {
    let now = NumericDate.ofSystemClock()
    var claims = IVSStageToken(
      participantID: participant, stage: stage.id, resource: stage.arn, issued: now, expires: now + seconds)
    if !hasTimeOfIssue { claims.issued = nil }
    return try claims.signed(with: pair)
  }

  // MARK: Failures of the store

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedDeletionOfAStageClosesItsRoom(moment: FaultyRegistry.WriteFault) async throws {
    let (ivs, store) = try faulty()
    let created = try await ivs.createStage()
    let (stage, token) = (created.stage, try #require(created.participantTokens?.first).token)
    store.failNextWrite(moment, to: IVSStage.prefix)
    #expect(await ivs.error("DeleteStage", #"{"arn":"\#(stage.arn)"}"#) == Self.unavailable)
    #expect(ivs.harness.takeCommands().isEmpty)
    let answer = await ivs.send("DeleteStage", #"{"arn":"\#(stage.arn)"}"#)
    #expect(answer.status == (moment == .before ? 200 : 404))
    #expect(ivs.harness.takeCommands().map(\.command) == [.close(room: stage.id)])
    #expect(ivs.refusal(token, stage: stage.id) == .unauthorized)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedDisconnectRemovesTheParticipant(moment: FaultyRegistry.WriteFault) async throws {
    let (ivs, store) = try faulty()
    let created = try await ivs.createStage()
    let (stage, token) = (created.stage, try #require(created.participantTokens?.first))
    let body = #"{"stageArn":"\#(stage.arn)","participantId":"\#(token.participantId)"}"#
    store.failNextWrite(moment, to: IVSRevokedParticipant.prefix)
    #expect(await ivs.error("DisconnectParticipant", body) == Self.unavailable)
    #expect(ivs.harness.takeCommands().isEmpty)
    #expect(await ivs.send("DisconnectParticipant", body).status == 200)
    #expect(ivs.harness.takeCommands().map(\.command) == [.remove(token.participantId, room: stage.id)])
    #expect(ivs.refusal(token.token, stage: stage.id) == .unauthorized)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases, ["ivs/fingerprint/", IVSPublicKey.prefix])
  func repeatedImportIsCompleted(moment: FaultyRegistry.WriteFault, prefix: String) async throws {
    let (ivs, store) = try faulty()
    let stage = try await ivs.createStage().stage
    let pair = try SigningKey(generating: .p384)
    let body = #"{"publicKeyMaterial":"\#(try IVSCalls.material(of: pair))"}"#
    store.failNextWrite(moment, to: prefix)
    #expect(await ivs.error("ImportPublicKey", body) == Self.unavailable)
    let again = await ivs.send("ImportPublicKey", body)
    let isWritten = moment == .after && prefix == IVSPublicKey.prefix
    #expect(again.status == (isWritten ? 409 : 200))
    struct Keys: Decodable { var publicKeys: [IVSCalls.Key] }
    let keys: Keys = try await ivs.call("ListPublicKeys")
    #expect(keys.publicKeys.count == 1)
    let signer = try SigningKey(pem: try #require(try pair.pem), id: try #require(keys.publicKeys.first).arn)
    #expect(ivs.refusal(try sign("self1", stage, with: signer), stage: stage.id) == nil)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases, ["ivs/fingerprint/", IVSPublicKey.prefix])
  func repeatedDeletionOfAKeyIsCompleted(moment: FaultyRegistry.WriteFault, prefix: String) async throws {
    let (ivs, store) = try faulty()
    let stage = try await ivs.createStage().stage
    let (arn, pair) = try await ivs.importKey()
    store.failNextWrite(moment, to: prefix)
    #expect(await ivs.error("DeletePublicKey", #"{"arn":"\#(arn)"}"#) == Self.unavailable)
    let isDeleted = moment == .after && prefix == IVSPublicKey.prefix
    #expect(await ivs.send("DeletePublicKey", #"{"arn":"\#(arn)"}"#).status == (isDeleted ? 404 : 200))
    #expect(ivs.refusal(try sign("self1", stage, with: pair), stage: stage.id) != nil)
    let material = try IVSCalls.material(of: pair)
    #expect(await ivs.send("ImportPublicKey", #"{"publicKeyMaterial":"\#(material)"}"#).status == 200)
    #expect(await ivs.error("ImportPublicKey", #"{"publicKeyMaterial":"\#(material)"}"#) == "409 ConflictException")
  }

  @Test func lateRepetitionOfADeletionKeepsALaterImport() async throws {
    let (ivs, store) = try faulty()
    let (arn, pair) = try await ivs.importKey()
    store.failNextWrite(.before, to: IVSPublicKey.prefix)
    #expect(await ivs.error("DeletePublicKey", #"{"arn":"\#(arn)"}"#) == Self.unavailable)
    let body = #"{"publicKeyMaterial":"\#(try IVSCalls.material(of: pair))"}"#
    #expect(await ivs.send("ImportPublicKey", body).status == 200)
    #expect(await ivs.send("DeletePublicKey", #"{"arn":"\#(arn)"}"#).status == 200)
    #expect(await ivs.error("ImportPublicKey", body) == "409 ConflictException")
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases, ["ivs/sessions/", "ivs/visit/"])
  func eventIsRecordedOnceAlthoughItsWriteFails(moment: FaultyRegistry.WriteFault, prefix: String) async throws {
    let (ivs, store) = try faulty()
    let stage = try await ivs.createStage().stage
    store.failNextWrite(moment, to: prefix)
    await ivs.enter(stage.id, "ana1")
    store.failNextWrite(moment, to: "ivs/visit/")
    await ivs.report(stage.id, "ana1", .published(.camera, isOn: true))
    store.failNextWrite(moment, to: prefix)
    await ivs.report(stage.id, "ana1", .left(.left))
    let visits = try await store.list(prefix: "ivs/visit/", after: nil, limit: 10)
    let visit = try decodeEntity(IVSVisit.self, try #require(visits.first).value)
    #expect(visit.events.map(\.name) == ["JOINED", "PUBLISH_STARTED", "LEFT"])
    let sessions = try await store.list(prefix: "ivs/sessions/", after: nil, limit: 10)
    let list = try decodeEntity(RoomSessions.self, try #require(sessions.first).value).sessions
    #expect(list.count == 1)
    #expect(list.allSatisfy { $0.end != nil })
  }

  @Test func eventThatCannotBeWrittenIsLogged() async throws {
    let shared = MemoryRegistry(clock: { APITime(milliseconds: 0) })
    let failing = IVSCalls(harness: try APIHarness { _ in FaultyRegistry(shared, seed: 1, failures: 100) })
    let stage = try await IVSCalls(harness: try APIHarness { _ in shared }).createStage().stage
    #expect(await failing.error("GetStage", #"{"arn":"\#(stage.arn)"}"#) == Self.unavailable)
    await failing.enter(stage.id, "ana1")
    #expect(failing.harness.log.withLock { $0 }.contains { $0.contains("is not recorded") })
    #expect(failing.harness.log.withLock { $0 }.allSatisfy { !$0.contains("secret") })
  }

  // MARK: Two writers

  @Test func sameKeyImportedAtTheSameTimeIsOneKey() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let body = #"{"publicKeyMaterial":"\#(try IVSCalls.material(of: try SigningKey(generating: .p384)))"}"#
    let answers = await withTaskGroup(of: APIResponse.self) { group in
      for _ in 0..<8 { group.addTask { await ivs.send("ImportPublicKey", body) } }
      return await group.reduce(into: [APIResponse]()) { $0.append($1) }
    }
    #expect(answers.allSatisfy { [200, 409].contains($0.status) })
    let arns = try answers.filter { $0.status == 200 }.map { try $0.decoded(IVSCalls.Imported.self).publicKey.arn }
    #expect(Set(arns).count == 1)
  }

  @Test func tagsThatTwoServersAddAtTheSameTimeAreAllKept() async throws {
    let shared = MemoryRegistry(clock: { APITime(milliseconds: 0) })
    let servers = try (0..<2).map { number in
      try APIHarness(seed: UInt64(number)) { _ in FaultyRegistry(shared, seed: UInt64(number), failures: 0) }
    }
    let stage = try await IVSCalls(harness: servers[0]).createStage().stage
    let path = "/tags/" + PercentEncoding.encode(stage.arn)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        group.addTask {
          let answer = await servers[number % 2].aws("POST", path, #"{"tags":{"k\#(number)":"v"}}"#, service: "ivs")
          #expect(answer.status == 200)
        }
      }
    }
    struct Tags: Decodable { var tags: [String: String] }
    let tags = try await servers[0].aws("GET", path, service: "ivs").decoded(Tags.self).tags
    #expect(Set(tags.keys) == Set((0..<12).map { "k\($0)" }))
  }

  @Test func changesOfAnotherServerActHere() async throws {
    let shared = MemoryRegistry(clock: { APITime(milliseconds: 0) })
    let keys = try APITokenKeys.makeTemporary()
    let servers = try (0..<2).map { number in
      IVSCalls(harness: try APIHarness(keys: keys, seed: UInt64(number)) { _ in shared })
    }
    let created = try await servers[0].createStage()
    let (stage, token) = (created.stage, try #require(created.participantTokens?.first))
    let (arn, pair) = try await servers[0].importKey()
    let own = try sign("self1", stage, with: pair)
    for server in servers { #expect(server.refusal(own, stage: stage.id) == nil) }
    let body = #"{"stageArn":"\#(stage.arn)","participantId":"\#(token.participantId)"}"#
    #expect(await servers[1].send("DisconnectParticipant", body).status == 200)
    #expect(await servers[1].send("DeletePublicKey", #"{"arn":"\#(arn)"}"#).status == 200)
    for server in servers {
      #expect(server.refusal(token.token, stage: stage.id) == .unauthorized)
      #expect(server.refusal(own, stage: stage.id) != nil)
    }
  }

  // MARK: A later process

  @Test func disconnectedParticipantsAndKeysAreKnownAfterARestart() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let stage = try await ivs.createStage().stage
    let (_, pair) = try await ivs.importKey()
    let (deleted, other) = try await ivs.importKey()
    _ = await ivs.send("DeletePublicKey", #"{"arn":"\#(deleted)"}"#)
    _ = await ivs.send("DisconnectParticipant", #"{"stageArn":"\#(stage.arn)","participantId":"out1"}"#)
    let later = try await ivs.restarted()
    #expect(ivs.refusal(try sign("in1", stage, with: pair), stage: stage.id, by: later) == nil)
    #expect(ivs.refusal(try sign("out1", stage, with: pair), stage: stage.id, by: later) == .unauthorized)
    #expect(ivs.refusal(try sign("in1", stage, with: other), stage: stage.id, by: later) != nil)
  }

  @Test func tombstonesLiveLongerThanTheLongestToken() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let stages = [try await ivs.createStage().stage, try await ivs.createStage().stage]
    _ = await ivs.send("DeleteStage", #"{"arn":"\#(stages[0].arn)"}"#)
    let disconnect = #"{"stageArn":"\#(stages[1].arn)","participantId":"out1"}"#
    _ = await ivs.send("DisconnectParticipant", disconnect)
    func tombstones() async throws -> Int {
      let store = ivs.harness.store
      return try await store.list(prefix: IVSStage.key(stages[0].id), after: nil, limit: 2).count
        + store.list(prefix: IVSRevokedParticipant.prefix, after: nil, limit: 2).count
    }
    // A token is accepted for another minute after its end, and the clock may be set back by an hour.
    ivs.harness.advance(seconds: 14 * Self.day + 3_660)
    #expect(try await tombstones() == 2)
    _ = await ivs.send("DisconnectParticipant", disconnect)
    ivs.harness.advance(seconds: 14 * Self.day + 3_660)
    #expect(try await tombstones() == 1)
    ivs.harness.advance(seconds: 3_600)
    #expect(try await tombstones() == 0)
  }

  @Test func ruleOfADisconnectedParticipantEndsWithItsTombstone() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let stage = try await ivs.createStage().stage
    _ = await ivs.send("DisconnectParticipant", #"{"stageArn":"\#(stage.arn)","participantId":"out_1"}"#)
    let rules = ivs.harness.apis.rules
    #expect(rules.refusal(of: "out_1", room: stage.id) != nil)
    ivs.harness.advance(seconds: 15 * Self.day)
    await ivs.harness.apis.handleTimeout()
    #expect(rules.refusal(of: "out_1", room: stage.id) == nil)
  }

  // MARK: Tokens of imported keys

  @Test func selfSignedTokenIsValidForFourteenDaysAtMost() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let stage = try await ivs.createStage().stage
    let (_, pair) = try await ivs.importKey()
    let longest = Double(14 * Self.day)
    func refusal(_ token: String) -> Failure.Code? { ivs.refusal(token, stage: stage.id) }
    #expect(refusal(try sign("self1", stage, with: pair, seconds: longest)) == nil)
    #expect(refusal(try sign("self1", stage, with: pair, seconds: longest + 1)) == .unauthorized)
    #expect(refusal(try sign("self1", stage, with: pair, hasTimeOfIssue: false)) == .unauthorized)
  }

  @Test func importedKeySignsStageTokensOnly() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let stage = try await ivs.createStage().stage
    let (_, pair) = try await ivs.importKey()
    let now = NumericDate.ofSystemClock()
    let room = KoineToken(room: stage.id, participantID: "eve", issued: now, expires: now + 600)
    #expect(ivs.refusal(try room.signed(with: pair), stage: stage.id) == .unauthorized)
  }

  @Test func keysThatChangeAreReported() async throws {
    let ivs = IVSCalls(harness: try APIHarness())
    let count = Lock(0)
    ivs.harness.apis.whenKeysChange { count.withLock { $0 += 1 } }
    let (arn, _) = try await ivs.importKey()
    #expect(count.withLock { $0 } == 1)
    #expect(ivs.harness.apis.verificationKeys.contains { $0.id == arn })
    _ = await ivs.send("DeletePublicKey", #"{"arn":"\#(arn)"}"#)
    #expect(count.withLock { $0 } == 2)
    #expect(!ivs.harness.apis.verificationKeys.contains { $0.id == arn })
  }
}
