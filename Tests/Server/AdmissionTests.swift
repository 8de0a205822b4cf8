import Foundation
import Koine
import KoineServer
import KoineTokens
import Testing

@Suite(.timeLimit(.minutes(5))) struct AdmissionTests {
  private let now = NumericDate.ofSystemClock()

  /// - Returns: the reason of the refusal; nil if the join was accepted.
  private func refusal(_ rooms: ServedRooms, room: String = "tea", _ credential: String?) async -> Failure.Code? {
    let session = Session(JoinRequest(room: room, credential: credential, name: "Ana"), in: rooms.world())
    do { try await session.join() } catch { return error.code }
    await session.leave()
    return nil
  }

  @Test func serverAdmitsOnlyTokensSignedWithItsKeys() async throws {
    let (ours, theirs) = (try KeySet(newKey: "a"), try KeySet(newKey: "a"))
    let rooms = try await ServedRooms(access: .keys(try ours.verificationKeys))
    let pass = KoineToken(room: "tea", issued: now, expires: now + 60)
    #expect(await refusal(rooms, try pass.signed(with: ours.signingKey)) == nil)
    #expect(await refusal(rooms, try pass.signed(with: theirs.signingKey)) == .unauthorized)
    #expect(await refusal(rooms, nil) == .unauthorized)
    #expect(await refusal(rooms, room: "coffee", try pass.signed(with: ours.signingKey)) == .forbidden)
    let old = KoineToken(room: "tea", issued: now + -7_200, expires: now + -3_600)
    #expect(await refusal(rooms, try old.signed(with: ours.signingKey)) == .unauthorized)
    await rooms.server.stop()
  }

  @Test func serverAdmitsTokensOfEveryStyle() async throws {
    let keys = try KeySet(newKey: "a")
    let rooms = try await ServedRooms(access: .keys(try keys.verificationKeys))
    let meeting = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("ws://127.0.0.1")), attendeeID: "ana", externalUserID: "ana#Ana",
      issued: now, with: keys.signingKey)
    let texts = [
      try IVSStageToken(participantID: "ana", stage: "tea", issued: now, expires: now + 60).signed(
        with: keys.signingKey),
      meeting.attendee.joinToken, meeting.attendee.joinToken + "#content",
      try VideoSDKToken(apiKey: "k", issued: now, expires: now + 60).signed(with: keys.signingKey),
      try AzureUserToken(identity: "8:acs:ana", issued: now, expires: now + 60).signed(with: keys.signingKey),
    ]
    for text in texts { #expect(await refusal(rooms, text) == nil) }
    await rooms.server.stop()
  }

  /// The token's identity counts, not the identity that the join requests.
  @Test func joinUnderAnotherIdentityThanTheTokensIsRefused() async throws {
    let keys = try KeySet(newKey: "a")
    let rooms = try await ServedRooms(access: .keys(try keys.verificationKeys))
    let eve = try AzureUserToken(identity: "8:acs:eve", issued: now, expires: now + 60)
      .signed(with: keys.signingKey)
    let meeting = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("ws://127.0.0.1")), attendeeID: "a", externalUserID: "intern#Ivo",
      issued: now, with: keys.signingKey)
    let stage = try IVSStageToken(participantID: "a", stage: "tea", userID: "u1", issued: now, expires: now + 60)
      .signed(with: keys.signingKey)
    let unnamed = try IVSStageToken(participantID: "a", stage: "tea", issued: now, expires: now + 60)
      .signed(with: keys.signingKey)
    for (credential, id, externalID) in [
      (eve, "8:acs:ben", nil), (meeting.attendee.joinToken, "b", nil), (meeting.attendee.joinToken, "a", "ceo#Carla"),
      (stage, "a", "u-admin"), (unnamed, "a", "u-admin"),
    ] as [(String, String, String?)] {
      let request = JoinRequest(
        room: "tea", credential: credential, participantID: id, name: "Eve", externalUserID: externalID)
      await #expect(throws: Failure.self) { try await Session(request, in: rooms.world()).join() }
    }
    let session = Session(JoinRequest(room: "tea", credential: stage, name: "S"), in: rooms.world())
    try await session.join()
    #expect(session.localParticipant.id == "a")
    #expect(session.localParticipant.externalUserID == "u1")
    await session.leave()
    await rooms.server.stop()
  }

  @Test func participantAdmitsGuestsOnlyWithThePermissionOfItsToken() {
    let rights: [(Set<KoineToken.Right>, Bool)] = [
      ([.publish, .subscribe, .send], false), ([.subscribe, .moderate], true), ([.subscribe, .ask], false),
    ]
    for (rights, canAdmit) in rights {
      #expect(KoineToken(rights: rights, issued: now, expires: now + 60).admission.canAdmit == canAdmit)
    }
    // As with the vendor: every participant that may join.
    for (permissions, canAdmit) in [([.join], true), ([.ask], false)] as [([VideoSDKToken.Permission], Bool)] {
      let token = VideoSDKToken(apiKey: "k", permissions: permissions, issued: now, expires: now + 60)
      #expect(token.admission.canAdmit == canAdmit)
    }
  }

  @Test func keysAreChangedWhileTheServerRuns() async throws {
    var keys = try KeySet(newKey: "old")
    let rooms = try await ServedRooms(access: .keys(try keys.verificationKeys))
    let pass = KoineToken(issued: now, expires: now + 60)
    let old = try pass.signed(with: keys.signingKey)
    try keys.rotate(to: "new")
    let new = try pass.signed(with: keys.signingKey)
    #expect(await refusal(rooms, new) == .unauthorized)
    rooms.server.admit(.keys(try keys.verificationKeys))
    #expect(await refusal(rooms, new) == nil)
    #expect(await refusal(rooms, old) == nil)
    let dropped = keys.drop("old")
    #expect(dropped)
    rooms.server.admit(.keys(try keys.verificationKeys))
    #expect(await refusal(rooms, old) == .unauthorized)
    await rooms.server.stop()
  }

  @Test func publicationWithoutPermissionFails() async throws {
    let keys = try KeySet(newKey: "a")
    let rooms = try await ServedRooms(access: .keys(try keys.verificationKeys))
    let pass = KoineToken(name: "Guest", rights: [.subscribe], issued: now, expires: now + 60)
    let guest = Session(
      JoinRequest(room: "tea", credential: try pass.signed(with: keys.signingKey), name: "Ana"), in: rooms.world())
    let events = guest.events()
    try guest.publish(microphone: Devices.microphone("tone"))
    try await guest.join()
    #expect(guest.localParticipant.name == "Guest")
    for await event in events {
      guard case .publishFailed(_, let error) = event else { continue }
      #expect(error.code == .forbidden)
      break
    }
    await guest.leave()
    await rooms.server.stop()
  }

  @Test func keySetIsReadBackFromJSON() throws {
    var keys = try KeySet(newKey: "one")
    try keys.rotate(to: "two")
    let again = try KeySet(json: try keys.json)
    #expect(again.keys.map(\.id) == ["two", "one"])
    let token = try KoineToken(issued: now, expires: now + 60).signed(with: again.signingKey)
    #expect(throws: Never.self) {
      try KoineToken.parse(token, trusting: .keys(try keys.verificationKeys), at: now)
    }
    #expect(throws: TokenError.self) { try KeySet(json: #"{"keys":[]}"#) }
    #expect(throws: TokenError.self) { try KeySet(json: #"{"keys":[{"kty":"oct","kid":"a","k":"AAAA"}]}"#) }
  }
}
