/// A token of any kind that `Trust.read` has accepted.
public struct Credential: Hashable, Sendable {
  /// The kind of the token.
  public let kind: TokenKind
  /// The grants of the token.
  public var admission: Admission
  /// The rooms that the key's tokens may open; nil: all.
  public let rooms: RoomPattern?

  /// Checks the room against the token and against the binding of its key.
  /// - Returns: whether it may open this room, by what the token says and by what its key is bound to.
  public func opens(_ room: String) -> Bool {
    (admission.room.map { $0 == room } ?? true) && (rooms?.matches(room) ?? true)
  }

  /// The identity that it registers, to ring others and to be rung; nil: none.
  ///
  /// Each identity belongs to one kind of token, so that a name which one vendor's backend gives away is not another
  /// vendor's user: raw ids of Azure (`8:acs:…`) to call-agent tokens, all other names to room passes. The apps of the
  /// other kinds have no ringing.
  public var ownIdentity: String? {
    guard rooms == nil, let identity = admission.identity else { return nil }
    switch kind {
    case .callAgent: return AzureUserToken.isRawID(identity) ? identity : nil
    case .room: return AzureUserToken.isRawID(identity) ? nil : identity
    case .stageStrategy, .meetingSession, .eventListener: return nil
    }
  }
}

extension Trust {
  /// Reads a token of any kind. It is parsed once. Everything that costs little is checked first; where keys are
  /// trusted, one signature check follows, or `JSONWebToken.keyLimit` at most for a token that does not name its key.
  /// - Parameters:
  ///   - now: what it must be valid at.
  ///   - leeway: seconds by which the clocks of both sides may differ.
  /// - Throws: `TokenError` if the text is no token, no key fits, the signature is wrong, a claim is invalid, or the
  ///   token is not valid at `now`.
  public func read(_ text: String, at now: NumericDate, leeway: Double = 60) throws(TokenError) -> Credential {
    guard case .keys(let keys) = self else { return try Self.readUnchecked(text, at: now, leeway: leeway) }
    let token = try JSONWebToken.parse(text)
    let claims = try token.claims(as: AnyAccessToken.self)
    try claims.times.check(at: now, leeway: leeway)
    try claims.token.check()
    let admission = claims.token.admission
    if claims.kind == .callAgent, admission.identity == nil {
      // The claims of this kind are few: a token for something else must not be taken for one.
      throw .missingClaim("skypeid")
    }
    let key = try token.verify(withOneOf: keys, as: claims.kind)
    try key.binding.check(claims.audience)
    try key.binding.check(room: admission.room)
    return Credential(kind: claims.kind, admission: admission, rooms: key.binding.rooms)
  }

  /// Without keys, every token is trusted. Tokens for calls need no more than a payload.
  private static func readUnchecked(
    _ text: String, at now: NumericDate, leeway: Double
  ) throws(TokenError) -> Credential {
    if let token = try? JSONWebToken.parse(text), let claims = try? token.claims(as: AnyAccessToken.self),
      claims.kind != .callAgent
    {
      try claims.times.check(at: now, leeway: leeway)
      try claims.token.check()
      return Credential(kind: claims.kind, admission: claims.token.admission, rooms: nil)
    }
    let token = try AzureUserToken.parse(text, trusting: .anybody, at: now, leeway: leeway)
    return Credential(kind: .callAgent, admission: token.admission, rooms: nil)
  }
}
