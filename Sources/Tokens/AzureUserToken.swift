/// The user access token of an Azure call agent (Docs/styles/call-agent.md).
///
/// Of its claims clients read `exp` alone; the others are what the service writes. The vendor's tokens are RS256, which
/// is read but never checked here: ours are signed by a key of this package.
public struct AzureUserToken: AccessToken {
  /// `acsScope`: what the user may do.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Starting and joining calls.
    case voip
    /// Using chat. Koine has no chat service.
    case chat
    /// Joining calls, without starting any.
    case voipJoin = "voip.join"
    /// Joining chats.
    case chatJoin = "chat.join"
    /// Joining chats, with limits.
    case chatJoinLimited = "chat.join.limited"
  }

  /// `8:acs:<resource>_<user>`, the raw id of a `CommunicationUserIdentifier`; nil in a token that names no user.
  public var identity: String?
  /// Id of the Azure resource that issued the token (`resourceId`).
  public var resourceID: String?
  /// Nil if the token does not say, which grants everything.
  public var scopes: Set<Scope>?
  /// Time of issue (`iat`).
  public var issued: NumericDate?
  /// Time of expiry (`exp`).
  public var expires: NumericDate

  /// Creates the claims of a token.
  /// - Parameters:
  ///   - identity: a raw id.
  ///   - expires: the service gives one hour to one day.
  public init(
    identity: String, resourceID: String? = nil, scopes: Set<Scope> = [.voip, .chat], issued: NumericDate,
    expires: NumericDate
  ) {
    (self.identity, self.resourceID, self.scopes) = (identity, resourceID, scopes)
    (self.issued, self.expires) = (issued, expires)
  }

  public static var isReadByPayloadAlone: Bool { true }

  /// The claims of any text with an `exp` in its second part, expired or not. An app can make a credential of such a text.
  /// - Throws: `TokenError.malformed` or `.missingClaim` if the second part has no `exp`.
  public static func reading(_ text: String) throws(TokenError) -> AzureUserToken {
    try JSONWebToken.uncheckedClaims(AzureUserToken.self, in: text)
  }

  public func check() throws(TokenError) {
    if identity?.isEmpty == true { throw .invalidClaim("skypeid", reason: "is empty") }
  }

  /// Whether a name is a raw id, as `8:acs:…` of a user or `4:+…` of a telephone: digits before a colon.
  public static func isRawID(_ name: String) -> Bool {
    let digits = name.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return !digits.isEmpty && name.utf8.dropFirst(digits.count).first == UInt8(ascii: ":")
  }

  /// Whether it may start calls.
  public var canStartCalls: Bool { scopes?.contains(.voip) ?? true }

  public var admission: Admission {
    let mayCall = scopes.map { $0.contains(.voip) || $0.contains(.voipJoin) } ?? true
    return Admission(
      identity: identity, canPublish: mayCall, canSubscribe: mayCall, canModerate: mayCall, expiry: expires)
  }

  // MARK: Claims

  private enum Claim: String, CodingKey {
    case skypeid, acsScope, resourceId, iat, exp
  }

  /// The claim leaves out the first two characters of a raw id.
  private static let kind = "8:"

  public init(from decoder: any Decoder) throws {
    let claims = try decoder.container(keyedBy: Claim.self)
    expires = try claims.decode(NumericDate.self, forKey: .exp)
    issued = try claims.decodeIfPresent(NumericDate.self, forKey: .iat)
    identity = try claims.decodeIfPresent(String.self, forKey: .skypeid).map {
      $0.hasPrefix("acs:") ? Self.kind + $0 : $0
    }
    resourceID = try claims.decodeIfPresent(String.self, forKey: .resourceId)
    // Scopes that are not in `Scope` grant nothing.
    scopes = try claims.decodeIfPresent(String.self, forKey: .acsScope).map {
      Set($0.split(separator: ",").compactMap { Scope(rawValue: String($0)) })
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var claims = encoder.container(keyedBy: Claim.self)
    let name = identity.map { $0.hasPrefix(Self.kind + "acs:") ? String($0.dropFirst(Self.kind.count)) : $0 }
    try claims.encodeIfPresent(name, forKey: .skypeid)
    try claims.encodeIfPresent(scopes.map { $0.map(\.rawValue).sorted().joined(separator: ",") }, forKey: .acsScope)
    try claims.encodeIfPresent(resourceID, forKey: .resourceId)
    try claims.encodeIfPresent(issued, forKey: .iat)
    try claims.encode(expires, forKey: .exp)
  }
}
