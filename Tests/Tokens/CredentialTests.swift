import KoineJSONCodec
import Synchronization
import Testing

@testable import KoineTokens

/// A server's decisions about tokens of all kinds.
@Suite struct CredentialTests {
  /// Counts the signature checks of several keys.
  private final class Counter: Sendable {
    private let count = Mutex(0)

    func watch(_ key: VerificationKey) -> VerificationKey {
      var key = key
      key.willCheck = { [self] in count.withLock { $0 += 1 } }
      return key
    }

    /// How many checks there were since the last call.
    func take() -> Int {
      count.withLock { count in
        defer { count = 0 }
        return count
      }
    }
  }

  private static let room = KoineToken(room: "tea", participantID: "ana", issued: now, expires: now + 60)
  private static let call = AzureUserToken(identity: "8:acs:ana", issued: now, expires: now + 60)
  private static let stage = IVSStageToken(participantID: "ana", stage: "tea", issued: now, expires: now + 60)
  private static let listener = VideoSDKToken(
    apiKey: "k", roomID: "tea", participantID: "ana", issued: now, expires: now + 60)

  private static func meeting() throws -> MeetingJoinToken {
    try JSONWebToken.decode(
      MeetingJoinToken.self,
      from: Array(
        #"{"MeetingId":"tea","AttendeeId":"ana","ExternalUserId":"ana#Ana","iat":1700000000,"exp":1700000060}"#.utf8))
  }

  private static func tokens() throws -> [(kind: TokenKind, token: any AccessToken)] {
    [
      (.room, room), (.callAgent, call), (.stageStrategy, stage), (.meetingSession, try meeting()),
      (.eventListener, listener),
    ]
  }

  /// The text with another signature of the same length.
  private static func forged(_ text: String) -> String {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let signature = [UInt8](repeating: 1, count: Base64URL.decode(parts[2].utf8)?.count ?? 0)
    return "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))"
  }

  private func found(_ trust: Trust, _ text: String, at date: NumericDate = now) -> TokenError? {
    failure { () throws(TokenError) in _ = try trust.read(text, at: date) }
  }

  @Test func everyKindOfCredentialCostsOneSignatureCheck() throws {
    let keys = [
      try SigningKey(generating: .p384, id: "a"), try SigningKey(generating: .p256, id: "b"),
      try SigningKey(secret: secret, id: "c"), try SigningKey(generating: .p384, id: "d"),
    ]
    let counter = Counter()
    let trust = Trust.keys(try keys.map { counter.watch(try $0.verificationKey) })
    for (kind, token) in try Self.tokens() {
      for key in keys {
        let text = try token.signed(with: key)
        let credential = try trust.read(text, at: now)
        #expect(credential.kind == kind)
        #expect(credential.admission == token.admission)
        #expect(counter.take() == 1, "\(kind), good")
        #expect(found(trust, Self.forged(text)) == .badSignature)
        #expect(counter.take() == 1, "\(kind), forged")
        #expect(found(trust, text, at: now + 3_600) == .expired(at: now + 60))
        #expect(counter.take() == 0, "\(kind), expired")
      }
      let stranger = try token.signed(with: SigningKey(generating: .p384, id: "z"))
      #expect(found(trust, stranger) == .unknownKey(id: "z"))
      #expect(counter.take() == 0, "\(kind), signed by a key that is not here")
    }
    #expect(found(trust, token(header: #"{"alg":"ES384","kid":"a"}"#, payload: #"{"exp":1800000000}"#)) != nil)
    #expect(counter.take() == 0, "claims of no kind")
  }

  @Test func tokenWithoutKeyIDTriesFewKeysOfItsAlgorithm() throws {
    let own = try SigningKey(generating: .p256)
    let nameless = try Self.room.signed(with: own)
    let counter = Counter()
    func keys(_ count: Int) throws -> [VerificationKey] {
      var keys = [counter.watch(try SigningKey(secret: secret, id: "secret").verificationKey)]
      for number in 0..<count {
        keys.append(counter.watch(try SigningKey(generating: .p256, id: "\(number)").verificationKey))
      }
      return keys
    }
    let most = JSONWebToken.keyLimit
    #expect(found(.keys(try keys(most)), nameless) == .badSignature)
    #expect(counter.take() == most)
    #expect(try Trust.keys(keys(most - 1) + [own.verificationKey]).read(nameless, at: now).kind == .room)
    _ = counter.take()
    guard case .malformed? = found(.keys(try keys(most + 1)), nameless) else {
      Issue.record("more keys than are tried could be meant")
      return
    }
    #expect(counter.take() == 0)
  }

  @Test func keyThatRequiresItsIDIsNotTriedForATokenWithoutKeyID() throws {
    let own = try SigningKey(generating: .p256, id: "own")
    let counter = Counter()
    var named = counter.watch(try own.verificationKey)
    named.needsKeyID = true
    let others = try (0..<JSONWebToken.keyLimit).map { try SigningKey(generating: .p256, id: "\($0)") }
    let trust = Trust.keys(try others.map { try $0.verificationKey } + [named])
    let pem = try others[3].pem
    let nameless = try SigningKey(pem: try #require(pem))
    #expect(try trust.read(try Self.room.signed(with: nameless), at: now).kind == .room)
    #expect(counter.take() == 0)
    #expect(try trust.read(try Self.room.signed(with: own), at: now).kind == .room)
    #expect(counter.take() == 1)
  }

  /// The claims determine the kind, and the kind's claims alone determine the permissions.
  @Test(arguments: [
    (
      #"{"typ":"koine-room","jti":"a","topic":"t","MeetingId":"m","apikey":"k","rights":["subscribe"],"#, TokenKind.room
    ),
    (#"{"jti":"a","topic":"t","resource":"r","capabilities":{},"apikey":"k","skypeid":"acs:a","#, .stageStrategy),
    (#"{"MeetingId":"m","AttendeeId":"a","ExternalUserId":"xy","apikey":"k","jti":"a","#, .meetingSession),
    (#"{"apikey":"k","permissions":["allow_join"],"skypeid":"acs:a","typ":7,"#, .eventListener),
    (#"{"skypeid":"acs:a","jti":"a","#, .callAgent),
  ])
  func kindIsDecidedByClaims(_ claims: String, _ kind: TokenKind) throws {
    let payload = Array((claims + #""exp":1700000060}"#).utf8)
    let key = try SigningKey(secret: secret, id: "a")
    let text = try JSONWebToken.sign(payload: payload, with: key).text
    for trust in [Trust.keys([try key.verificationKey]), .anybody] {
      #expect(try trust.read(text, at: now).kind == kind)
    }
  }

  @Test func invalidClaimsAreRefusedBeforeTheSignatureCheck() throws {
    let key = try SigningKey(secret: secret, id: "a")
    let counter = Counter()
    let trust = Trust.keys([counter.watch(try key.verificationKey)])
    for claims in [
      "{}", #"{"exp":1700000060}"#, #"{"typ":"koine-room","rights":["fly"],"exp":1700000060,"skypeid":"acs:a"}"#,
      #"{"skypeid":"","exp":1700000060}"#, #"{"apikey":"k","permissions":[],"exp":1700000060}"#,
      #"{"skypeid":"acs:a","exp":1700000060,"aud":7}"#, #"{"skypeid":"acs:a","exp":"soon"}"#,
    ] {
      let text = try JSONWebToken.sign(payload: Array(claims.utf8), with: key).text
      #expect(found(trust, text) != nil, "\(claims)")
      #expect(counter.take() == 0, "\(claims)")
    }
  }

  // MARK: Keys bound to kinds, rooms and an audience

  @Test(
    arguments: [
      (#"{}"#, "tea", nil), (#"{"kinds":["room"]}"#, "tea", nil), (#"{"kinds":["stage","room"]}"#, "tea", nil),
      (#"{"kinds":["stage"]}"#, "tea", .keyNotFor("room tokens")),
      (#"{"rooms":"team-*"}"#, "team-1", nil), (#"{"rooms":"team-*"}"#, "team-", nil),
      (#"{"rooms":"team-*"}"#, nil, nil),
      (#"{"rooms":"*"}"#, "tea", nil), (#"{"rooms":"tea"}"#, "tea", nil), (#"{"rooms":"t*a"}"#, "t*a", nil),
      (#"{"rooms":"team-*"}"#, "teams", .keyNotFor("the room 'teams'")),
      (#"{"rooms":"tea"}"#, "teams", .keyNotFor("the room 'teams'")),
      (#"{"rooms":"t*a"}"#, "tea", .keyNotFor("the room 'tea'")),
      (#"{"audience":"calls.example"}"#, "tea", .missingClaim("aud")),
    ] as [(String, String?, TokenError?)])
  func keyIsAcceptedForWhatItIsBoundTo(_ binding: String, _ room: String?, _ error: TokenError?) throws {
    let key = try SigningKey(secret: secret, id: "a")
    var checking = try key.verificationKey
    checking.binding = try JSONCodec.decode(KeyBinding.self, from: Array(binding.utf8))
    let text = try KoineToken(room: room, issued: now, expires: now + 60).signed(with: key)
    #expect(found(.keys([checking]), text) == error)
    #expect(
      failure { () throws(TokenError) in _ = try KoineToken.parse(text, trusting: .keys([checking]), at: now) } == error
    )
  }

  @Test func keyBoundToRoomsOpensOnlyThese() throws {
    var key = try SigningKey(secret: secret, id: "a")
    key.binding.rooms = RoomPattern("team-*")
    let trust = Trust.keys([try key.verificationKey])
    let any = try trust.read(try KoineToken(issued: now, expires: now + 60).signed(with: key), at: now)
    #expect(any.opens("team-1"))
    #expect(!any.opens("tea"))
    let one = try trust.read(try KoineToken(room: "team-1", issued: now, expires: now + 60).signed(with: key), at: now)
    #expect(one.opens("team-1"))
    #expect(!one.opens("team-2"))
    #expect(
      failure { () throws(TokenError) in
        _ = try KoineToken(room: "tea", issued: now, expires: now + 60).signed(with: key)
      } == .keyNotFor("the room 'tea'"))
    key.binding = KeyBinding(kinds: [.stageStrategy])
    #expect(failure { () throws(TokenError) in _ = try Self.room.signed(with: key) } == .keyNotFor("room tokens"))
  }

  @Test func audienceIsSignedAndChecked() throws {
    var key = try SigningKey(secret: secret, id: "a")
    key.binding.audience = "calls.example"
    let trust = Trust.keys([try key.verificationKey])
    for (kind, token) in try Self.tokens() {
      #expect(try trust.read(try token.signed(with: key), at: now).kind == kind)
    }
    for (audience, isIts) in [
      (#""calls.example""#, true), (#"["x","calls.example"]"#, true), (#""calls""#, false), (#"[]"#, false),
    ] {
      let claims = #"{"skypeid":"acs:a","exp":1700000060,"aud":\#(audience)}"#
      let text = try JSONWebToken.sign(payload: Array(claims.utf8), with: key).text
      #expect((found(trust, text) == nil) == isIts, "\(audience)")
    }
  }

  // MARK: Identities

  @Test(arguments: [
    (TokenKind.callAgent, "8:acs:ana", true), (.callAgent, "4:+491234", true), (.callAgent, "ana", false),
    (.callAgent, ":ana", false), (.room, "ana", true), (.room, "8:acs:ana", false), (.room, "8ana", true),
    (.stageStrategy, "ana", false), (.meetingSession, "ana", false), (.eventListener, "8:acs:ana", false),
  ])
  func identityBelongsToOneKindOfToken(_ kind: TokenKind, _ identity: String, _ isItsOwn: Bool) {
    let credential = Credential(kind: kind, admission: Admission(identity: identity), rooms: nil)
    #expect(credential.ownIdentity == (isItsOwn ? identity : nil))
    let bound = Credential(kind: kind, admission: Admission(identity: identity), rooms: RoomPattern("*"))
    #expect(bound.ownIdentity == nil)
  }

  // MARK: Key sets

  @Test func publicKeySetVerifiesAndDoesNotSign() throws {
    var keys = try KeySet(newKey: "one")
    try keys.rotate(to: "two")
    let publicKeys = try KeySet(json: try keys.publicJSON)
    #expect(try !keys.publicJSON.contains(#""d":"#))
    #expect(publicKeys.keys.map(\.id) == ["two", "one"])
    let text = try Self.room.signed(with: keys.signingKey)
    #expect(try Trust.keys(publicKeys.verificationKeys).read(text, at: now).kind == .room)
    #expect(
      failure { () throws(TokenError) in _ = try publicKeys.signingKey } == .invalidKey("all of them are public"))
    #expect(try KeySet(json: try publicKeys.json).keys.map(\.id) == ["two", "one"])
    let shared = #"{"keys":[{"kty":"oct","kid":"s","k":"\#(Base64URL.encode(secret))"}]}"#
    guard case .invalidKey? = failure({ () throws(TokenError) in _ = try KeySet(json: shared).publicJSON }) else {
      Issue.record("a shared secret has no public half")
      return
    }
  }

  @Test func digestIsTheSameForKeysThatAcceptTheSameTokens() throws {
    var set = try KeySet(newKey: "one")
    try set.rotate(to: "two")
    let keys = set.keys
    let digest = try VerificationKey.digest(of: keys)
    #expect(digest.count == 8)
    #expect(try VerificationKey.digest(of: KeySet(json: set.publicJSON).keys.reversed()) == digest)
    #expect(try VerificationKey.digest(of: [keys[0]]) != digest)
    var bound = keys
    bound[0].binding.audience = "calls.example"
    #expect(try VerificationKey.digest(of: bound) != digest)
    let secret = [UInt8](repeating: 7, count: 32)
    #expect(
      try VerificationKey.digest(of: [VerificationKey(secret: secret, id: "a")])
        != VerificationKey.digest(of: [VerificationKey(secret: secret, id: "b")]))
  }

  @Test func keyBindingsAreReadBackFromJSON() throws {
    let entry = #"{"kty":"oct","kid":"s","k":"\#(Base64URL.encode(secret))","koine":"#
    let binding = #"{"kinds":["meeting-session","room"],"rooms":"team-*","audience":"a"}"#
    let keys = try KeySet(json: #"{"keys":[\#(entry)\#(binding)}]}"#)
    #expect(
      keys.keys.first?.binding
        == KeyBinding(kinds: [.room, .meetingSession], rooms: RoomPattern("team-*"), audience: "a"))
    #expect(try KeySet(json: try keys.json).keys.first?.binding == keys.keys.first?.binding)
    #expect(try keys.json.contains(binding))
    for wrong in [
      #"{"kind":["room"]}"#, #"{"kinds":["rooms"]}"#, #"{"kinds":[]}"#, #"{"rooms":""}"#, #"{"audience":""}"#,
      #"{"rooms":7}"#, #"[]"#, #""room""#,
    ] {
      #expect(
        failure { () throws(TokenError) in _ = try KeySet(json: #"{"keys":[\#(entry)\#(wrong)}]}"#) } != nil,
        "\(wrong)")
    }
  }

  @Test func firstKeyWhoseBindingPermitsItSigns() throws {
    func entry(_ id: String, _ koine: String) -> String {
      #"{"kty":"oct","kid":"\#(id)","k":"\#(Base64URL.encode(secret))"\#(koine)}"#
    }
    let bound = [
      entry("stages", #","koine":{"kinds":["stage"]}"#),
      entry("teams", #","koine":{"kinds":["room"],"rooms":"team-*"}"#),
    ]
    let keys = try KeySet(json: #"{"keys":[\#(bound.joined(separator: ","))]}"#)
    #expect(try keys.signingKey(for: .stageStrategy, room: "tea").id == "stages")
    #expect(try keys.signingKey(for: .room, room: "team-1").id == "teams")
    #expect(try keys.signingKey(for: .room, room: nil).id == "teams")
    #expect(
      failure { () throws(TokenError) in _ = try keys.signingKey(for: .meetingSession, room: "tea") }
        == .keyNotFor("meeting-session tokens"))
  }
}
