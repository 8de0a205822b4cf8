/// What a token grants its bearer, in words common to all styles.
public struct Admission: Hashable, Sendable {
  /// The user's identity across calls; nil if the token leaves that to the app.
  public var identity: String?
  /// The id that the participant must have in the room; nil if the token leaves it open.
  public var participantID: String?
  /// The vendor's name for the person behind the participant; nil if the token leaves it open, empty if there is none.
  public var externalID: String?
  /// What others are shown, where the token says so.
  public var displayName: String?
  /// The only room it may enter; nil for any.
  public var room: String?
  /// A kind of media that a participant may publish.
  public enum Medium: String, Hashable, Sendable, CaseIterable {
    /// Microphone audio.
    case sound
    /// Camera video.
    case pictures
    /// A shared screen, with its audio.
    case screen
  }

  /// Whether the participant may publish tracks. `media` limits the kinds.
  public var canPublish: Bool
  /// What it may publish if it may publish at all.
  public var media = Set(Medium.allCases)
  /// Media that the participant receives, if it may subscribe.
  public var receivedMedia = Set(Medium.allCases)
  /// Whether the participant may receive other participants' tracks.
  public var canSubscribe: Bool
  /// Whether the participant may send data messages. Default: true.
  public var canSendData = true
  /// The others do not see it.
  public var isHidden = false
  /// Whether its bearer must go when it expires. The vendors' tokens only open the door.
  public var endsStay = false
  /// Whether it may control what others send.
  public var canModerate: Bool
  /// Whether it may have the room recorded where a server does that.
  public var canRecord: Bool
  /// Whether the participant must wait in the lobby until a participant in the room admits it.
  public var mustAsk: Bool
  /// Whether the participant may admit others from the lobby. Default: true unless `mustAsk`.
  public var canAdmit: Bool
  /// The participant's attributes, which all participants in the room receive.
  public var attributes: [String: String]
  /// Nil if the token never ends.
  public var expiry: NumericDate?

  /// Creates an admission; everything that has no default must be given.
  public init(
    identity: String? = nil, participantID: String? = nil, externalID: String? = nil, displayName: String? = nil,
    room: String? = nil, canPublish: Bool = true, canSubscribe: Bool = true, canModerate: Bool = false,
    mustAsk: Bool = false, attributes: [String: String] = [:], expiry: NumericDate? = nil
  ) {
    (self.identity, self.participantID, self.externalID) = (identity, participantID, externalID)
    self.displayName = displayName
    (self.room, self.canPublish, self.canSubscribe) = (room, canPublish, canSubscribe)
    (self.canModerate, self.mustAsk, canRecord) = (canModerate, mustAsk, canModerate)
    canAdmit = !mustAsk
    (self.attributes, self.expiry) = (attributes, expiry)
  }
}

/// The signers of tokens that are trusted.
public enum Trust: Sendable {
  /// Any signer: a token must only be well-formed and not expired. For rooms inside the process, where all clients are trusted.
  case anybody
  /// One of these keys must have signed the token.
  case keys([VerificationKey])
}

/// The claims of one vendor's kind of token. Each kind signs what it has, and reads what it or the vendor has signed.
public protocol AccessToken: Codable, Hashable, Sendable {
  /// The grants of the token in a room.
  var admission: Admission { get }

  /// Checks for claims that the vendor's service would refuse although the token is well-formed.
  /// - Throws: `.missingClaim`, `.invalidClaim`.
  func check() throws(TokenError)

  /// Whether, with `Trust.anybody`, a client accepts a token text with a valid payload only, and ignores its header and signature.
  static var isReadByPayloadAlone: Bool { get }
}

extension AccessToken {
  public static var isReadByPayloadAlone: Bool { false }

  /// Makes the token's text.
  /// - Throws: what `check` does, `.keyNotFor`, `.tooLarge`, `.failed`.
  public func signed(with key: SigningKey) throws(TokenError) -> String {
    try check()
    try key.binding.check(TokenKind(of: Self.self))
    try key.binding.check(room: admission.room)
    guard let audience = key.binding.audience else { return try JSONWebToken.sign(self, with: key).text }
    return try JSONWebToken.sign(ForAudience(token: self, audience: Audience([audience])), with: key).text
  }

  /// Reads a token's text.
  /// - Parameters:
  ///   - now: what it must be valid at.
  ///   - leeway: seconds by which the clocks of both sides may differ.
  /// - Throws: `TokenError` if the text is no token of this kind, no key fits, the signature is wrong, or the token is
  ///   not valid at `now`.
  public static func parse(
    _ text: String, trusting trust: Trust, at now: NumericDate, leeway: Double = 60
  ) throws(TokenError) -> Self {
    if isReadByPayloadAlone, case .anybody = trust {
      let claims = try JSONWebToken.uncheckedClaims(Self.self, in: text)
      if let expiry = claims.admission.expiry, now >= expiry + leeway { throw .expired(at: expiry) }
      try claims.check()
      return claims
    }
    let token = try JSONWebToken.parse(text)
    if case .keys(let keys) = trust {
      let key = try token.verify(withOneOf: keys, as: TokenKind(of: Self.self))
      try key.binding.check(try token.claims(as: ForAnyAudience.self).aud)
      if key.binding.rooms != nil { try key.binding.check(room: try token.claims(as: Self.self).admission.room) }
    }
    try token.checkTimes(at: now, leeway: leeway)
    let claims = try token.claims(as: Self.self)
    try claims.check()
    return claims
  }
}

private struct ForAnyAudience: Decodable { var aud: Audience? }

/// A token's claims and `aud` beside them.
private struct ForAudience<Token: AccessToken>: Encodable {
  let token: Token
  let audience: Audience

  private enum Claim: String, CodingKey { case aud }

  func encode(to encoder: any Encoder) throws {
    try token.encode(to: encoder)
    var claims = encoder.container(keyedBy: Claim.self)
    try claims.encode(audience, forKey: .aud)
  }
}

extension JSONWebToken {
  /// How many keys are tried at most for a token that does not name its key.
  public static let keyLimit = 4

  /// Checks the signature with the key that the header names (`kid`). A token without that is checked with the keys of its
  /// algorithm, `keyLimit` of them at most: a signature check costs up to a millisecond, and strangers send tokens.
  /// - Parameter kind: keys that are bound to other kinds are not tried.
  /// - Returns: the key that has signed it.
  /// - Throws: `.unknownKey` if no key could be meant, `.wrongAlgorithm`, `.keyNotFor`, `.badSignature`.
  @discardableResult
  public func verify(
    withOneOf keys: [VerificationKey], as kind: TokenKind? = nil
  ) throws(TokenError) -> VerificationKey {
    var meant = keyID.map { id in keys.filter { $0.id == id } } ?? keys.filter { !$0.needsKeyID }
    if meant.isEmpty { meant = keys.filter { $0.id == nil } }
    guard !meant.isEmpty else { throw .unknownKey(id: keyID) }
    meant.removeAll { $0.algorithm.rawValue != algorithm }
    guard !meant.isEmpty else { throw .wrongAlgorithm(algorithm) }
    meant.removeAll { $0.binding.kinds.map { kinds in !(kind.map { kinds.contains($0) } ?? false) } ?? false }
    guard !meant.isEmpty else { throw .keyNotFor("\(kind?.rawValue ?? "other") tokens") }
    guard meant.count <= Self.keyLimit else {
      throw .malformed("no 'kid', and \(meant.count) keys could be meant, which are more than \(Self.keyLimit)")
    }
    for key in meant where try key.isSignature(signature, of: signed) { return key }
    throw .badSignature
  }
}
