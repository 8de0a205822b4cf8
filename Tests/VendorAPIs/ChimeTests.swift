import KoineAdmissions
import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

@Suite struct ChimeTests {
  private struct Created: Decodable { var Meeting: ChimeJoinInfo.Meeting }
  private struct Attended: Decodable { var Attendee: ChimeJoinInfo.Attendee }
  private struct Listed: Decodable {
    var Attendees: [ChimeJoinInfo.Attendee]
    var NextToken: String?
  }
  private struct Batched: Decodable {
    struct Fault: Decodable {
      var ExternalUserId: String?
      var ErrorCode: String
    }
    var Attendees: [ChimeJoinInfo.Attendee]
    var Errors: [Fault]
  }

  private let harness: APIHarness
  init() throws { harness = try APIHarness() }

  private func createMeeting(token: String = "token-1", _ more: String = "") async throws -> ChimeJoinInfo.Meeting {
    let answer = await harness.aws(
      "POST", "/meetings",
      #"{"ClientRequestToken":"\#(token)","MediaRegion":"eu-central-1","ExternalMeetingId":"standup"\#(more)}"#)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.decoded(Created.self).Meeting
  }

  private func createAttendee(_ user: String, in meeting: String, _ more: String = "") async throws
    -> ChimeJoinInfo.Attendee
  {
    let answer = await harness.aws("POST", "/meetings/\(meeting)/attendees", #"{"ExternalUserId":"\#(user)"\#(more)}"#)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.decoded(Attended.self).Attendee
  }

  /// The verdict on a join with a join token.
  private func decision(_ attendee: ChimeJoinInfo.Attendee, meeting: String, present: Int = 0) -> Result<
    Grants, Failure
  > {
    let keys = Authorization.tokens(trusting: .keys(harness.keys))
    let join = Join(
      room: meeting, credential: attendee.joinToken, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    return harness.apis.authorization(after: keys).check(join).flatMap { grants in
      let state = AdmissionPolicy.RoomState(participants: present, hidden: 0, contentShares: 0, waiting: 0, limit: 100)
      switch harness.apis.rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: state)) {
      case .admit(let grants), .wait(let grants): return .success(grants)
      case .refuse(let failure): return .failure(failure)
      }
    }
  }

  private func code(_ result: Result<Grants, Failure>) -> Failure.Code? {
    if case .failure(let failure) = result { failure.code } else { nil }
  }

  @Test func meetingHasAllEightAddressesOfTheServer() async throws {
    let meeting = try await createMeeting()
    #expect(meeting.mediaPlacement.signalingURL == "ws://127.0.0.1:8080/signaling")
    #expect(meeting.mediaPlacement.audioHostURL == "127.0.0.1:8080")
    #expect(meeting.mediaPlacement.screenDataURL != nil)
    #expect(meeting.meetingARN == "arn:aws:chime:us-east-1:123456789012:meeting/\(meeting.meetingID)")
    #expect(meeting.externalMeetingID == "standup")
    #expect(meeting.features == nil)
  }

  @Test func oneRequestTokenGivesOneMeetingUntilItEnds() async throws {
    let first = try await createMeeting()
    #expect(try await createMeeting().meetingID == first.meetingID)
    #expect(try await createMeeting(token: "token-2").meetingID != first.meetingID)
    #expect(await harness.aws("DELETE", "/meetings/\(first.meetingID)").status == 204)
    #expect(try await createMeeting().meetingID != first.meetingID)
  }

  @Test func attendeesTokenAdmitsThatAttendeeToThatMeeting() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    let grants = try decision(attendee, meeting: meeting.meetingID).get()
    #expect(grants.participantID == attendee.attendeeID)
    #expect(grants.externalID == "ana")
    #expect(code(decision(attendee, meeting: "another")) == .forbidden)
    let again = try await createAttendee("ana", in: meeting.meetingID)
    #expect(again.attendeeID == attendee.attendeeID)
    #expect(again.joinToken == attendee.joinToken)
  }

