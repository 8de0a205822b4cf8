/// A token for a room without a vendor's format, for apps of the common layer and browsers.
public struct KoineToken: AccessToken {
  /// A permission, or a restriction, of the participant.
  public enum Right: String, Hashable, Sendable, CaseIterable {
    /// Everything; or only one kind of it.
    case publish
    /// Publishing audio.
    case publishSound = "publish:sound"
    /// Publishing camera video.
    case publishPictures = "publish:pictures"
    /// Publishing a screen.
    case publishScreen = "publish:screen"
    /// Receiving other participants' tracks.
    case subscribe
    /// Data messages.
    case send
    /// Removing participants, closing the room, and admitting participants from the lobby.
    case moderate
    /// Not a right but a restriction: the participant waits in the lobby until another participant admits it.
    case ask
    /// Unseen by the others, and publishing nothing.
    case hidden
  }

  /// The only room it opens; nil for any.
  public var room: String?
  /// Nil leaves it open.
  public var participantID: String?
  /// Nil leaves it to the app.
  public var name: String?
  /// The participant's permissions and restrictions; at least one.
  public var rights: Set<Right>
  /// Time of issue (`iat`).
  public var issued: NumericDate?
  /// Time of expiry (`exp`). The participant is removed then.
  public var expires: NumericDate

  /// Creates the claims of a token.
  public init(
    room: String? = nil, participantID: String? = nil, name: String? = nil,
    rights: Set<Right> = [.publish, .subscribe, .send],
    issued: NumericDate, expires: NumericDate
  ) {
    (self.room, self.participantID, self.name, self.rights) = (room, participantID, name, rights)
    (self.issued, self.expires) = (issued, expires)
  }

  public func check() throws(TokenError) {
    if room?.isEmpty == true { throw .invalidClaim("room", reason: "is empty") }
    if participantID?.isEmpty == true { throw .invalidClaim("sub", reason: "is empty") }
    guard !rights.isEmpty else { throw .invalidClaim("rights", reason: "grant nothing") }
  }

  public var admission: Admission {
    let media: [Right: Admission.Medium] = [
      .publishSound: .sound, .publishPictures: .pictures, .publishScreen: .screen,
    ]
    let some = Set(rights.compactMap { media[$0] })
    var admission = Admission(
      identity: participantID, participantID: participantID, displayName: name, room: room,
      canPublish: rights.contains(.publish) || !some.isEmpty, canSubscribe: rights.contains(.subscribe),
      canModerate: rights.contains(.moderate), mustAsk: rights.contains(.ask), expiry: expires)
    if !rights.contains(.publish) { admission.media = some }
    admission.canSendData = rights.contains(.send)
    admission.isHidden = rights.contains(.hidden)
    admission.endsStay = true
    admission.canAdmit = rights.contains(.moderate)
    return admission
  }

  // MARK: Claims

  private enum Claim: String, CodingKey { case typ, room, sub, name, rights, iat, exp }

  /// The `typ` claim. It distinguishes a room pass from tokens of other kinds, which share some of its claims.
  static let kind = "koine-room"

  public init(from decoder: any Decoder) throws {
    let claims = try decoder.container(keyedBy: Claim.self)
    guard try claims.decode(String.self, forKey: .typ) == Self.kind else {
      throw DecodingError.dataCorruptedError(forKey: .typ, in: claims, debugDescription: "not a room pass")
    }
    room = try claims.decodeIfPresent(String.self, forKey: .room)
    participantID = try claims.decodeIfPresent(String.self, forKey: .sub)
    name = try claims.decodeIfPresent(String.self, forKey: .name)
    rights = Set(try claims.decode([String].self, forKey: .rights).compactMap { Right(rawValue: $0) })
    issued = try claims.decodeIfPresent(NumericDate.self, forKey: .iat)
    expires = try claims.decode(NumericDate.self, forKey: .exp)
  }

  public func encode(to encoder: any Encoder) throws {
    var claims = encoder.container(keyedBy: Claim.self)
    try claims.encode(Self.kind, forKey: .typ)
    try claims.encodeIfPresent(room, forKey: .room)
    try claims.encodeIfPresent(participantID, forKey: .sub)
    try claims.encodeIfPresent(name, forKey: .name)
    try claims.encode(rights.map(\.rawValue).sorted(), forKey: .rights)
    try claims.encodeIfPresent(issued, forKey: .iat)
    try claims.encode(expires, forKey: .exp)
  }
}
