import KoineBase
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Limits of requests to Amazon IVS RealTime: each value at its limit is accepted, and the next one is refused.
@Suite struct IVSLimitTests {
  private let ivs: IVSCalls
  init() throws { ivs = IVSCalls(harness: try APIHarness()) }

  private static func text(_ count: Int, _ character: Character = "a") -> String {
    String(repeating: character, count: count)
  }

  private static func tags(_ count: Int) -> String {
    "{" + (0..<count).map { #""k\#($0)":"v""# }.joined(separator: ",") + "}"
  }

  private static func tokens(_ count: Int) -> String {
    "[" + Array(repeating: "{}", count: count).joined(separator: ",") + "]"
  }

  private static func recording(_ members: String) -> String {
    #"{"autoParticipantRecordingConfiguration":{"storageConfigurationArn":""\#(members)}}"#
  }

  private static let validation = "400 ValidationException"

  @Test(arguments: [
    (#"{"name":"\#(text(128))"}"#, #"{"name":"\#(text(129))"}"#),
    (#"{"name":"aZ09-_"}"#, #"{"name":"a.b"}"#),
    (#"{"tags":\#(tags(50))}"#, #"{"tags":\#(tags(51))}"#),
    (#"{"tags":{"\#(text(128))":""}}"#, #"{"tags":{"\#(text(129))":""}}"#),
    (#"{"tags":{"a":""}}"#, #"{"tags":{"":"a"}}"#),
    (#"{"tags":{"a":"\#(text(256))"}}"#, #"{"tags":{"a":"\#(text(257))"}}"#),
    (#"{"participantTokenConfigurations":\#(tokens(12))}"#, #"{"participantTokenConfigurations":\#(tokens(13))}"#),
    (recording(""), #"{"autoParticipantRecordingConfiguration":{}}"#),
    (
      #"{"autoParticipantRecordingConfiguration":{"storageConfigurationArn":"arn:aws:ivs:us-east-1:1:storage-configuration/a"}}"#,
      #"{"autoParticipantRecordingConfiguration":{"storageConfigurationArn":"arn:aws:ivs:us-east-1:1:stage/a"}}"#
    ),
    (recording(#","mediaTypes":["AUDIO_ONLY"]"#), recording(#","mediaTypes":["AUDIO_ONLY","NONE"]"#)),
    (recording(#","recordingReconnectWindowSeconds":300"#), recording(#","recordingReconnectWindowSeconds":301"#)),
    (recording(#","recordingReconnectWindowSeconds":0"#), recording(#","recordingReconnectWindowSeconds":-1"#)),
    (
      recording(#","hlsConfiguration":{"targetSegmentDurationSeconds":2}"#),
      recording(#","hlsConfiguration":{"targetSegmentDurationSeconds":1}"#)
    ),
    (
      recording(#","hlsConfiguration":{"targetSegmentDurationSeconds":10}"#),
      recording(#","hlsConfiguration":{"targetSegmentDurationSeconds":11}"#)
    ),
    (
      recording(#","thumbnailConfiguration":{"targetIntervalSeconds":86400}"#),
      recording(#","thumbnailConfiguration":{"targetIntervalSeconds":86401}"#)
    ),
    (
      recording(#","thumbnailConfiguration":{"storage":["SEQUENTIAL","LATEST"]}"#),
      recording(#","thumbnailConfiguration":{"storage":["SEQUENTIAL","LATEST","LATEST"]}"#)
    ),
    (
      recording(#","thumbnailConfiguration":{"recordingMode":"INTERVAL"}"#),
      recording(#","thumbnailConfiguration":{"recordingMode":"ALWAYS"}"#)
    ),
  ]) func stageAtALimitIsCreatedAndBeyondItIsRefused(accepted: String, refused: String) async throws {
    let _: IVSCalls.Created = try await ivs.call("CreateStage", accepted)
    #expect(await ivs.error("CreateStage", refused) == Self.validation)
  }

  @Test(arguments: [
    (#""duration":1"#, #""duration":0"#), (#""duration":20160"#, #""duration":20161"#),
    (#""userId":"\#(text(128, "ü"))""#, #""userId":"\#(text(129, "ü"))""#),
    (#""attributes":{"a":"\#(text(1_023))"}"#, #""attributes":{"a":"\#(text(1_024))"}"#),
    (#""capabilities":["PUBLISH","PUBLISH"]"#, #""capabilities":["PUBLISH","SUBSCRIBE","PUBLISH"]"#),
    (#""capabilities":[]"#, #""capabilities":["publish"]"#),
  ]) func tokenAtALimitIsMintedAndAdmitsAndBeyondItIsRefused(accepted: String, refused: String) async throws {
    let stage = try await ivs.createStage().stage
    let minted: IVSCalls.Minted = try await ivs.call(
      "CreateParticipantToken", #"{"stageArn":"\#(stage.arn)",\#(accepted)}"#)
    #expect(ivs.refusal(minted.participantToken.token, stage: stage.id) == nil)
    #expect(
      await ivs.error("CreateParticipantToken", #"{"stageArn":"\#(stage.arn)",\#(refused)}"#) == Self.validation)
  }

  @Test(arguments: [
    (#""participantId":"\#(text(64))""#, #""participantId":"\#(text(65))""#),
    (#""participantId":"a-_9""#, #""participantId":"a/b""#), (#""participantId":"a""#, #""participantId":"""#),
    (#""participantId":"a","reason":"\#(text(128))""#, #""participantId":"a","reason":"\#(text(129))""#),
  ]) func disconnectAtALimitIsDoneAndBeyondItIsRefused(accepted: String, refused: String) async throws {
    let arn = try await ivs.createStage().stage.arn
    #expect(await ivs.send("DisconnectParticipant", #"{"stageArn":"\#(arn)",\#(accepted)}"#).text == "{}")
    _ = ivs.harness.takeCommands()
    #expect(await ivs.error("DisconnectParticipant", #"{"stageArn":"\#(arn)",\#(refused)}"#) == Self.validation)
    #expect(ivs.harness.takeCommands().isEmpty)
  }

  @Test(arguments: [
    "ListStages", "ListPublicKeys", "ListStageSessions", "ListParticipants", "ListParticipantEvents",
  ]) func pageHasOneToAHundredResults(operation: String) async throws {
    let arn = try await ivs.createStage().stage.arn
    func body(_ count: Int) -> String {
      #"{"stageArn":"\#(arn)","sessionId":"st-0123456789abc","participantId":"p","maxResults":\#(count)}"#
    }
    for accepted in [1, 100] { #expect(await ivs.send(operation, body(accepted)).status == 200) }
    for refused in [0, 101, -1] { #expect(await ivs.error(operation, body(refused)) == Self.validation) }
  }

  @Test(arguments: ["st-0123456789abc", "st-ABCDEFGHIJKLM"]) func sessionIDHasSixteenCharacters(id: String) async throws
  {
    let arn = try await ivs.createStage().stage.arn
    func error(_ id: String) async -> String {
      await ivs.error("GetStageSession", #"{"stageArn":"\#(arn)","sessionId":"\#(id)"}"#)
    }
    #expect(await error(id) == "404 ResourceNotFoundException")
    for wrong in [String(id.dropLast()), id + "a", "xt" + id.dropFirst(2)] {
      #expect(await error(wrong) == Self.validation)
    }
  }

  @Test func tagsThatAreAddedCountWithThoseThatAreThere() async throws {
    let arn = try await ivs.createStage(#"{"tags":\#(Self.tags(49))}"#).stage.arn
    let path = "/tags/" + PercentEncoding.encode(arn)
    func add(_ tags: String) async -> Int {
      await ivs.harness.aws("POST", path, #"{"tags":\#(tags)}"#, service: "ivs").status
    }
    #expect(await add(#"{"k0":"again","new":"v"}"#) == 200)
    #expect(await add(#"{"one more":"v"}"#) == 400)
    #expect(await ivs.harness.aws("GET", path, service: "ivs").text.contains(#""k0":"again""#))
  }

  @Test func resourcesOfOtherRegionsAndAccountsAreNotFound() async throws {
    let arn = try await ivs.createStage().stage.arn
    let key = try await ivs.importKey().arn
    let missing = "404 ResourceNotFoundException"
    for (operation, arn) in [("GetStage", arn), ("UpdateStage", arn), ("DeleteStage", arn), ("DeletePublicKey", key)] {
      #expect(await ivs.error(operation, #"{"arn":"\#(arn)"}"#, region: "eu-west-1") == missing)
      let foreign = arn.replacing("us-east-1", with: "eu-west-1")
      #expect(await ivs.error(operation, #"{"arn":"\#(foreign)"}"#, region: "eu-west-1") == missing)
    }
    #expect(await ivs.send("ListStages", region: "eu-west-1").text == #"{"stages":[]}"#)
    #expect(await ivs.send("ListPublicKeys", region: "eu-west-1").text == #"{"publicKeys":[]}"#)
    #expect(ivs.harness.takeCommands().isEmpty)
  }

  @Test(arguments: [
    "CreateEncoderConfiguration", "GetEncoderConfiguration", "ListEncoderConfigurations", "DeleteEncoderConfiguration",
    "CreateStorageConfiguration", "GetStorageConfiguration", "ListStorageConfigurations", "DeleteStorageConfiguration",
    "StartComposition", "GetComposition", "StopComposition", "ListCompositions", "CreateIngestConfiguration",
    "GetIngestConfiguration", "ListIngestConfigurations", "UpdateIngestConfiguration", "DeleteIngestConfiguration",
    "StartParticipantReplication", "StopParticipantReplication", "ListParticipantReplicas", "RevokeConnectionToken",
  ]) func operationThatIsNotServedIsNamedInTheAnswerAndTheLog(operation: String) async {
    let answer = await ivs.send(operation)
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "UnsupportedOperation")
    #expect(answer.text.contains(operation))
    #expect(ivs.harness.log.withLock { $0 }.contains { $0.contains(operation) })
  }

  @Test func unknownMembersAreIgnored() async throws {
    let created = try await ivs.createStage(
      #"{"name":"tea","colour":"green","participantTokenConfigurations":[{"x":1}]}"#)
    #expect(created.stage.name == "tea")
    #expect(created.participantTokens?.count == 1)
  }
}
