import Foundation
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// What operators have to expect: a full disk, other keys, a clock that is set back.
@Suite struct OutageTests {
  private struct Meeting: Decodable {
    struct Members: Decodable { var MeetingId: String }
    var Meeting: Members
  }
  private struct Attendee: Decodable {
    struct Members: Decodable { var AttendeeId, JoinToken: String }
    var Attendee: Members
  }

  private static func makeMeeting(
    _ harness: APIHarness, token: String = "t1"
  ) async throws -> (id: String, attendee: Attendee.Members) {
    let made = await harness.aws(
      "POST", "/meetings", #"{"ClientRequestToken":"\#(token)","MediaRegion":"us-east-1","ExternalMeetingId":"tea"}"#)
    #expect(made.status == 200, "\(made.text)")
    let id = try made.decoded(Meeting.self).Meeting.MeetingId
    let attendee = try await harness.aws("POST", "/meetings/\(id)/attendees", #"{"ExternalUserId":"ana"}"#)
      .decoded(Attendee.self).Attendee
    return (id, attendee)
  }

  // MARK: A full disk

  /// A small file system in memory.
  private struct SmallDisk {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("koine-disk-\(UUID())").path

    init() throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder)
    }

    func remove() {
      try? run("/usr/bin/umount", "-l", folder)
      try? FileManager.default.removeItem(atPath: folder)
    }

    private func run(_ program: String, _ arguments: String...) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "\(program) failed")
    }

    /// Leaves no room for a line of a registry in this file system.
    func fill(_ store: any RegistryStore) async throws {
      let other = folder + "/other"
      try #require(FileManager.default.createFile(atPath: other, contents: nil))
      let file = try #require(FileHandle(forWritingAtPath: other))
      while (try? file.write(contentsOf: Data(count: 1_024))) != nil {}
      // The last page of the registry's file still has room.
      for number in 0..<1_000 {
        do throws(RegistryError) { try await store.put("fill/\(number)", [], ifVersion: nil, expiry: nil) } catch {
          return
        }
      }
      Issue.record("the disk is not full")
    }

    /// Removing the file would not do: a program that another test has started at this moment may have it open.
    func empty() throws { try #require(truncate(folder + "/other", 0) == 0) }
  }

  @Test func fullDiskRefusesEveryChangeAndAdmitsAsBefore() async throws {
    let disk = try SmallDisk()
    defer { disk.remove() }
    let path = disk.folder + "/registry.jsonl"
    let keys = try APITokenKeys.makeTemporary()
    let opened = Lock<FileRegistry?>(nil)
    let harness = try APIHarness(keys: keys) { clock in
      let file = try? FileRegistry(path: path, clock: clock)
      opened.withLock { $0 = file }
      return file ?? MemoryRegistry(clock: clock)
    }
    let file = try #require(opened.withLock { $0 })
    let (meeting, ana) = try await Self.makeMeeting(harness)
    let ivs = IVSCalls(harness: harness)
    let made = try await ivs.createStage()
    let (stage, guest) = (made.stage, try #require(made.participantTokens?.first))
    let user = try await harness.makeAzureUser()
    let room = try await harness.makeAzureRoom(#"{"participants":{"\#(user.id)":{}}}"#)
    let identity = "/identities/\(PercentEncoding.encode(user.id))"
    let attendee = "/meetings/\(meeting)/attendees/\(ana.AttendeeId)"
    let (guestBody, stageBody) = (
      #"{"stageArn":"\#(stage.arn)","participantId":"\#(guest.participantId)"}"#, #"{"arn":"\#(stage.arn)"}"#
    )
    let rosterBody = #"{"participants":{"\#(user.id)":null}}"#
    func changes() async -> [Int] {
      [
        await harness.aws("DELETE", attendee).status,
        await harness.aws("DELETE", "/meetings/\(meeting)").status,
        await ivs.send("DisconnectParticipant", guestBody).status,
        await ivs.send("DeleteStage", stageBody).status,
        await harness.azure("PATCH", "/rooms/\(room.id)/participants", rosterBody).status,
        await harness.azure("DELETE", "/rooms/\(room.id)").status,
        await harness.azure("POST", identity + "/:revokeAccessTokens").status,
        await harness.azure("DELETE", identity).status,
      ]
    }
    func refusals() -> [Failure.Code?] {
      [
        harness.refusal(ana.JoinToken, room: meeting), harness.refusal(guest.token, room: stage.id),
        harness.refusal(user.token, room: room.id), harness.refusal(user.token, room: "group"),
      ]
    }
    try await disk.fill(file)
    _ = harness.takeCommands()
    #expect(await changes() == Array(repeating: 503, count: 8))
    #expect(harness.takeCommands().isEmpty, "nothing happens in the rooms")
    #expect(refusals() == [nil, nil, nil, nil])
    #expect(await harness.aws("DELETE", attendee).header("Retry-After") == "1")
    // What is made needs the disk, too. What is only asked for does not.
    #expect(await harness.aws("POST", "/meetings/\(meeting)/attendees", #"{"ExternalUserId":"ben"}"#).status == 503)
    #expect(await ivs.send("CreateStage").status == 503)
    #expect(await harness.azure("POST", "/identities").status == 503)
    #expect(await harness.aws("GET", attendee).status == 200)
    #expect(await harness.azure("GET", "/rooms/\(room.id)").status == 200)
    // Repeated by the back end once there is room.
    try disk.empty()
    #expect(await changes() == [204, 204, 200, 200, 200, 204, 204, 204])
    #expect(refusals() == [.ended, .unauthorized, .unauthorized, .unauthorized])
    await file.close()
    let again = try FileRegistry(path: path) { APITime(milliseconds: 0) }
    let later = try APIHarness(keys: keys) { _ in again }
    try await later.apis.load()
    #expect(later.refusal(ana.JoinToken, room: meeting) == .ended)
    #expect(later.refusal(guest.token, room: stage.id) == .unauthorized)
    #expect(later.refusal(user.token, room: room.id) == .unauthorized)
    await again.close()
  }

  // MARK: Other keys

  /// A token of each vendor whose tokens the server makes.
  private func tokens(_ harness: APIHarness, _ number: Int) async throws -> [(token: String, room: String)] {
    let (meeting, ana) = try await Self.makeMeeting(harness, token: "t\(number)")
    let made = try await IVSCalls(harness: harness).createStage()
    let user = try await harness.makeAzureUser()
    return [
      (ana.JoinToken, meeting), (try #require(made.participantTokens?.first).token, made.stage.id),
      (user.token, "group"),
    ]
  }

  @Test func tokensLiveAsLongAsTheKeyThatTheyFollowFrom() async throws {
    var set = try KeySet(newKey: "old")
    let harness = try APIHarness(keys: try APITokenKeys(of: set))
    let announced = Lock(0)
    harness.apis.whenKeysChange { announced.withLock { $0 += 1 } }
    func refusals(_ tokens: [(token: String, room: String)]) throws -> [Failure.Code?] {
      let keys = try set.verificationKeys + harness.apis.verificationKeys
      return tokens.map { harness.refusal($0.token, room: $0.room, keys: keys) }
    }
    let old = try await tokens(harness, 1)
    #expect(try refusals(old) == [nil, nil, nil])
    try set.rotate(to: "new")
    try harness.apis.renewKeys(of: set)
    #expect(announced.withLock { $0 } == 1)
    let new = try await tokens(harness, 2)
    #expect(try refusals(old + new) == [nil, nil, nil, nil, nil, nil])
    #expect(zip(old, new).allSatisfy { $0.token.prefix { $0 != "." } != $1.token.prefix { $0 != "." } }, "other keys")
    let dropped = set.drop("old")
    #expect(dropped)
    try harness.apis.renewKeys(of: set)
    #expect(try refusals(old) == [.unauthorized, .unauthorized, .unauthorized])
    #expect(try refusals(new) == [nil, nil, nil])
    // After a restart with the same file.
    let keys = try APITokenKeys(of: set).verificationKeys
    #expect(new.map { harness.refusal($0.token, room: $0.room, keys: keys) } == [nil, nil, nil])
  }

  @Test func keysOfAServerWithoutAFileStayWhenItIsReadAgain() async throws {
    let harness = try APIHarness(keys: try APITokenKeys(of: nil))
    let tokens = try await tokens(harness, 1)
    try harness.apis.renewKeys(of: nil)
    #expect(tokens.map { harness.refusal($0.token, room: $0.room) } == [nil, nil, nil])
    try harness.apis.renewKeys(of: try KeySet(newKey: "first"))
    #expect(tokens.map { harness.refusal($0.token, room: $0.room) } == [nil, nil, nil])
  }

  // MARK: The clock

  @Test func requestsOfTheRightTimeAreRefusedWithTheServersTime() async throws {
    let harness = try APIHarness()
    let request = harness.signedForAWS("GET", "/meetings/00000000-0000-4000-8000-000000000000")
    let azure = harness.signedForAzure("POST", "/identities?api-version=2023-10-01")
    harness.advance(seconds: -3_600)
    let answer = await harness.apis.answer(request)
    #expect(answer.header("x-amzn-ErrorType") == "InvalidSignatureException")
    #expect(answer.text.contains(harness.time.withLock { $0 }.iso8601Seconds))
    #expect(await harness.apis.answer(azure).status == 401)
  }

  @Test func whatHasEndedStaysEndedWhenTheClockIsSetBack() async throws {
    let harness = try APIHarness()
    let (meeting, ana) = try await Self.makeMeeting(harness)
    let (other, ben) = try await Self.makeMeeting(harness, token: "t2")
    let ivs = IVSCalls(harness: harness)
    let made = try await ivs.createStage()
    let guest = try #require(made.participantTokens?.first)
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)").status == 204)
    #expect(await harness.aws("DELETE", "/meetings/\(other)/attendees/\(ben.AttendeeId)").status == 204)
    #expect(await ivs.send("DeleteStage", #"{"arn":"\#(made.stage.arn)"}"#).status == 200)
    let room = try await harness.makeAzureRoom("{}")
    #expect(await harness.azure("DELETE", "/rooms/\(room.id)").status == 204)
    // The clock was ahead, until after the last token: the registry still remembers, as it waits for two more hours.
    for seconds in [0, -3_600, 2 * 24 * 3_600 + 3_600, -3_600] as [Int64] {
      harness.advance(seconds: seconds)
      await harness.apis.handleTimeout()
      #expect(harness.refusal(ana.JoinToken, room: meeting) == .ended)
      #expect(harness.refusal(ben.JoinToken, room: other) != nil)
      #expect(harness.refusal(guest.token, room: made.stage.id) == .unauthorized)
    }
    #expect(harness.apis.rules.roomRule(room.id)?.refusal?.code == .ended)
  }

  @Test func revocationHoldsForTokensOfBeforeTheClockWasSetBack() async throws {
    let harness = try APIHarness()
    let user = try await harness.makeAzureUser()
    let path = "/identities/\(PercentEncoding.encode(user.id))"
    harness.advance(seconds: -3_600)
    #expect(await harness.azure("POST", path + "/:revokeAccessTokens").status == 204)
    #expect(harness.refusal(user.token, room: "group") == .unauthorized)
    // A new token would have to be older than the revoked ones: that is an error, not a token that nobody admits.
    let (status, error) = try await harness.azureFault("POST", path + "/:issueAccessToken", #"{"scopes":["voip"]}"#)
    #expect(status == 503 && error.message.contains("set back"))
    harness.advance(seconds: 3_600)
    let token = try await harness.issueAzureToken(to: user.id)
    #expect(harness.refusal(token, room: "group") == nil)
    #expect(harness.refusal(user.token, room: "group") == .unauthorized)
  }

  @Test func stateBeginsAndEndsByTheClockThatIsSetBack() async throws {
    let harness = try APIHarness()
    let (meeting, ana) = try await Self.makeMeeting(harness)
    let user = try await harness.makeAzureUser()
    let room = try await harness.makeAzureRoom(#"{"participants":{"\#(user.id)":{}}}"#)
    harness.advance(seconds: -3_600)
    // The meeting goes on, and its new attendees come behind the others in lists.
    #expect(harness.refusal(ana.JoinToken, room: meeting) == nil)
    let ben = try await harness.aws("POST", "/meetings/\(meeting)/attendees", #"{"ExternalUserId":"ben"}"#)
      .decoded(Attendee.self).Attendee
    #expect(ben.AttendeeId > ana.AttendeeId)
    #expect(harness.refusal(ben.JoinToken, room: meeting) == nil)
    // The room is not open yet.
    #expect(harness.refusal(user.token, room: room.id) == .forbidden)
    harness.advance(seconds: 3_600)
    #expect(harness.refusal(user.token, room: room.id) == nil)
  }
}
