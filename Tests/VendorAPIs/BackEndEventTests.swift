import KoineBase
import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// The events that the APIs send to back ends.
@Suite struct BackEndEventTests {
  private struct Envelope: Decodable {
    struct Detail: Decodable {
      var eventType: String?
      var timestamp: Int64?
      var meetingId: String?
      var attendeeId: String?
      var externalUserId: String?
      var externalMeetingId: String?
      var networkType: String?
      var mediaRegion: String?
      var session_id: String?
      var event_name: String?
      var event_time: String?
      var user_id: String?
      var participant_id: String?
    }
    enum CodingKeys: String, CodingKey {
      case version, id, source, account, time, region, resources, detail
      case detailType = "detail-type"
    }
    var version: String
    var id: String
    var detailType: String
    var source: String
    var account: String
    var time: String
    var region: String
    var resources: [String]
    var detail: Detail
  }

  private func happen(_ harness: APIHarness, _ room: String, _ id: String, _ change: RoomEvent.Change) async {
    harness.apis.observe(RoomEvent(room: room, epoch: "e", participant: id, change))
    await harness.apis.settle()
  }

  private func join(_ harness: APIHarness, _ room: String, _ id: String, user: String? = nil) async {
    var participant = Participant(id: id, name: "Name of " + id)
    participant.externalUserID = user
    await happen(harness, room, id, .joined(participant))
  }

  private func take(_ harness: APIHarness) -> [BackEndEvent] {
    harness.sent.withLock { sent in
      defer { sent = [] }
      return sent
    }
  }

  private func envelopes(_ harness: APIHarness) throws -> [Envelope] {
    try take(harness).map { try JSONCodec.decode(Envelope.self, from: $0.body) }
  }

  // MARK: Amazon Chime

  private struct Created: Decodable { var Meeting: ChimeJoinInfo.Meeting }
  private struct Attended: Decodable { var Attendee: ChimeJoinInfo.Attendee }

