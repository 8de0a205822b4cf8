import KoineJSONCodec
import KoineTokens
import Testing

@Suite struct AccessTokenTests {
  private static func json(_ text: String) throws -> String {
    String(decoding: try JSONWebToken.parse(text).payload, as: UTF8.self)
  }

  /// A signed token is accepted with its key and without keys; not with another key, and not after it has expired.
  private func roundTrip<Token: AccessToken>(_ token: Token, key: SigningKey, lasting seconds: Double) throws {
    let text = try token.signed(with: key)
    let trust = Trust.keys([try key.verificationKey])
    #expect(try Token.parse(text, trusting: trust, at: now) == token)
    #expect(try Token.parse(text, trusting: .anybody, at: now) == token)
    let stranger = Trust.keys([try SigningKey(secret: secret.map { $0 ^ 1 }).verificationKey])
    #expect(failure { () throws(TokenError) in _ = try Token.parse(text, trusting: stranger, at: now) } != nil)
    for trust in [trust, .anybody] {
      let found = failure { () throws(TokenError) in
        _ = try Token.parse(text, trusting: trust, at: now + (seconds + 60))
      }
      #expect(found == .expired(at: now + seconds))
    }
    for length in stride(from: 0, to: text.utf8.count, by: 7) {
      #expect(
        failure { () throws(TokenError) in _ = try Token.parse(String(text.prefix(length)), trusting: trust, at: now) }
          != nil)
    }
  }

  // MARK: Azure

  @Test func azureTokenNamesTheUser() throws {
    let user = "8:acs:0c5e9b66_00000019-1111"
    let token = AzureUserToken(identity: user, resourceID: "0c5e9b66", issued: now, expires: now + 3_600)
    try roundTrip(token, key: SigningKey(generating: .p256), lasting: 3_600)
    #expect(token.admission == Admission(identity: user, canModerate: true, expiry: now + 3_600))
    #expect(
      try Self.json(token.signed(with: SigningKey(secret: secret)))
        == #"{"skypeid":"acs:0c5e9b66_00000019-1111","acsScope":"chat,voip","resourceId":"0c5e9b66","iat":1700000000,"exp":1700003600}"#
    )
  }

  @Test func azureScopesDecideWhatAUserMayDoInCalls() throws {
    var token = AzureUserToken(identity: "8:acs:a", scopes: [.chat], issued: now, expires: now + 60)
    #expect(!token.admission.canPublish)
    #expect(!token.admission.canSubscribe)
    #expect(!token.canStartCalls)
    token.scopes = [.voipJoin]
    #expect(token.admission.canPublish)
    #expect(token.admission.canSubscribe)
    #expect(!token.canStartCalls)
    token.scopes = [.voip]
    #expect(token.canStartCalls)
  }

  /// The vendor's credential accepts two parts of which the second has `exp`, expired or not.
  @Test func azureCredentialRequiresOnlyTheExpiry() throws {
    let payload = base64url(#"{"exp":1}"#)
    for text in ["header.\(payload).signature", "x.\(payload)", ".\(payload)."] {
      let read = try AzureUserToken.reading(text)
      #expect(read.expires == NumericDate(1))
      #expect(read.identity == nil)
    }
    // '_' and '-' in a payload, which the vendor's own reader trips over
    let odd = base64url(#"{"exp":1,"skypeid":"acs:???>>>~~~"}"#)
    #expect(odd.contains("_") || odd.contains("-"))
    #expect(try AzureUserToken.reading("a.\(odd).b").identity == "8:acs:???>>>~~~")
    for text in ["<USER_ACCESS_TOKEN>", "", payload, "a.%%.b", "a.\(base64url("{}")).b", "a.\(base64url("no")).b"] {
      #expect(failure { () throws(TokenError) in _ = try AzureUserToken.reading(text) } != nil, "\(text)")
    }
    #expect(
      failure { () throws(TokenError) in _ = try AzureUserToken.reading("a.\(base64url("{}")).b") }
        == .missingClaim("exp"))
    #expect(
      failure { () throws(TokenError) in
        _ = try AzureUserToken.parse("a.\(payload).b", trusting: .anybody, at: now)
      } == .expired(at: NumericDate(1)))
  }

  // MARK: Amazon stage

  @Test func stageTokenHasTheVendorsClaims() throws {
    let key = try SigningKey(generating: .p384, id: "arn:aws:ivs:us-east-1:1:public-key/abc")
    let token = IVSStageToken(
      participantID: "p-1", stage: "lounge", userID: "alice", attributes: ["name": "Alice"],
      capabilities: .init(canPublish: false), issued: now, eventsURL: "wss://e", whipURL: "https://w")
    try roundTrip(token, key: key, lasting: 720 * 60)
    let text = try token.signed(with: key)
    #expect(try JSONWebToken.parse(text).algorithm == "ES384")
    #expect(try JSONWebToken.parse(text).keyID == key.id)
    let claims = try JSONCodec.decode([String: AnyClaim].self, from: JSONWebToken.parse(text).payload)
    #expect(
      claims.keys.sorted() == [
        "attributes", "capabilities", "events_url", "exp", "iat", "jti", "resource", "topic", "user_id", "version",
        "whip_url",
      ])
    #expect(
      token.admission
        == Admission(
          identity: "alice", participantID: "p-1", externalID: "alice", room: "lounge", canPublish: false,
          attributes: ["name": "Alice"], expiry: now + 43_200))
  }

  @Test func stageTokenBeyondTheVendorsLimitsIsRefused() {
    func refused(_ change: (inout IVSStageToken) -> Void) -> Bool {
      var token = IVSStageToken(participantID: "p", stage: "s", issued: now)
      change(&token)
      return failure { () throws(TokenError) in try token.check() } != nil
    }
    #expect(!refused { _ in })
    #expect(refused { $0.participantID = "" })
    #expect(refused { $0.participantID = String(repeating: "a", count: 65) })
    #expect(refused { $0.participantID = "a b" })
    #expect(refused { $0.userID = String(repeating: "a", count: 129) })
    #expect(!refused { $0.attributes = ["k": String(repeating: "a", count: 1_023)] })
    #expect(refused { $0.attributes = ["k": String(repeating: "a", count: 1_024)] })
    #expect(refused { $0.topic = "" })
  }

  @Test func exchangedStageTokenKeepsParticipantAndStage() {
    let token = IVSStageToken(participantID: "p", stage: "s", issued: now)
    var other = IVSStageToken(
      participantID: "p", stage: "s", userID: "u", attributes: ["a": "b"], capabilities: .init(canPublish: false),
      issued: now + 5)
    #expect(token.canBeExchanged(for: other))
    other.topic = "t"
    #expect(!token.canBeExchanged(for: other))
  }

  // MARK: VideoSDK

  @Test func videoSDKTokenHasTheVendorsClaims() throws {
    let key = try SigningKey(secret: secret)
    let token = VideoSDKToken(
      apiKey: "k", permissions: [.join, .moderate], roomID: "abcd-1234-efgh", participantID: "p", roles: [.rtc],
      issued: now, expires: now + 600)
    try roundTrip(token, key: key, lasting: 600)
    #expect(
      try Self.json(token.signed(with: key))
        == #"{"apikey":"k","permissions":["allow_join","allow_mod"],"version":2,"roomId":"abcd-1234-efgh","participantId":"p","roles":["rtc"],"iat":1700000000,"exp":1700000600}"#
    )
    #expect(
      token.admission
        == Admission(identity: "p", participantID: "p", room: "abcd-1234-efgh", canModerate: true, expiry: now + 600))
  }

  @Test func videoSDKTokenDoesNotCombineAskingWithJoining() {
    func found(_ permissions: [VideoSDKToken.Permission], roles: [VideoSDKToken.Role]? = nil) -> TokenError? {
      let token = VideoSDKToken(apiKey: "k", permissions: permissions, roles: roles, issued: now, expires: nil)
      return failure { () throws(TokenError) in try token.check() }
    }
    #expect(found([.ask]) == nil)
    #expect(found([.join, .moderate]) == nil)
    #expect(found([.moderate]) == nil)
    for wrong in [[], [VideoSDKToken.Permission.ask, .join], [.moderate, .ask]] {
      guard case .invalidClaim("permissions", _) = found(wrong) else {
        Issue.record("\(wrong)")
        continue
      }
    }
    #expect(found([.join], roles: [.crawler]) != nil)
    #expect(found([.join], roles: [.crawler, .rtc]) == nil)
    #expect(VideoSDKToken(apiKey: "k", permissions: [.ask], issued: now, expires: nil).admission.mustAsk)
  }

  // MARK: Chime

  private static func pass(
    capabilities: ChimeJoinInfo.Capabilities? = nil, expires: NumericDate? = nil
  ) throws -> ChimeJoinInfo {
    try ChimeJoinInfo.create(
      ChimeJoinInfo.Meeting(
        meetingID: "m-1", mediaPlacement: .at("embedded:"), externalMeetingID: "weekly",
        features: .init(videoMaxResolution: "FHD", attendeeMaxCount: 10)),
      attendeeID: "a-1", externalUserID: "1#Alice", capabilities: capabilities, issued: now, expires: expires,
      with: SigningKey(secret: secret))
  }

  @Test func meetingAnswersAreReadAsTheyAreWritten() throws {
    let pass = try Self.pass(capabilities: .init(video: .receive))
    let pair = try ChimeJoinInfo.parse(createMeeting: pass.createMeetingJSON, createAttendee: pass.createAttendeeJSON)
    #expect(pair == pass)
    #expect(try ChimeJoinInfo.parse(joinInfo: pass.joinInfoJSON) == pass)
    #expect(
      try pass.createMeetingJSON
        == #"{"Meeting":{"MeetingId":"m-1","MediaRegion":"local","ExternalMeetingId":"weekly","MediaPlacement":{"AudioHostUrl":"embedded:","SignalingUrl":"embedded:","AudioFallbackUrl":"embedded:","TurnControlUrl":"embedded:"},"MeetingFeatures":{"Video":{"MaxResolution":"FHD"},"Attendee":{"MaxCount":10}}}}"#
    )
    let trust = Trust.keys([try VerificationKey(secret: secret)])
    var admission = Admission(
      identity: "1#Alice", participantID: "a-1", externalID: "1#Alice", room: "m-1", expiry: now + 86_400)
    admission.media = [.sound, .screen]
    #expect(try pair.admission(trusting: trust, at: now) == admission, "pictures may be received alone")
  }

  @Test func attendeeCapabilitiesBecomeGrants() throws {
    let silent = ChimeJoinInfo.Capabilities(audio: .receive, video: .none, content: .none)
    let grant = try Self.pass(capabilities: silent).admission(trusting: .anybody, at: now)
    #expect(!grant.canPublish)
    #expect(grant.canSubscribe)
  }

  @Test func joinTokenIsAcceptedForItsAttendeeAndMeetingOnly() throws {
    let trust = Trust.keys([try VerificationKey(secret: secret)])
    func found(_ trust: Trust, at date: NumericDate = now, _ change: (inout ChimeJoinInfo) -> Void) throws
      -> TokenError?
    {
      var pass = try Self.pass(expires: now + 60)
      change(&pass)
      return failure { () throws(TokenError) in _ = try pass.admission(trusting: trust, at: date) }
    }
    for trust in [trust, .anybody] {
      #expect(try found(trust) { _ in } == nil)
      #expect(try found(trust) { $0.attendee.attendeeID = "a-2" } != nil)
      #expect(try found(trust) { $0.attendee.externalUserID = "2#Bob" } != nil)
      #expect(try found(trust) { $0.meeting.meetingID = "m-2" } != nil)
      #expect(try found(trust, at: now + 120) { _ in } == .expired(at: now + 60))
    }
    // A vendor's own token is opaque: fine inside the process, nothing to a server.
    #expect(try found(.anybody) { $0.attendee.joinToken = "QUxJQ0U=" } == nil)
    #expect(try found(.anybody) { $0.attendee.joinToken = "" } != nil)
    #expect(try found(trust) { $0.attendee.joinToken = "QUxJQ0U=" } != nil)
  }

  @Test func contentShareIsAdmittedWithTheTokenOfItsAttendee() throws {
    var pass = try Self.pass()
    pass.attendee.attendeeID += "#content"
    pass.attendee.joinToken += "#content"
    let grant = try pass.admission(trusting: .keys([VerificationKey(secret: secret)]), at: now)
    #expect(grant.participantID == "a-1#content")
    #expect(grant.identity == "1#Alice")
  }

  @Test func meetingAnswersOfTheVendorAreRead() throws {
    let pass = try ChimeJoinInfo.parse(
      joinInfo: """
        {"JoinInfo": {"Meeting": {"Meeting": {"MeetingId": "m", "MediaRegion": "us-east-1", "MeetingHostId": null,
          "MediaPlacement": {"AudioHostUrl": "a", "SignalingUrl": "s", "EventIngestionUrl": "e", "ScreenDataUrl": "d"},
          "MeetingFeatures": {"Audio": {"EchoReduction": "AVAILABLE"}}}},
         "Attendee": {"Attendee": {"AttendeeId": "a", "ExternalUserId": "xy", "JoinToken": "j",
          "Capabilities": {"Audio": "SendReceive", "Video": "None", "Content": "Send"}}}}}
        """)
    #expect(pass.meeting.features?.echoReduction == "AVAILABLE")
    #expect(pass.meeting.mediaPlacement.audioFallbackURL == nil)
    #expect(pass.attendee.capabilities?.content == .send)
    #expect(try pass.admission(trusting: .anybody, at: now).expiry == nil)
    let flat = try ChimeJoinInfo.parse(
      joinInfo: """
        {"JoinInfo": {"Title": "t", "Meeting": {"MeetingId": "m", "MediaRegion": "us-east-1",
          "MediaPlacement": {"AudioHostUrl": "a", "SignalingUrl": "s"}},
         "Attendee": {"AttendeeId": "a", "ExternalUserId": "xy", "JoinToken": "j", "Name": "n"}}}
        """)
    #expect(flat.meeting.meetingID == "m")
    #expect(flat.attendee.joinToken == "j")
    for text in ["", "{}", "[]", #"{"JoinInfo":{}}"#, #"{"JoinInfo":{"Meeting":{},"Attendee":{}}}"#] {
      #expect(failure { () throws(TokenError) in _ = try ChimeJoinInfo.parse(joinInfo: text) } != nil)
    }
  }
}

/// Any value, to look at the names alone.
private struct AnyClaim: Decodable {
  init(from decoder: any Decoder) throws {}
}
