import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// What a token of one back end must not open at another's room.
@Suite struct ForeignTokenTests {
  private let rules = AdmissionRules { APITime(milliseconds: 0) }

  private func decide(
    _ grants: Grants, _ join: String?, present: AdmissionPolicy.RoomState? = nil
  ) -> Failure.Code? {
    let join = Join(
      room: "room", credential: "x", participantID: join, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    let decision = rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: present))
    guard case .refuse(let failure) = decision else { return nil }
    return failure.code
  }

  private func grants(_ kind: TokenKind?, id: String?) -> Grants {
    var grants = Grants(participantID: id)
    grants.kind = kind?.rawValue
    return grants
  }

  @Test func roomIsOpenedByTokensOfItsOwnKindOnly() {
    rules.set(AdmissionRules.RoomRule(kind: .callAgent), room: "room", version: RegistryVersion(number: 1))
    #expect(decide(grants(.callAgent, id: "a"), nil) == nil)
    #expect(decide(grants(.room, id: "a"), nil) == nil)
    #expect(decide(grants(.eventListener, id: "a"), nil) == .forbidden)
    #expect(decide(grants(nil, id: "a"), nil) == nil, "an open server checks no token")
  }

  @Test func rosterBelievesAnIdInTheTokenOnly() {
    rules.set(
      AdmissionRules.RoomRule(roster: ["ana": .init()]), room: "room", version: RegistryVersion(number: 1))
    #expect(decide(grants(.callAgent, id: "ana"), nil) == nil)
    #expect(decide(grants(.callAgent, id: nil), "ana") == .forbidden)
  }

  @Test func fullRoomTakesBackItsOwnParticipant() {
    rules.set(AdmissionRules.RoomRule(limit: 2), room: "room", version: RegistryVersion(number: 1))
    var full = AdmissionPolicy.RoomState(participants: 2, hidden: 0, contentShares: 0, waiting: 0, limit: 100)
    #expect(decide(grants(.meetingSession, id: "cal"), nil, present: full) == .roomFull)
    full.hasParticipant = true
    #expect(decide(grants(.meetingSession, id: "ana"), nil, present: full) == nil)
  }

  @Test func largeRosterIsAppliedOrRefused() async throws {
    let harness = try APIHarness()
    let guid = "5a1e7c3e-0000-4000-8000-00000000abcd"
    func participants(_ count: Int) -> [String: AzureRoom.Role] {
      Dictionary(
        uniqueKeysWithValues: (0..<count).map {
          ("8:acs:\(guid)_5a1e7c3e-0000-4000-8000-\($0 + 100_000_000_000)", .attendee)
        })
    }
    let room = AzureRoom(
      id: "99000000000000001", resource: guid, created: APITime(milliseconds: 0), validFrom: APITime(milliseconds: 0),
      validUntil: harness.time.withLock { $0.adding(seconds: 60) }, allowsDialOut: false,
      participants: participants(900))
    _ = try await Registry(store: harness.store).create(room.key, room)
    #expect(harness.apis.rules.roomRule(room.id)?.roster?.count == 900)
  }

  @Test func fiveVideoSDKCredentialsAreAllUsable() throws {
    let keys = (0..<5).map {
      APICredentials.VideoSDKKey(apiKey: "key\($0)", secret: String(repeating: "\($0)", count: 64))
    }
    let harness = try APIHarness(access: .credentials(APICredentials(videosdk: keys)))
    let now = NumericDate.ofSystemClock()
    for key in keys {
      let token = try VideoSDKToken(apiKey: key.apiKey, participantID: "ana", issued: now, expires: now + 60)
        .signed(with: SigningKey(secret: Array(key.secret.utf8)))
      let join = Join(
        room: "room", credential: token, participantID: nil, name: "",
        description: PeerDescription(
          ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
      let base = Authorization.tokens(trusting: .keys(harness.apis.verificationKeys))
      #expect(try harness.apis.authorization(after: base).check(join).get().participantID == "ana")
    }
  }

  @Test func repeatedDeletionClosesTheRoomAgain() async throws {
    let harness = try APIHarness()
    let body = #"{"ClientRequestToken":"abc","MediaRegion":"us-east-1","ExternalMeetingId":"tea"}"#
    struct Made: Decodable {
      struct Members: Decodable { var MeetingId: String }
      var Meeting: Members
    }
    let id = try await harness.aws("POST", "/meetings", body).decoded(Made.self).Meeting.MeetingId
    // The first request ended the meeting, and its process with it, before the room was closed.
    try await Registry(store: harness.store).update(
      ChimeMeeting.self, ChimeMeeting.key(id), refusing: { $0 }
    ) { (meeting: inout ChimeMeeting) throws(RegistryError) in
      meeting.hasEnded = true
      return true
    }
    #expect(await harness.aws("DELETE", "/meetings/\(id)").status == 404)
    #expect(harness.takeCommands().map(\.command) == [.close(room: id)])
  }

  @Test func signedHeadersMayNotRepeat() async throws {
    let harness = try APIHarness()
    var request = harness.signedForAWS("GET", "/meetings/x")
    request.headers[2].value = request.headers[2].value.replacing("host;", with: "host;host;")
    #expect(await harness.apis.answer(request).header("x-amzn-ErrorType") == "IncompleteSignatureException")
  }
}
