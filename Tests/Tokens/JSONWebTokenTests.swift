import Testing

@testable import KoineTokens

@Suite struct JSONWebTokenTests {
  private struct Claims: Codable, Hashable {
    var sub: String
    var exp: NumericDate?
    var nbf: NumericDate?
    var iat: NumericDate?
  }

  // MARK: Published vectors

  @Test func hs256TokenOfRFC7515IsVerified() throws {
    struct Joe: Decodable {
      var iss: String
      var exp: NumericDate
    }
    let token = try JSONWebToken.parse(RFC7515.hs256)
    try token.verify(with: VerificationKey(secret: RFC7515.secret))
    let claims = try token.claims(as: Joe.self)
    #expect(claims.iss == "joe")
    #expect(claims.exp == NumericDate(1_300_819_380))
    // HMAC has one answer: signing the same bytes gives the RFC's signature.
    let signed = Array(RFC7515.hs256.utf8.prefix(RFC7515.hs256.utf8.count - 44))
    let signature = try SigningKey(secret: RFC7515.secret).sign(signed)
    #expect(Base64URL.encode(signature) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
  }

  @Test func es256TokenOfRFC7515IsVerified() throws {
    let token = try JSONWebToken.parse(RFC7515.es256)
    try token.verify(with: VerificationKey(.p256, x: RFC7515.x, y: RFC7515.y))
    let pair = try SigningKey(.p256, d: RFC7515.d, x: RFC7515.x, y: RFC7515.y)
    try token.verify(with: pair.verificationKey)
    let other = try JSONWebToken.sign(Claims(sub: "joe"), with: pair)
    try other.verify(with: VerificationKey(.p256, x: RFC7515.x, y: RFC7515.y))
  }

  /// RFC 6979 appendix A.2.6, SHA-384, message "sample".
  @Test func p384SignatureOfRFC6979IsVerified() throws {
    let key = try VerificationKey(
      .p384,
      x: bytes(
        hex: "EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13"),
      y: bytes(
        hex: "8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720"))
    let signature =
      bytes(hex: "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46")
      + bytes(hex: "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8")
    #expect(try key.isSignature(signature, of: Array("sample".utf8)))
    #expect(try !key.isSignature(signature, of: Array("simple".utf8)))
  }

  // MARK: Round trips

  private static func keys() throws -> [SigningKey] {
    [try SigningKey(secret: secret), try SigningKey(generating: .p256), try SigningKey(generating: .p384)]
  }

  @Test func signedTokenIsReadAndVerified() throws {
    for key in try Self.keys() {
      for length in 0..<9 {  // every way a part can end in base64url
        let claims = Claims(sub: String(repeating: "é", count: length), exp: now + 60, iat: now)
        let made = try JSONWebToken.sign(claims, with: key)
        let read = try JSONWebToken.parse(made.text)
        try read.verify(with: key.verificationKey)
        try read.checkTimes(at: now)
        #expect(try read.claims(as: Claims.self) == claims)
        #expect(read.algorithm == key.algorithm.rawValue)
      }
    }
  }

