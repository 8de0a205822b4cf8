import KoineAdmissions
import KoineRouter
import KoineSignaling
import KoineTokens
import Synchronization
import Testing

/// Grants of joins and registrations, by their credentials.
@Suite struct AdmissionTests {
  private let now = NumericDate.ofSystemClock()

  private func join(_ room: String, _ credential: String?, as participant: String? = nil) -> Join {
    Join(
      room: room, credential: credential, participantID: participant, name: "Ana",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
  }

  private func code(_ answer: Result<some Any, Failure>) -> Failure.Code? {
    if case .failure(let failure) = answer { failure.code } else { nil }
  }

  @Test func everyJoinAndRegistrationCostsOneSignatureCheck() throws {
    let keys = try KeySet(newKey: "a")
    let count = Counter()
    let authorization = Authorization.tokens(trusting: .keys(keys.keys.map { count.watch($0) }))
    let pass = try KoineToken(room: "tea", participantID: "ana", issued: now, expires: now + 60)
      .signed(with: keys.signingKey)
    let forged = try KoineToken(room: "tea", issued: now, expires: now + 60)
      .signed(with: KeySet(newKey: "a").signingKey)
    let meeting = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("embedded:")), attendeeID: "ana", externalUserID: "ana#Ana",
      issued: now, with: keys.signingKey)
    for (credential, expected) in [
      (pass, nil), (forged, .unauthorized), (meeting.attendee.joinToken, nil),
      (meeting.attendee.joinToken + "#content", nil),
    ] as [(String, Failure.Code?)] {
      #expect(code(authorization.check(join("tea", credential))) == expected)
      #expect(count.take() == 1)
    }
    #expect(code(authorization.checkIdentity(Register(identity: "ana", credential: pass))) == nil)
    #expect(count.take() == 1)
    #expect(code(authorization.checkIdentity(Register(identity: "ana", credential: forged))) == .unauthorized)
    #expect(count.take() == 1)
    for credential in [nil, "", "none", pass + "#content"] {
      #expect(code(authorization.check(join("tea", credential))) == .unauthorized)
    }
  }

  /// A stage's token only opens the door: its participant stays after it has expired.
  @Test func grantsSayWhenAStageTokenExpires() throws {
    let keys = try KeySet(newKey: "a")
    let issued = NumericDate(now.seconds.rounded(.down))
    let token = try IVSStageToken(participantID: "ana", stage: "tea", issued: issued, expires: issued + 600)
      .signed(with: keys.signingKey)
    let grants = try Authorization.tokens(trusting: .keys(keys.keys)).check(join("tea", token)).get()
    #expect(grants.credentialExpiry == Int64(issued.seconds + 600) * 1_000)
    #expect(grants.validFor == nil)
    #expect(try Authorization.embedded.check(join("tea", nil)).get().credentialExpiry == nil)
  }

  @Test func keyBoundToRoomsAdmitsToMatchingRoomsAndRegistersNoIdentity() throws {
    var key = try SigningKey(generating: .p256, id: "team")
    key.binding = KeyBinding(kinds: [.room], rooms: RoomPattern("team-*"))
    let authorization = Authorization.tokens(trusting: .keys([try key.verificationKey]))
    let any = try KoineToken(participantID: "ana", issued: now, expires: now + 60).signed(with: key)
    #expect(code(authorization.check(join("team-1", any))) == nil)
    #expect(code(authorization.check(join("tea", any))) == .forbidden)
    #expect(code(authorization.checkIdentity(Register(identity: "ana", credential: any))) == .unauthorized)
  }

  /// A name assigned by one vendor's backend does not identify a user of another vendor.
  @Test func identityIsRegisteredOnlyByTokenOfItsVendor() throws {
    let keys = try KeySet(newKey: "a")
    let authorization = Authorization.tokens(trusting: .keys(keys.keys))
    let raw = "8:acs:ana"
    let meeting = try ChimeJoinInfo.create(
      .init(meetingID: "tea", mediaPlacement: .at("embedded:")), attendeeID: "a", externalUserID: raw, issued: now,
      with: keys.signingKey)
    let listener = try VideoSDKToken(apiKey: "k", participantID: raw, issued: now, expires: now + 60)
      .signed(with: keys.signingKey)
    let pass = try KoineToken(participantID: raw, issued: now, expires: now + 60).signed(with: keys.signingKey)
    let call = try AzureUserToken(identity: raw, issued: now, expires: now + 60).signed(with: keys.signingKey)
    for (credential, isItsOwn) in [
      (meeting.attendee.joinToken, false), (listener, false), (pass, false), (call, true),
    ] {
      let answer = authorization.checkIdentity(Register(identity: raw, credential: credential))
      #expect((code(answer) == nil) == isItsOwn)
      // Inside one process every token is trusted.
      #expect(code(Authorization.embedded.checkIdentity(Register(identity: raw, credential: credential))) == nil)
    }
  }
}

private final class Counter: Sendable {
  private let count = Mutex(0)

  func watch(_ key: VerificationKey) -> VerificationKey {
    var key = key
    key.willCheck = { [self] in count.withLock { $0 += 1 } }
    return key
  }

  func take() -> Int {
    count.withLock { count in
      defer { count = 0 }
      return count
    }
  }
}
