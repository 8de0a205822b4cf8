import KoineJSONCodec

/// Keys that belong together, as a JSON Web Key Set (RFC 7517): the first private one signs, all of them check. To change
/// keys, put a new one first, and drop the old one when its last token has expired.
///
/// A set of public keys (`publicJSON`) is all that a server needs: it checks tokens and signs none.
public struct KeySet: Sendable {
  private struct Member: Sendable {
    /// nil for a public key.
    var signing: SigningKey?
    var verification: VerificationKey

    init(_ key: SigningKey) { (signing, verification) = (key, VerificationKey(of: key)) }
    init(_ key: VerificationKey) { (signing, verification) = (nil, key) }
  }

  private var members: [Member]

  /// All of them, in order.
  public var keys: [VerificationKey] { members.map(\.verification) }

  /// A set of one new key: ES384, which every style's tokens can be signed with.
  /// - Throws: `TokenError.failed` if the cryptographic library cannot generate a key.
  public init(newKey id: String) throws(TokenError) { members = [Member(try SigningKey(generating: .p384, id: id))] }

  /// Puts a new key first.
  /// - Throws: `TokenError` if the id is taken, or a key cannot be generated.
  public mutating func rotate(to id: String) throws(TokenError) {
    guard !keys.contains(where: { $0.id == id }) else { throw .invalidKey("a second one named '\(id)'") }
    members.insert(Member(try SigningKey(generating: .p384, id: id)), at: 0)
  }

  /// Removes a key.
  /// - Returns: false if there is none of that name, or no other one.
  public mutating func drop(_ id: String) -> Bool {
    guard members.count > 1, keys.contains(where: { $0.id == id }) else { return false }
    members.removeAll { $0.verification.id == id }
    return true
  }

  /// The first that is private.
  /// - Throws: `.invalidKey` in a set of public keys.
  public var signingKey: SigningKey {
    get throws(TokenError) {
      guard let key = members.lazy.compactMap(\.signing).first else { throw .invalidKey("all of them are public") }
      return key
    }
  }

  /// All that are private, in order.
  package var signingKeys: [SigningKey] { members.compactMap(\.signing) }

  /// The first that is private and not bound to something else.
  /// - Parameter room: that the token opens; nil: any.
  /// - Throws: `.invalidKey` in a set of public keys, `.keyNotFor` what the first private one is not for.
  public func signingKey(for kind: TokenKind, room: String?) throws(TokenError) -> SigningKey {
    var reason: TokenError?
    for key in members.compactMap(\.signing) {
      do throws(TokenError) {
        try key.binding.check(kind)
        try key.binding.check(room: room)
        return key
      } catch { reason = reason ?? error }
    }
    throw reason ?? .invalidKey("all of them are public")
  }

  /// The keys that check tokens: secrets and public halves, in the order of the set.
  public var verificationKeys: [VerificationKey] { get throws(TokenError) { keys } }

  // MARK: JSON

  private struct Document: Codable { var keys: [Entry] }

  /// RFC 7518 section 6.
  private struct Entry: Codable {
    var kty: String
    var kid: String?
    var crv, x, y: String?
    /// Of a private key.
    var d: String?
    /// Of a shared secret.
    var k: String?
    var koine: KeyBinding?
  }

  /// Reads a JSON Web Key set (RFC 7517), with Koine's member `koine` for bindings.
  /// - Throws: `TokenError.invalidKey` if the text is no set, or a key is invalid.
  public init(json: String) throws(TokenError) {
    let document: Document
    do { document = try JSONCodec.decode(Document.self, from: Array(json.utf8)) } catch {
      throw .invalidKey("not a set: \(error)")
    }
    guard !document.keys.isEmpty, document.keys.count <= 64 else { throw .invalidKey("not in a set of 1 to 64") }
    var members: [Member] = []
    for entry in document.keys {
      guard let id = entry.kid, !id.isEmpty else { throw .invalidKey("without a name (kid)") }
      guard !members.contains(where: { $0.verification.id == id }) else {
        throw .invalidKey("a second one named '\(id)'")
      }
      members.append(try Self.member(entry, id))
    }
    self.members = members
  }

  private static func member(_ entry: Entry, _ id: String) throws(TokenError) -> Member {
    func bytes(_ text: String?, _ name: String) throws(TokenError) -> [UInt8] {
      guard let bytes = text.flatMap({ Base64URL.decode($0.utf8) }) else {
        throw .invalidKey("'\(id)' has no \(name), or none in base64url")
      }
      return bytes
    }
    let binding = entry.koine ?? .none
    switch (entry.kty, entry.crv) {
    case ("oct", _):
      var key = try SigningKey(secret: try bytes(entry.k, "k"), id: id)
      key.binding = binding
      return Member(key)
    case ("EC", "P-256"), ("EC", "P-384"):
      let curve = entry.crv == "P-256" ? EllipticCurve.p256 : .p384
      let (x, y) = (try bytes(entry.x, "x"), try bytes(entry.y, "y"))
      guard entry.d != nil else {
        var key = try VerificationKey(curve, x: x, y: y, id: id)
        key.binding = binding
        return Member(key)
      }
      var key = try SigningKey(curve, d: try bytes(entry.d, "d"), x: x, y: y, id: id)
      key.binding = binding
      return Member(key)
    default: throw .invalidKey("'\(id)' is of kind \(entry.kty) \(entry.crv ?? "")")
    }
  }

  /// With the private halves where the set has them.
  public var json: String { get throws(TokenError) { try Self.text(of: members, isPublic: false) } }

  /// Without the private halves: for servers, which check tokens and sign none.
  /// - Throws: `.invalidKey` for a shared secret, which has no public half.
  public var publicJSON: String { get throws(TokenError) { try Self.text(of: members, isPublic: true) } }

  private static func text(of members: [Member], isPublic: Bool) throws(TokenError) -> String {
    var entries: [Entry] = []
    for member in members { entries.append(try entry(member, isPublic: isPublic)) }
    do { return String(decoding: try JSONCodec.encode(Document(keys: entries)), as: UTF8.self) } catch {
      throw .failed("writing a set of keys")
    }
  }

  private static func entry(_ member: Member, isPublic: Bool) throws(TokenError) -> Entry {
    let key = member.verification
    let binding = key.binding == .none ? nil : key.binding
    switch key.material {
    case .secret(let secret):
      guard !isPublic else { throw .invalidKey("'\(key.id ?? "")' is a shared secret, which has no public half") }
      return Entry(kty: "oct", kid: key.id, k: Base64URL.encode(secret), koine: binding)
    case .pair(let pair):
      let (x, y) = try pair.point()
      let d = isPublic || member.signing == nil ? nil : Base64URL.encode(try pair.scalar())
      return Entry(
        kty: "EC", kid: key.id, crv: pair.curve == .p256 ? "P-256" : "P-384", x: Base64URL.encode(x),
        y: Base64URL.encode(y), d: d, koine: binding)
    }
  }
}