  @Test func keysAreReadBackFromPEM() throws {
    for curve in EllipticCurve.allCases {
      let key = try SigningKey(generating: curve, id: "one")
      let again = try SigningKey(pem: #require(try key.pem), id: "one")
      let publicKey = try VerificationKey(pem: #require(try again.verificationKey.pem))
      try JSONWebToken.sign(Claims(sub: "a"), with: again).verify(with: publicKey)
      #expect(again.algorithm == key.algorithm)
    }
  }

  @Test func wholeSecondsAreWrittenAsIntegers() throws {
    let key = try SigningKey(secret: secret)
    let token = try JSONWebToken.sign(Claims(sub: "", exp: NumericDate(1_700_000_000)), with: key)
    #expect(String(decoding: token.payload, as: UTF8.self).contains(#""exp":1700000000}"#))
    let later = try JSONWebToken.sign(Claims(sub: "", exp: NumericDate(1.5)), with: key)
    #expect(try later.claims(as: Claims.self).exp == NumericDate(1.5))
  }

  // MARK: Refusals

  @Test func tokenWithAnyChangedCharacterIsRefused() throws {
    for key in try Self.keys() {
      let text = Array(try JSONWebToken.sign(Claims(sub: "alice", exp: now + 60), with: key).text.utf8)
      let verifier = try key.verificationKey
      for place in text.indices {
        var changed = text
        changed[place] = text[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let found = failure { () throws(TokenError) in
          try JSONWebToken.parse(String(decoding: changed, as: UTF8.self)).verify(with: verifier)
        }
        #expect(found != nil, "character \(place)")
      }
    }
  }

  @Test func signatureOfAnotherKeyIsRefused() throws {
    let others = [try SigningKey(secret: secret.map { $0 + 1 })] + (try Self.keys().dropFirst())
    for (key, other) in zip(try Self.keys(), others) {
      let token = try JSONWebToken.sign(Claims(sub: "a"), with: key)
      let verifier = try other.verificationKey
      #expect(failure { () throws(TokenError) in try token.verify(with: verifier) } == .badSignature)
    }
  }

  /// RFC 8725 section 2.1: a public key must not serve as a secret, and an unsigned token is refused.
  @Test func tokenWithAnotherAlgorithmThanTheKeysIsRefused() throws {
    let pair = try SigningKey(generating: .p256)
    let publicKey = try pair.verificationKey
    let forger = try SigningKey(secret: Array(#require(try publicKey.pem).utf8))
    let forged = try JSONWebToken.sign(Claims(sub: "mallory"), with: forger)
    #expect(failure { () throws(TokenError) in try forged.verify(with: publicKey) } == .wrongAlgorithm("HS256"))
    for name in ["none", "None", "NONE", "", "ES384", "RS256", "es256"] {
      let text = token(header: #"{"alg":"\#(name)"}"#, payload: #"{"sub":"mallory"}"#)
      let parsed = try JSONWebToken.parse(text)
      #expect(failure { () throws(TokenError) in try parsed.verify(with: publicKey) } == .wrongAlgorithm(name))
    }
    let wide = try JSONWebToken.sign(Claims(sub: "a"), with: SigningKey(generating: .p384))
    #expect(failure { () throws(TokenError) in try wide.verify(with: publicKey) } == .wrongAlgorithm("ES384"))
  }

  @Test func zeroSignaturesAndSignaturesOfWrongLengthAreRefused() throws {
    let key = try SigningKey(generating: .p256).verificationKey
    for signature in [
      [], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 255, count: 64), [1], [UInt8](repeating: 1, count: 65),
    ] {
      let parsed = try JSONWebToken.parse(token(header: #"{"alg":"ES256"}"#, payload: "{}", signature: signature))
      #expect(failure { () throws(TokenError) in try parsed.verify(with: key) } == .badSignature)
    }
  }

  @Test func base64urlIsStrict() {
    #expect(Base64URL.decode("".utf8) == [])
    #expect(Base64URL.decode("_-8".utf8) == [0xFF, 0xEF])
    for text in ["A", "AAAAA", "AA==", "AA=", "AB", "AAB", "A+", "A/", "A A", " AA", "AA\n", "é", "A\0"] {
      #expect(Base64URL.decode(text.utf8) == nil, "\(text)")
    }
    for length in 0..<70 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
      #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
    }
  }

  @Test func malformedTokensAreRefused() {
    let header = Base64URL.encode(#"{"alg":"HS256"}"#.utf8)
    let claims = Base64URL.encode("{}".utf8)
    let texts = [
      "", ".", "..", "...", "a.b", "\(header).\(claims)", "\(header).\(claims).", ".\(claims).", "\(header)..",
      "\(header).\(claims)..", "\(header).\(claims).A", "\(header).\(claims)=.AA", "\(header).\(claims).AA ",
      token(header: "{}", payload: "{}"), token(header: #"{"alg":5}"#, payload: "{}"),
      token(header: "[]", payload: "{}"), token(header: #"{"alg":"HS256"}"#, payload: "[]"),
      token(header: #"{"alg":"HS256"}"#, payload: ""), token(header: #"{"alg":"HS256"}"#, payload: "5"),
      token(header: #"{"alg":"HS256","crit":["exp"],"exp":1}"#, payload: "{}"),
    ]
    for text in texts where text != "\(header).\(claims)." {
      #expect(
        failure { () throws(TokenError) in
          _ = try JSONWebToken.parse(text).verify(with: VerificationKey(secret: secret))
        } != nil, "\(text)")
    }
  }

  @Test func truncatedTokenIsRefused() throws {
    let text = try JSONWebToken.sign(Claims(sub: "alice"), with: SigningKey(secret: secret)).text
    for length in 0..<text.utf8.count {
      let found = failure { () throws(TokenError) in
        try JSONWebToken.parse(String(text.prefix(length))).verify(with: VerificationKey(secret: secret))
      }
      #expect(found != nil)
    }
  }

  @Test func tokenSizeAndNestingAreBounded() throws {
    let limit = JSONWebToken.sizeLimit
    #expect(
      failure { () throws(TokenError) in _ = try JSONWebToken.parse(String(repeating: "A", count: limit + 1)) }
        == .tooLarge(limit: limit))
    let claims = Claims(sub: String(repeating: "a", count: limit))
    let key = try SigningKey(secret: secret)
    #expect(
      failure { () throws(TokenError) in _ = try JSONWebToken.sign(claims, with: key) } == .tooLarge(limit: limit))
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    let parsed = try JSONWebToken.parse(token(header: #"{"alg":"HS256"}"#, payload: #"{"sub":\#(deep)}"#))
    #expect(failure { () throws(TokenError) in _ = try parsed.claims(as: Claims.self) } != nil)
  }

  @Test func invalidKeysAreRefused() throws {
    func isRefused(_ make: () throws(TokenError) -> Void) -> Bool {
      if case .invalidKey = failure(make) { true } else { false }
    }
    #expect(isRefused { () throws(TokenError) in _ = try SigningKey(secret: Array(secret.dropLast())) })
    #expect(isRefused { () throws(TokenError) in _ = try VerificationKey(secret: []) })
    #expect(isRefused { () throws(TokenError) in _ = try SigningKey(pem: "-----BEGIN PRIVATE KEY-----\n") })
    #expect(isRefused { () throws(TokenError) in _ = try VerificationKey(.p256, x: RFC7515.x, y: RFC7515.x) })
    #expect(isRefused { () throws(TokenError) in _ = try VerificationKey(.p384, x: RFC7515.x, y: RFC7515.y) })
    #expect(isRefused { () throws(TokenError) in _ = try SigningKey(.p256, d: RFC7515.x, x: RFC7515.x, y: RFC7515.y) })
    let pem = try #require(try SigningKey(generating: .p256).pem)
    #expect(isRefused { () throws(TokenError) in _ = try VerificationKey(pem: pem) })
  }

  // MARK: Times

  @Test func tokenTimesAreCheckedAgainstTheGivenClock() throws {
    let token = try JSONWebToken.sign(
      Claims(sub: "", exp: now + 100, nbf: now, iat: now + -50), with: SigningKey(secret: secret))
    func found(_ offset: Double, leeway: Double = 0) -> TokenError? {
      failure { () throws(TokenError) in try token.checkTimes(at: now + offset, leeway: leeway) }
    }
    #expect(found(0) == nil)
    #expect(found(99.9) == nil)
    #expect(found(100) == .expired(at: now + 100))
    #expect(found(159, leeway: 60) == nil)
    #expect(found(160, leeway: 60) == .expired(at: now + 100))
    #expect(found(-1) == .notYetValid(from: now))
    #expect(found(-59, leeway: 60) == nil)
    let future = try JSONWebToken.sign(Claims(sub: "", iat: now + 61), with: SigningKey(secret: secret))
    #expect(failure { () throws(TokenError) in try future.checkTimes(at: now) } == .notYetValid(from: now + 61))
    try JSONWebToken.sign(Claims(sub: ""), with: SigningKey(secret: secret)).checkTimes(at: now)
  }

  @Test func tokenTimesThatAreNotNumbersAreRefused() throws {
    for value in [#""1700000000""#, "true", "1e400", "1e300", "{}", "[]"] {
      let parsed = try JSONWebToken.parse(token(header: #"{"alg":"HS256"}"#, payload: #"{"exp":\#(value)}"#))
      #expect(failure { () throws(TokenError) in try parsed.checkTimes(at: now) } != nil, "\(value)")
    }
  }

  @Test func keyIsFoundByItsID() throws {
    let one = try SigningKey(generating: .p256, id: "one")
    let two = try SigningKey(generating: .p384, id: "two")
    let keys = [try one.verificationKey, try two.verificationKey]
    try JSONWebToken.sign(Claims(sub: ""), with: two).verify(withOneOf: keys)
    try JSONWebToken.sign(Claims(sub: ""), with: one).verify(withOneOf: keys)
    let stranger = try JSONWebToken.sign(Claims(sub: ""), with: SigningKey(generating: .p256, id: "three"))
    #expect(failure { () throws(TokenError) in try stranger.verify(withOneOf: keys) } == .unknownKey(id: "three"))
    #expect(failure { () throws(TokenError) in try stranger.verify(withOneOf: []) } == .unknownKey(id: "three"))
    let liar = try JSONWebToken.sign(Claims(sub: ""), with: SigningKey(generating: .p256, id: "one"))
    #expect(failure { () throws(TokenError) in try liar.verify(withOneOf: keys) } == .badSignature)
  }
}
