/// The token of a VideoSDK meeting: HS256 by the secret that belongs to `apikey`.
public struct VideoSDKToken: AccessToken {
  /// A permission of the participant (`permissions`).
  public enum Permission: String, Hashable, Sendable, CaseIterable {
    /// Enters directly, and admits or refuses participants in the lobby.
    case join = "allow_join"
    /// Controls others' media.
    case moderate = "allow_mod"
    /// Waits in the lobby until a participant in the meeting admits it.
    case ask = "ask_join"
  }

  /// A use of the token (`roles`).
  public enum Role: String, Hashable, Sendable, CaseIterable {
    /// Speaks to the service's own API only.
    case crawler
    /// Enters rooms.
    case rtc
  }

  /// The API key that the secret belongs to (`apikey`).
  public var apiKey: String
  /// In order, without those that are not known here.
  public var permissions: [Permission]
  /// Version of the token's format (`version`).
  public var version: Int?
  /// The only room it opens; nil for all of the key's.
  public var roomID: String?
  /// The id its bearer must take; nil leaves it to the app.
  public var participantID: String?
  /// Nil if the token does not say, which keeps nothing closed.
  public var roles: [Role]?
  /// Time of issue (`iat`).
  public var issued: NumericDate?
  /// Nil if the token never ends.
  public var expires: NumericDate?

  /// Creates the claims of a token.
  public init(
    apiKey: String, permissions: [Permission] = [.join], roomID: String? = nil, participantID: String? = nil,
    roles: [Role]? = nil, issued: NumericDate, expires: NumericDate?
  ) {
    (self.apiKey, self.permissions, self.roomID) = (apiKey, permissions, roomID)
    (self.participantID, self.roles, version) = (participantID, roles, 2)
    (self.issued, self.expires) = (issued, expires)
  }

  public func check() throws(TokenError) {
    guard !apiKey.isEmpty else { throw .invalidClaim("apikey", reason: "is empty") }
    guard !permissions.isEmpty else { throw .invalidClaim("permissions", reason: "grant nothing") }
    guard !permissions.contains(.ask) || Set(permissions) == [.ask] else {
      throw .invalidClaim("permissions", reason: "ask and allow at once")
    }
    if let roles, !roles.contains(.rtc) { throw .invalidClaim("roles", reason: "do not open rooms") }
  }

  public var admission: Admission {
    var admission = Admission(
      identity: participantID, participantID: participantID, room: roomID, canModerate: permissions.contains(.moderate),
      mustAsk: permissions.contains(.ask), expiry: expires)
    admission.canRecord = true  // anyone in the room may
    return admission
  }

  // MARK: Claims

  private enum Claim: String, CodingKey {
    case apikey, permissions, version, roomId, participantId, roles, iat, exp
  }

  public init(from decoder: any Decoder) throws {
    let claims = try decoder.container(keyedBy: Claim.self)
    apiKey = try claims.decode(String.self, forKey: .apikey)
    permissions = try claims.decode([String].self, forKey: .permissions).compactMap { Permission(rawValue: $0) }
    version = try claims.decodeIfPresent(Int.self, forKey: .version)
    roomID = try claims.decodeIfPresent(String.self, forKey: .roomId)
    participantID = try claims.decodeIfPresent(String.self, forKey: .participantId)
    roles = try claims.decodeIfPresent([String].self, forKey: .roles)?.compactMap { Role(rawValue: $0) }
    issued = try claims.decodeIfPresent(NumericDate.self, forKey: .iat)
    expires = try claims.decodeIfPresent(NumericDate.self, forKey: .exp)
  }

  public func encode(to encoder: any Encoder) throws {
    var claims = encoder.container(keyedBy: Claim.self)
    try claims.encode(apiKey, forKey: .apikey)
    try claims.encode(permissions.map(\.rawValue), forKey: .permissions)
    try claims.encodeIfPresent(version, forKey: .version)
    try claims.encodeIfPresent(roomID, forKey: .roomId)
    try claims.encodeIfPresent(participantID, forKey: .participantId)
    try claims.encodeIfPresent(roles?.map(\.rawValue), forKey: .roles)
    try claims.encodeIfPresent(issued, forKey: .iat)
    try claims.encodeIfPresent(expires, forKey: .exp)
  }
}
