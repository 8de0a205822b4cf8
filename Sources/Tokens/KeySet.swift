import KoineJSONCodec

/// Keys that belong together, as a JSON Web Key Set (RFC 7517): the first one signs, all of them check. To change keys,
/// put a new one first, and drop the old one when its last token has expired.
public struct KeySet: Sendable {
  public private(set) var keys: [SigningKey]

  /// A set of one new key: ES384, which every style's tokens can be signed with.
  public init(newKey id: String) throws(TokenError) { keys = [try SigningKey(generating: .p384, id: id)] }

  /// Puts a new key first.
  public mutating func rotate(to id: String) throws(TokenError) {
    guard !keys.contains(where: { $0.id == id }) else { throw .invalidKey("a second one named '\(id)'") }
    keys.insert(try SigningKey(generating: .p384, id: id), at: 0)
  }

  /// - Returns: false if there is none of that name, or no other one.
  public mutating func drop(_ id: String) -> Bool {
    guard keys.count > 1, keys.contains(where: { $0.id == id }) else { return false }
    keys.removeAll { $0.id == id }
    return true
  }

  public var signingKey: SigningKey { keys[0] }

  public var verificationKeys: [VerificationKey] {
    get throws(TokenError) {
      var result: [VerificationKey] = []
      for key in keys { result.append(try key.verificationKey) }
      return result
    }
  }

  // MARK: JSON

  private struct Document: Codable { var keys: [Entry] }

  /// RFC 7518 section 6.
  private struct Entry: Codable {
    var kty: String
    var kid: String?
    var crv, x, y, d: String?
    /// Of a shared secret.
    var k: String?
  }

  public init(json: String) throws(TokenError) {
    let document: Document
    do { document = try JSONCodec.decode(Document.self, from: Array(json.utf8)) } catch {
      throw .invalidKey("not a set: \(error)")
    }
    guard !document.keys.isEmpty, document.keys.count <= 64 else { throw .invalidKey("not in a set of 1 to 64") }
    var keys: [SigningKey] = []
    for entry in document.keys {
      guard let id = entry.kid, !id.isEmpty else { throw .invalidKey("without a name (kid)") }
      guard !keys.contains(where: { $0.id == id }) else { throw .invalidKey("a second one named '\(id)'") }
      keys.append(try Self.key(entry, id))
    }
    self.keys = keys
  }

  private static func key(_ entry: Entry, _ id: String) throws(TokenError) -> SigningKey {
    func bytes(_ text: String?, _ name: String) throws(TokenError) -> [UInt8] {
      guard let bytes = text.flatMap({ Base64URL.decode($0.utf8) }) else {
        throw .invalidKey("'\(id)' has no \(name), or none in base64url")
      }
      return bytes
    }
    switch (entry.kty, entry.crv) {
    case ("oct", _): return try SigningKey(secret: try bytes(entry.k, "k"), id: id)
    case ("EC", "P-256"), ("EC", "P-384"):
      return try SigningKey(
        entry.crv == "P-256" ? .p256 : .p384, d: try bytes(entry.d, "d"), x: try bytes(entry.x, "x"),
        y: try bytes(entry.y, "y"), id: id)
    default: throw .invalidKey("'\(id)' is of kind \(entry.kty) \(entry.crv ?? "")")
    }
  }

  public var json: String {
    get throws(TokenError) {
      var entries: [Entry] = []
      for key in keys { entries.append(try Self.entry(key)) }
      do { return String(decoding: try JSONCodec.encode(Document(keys: entries)), as: UTF8.self) } catch {
        throw .failed("writing a set of keys")
      }
    }
  }

  private static func entry(_ key: SigningKey) throws(TokenError) -> Entry {
    switch key.material {
    case .secret(let secret): return Entry(kty: "oct", kid: key.id, k: Base64URL.encode(secret))
    case .pair(let pair):
      let (d, x, y) = try pair.numbers()
      return Entry(
        kty: "EC", kid: key.id, crv: pair.curve == .p256 ? "P-256" : "P-384", x: Base64URL.encode(x),
        y: Base64URL.encode(y), d: Base64URL.encode(d))
    }
  }
}