  @Test func joinTokenIsShortEnoughWithTheLongestUserID() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee(String(repeating: "ü", count: 64), in: meeting.meetingID)
    #expect(attendee.joinToken.utf8.count <= 2_048)
  }

  @Test func deletedAttendeeIsRemovedAndRefused() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    let path = "/meetings/\(meeting.meetingID)/attendees/\(attendee.attendeeID)"
    _ = harness.takeCommands()
    #expect(await harness.aws("DELETE", path).status == 204)
    #expect(
      harness.takeCommands().map(\.command) == [
        .remove(attendee.attendeeID, room: meeting.meetingID),
        .remove(attendee.attendeeID + "#content", room: meeting.meetingID),
      ])
    #expect(code(decision(attendee, meeting: meeting.meetingID)) == .unauthorized)
    #expect(await harness.aws("DELETE", path).status == 404)
    #expect(await harness.aws("GET", path).header("x-amzn-ErrorType") == "NotFoundException")
    #expect(try await createAttendee("ana", in: meeting.meetingID).attendeeID != attendee.attendeeID)
  }

  @Test func deletedMeetingIsClosedAndHasEndedForLaterJoins() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    _ = harness.takeCommands()
    #expect(await harness.aws("DELETE", "/meetings/\(meeting.meetingID)").status == 204)
    #expect(harness.takeCommands().map(\.command) == [.close(room: meeting.meetingID)])
    #expect(code(decision(attendee, meeting: meeting.meetingID)) == .ended)
    let answer = await harness.aws("GET", "/meetings/\(meeting.meetingID)")
    #expect(answer.status == 404)
    #expect(answer.text.contains("Meeting <\(meeting.meetingID)> not found"))
    #expect(await harness.aws("DELETE", "/meetings/\(meeting.meetingID)").status == 404)
  }

  @Test func meetingEndsWhenItIsEmptyForFiveMinutes() async throws {
    let meeting = try await createMeeting()
    let epoch = "e"
    func happen(_ change: RoomEvent.Change) async {
      harness.apis.observe(RoomEvent(room: meeting.meetingID, epoch: epoch, participant: "a", change))
      await harness.apis.settle()
    }
    harness.advance(seconds: 200)
    await happen(.joined(Participant(id: "a", name: "Ana")))
    harness.advance(seconds: 1_000)
    await harness.apis.handleTimeout()
    #expect(await harness.aws("GET", "/meetings/\(meeting.meetingID)").status == 200)
    await happen(.left(.left))
    harness.advance(seconds: 299)
    await harness.apis.handleTimeout()
    #expect(await harness.aws("GET", "/meetings/\(meeting.meetingID)").status == 200)
    harness.advance(seconds: 1)
    await harness.apis.handleTimeout()
    #expect(await harness.aws("GET", "/meetings/\(meeting.meetingID)").status == 404)
  }

  @Test func capabilitiesNarrowTheTokenAndAChangeReplacesIt() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee(
      "ana", in: meeting.meetingID, #","Capabilities":{"Audio":"Receive","Video":"None","Content":"None"}"#)
    let before = try decision(attendee, meeting: meeting.meetingID).get()
    #expect(before.publish == [])
    #expect(before.receive == [.microphone])
    let answer = await harness.aws(
      "PUT", "/meetings/\(meeting.meetingID)/attendees/\(attendee.attendeeID)/capabilities",
      #"{"Capabilities":{"Audio":"SendReceive","Video":"Receive","Content":"Receive"}}"#)
    #expect(answer.status == 200, "\(answer.text)")
    let after = try decision(attendee, meeting: meeting.meetingID).get()
    #expect(after.publish == [.microphone])
    #expect(after.receive == [.microphone, .camera, .screen, .screenSound])
    #expect(
      harness.takeCommands().map(\.command).contains(
        .grant(
          PermissionChange(publishing: [.microphone], receiving: [.microphone, .camera, .screen, .screenSound]),
          attendee.attendeeID, room: meeting.meetingID)))
  }

  /// The second request is answered while the command of the first one is on its way to the room.
  @Test(arguments: [false, true]) func lastCommandFollowsTheCapabilities(isBatch: Bool) async throws {
    let meeting = try await createMeeting()
    let ana = try await createAttendee("ana", in: meeting.meetingID)
    let ben = try await createAttendee("ben", in: meeting.meetingID)
    let (harness, path) = (harness, "/meetings/\(meeting.meetingID)/attendees")
    @Sendable func change(_ direction: String) async {
      let capabilities = #""Capabilities":{"Audio":"\#(direction)","Video":"None","Content":"None"}"#
      let answer =
        isBatch
        ? await harness.aws(
          "PUT", path + "/capabilities?operation=batch-update-except",
          #"{"ExcludedAttendeeIds":[{"AttendeeId":"\#(ben.attendeeID)"}],\#(capabilities)}"#)
        : await harness.aws("PUT", "\(path)/\(ana.attendeeID)/capabilities", "{\(capabilities)}")
      #expect(answer.status == 200, "\(answer.text)")
    }
    harness.beforeCommand.withLock { $0 = { await change("Receive") } }
    await change("SendReceive")
    let commands = harness.takeCommands().map(\.command).filter { $0.participant == ana.attendeeID }
    let (older, newer) = (
      PermissionChange(publishing: [.microphone], receiving: [.microphone]),
      PermissionChange(publishing: [], receiving: [.microphone])
    )
    #expect(commands == [newer, older, newer].map { .grant($0, ana.attendeeID, room: meeting.meetingID) })
  }

  @Test func joinTokensAreMadeAgainAndNotStored() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    let path = "/meetings/\(meeting.meetingID)/attendees/\(attendee.attendeeID)"
    harness.advance(seconds: 100)
    #expect(try await harness.aws("GET", path).decoded(Attended.self).Attendee.joinToken == attendee.joinToken)
    #expect(attendee.joinToken.hasPrefix("eyJhbGciOiJIUzI1NiI"), "HMAC-SHA256")
    let signature = try #require(attendee.joinToken.split(separator: ".").last)
    let entries = try await harness.store.list(prefix: "", after: nil, limit: 100)
    #expect(entries.count >= 3)
    for entry in entries { #expect(!String(decoding: entry.value, as: UTF8.self).contains(signature)) }
  }

  /// Another server changes the attendee's capabilities while this one deletes it.
  @Test func deletedAttendeeStaysRefusedWhateverItsCapabilitiesBecome() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    let key = ChimeAttendee.key(attendee.attendeeID, meeting: meeting.meetingID)
    let entry = try #require(try await harness.store.get(key))
    var changed = try decodeBody(ChimeAttendee.self, entry.value)
    changed.hasChanged = true
    try await harness.store.put(
      ChimeDeletedAttendee.key(attendee.attendeeID, meeting: meeting.meetingID), Array("{}".utf8), ifVersion: nil,
      expiry: nil)
    try await harness.store.put(key, try JSONCodec.encode(changed), ifVersion: entry.version, expiry: nil)
    #expect(code(decision(attendee, meeting: meeting.meetingID)) == .unauthorized)
  }

  @Test func rulesAreForgottenWithTheLastToken() async throws {
    let meeting = try await createMeeting()
    let attendee = try await createAttendee("ana", in: meeting.meetingID)
    _ = await harness.aws("DELETE", "/meetings/\(meeting.meetingID)/attendees/\(attendee.attendeeID)")
    #expect(harness.apis.rules.refusal(of: attendee.attendeeID, room: meeting.meetingID) != nil)
    harness.advance(seconds: (2 * 24 + 2) * 60 * 60)
    await harness.apis.handleTimeout()
    #expect(harness.apis.rules.refusal(of: attendee.attendeeID, room: meeting.meetingID) == nil)
    #expect(harness.apis.rules.roomRule(meeting.meetingID) == nil)
  }

  @Test func batchReportsFaultsBesideTheAttendeesThatItMade() async throws {
    let meeting = try await createMeeting()
    let answer = await harness.aws(
      "POST", "/meetings/\(meeting.meetingID)/attendees?operation=batch-create",
      #"{"Attendees":[{"ExternalUserId":"ana"},{"ExternalUserId":"aws:x"},{"ExternalUserId":"ben"}]}"#)
    let batch = try answer.decoded(Batched.self)
    #expect(batch.Attendees.map(\.externalUserID) == ["ana", "ben"])
    #expect(batch.Errors.map(\.ErrorCode) == ["BadRequest"])
    #expect(batch.Errors.map(\.ExternalUserId) == ["aws:x"])
  }

  @Test func attendeesAreListedInOrderOfCreationByPages() async throws {
    let meeting = try await createMeeting()
    let names = (1...5).map { "user\($0)" }
    for name in names { _ = try await createAttendee(name, in: meeting.meetingID) }
    var (found, token): ([String], String?) = ([], nil)
    repeat {
      let query = "?max-results=2" + (token.map { "&next-token=\($0)" } ?? "")
      let page = try await harness.aws("GET", "/meetings/\(meeting.meetingID)/attendees\(query)").decoded(Listed.self)
      found += page.Attendees.map(\.externalUserID)
      token = page.NextToken
    } while token != nil
    #expect(found == names)
  }

  @Test(arguments: [
    ("POST", "/sdk-media-capture-pipelines"), ("GET", "/sdk-media-pipelines/p-1"),
    ("PUT", "/media-insights-pipeline-status/p-1"),
    ("GET", "/media-pipeline-kinesis-video-stream-pools"),
  ]) func operationOfMediaPipelinesIsNamed(method: String, path: String) async {
    #expect(harness.apis.owns(method: method, target: path))
    let answer = await harness.aws(method, path, method == "GET" ? "" : "{}")
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "UnsupportedOperation")
    #expect(answer.text.contains(path))
    #expect(harness.log.withLock { $0.count } == 1)
  }

  @Test(arguments: ["start", "stop"]) func transcriptionByACloudEngineIsNotServed(operation: String) async throws {
    let meeting = try await createMeeting().meetingID
    let answer = await harness.aws("POST", "/meetings/\(meeting)/transcription?operation=\(operation)", "{}")
    #expect(answer.status == 400)
    #expect(answer.header("x-amzn-ErrorType") == "UnsupportedOperation")
  }

  @Test func listMeetingsOfTheFormerAPIIsNotServed() async {
    #expect(await harness.aws("GET", "/meetings").header("x-amzn-ErrorType") == "UnsupportedOperation")
  }

  @Test func limitOfAttendeesHolds() async throws {
    let meeting = try await createMeeting("t3", #","MeetingFeatures":{"Attendee":{"MaxCount":2}}"#)
    #expect(meeting.features?.videoMaxResolution == "HD")
    for name in ["ana", "ben"] { _ = try await createAttendee(name, in: meeting.meetingID) }
    let answer = await harness.aws("POST", "/meetings/\(meeting.meetingID)/attendees", #"{"ExternalUserId":"cal"}"#)
    #expect(answer.header("x-amzn-ErrorType") == "LimitExceededException")
    #expect(answer.status == 400)
  }

  private func createMeeting(_ token: String, _ more: String) async throws -> ChimeJoinInfo.Meeting {
    try await createMeeting(token: token, more)
  }
}

extension APIHarness {
  var keys: [VerificationKey] { apis.verificationKeys }
}
