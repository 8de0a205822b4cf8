/// The participant token of an Amazon IVS stage: the payload of a self-signed one (ES384, the public key's ARN as
/// `kid`), which those of the vendor's control plane share.
public struct IVSStageToken: AccessToken {
  /// The participant's capabilities on the stage.
  public struct Capabilities: Hashable, Sendable, Codable {
    /// Whether the participant may publish.
    public var canPublish: Bool
    /// Whether the participant may subscribe.
    public var canSubscribe: Bool

    /// Creates capabilities; both by default.
    public init(canPublish: Bool = true, canSubscribe: Bool = true) {
      (self.canPublish, self.canSubscribe) = (canPublish, canSubscribe)
    }

    private enum CodingKeys: String, CodingKey {
      case canPublish = "allow_publish"
      case canSubscribe = "allow_subscribe"
    }

    /// A permission that the token does not contain is not granted.
    public init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      canPublish = try fields.decodeIfPresent(Bool.self, forKey: .canPublish) ?? false
      canSubscribe = try fields.decodeIfPresent(Bool.self, forKey: .canSubscribe) ?? false
    }
  }

  /// At most 64 of `[a-zA-Z0-9-_]`; the participant's id on the stage.
  public var participantID: String
  /// The stage's ARN.
  public var resource: String
  /// The stage's id.
  public var topic: String
  /// wss
  public var eventsURL: String?
  /// https
  public var whipURL: String?
  /// At most 128 characters.
  public var userID: String?
  /// At most 1 KB in all.
  public var attributes: [String: String]
  /// The participant's capabilities on the stage.
  public var capabilities: Capabilities
  /// Time of issue (`iat`).
  public var issued: NumericDate?
  /// Time of expiry (`exp`).
  public var expires: NumericDate
  /// Version of the token's format (`version`).
  public var version: String?

  /// Creates the claims of a participant token.
  /// - Parameters:
  ///   - participantID: one token makes one participant.
  ///   - stage: its id; an ARN is made of it if `resource` is nil.
  ///   - expires: at most 20,160 minutes from `issued`; the control plane gives 720 unless asked.
  public init(
    participantID: String, stage: String, resource: String? = nil, userID: String? = nil,
    attributes: [String: String] = [:], capabilities: Capabilities = Capabilities(), issued: NumericDate,
    expires: NumericDate? = nil, eventsURL: String? = nil, whipURL: String? = nil, version: String = "0.0"
  ) {
    (self.participantID, topic, self.userID) = (participantID, stage, userID)
    self.resource = resource ?? "arn:aws:ivs:us-east-1:000000000000:stage/" + stage
    (self.attributes, self.capabilities) = (attributes, capabilities)
    (self.issued, self.expires) = (issued, expires ?? issued + 720 * 60)
    (self.eventsURL, self.whipURL, self.version) = (eventsURL, whipURL, version)
  }

  public func check() throws(TokenError) {
    let isID =
      (1...64).contains(participantID.utf8.count)
      && participantID.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
    guard isID else { throw .invalidClaim("jti", reason: "is not 1 to 64 of [a-zA-Z0-9-_]") }
    guard !topic.isEmpty else { throw .invalidClaim("topic", reason: "is empty") }
    guard (userID?.count ?? 0) <= 128 else { throw .invalidClaim("user_id", reason: "has over 128 characters") }
    guard attributes.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= 1_024 else {
      throw .invalidClaim("attributes", reason: "are over 1 KB")
    }
  }

  /// Whether a participant with this token may continue with `other` (stage-strategy catalogue, token exchange). The participant id,
  /// topic, resource and URLs must be the same. Permissions and attributes may differ.
  public func canBeExchanged(for other: IVSStageToken) -> Bool {
    (participantID, topic, resource, whipURL, eventsURL)
      == (other.participantID, other.topic, other.resource, other.whipURL, other.eventsURL)
  }

  public var admission: Admission {
    Admission(
      identity: userID.flatMap { $0.isEmpty ? nil : $0 } ?? participantID, participantID: participantID,
      externalID: userID ?? "", room: topic, canPublish: capabilities.canPublish,
      canSubscribe: capabilities.canSubscribe, attributes: attributes,
      expiry: expires)
  }

  // MARK: Claims

  private enum CodingKeys: String, CodingKey {
    case participantID = "jti"
    case resource, topic
    case eventsURL = "events_url"
    case whipURL = "whip_url"
    case userID = "user_id"
    case attributes, capabilities
    case issued = "iat"
    case expires = "exp"
    case version
  }

  public init(from decoder: any Decoder) throws {
    let claims = try decoder.container(keyedBy: CodingKeys.self)
    participantID = try claims.decode(String.self, forKey: .participantID)
    resource = try claims.decode(String.self, forKey: .resource)
    topic = try claims.decode(String.self, forKey: .topic)
    eventsURL = try claims.decodeIfPresent(String.self, forKey: .eventsURL)
    whipURL = try claims.decodeIfPresent(String.self, forKey: .whipURL)
    userID = try claims.decodeIfPresent(String.self, forKey: .userID)
    attributes = try claims.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:]
    capabilities = try claims.decode(Capabilities.self, forKey: .capabilities)
    issued = try claims.decodeIfPresent(NumericDate.self, forKey: .issued)
    expires = try claims.decode(NumericDate.self, forKey: .expires)
    version = try claims.decodeIfPresent(String.self, forKey: .version)
  }
}
