/// Limits what a key's tokens are accepted for. In a key set it is the member `koine` of a key:
///
///     {"kty": "EC", "kid": "team", …, "koine": {"kinds": ["room"], "rooms": "team-*", "audience": "calls.example"}}
///
/// A member that is left out limits nothing. Members and kinds that are not known here are errors: a misspelt limit limits nothing.
public struct KeyBinding: Hashable, Sendable, Codable {
  /// The kinds of tokens that the key signs; nil: all.
  public var kinds: Set<TokenKind>?
  /// The rooms that its tokens open; nil: all. Tokens of a key that is bound to rooms register no identity.
  public var rooms: RoomPattern?
  /// What its tokens must carry as `aud`; nil: `aud` is not looked at.
  public var audience: String?

  /// Creates a binding; nil in a parameter sets no limit.
  public init(kinds: Set<TokenKind>? = nil, rooms: RoomPattern? = nil, audience: String? = nil) {
    (self.kinds, self.rooms, self.audience) = (kinds, rooms, audience)
  }

  /// A binding without limits.
  public static let none = KeyBinding()

  /// - Throws: `.keyNotFor`.
  func check(_ kind: TokenKind?) throws(TokenError) {
    guard let kinds else { return }
    guard let kind, kinds.contains(kind) else { throw .keyNotFor("\(kind?.rawValue ?? "other") tokens") }
  }

  /// - Parameter room: nil for a token that opens any room.
  /// - Throws: `.keyNotFor`.
  func check(room: String?) throws(TokenError) {
    guard let rooms, let room else { return }
    guard rooms.matches(room) else { throw .keyNotFor("the room '\(room)'") }
  }

  /// - Throws: `.missingClaim`, `.invalidClaim`.
  func check(_ audience: Audience?) throws(TokenError) {
    guard let own = self.audience else { return }
    guard let audience else { throw .missingClaim("aud") }
    guard audience.names.contains(own) else { throw .invalidClaim("aud", reason: "names another audience") }
  }

  // MARK: JSON

  private enum Member: String, CodingKey, CaseIterable { case kinds, rooms, audience }

  private struct AnyMember: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public init(from decoder: any Decoder) throws {
    let all = try decoder.container(keyedBy: AnyMember.self)
    for key in all.allKeys where Member(rawValue: key.stringValue) == nil {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: all, debugDescription: "'koine' has no member '\(key.stringValue)'")
    }
    let members = try decoder.container(keyedBy: Member.self)
    kinds = try members.decodeIfPresent([TokenKind].self, forKey: .kinds).map { Set($0) }
    rooms = try members.decodeIfPresent(RoomPattern.self, forKey: .rooms)
    audience = try members.decodeIfPresent(String.self, forKey: .audience)
    if kinds?.isEmpty == true || audience?.isEmpty == true {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "'koine' has an empty list or name"))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Member.self)
    try members.encodeIfPresent(kinds.map { $0.sorted { $0.rawValue < $1.rawValue } }, forKey: .kinds)
    try members.encodeIfPresent(rooms, forKey: .rooms)
    try members.encodeIfPresent(audience, forKey: .audience)
  }
}

/// Names of rooms: one name, or all that begin alike, as `team-*`. An asterisk elsewhere stands for itself.
public struct RoomPattern: Hashable, Sendable, Codable {
  /// The pattern as written.
  public let text: String

  /// Creates a pattern.
  /// - Returns: nil for an empty text.
  public init?(_ text: String) {
    guard !text.isEmpty else { return nil }
    self.text = text
  }

  /// Whether the pattern matches the name of a room, compared by bytes.
  public func matches(_ room: String) -> Bool {
    // By bytes: equal characters may have different ones, and rooms are told apart by bytes.
    let (pattern, room) = (text.utf8, room.utf8)
    guard pattern.last == UInt8(ascii: "*") else { return pattern.elementsEqual(room) }
    return room.starts(with: pattern.dropLast())
  }

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    guard let pattern = RoomPattern(try value.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: value, debugDescription: "an empty name of a room")
    }
    self = pattern
  }

  public func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    try value.encode(text)
  }
}