  private func makeMeeting(_ harness: APIHarness) async throws -> String {
    let answer = await harness.aws(
      "POST", "/meetings",
      #"{"ClientRequestToken":"token-1","MediaRegion":"eu-central-1","ExternalMeetingId":"standup"}"#)
    return try answer.decoded(Created.self).Meeting.meetingID
  }

  private func makeAttendee(_ harness: APIHarness, _ meeting: String, _ user: String) async throws -> String {
    let answer = await harness.aws("POST", "/meetings/\(meeting)/attendees", #"{"ExternalUserId":"\#(user)"}"#)
    return try answer.decoded(Attended.self).Attendee.attendeeID
  }

  @Test func meetingSendsEventsOfItsLife() async throws {
    let harness = try APIHarness(events: [.aws])
    let meeting = try await makeMeeting(harness)
    #expect(take(harness).isEmpty)
    let ana = try await makeAttendee(harness, meeting, "ana#1")
    #expect(try await makeAttendee(harness, meeting, "ana#1") == ana)
    await join(harness, meeting, ana, user: "ana#1")
    await happen(harness, meeting, ana, .published(.microphone, isOn: true))
    await happen(harness, meeting, ana, .published(.camera, isOn: true))
    await join(harness, meeting, ana + "#content", user: "ana#1")
    await happen(harness, meeting, ana + "#content", .published(.screen, isOn: true))
    await happen(harness, meeting, ana + "#content", .published(.screen, isOn: false))
    await happen(harness, meeting, ana + "#content", .left(.left))
    await happen(harness, meeting, ana, .left(.lost))
    await join(harness, meeting, ana, user: "ana#1")
    let events = try envelopes(harness)
    #expect(
      events.map(\.detail.eventType) == [
        "chime:AttendeeAdded", "chime:MeetingStarted", "chime:AttendeeJoined", "chime:AttendeeVideoStarted",
        "chime:AttendeeContentJoined", "chime:AttendeeContentVideoStarted", "chime:AttendeeContentVideoStopped",
        "chime:AttendeeContentLeft", "chime:AttendeeVideoStopped", "chime:AttendeeDropped", "chime:AttendeeJoined",
      ])
    let now = harness.time.withLock { $0 }
    let joined = events[2]
    #expect(joined.version == "0")
    #expect(joined.detailType == "Chime Meeting State Change")
    #expect(joined.source == "aws.chime")
    #expect(joined.account == "123456789012")
    #expect(joined.region == "us-east-1")
    #expect(joined.resources.isEmpty)
    #expect(joined.time == now.iso8601Seconds)
    #expect(joined.detail.timestamp == now.milliseconds)
    #expect(joined.detail.meetingId == meeting)
    #expect(joined.detail.attendeeId == ana)
    #expect(joined.detail.externalUserId == "ana#1")
    #expect(joined.detail.externalMeetingId == "standup")
    #expect(joined.detail.mediaRegion == "eu-central-1")
    #expect(joined.detail.networkType == "Voip")
    #expect(events[1].detail.attendeeId == nil && events[1].detail.networkType == nil)
    #expect(events[3].detail.networkType == nil)
    #expect(events[4].detail.attendeeId == ana + "#content")
    #expect(Set(events.map(\.id)).count == events.count && events.allSatisfy { Identifiers.isGUID($0.id) })
  }

  @Test func meetingEndsAfterItsLastAttendeeHasLeft() async throws {
    let harness = try APIHarness(events: [.aws])
    let meeting = try await makeMeeting(harness)
    let ana = try await makeAttendee(harness, meeting, "ana#1")
    await join(harness, meeting, ana, user: "ana#1")
    _ = take(harness)
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)").status == 204)
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)").status == 404)
    #expect(take(harness).isEmpty)
    await happen(harness, meeting, ana, .left(.roomClosedByService))
    #expect(try envelopes(harness).map(\.detail.eventType) == ["chime:AttendeeLeft", "chime:MeetingEnded"])
  }

  @Test func emptyMeetingEndsAtOnceOrByTime() async throws {
    let harness = try APIHarness(events: [.aws])
    var meeting = try await makeMeeting(harness)
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)").status == 204)
    #expect(try envelopes(harness).map(\.detail.eventType) == ["chime:MeetingEnded"])
    meeting = try await makeMeeting(harness)
    harness.advance(seconds: 301)
    await harness.apis.handleTimeout()
    await harness.apis.handleTimeout()
    let ended = try envelopes(harness)
    #expect(ended.map(\.detail.eventType) == ["chime:MeetingEnded"])
    #expect(ended.first?.detail.meetingId == meeting)
  }

  @Test func deletedAttendeeAndChangeOfDevice() async throws {
    let harness = try APIHarness(events: [.aws])
    let meeting = try await makeMeeting(harness)
    let ana = try await makeAttendee(harness, meeting, "ana#1")
    await join(harness, meeting, ana, user: "ana#1")
    _ = take(harness)
    await happen(harness, meeting, ana, .left(.duplicate))
    await join(harness, meeting, ana, user: "ana#1")
    #expect(
      try envelopes(harness).map(\.detail.eventType) == [
        "chime:AttendeeAuthorized", "chime:AttendeeDropped", "chime:AttendeeJoined",
      ])
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)/attendees/\(ana)").status == 204)
    let deleted = try envelopes(harness)
    #expect(deleted.map(\.detail.eventType) == ["chime:AttendeeDeleted"])
    #expect(deleted.first?.detail.externalUserId == "ana#1")
  }

  @Test func nothingIsSentWhereNothingIsWanted() async throws {
    let harness = try APIHarness(events: [.videosdk])
    let meeting = try await makeMeeting(harness)
    let ana = try await makeAttendee(harness, meeting, "ana#1")
    await join(harness, meeting, ana, user: "ana#1")
    await happen(harness, meeting, ana, .left(.left))
    #expect(await harness.aws("DELETE", "/meetings/\(meeting)").status == 204)
    let ivs = IVSCalls(harness: harness)
    let stage = try await ivs.createStage().stage
    await join(harness, stage.id, "p1")
    await happen(harness, stage.id, "p1", .published(.camera, isOn: true))
    #expect(take(harness).isEmpty)
  }

  // MARK: Amazon IVS

  @Test func stageSendsUpdatesOfPublishing() async throws {
    let harness = try APIHarness(events: [.aws])
    let ivs = IVSCalls(harness: harness)
    let stage: IVSCalls.Created = try JSONCodec.decode(
      IVSCalls.Created.self, from: await ivs.send("CreateStage", region: "eu-west-1").body)
    await join(harness, stage.stage.id, "p1", user: "ana")
    await join(harness, stage.stage.id, "p2")
    await happen(harness, stage.stage.id, "p1", .published(.camera, isOn: true))
    await happen(harness, stage.stage.id, "p1", .published(.microphone, isOn: true))
    await happen(harness, stage.stage.id, "p1", .published(.camera, isOn: false))
    await happen(harness, stage.stage.id, "p1", .published(.microphone, isOn: false))
    await happen(harness, stage.stage.id, "p1", .left(.left))
    await happen(harness, stage.stage.id, "p2", .published(.camera, isOn: true))
    // A room that closes does not report the end of publishing.
    await happen(harness, stage.stage.id, "p2", .left(.roomClosedByService))
    let events = try envelopes(harness)
    #expect(
      events.map(\.detail.event_name) == [
        "Participant Published", "Participant Unpublished", "Participant Published", "Participant Unpublished",
      ])
    #expect(events.map(\.detail.participant_id) == ["p1", "p1", "p2", "p2"])
    #expect(events.map(\.detail.user_id) == ["ana", "ana", "", ""])
    let first = try #require(events.first)
    #expect(first.detailType == "IVS Stage Update")
    #expect(first.source == "aws.ivs")
    #expect(first.account == "123456789012")
    #expect(first.region == "eu-west-1")
    #expect(first.resources == [stage.stage.arn])
    #expect(first.detail.event_time == first.time)
    #expect(try #require(first.detail.session_id).hasPrefix("st-"))
    #expect(Set(events.map(\.detail.session_id)).count == 1)
  }

  // MARK: VideoSDK

  private struct Room: Decodable { var roomId: String }
  private struct Webhook: Decodable {
    struct Data: Decodable {
      var meetingId: String
      var sessionId: String
      var participantId: String?
      var participantName: String?
      var start: String?
      var end: String?
    }
    var webhookType: String
    var data: Data
  }
  private struct Sessions: Decodable {
    struct Session: Decodable { var id: String }
    var data: [Session]
  }
  private struct Key: Decodable { var publicKey: String }

  private func call(
    _ harness: APIHarness, _ method: String, _ target: String, _ body: String = ""
  ) async throws -> APIResponse {
    let now = NumericDate(Double(harness.time.withLock { $0 }.seconds))
    let token = try VideoSDKToken(
      apiKey: "vsdk-key", roomID: nil, participantID: nil, roles: nil, issued: now, expires: now + 600
    ).signed(with: SigningKey(secret: Array(String(repeating: "s", count: 64).utf8)))
    return await harness.apis.answer(
      APIRequest(
        method: method, target: target, headers: [("Host", "127.0.0.1:8080"), ("Authorization", token)],
        body: Array(body.utf8)))
  }

  private static let hook = #"{"webhook":{"endPoint":"https://one.example/hook?a=b","events":["*"]}}"#

  @Test func roomSendsItsSessionsAndParticipantsToItsWebhook() async throws {
    let harness = try APIHarness()
    let made = try await call(harness, "POST", "/v2/rooms", Self.hook)
    #expect(made.text.contains(#""webhook":{"endPoint":"https://one.example/hook?a=b","events":["*"]}"#))
    let room = try made.decoded(Room.self).roomId
    let start = harness.time.withLock { $0 }
    await join(harness, room, "ana")
    let sessions: Sessions = try await call(harness, "GET", "/v2/sessions?roomId=\(room)").decoded()
    let session = try #require(sessions.data.first?.id)
    await join(harness, room, "ben")
    await happen(harness, room, "ana", .left(.left))
    harness.advance(seconds: 60)
    await happen(harness, room, "ben", .left(.lost))
    let sent = take(harness)
    #expect(
      sent.map(\.name) == [
        "session-started", "participant-joined", "participant-joined", "participant-left", "participant-left",
        "session-ended",
      ])
    #expect(sent.allSatisfy { $0.webhook == "https://one.example/hook?a=b" && $0.form == .videosdk && $0.room == room })
    let bodies = try sent.map { try JSONCodec.decode(Webhook.self, from: $0.body) }
    #expect(bodies.map(\.webhookType) == sent.map(\.name))
    #expect(bodies.allSatisfy { $0.data.meetingId == room && $0.data.sessionId == session })
    #expect(bodies.map(\.data.participantId) == [nil, "ana", "ben", "ana", "ben", nil])
    #expect(bodies[3].data.participantName == "Name of ana")
    #expect(bodies[0].data.start == start.iso8601Offset)
    #expect(bodies[0].data.end == nil)
    #expect(bodies[5].data.end == start.adding(seconds: 60).iso8601Offset)
    // As `JSON.stringify` writes what `JSON.parse` has read.
    let text = String(decoding: sent[1].body, as: UTF8.self)
    #expect(
      text == #"{"webhookType":"participant-joined","data":{"meetingId":"\#(room)","sessionId":"\#(session)","#
        + #""participantId":"ana","participantName":"Name of ana"}}"#)
    // A second session.
    await join(harness, room, "ana")
    #expect(take(harness).map(\.name) == ["session-started", "participant-joined"])
  }

  @Test func webhookGetsTheEventsThatItNames() async throws {
    let harness = try APIHarness()
    let body = #"{"webhook":{"endPoint":"http://one.example/","events":["session*","participant-left"]}}"#
    let room = try await call(harness, "POST", "/v2/rooms", body).decoded(Room.self).roomId
    let quiet = try await call(harness, "POST", "/v2/rooms", "{}").decoded(Room.self).roomId
    for room in [room, quiet, "made by no back end"] {
      await join(harness, room, "ana")
      await happen(harness, room, "ana", .left(.left))
    }
    #expect(take(harness).map(\.name) == ["session-started", "participant-left", "session-ended"])
  }

  @Test func receiverOfAllEventsGetsThoseOfRoomsWithoutWebhookToo() async throws {
    let harness = try APIHarness(events: [.videosdk])
    let room = try await call(harness, "POST", "/v2/rooms", "{}").decoded(Room.self).roomId
    await join(harness, room, "ana")
    let sent = take(harness)
    #expect(sent.map(\.name) == ["session-started", "participant-joined"])
    #expect(sent.allSatisfy { $0.webhook == nil && $0.signature != nil })
  }

  /// As many joins as leaves of each participant, with the same names, and in this order.
  private func joinsAndLeaves(_ sent: [BackEndEvent]) throws -> [String] {
    try sent.map { event in
      let body = try JSONCodec.decode(Webhook.self, from: event.body)
      return [event.name, body.data.participantId, body.data.participantName].compactMap { $0 }.joined(separator: " ")
    }
  }

  @Test func participantsOfNoAPIKeyHaveNoEventsInTheSessionOfOne() async throws {
    let harness = try APIHarness(events: [.videosdk])
    func happen(_ id: String, _ issuer: String?, _ change: RoomEvent.Change) async {
      harness.apis.observe(RoomEvent(room: "tea", epoch: "e", participant: id, issuer: issuer, change))
      await harness.apis.settle()
    }
    func join(_ id: String, _ issuer: String?) async {
      await happen(id, issuer, .joined(Participant(id: id, name: "N" + id)))
    }
    // A guest before, one during and one after the session.
    await join("gil", nil)
    await join("ana", "vsdk-key")
    await join("hal", nil)
    await join("ben", "vsdk-key")
    await happen("hal", nil, .left(.left))
    await happen("ana", "vsdk-key", .left(.left))
    // The same id, now of a guest, and of another key.
    await join("ana", nil)
    await join("eve", "vsdk-other")
    await happen("ana", nil, .left(.left))
    await happen("ben", "vsdk-key", .left(.lost))
    await happen("gil", nil, .left(.left))
    await happen("eve", "vsdk-other", .left(.left))
    #expect(
      try joinsAndLeaves(take(harness)) == [
        "session-started", "participant-joined ana Nana", "participant-joined ben Nben", "participant-left ana Nana",
        "participant-left ben Nben", "session-ended",
      ])
    // No name is kept: the next participants of the same ids are others.
    await happen("ben", "vsdk-key", .left(.left))
    await happen("gil", nil, .left(.left))
    #expect(take(harness).isEmpty)
  }

  @Test func participantThatMovesToAnotherDeviceHasAsManyJoinsAsLeaves() async throws {
    let harness = try APIHarness()
    let room = try await call(harness, "POST", "/v2/rooms", Self.hook).decoded(Room.self).roomId
    await join(harness, room, "ana")
    await join(harness, room, "ben")
    await happen(harness, room, "ana", .left(.duplicate))
    await join(harness, room, "ana")
    await join(harness, room, "ana")
    for id in ["ana", "ben"] { await happen(harness, room, id, .left(.roomClosedByService)) }
    #expect(
      try joinsAndLeaves(take(harness)).map { String($0.prefix { $0 != "N" }) } == [
        "session-started", "participant-joined ana ", "participant-joined ben ", "participant-left ana ",
        "participant-joined ana ", "participant-left ana ", "participant-left ben ", "session-ended",
      ])
  }

  @Test(arguments: [
    #"{"endPoint":"ftp://one.example/"}"#, #"{"endPoint":"http://me@one.example/"}"#, #"{"events":["*"]}"#,
    #"{"endPoint":"http://one.example/\#(String(repeating: "a", count: 500))"}"#,
  ])
  func invalidWebhookIsRefused(_ webhook: String) async throws {
    let answer = try await call(try APIHarness(), "POST", "/v2/rooms", #"{"webhook":\#(webhook)}"#)
    #expect(answer.status == 400)
    #expect(answer.text.contains("webhook"))
  }

  /// RSASSA-PKCS1-v1_5 is deterministic, so the same key gives the same signature. `Scripts/check-apis` verifies one with another
  /// implementation.
  @Test func eventsAreSignedByTheKeyOfTheRegistry() async throws {
    let harness = try APIHarness()
    let others = await withTaskGroup { tasks in
      for _ in 0..<8 {
        tasks.addTask { await harness.apis.answer(APIRequest(method: "GET", target: "/v2/public/rsa-public-key")).text }
      }
      return await tasks.reduce(into: Set<String>()) { $0.insert($1) }
    }
    let answer = await harness.apis.answer(APIRequest(method: "GET", target: "/v2/public/rsa-public-key"))
    #expect(answer.status == 200)
    let pem = try answer.decoded(Key.self).publicKey
    #expect(others == [answer.text])
    #expect(pem.hasPrefix("-----BEGIN RSA PUBLIC KEY-----\nMII"))
    let room = try await call(harness, "POST", "/v2/rooms", Self.hook).decoded(Room.self).roomId
    await join(harness, room, "ana")
    let sent = take(harness)
    let entry = try #require(try await harness.store.get(StoredWebhookKey.key))
    let stored = try JSONCodec.decode(StoredWebhookKey.self, from: entry.value)
    let der = try #require(Base64.decode(stored.der.utf8))
    let key = try #require(WebhookKey(der: der))
    #expect(key.publicPEM == pem)
    for event in sent { #expect(event.signature == key.sign(event.body)) }
    #expect(sent[0].signature != sent[1].signature)
    let signature = try #require(sent[0].signature)
    #expect(Base64.decode(signature.utf8)?.count == 256)
    #expect(harness.log.withLock { $0 }.allSatisfy { !$0.contains(stored.der) })
  }
}
