/// What a token grants its bearer, in words common to all styles.
public struct Admission: Hashable, Sendable {
  /// Who it is, across calls; nil if the token leaves that to the app.
  public var identity: String?
  /// The id it must bear in the room; nil if the token leaves it open.
  public var participantID: String?
  /// The vendor's name for the person behind the participant; nil if the token leaves it open, empty if there is none.
  public var externalID: String?
  /// What others are shown, where the token says so.
  public var displayName: String?
  /// The only room it may enter; nil for any.
  public var room: String?
  public enum Medium: String, Hashable, Sendable, CaseIterable { case sound, pictures, screen }

  public var canPublish: Bool
  /// What it may publish if it may publish at all.
  public var media = Set(Medium.allCases)
  public var canSubscribe: Bool
  public var canSendData = true
  /// The others do not see it.
  public var isHidden = false
  /// Whether its bearer must go when it expires. The vendors' tokens only open the door.
  public var endsStay = false
  /// Whether it may control what others send.
  public var canModerate: Bool
  /// Whether it may have the room recorded where a server does that.
  public var canRecord: Bool
  /// Whether it must wait until somebody in the room lets it in.
  public var mustAsk: Bool
  /// Whether it may let those in who must ask. Where the vendor says nothing else, whoever need not ask.
  public var canAdmit: Bool
  /// Shown to everybody in the room.
  public var attributes: [String: String]
  /// Nil if the token never ends.
  public var expiry: NumericDate?

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

/// Whose tokens are believed.
public enum Trust: Sendable {
  /// Anybody's: well-formed and not expired is enough. For rooms inside the process, where there is nobody to keep out.
  case anybody
  /// What one of these keys has signed.
  case keys([VerificationKey])
}

/// The claims of one vendor's kind of token. Each kind signs what it has, and reads what it or the vendor has signed.
public protocol AccessToken: Codable, Hashable, Sendable {
  var admission: Admission { get }

  /// What the vendor's service would refuse although it is well-formed.
  /// - Throws: `.missingClaim`, `.invalidClaim`.
  func check() throws(TokenError)

  /// Whether a client may be given a text of which only the payload is as it should be, while anybody is trusted.
  static var isReadByPayloadAlone: Bool { get }
}

extension AccessToken {
  public static var isReadByPayloadAlone: Bool { false }

  /// Makes the token's text.
  /// - Throws: what `check` does, `.tooLarge`, `.failed`.
  public func signed(with key: SigningKey) throws(TokenError) -> String {
    try check()
    return try JSONWebToken.sign(self, with: key).text
  }

  /// Reads a token's text.
  /// - Parameters:
  ///   - now: what it must be valid at.
  ///   - leeway: seconds by which the clocks of both sides may differ.
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
    if case .keys(let keys) = trust { try token.verify(withOneOf: keys) }
    try token.checkTimes(at: now, leeway: leeway)
    let claims = try token.claims(as: Self.self)
    try claims.check()
    return claims
  }
}

extension JSONWebToken {
  /// - Throws: what the last key that could be meant says; `.unknownKey` if none could.
  public func verify(withOneOf keys: [VerificationKey]) throws(TokenError) {
    var reason = TokenError.unknownKey(id: keyID)
    for key in keys where key.id == nil || keyID == nil || key.id == keyID {
      do throws(TokenError) { return try verify(with: key) } catch { reason = error }
    }
    throw reason
  }
}
