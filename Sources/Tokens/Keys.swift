import CKoineOpenSSL

/// How a token is signed (RFC 7518 section 3.1). Only what a vendor's app is given is here; `none` never is.
public enum SigningAlgorithm: String, Hashable, Sendable, CaseIterable {
  /// HMAC with SHA-256 (RFC 7518 section 3.2).
  case hs256 = "HS256"
  /// ECDSA on P-256 with SHA-256 (RFC 7518 section 3.4).
  case es256 = "ES256"
  /// ECDSA on P-384 with SHA-384 (RFC 7518 section 3.4).
  case es384 = "ES384"
}

/// What signs tokens: a shared secret, or the private half of a pair. The algorithm belongs to the key, so that no
/// token can choose another one for it.
public struct SigningKey: Sendable {
  enum Material: Sendable {
    case secret([UInt8])
    case pair(EllipticKey)
  }

  let material: Material
  /// The header's `kid`; an Amazon stage token carries the public key's ARN there.
  public let id: String?
  /// What it may sign.
  public var binding = KeyBinding.none

  /// HS256.
  /// - Parameter secret: at least 32 bytes (RFC 7518 section 3.2).
  /// - Throws: `TokenError.invalidKey` for a shorter secret.
  public init(secret: [UInt8], id: String? = nil) throws(TokenError) {
    guard secret.count >= 32 else { throw .invalidKey("a secret under 32 bytes") }
    (material, self.id) = (.secret(secret), id)
  }

  /// ES256 on P-256, ES384 on P-384.
  /// - Parameter pem: SEC 1 or PKCS #8, not encrypted.
  /// - Throws: `TokenError.invalidKey` if the text is no private key on P-256 or P-384.
  public init(pem: String, id: String? = nil) throws(TokenError) {
    (material, self.id) = (.pair(try EllipticKey.reading(pem: pem, isPrivate: true)), id)
  }

  /// A new pair.
  /// - Throws: `TokenError.failed` if the cryptographic library cannot generate a key.
  public init(generating curve: EllipticCurve, id: String? = nil) throws(TokenError) {
    (material, self.id) = (.pair(try EllipticKey.generate(curve)), id)
  }

  /// The members `d`, `x` and `y` of a JSON Web Key, decoded.
  /// - Throws: `TokenError.invalidKey` if the numbers are no key on the curve.
  public init(
    _ curve: EllipticCurve, d: [UInt8], x: [UInt8], y: [UInt8], id: String? = nil
  ) throws(TokenError) {
    (material, self.id) = (.pair(try EllipticKey(curve, secret: d, point: [4] + x + y)), id)
  }

  /// The algorithm of the key's signatures.
  public var algorithm: SigningAlgorithm {
    switch material {
    case .secret: .hs256
    case .pair(let key): key.curve == .p256 ? .es256 : .es384
    }
  }

  /// What checks this key's tokens: the secret itself, or the public half. It has the same id.
  public var verificationKey: VerificationKey { get throws(TokenError) { VerificationKey(of: self) } }

  /// PKCS #8; nil for a secret.
  public var pem: String? {
    get throws(TokenError) {
      guard case .pair(let key) = material else { return nil }
      return try key.pem(isPrivate: true)
    }
  }

  func sign(_ message: [UInt8]) throws(TokenError) -> [UInt8] {
    switch material {
    case .secret(let secret): try hmac(message, secret: secret)
    case .pair(let key): try key.sign(message)
    }
  }
}

/// What checks tokens: a shared secret, or a public key.
public struct VerificationKey: Sendable {
  let material: SigningKey.Material
  /// If the key has an id, a token that names another one is not checked with it.
  public let id: String?
  /// What its tokens are accepted for.
  public var binding = KeyBinding.none
  /// Whether only tokens that name it (`kid`) are checked with it. A token that names no key is checked with few keys: this one
  /// takes no place among them.
  package var needsKeyID = false
  /// Called before each signature check, on the thread that checks; for tests that count them.
  package var willCheck: (@Sendable () -> Void)?

  /// HS256.
  /// - Parameter secret: at least 32 bytes (RFC 7518 section 3.2).
  /// - Throws: `TokenError.invalidKey` for a shorter secret.
  public init(secret: [UInt8], id: String? = nil) throws(TokenError) {
    guard secret.count >= 32 else { throw .invalidKey("a secret under 32 bytes") }
    (material, self.id) = (.secret(secret), id)
  }

  /// ES256 on P-256, ES384 on P-384.
  /// - Parameter pem: SubjectPublicKeyInfo.
  /// - Throws: `TokenError.invalidKey` if the text is no public key on P-256 or P-384.
  public init(pem: String, id: String? = nil) throws(TokenError) {
    (material, self.id) = (.pair(try EllipticKey.reading(pem: pem, isPrivate: false)), id)
  }

  /// The members `x` and `y` of a JSON Web Key, decoded.
  /// - Throws: `TokenError.invalidKey` if the numbers are no point on the curve.
  public init(_ curve: EllipticCurve, x: [UInt8], y: [UInt8], id: String? = nil) throws(TokenError) {
    (material, self.id) = (.pair(try EllipticKey(curve, secret: nil, point: [4] + x + y)), id)
  }

  /// Shares the key's own material: nothing is written and read again.
  init(of key: SigningKey) { (material, id, binding) = (key.material, key.id, key.binding) }

  /// The algorithm of the signatures that the key checks.
  public var algorithm: SigningAlgorithm {
    switch material {
    case .secret: .hs256
    case .pair(let key): key.curve == .p256 ? .es256 : .es384
    }
  }

  /// SubjectPublicKeyInfo; nil for a secret.
  public var pem: String? {
    get throws(TokenError) {
      guard case .pair(let key) = material else { return nil }
      return try key.pem(isPrivate: false)
    }
  }

  func isSignature(_ signature: [UInt8], of message: [UInt8]) throws(TokenError) -> Bool {
    willCheck?()
    switch material {
    case .secret(let secret):
      let expected = try hmac(message, secret: secret)
      // In constant time: how far a guess is right must not show.
      return signature.count == expected.count && CRYPTO_memcmp(signature, expected, expected.count) == 0
    case .pair(let key): return try key.isSignature(signature, of: message)
    }
  }
}

extension VerificationKey {
  /// A digest of eight characters. Two sets of keys with the same digest accept the same tokens. The order of the keys does not matter.
  package static func digest(of keys: [VerificationKey]) throws(TokenError) -> String {
    var lines: [String] = []
    for key in keys {
      let material: [UInt8]
      switch key.material {
      case .secret(let secret): material = secret
      case .pair(let pair):
        let (x, y) = try pair.point()
        material = x + y
      }
      let kinds = key.binding.kinds?.map(\.rawValue).sorted().joined(separator: ",")
      let binding = [kinds, key.binding.rooms?.text, key.binding.audience].map { $0 ?? "*" }
      lines.append(([Base64URL.encode(SHA256Digest.of(material)), key.id ?? "*"] + binding).joined(separator: " "))
    }
    return Base64URL.encode(SHA256Digest.of(lines.sorted().joined(separator: "\n").utf8).prefix(6))
  }
}

extension SigningKey {
  /// Secret bytes that follow from the key and a purpose: the same for the same key, and without a way back to the key.
  package func derivedSecret(for purpose: String) throws(TokenError) -> [UInt8] {
    let secret: [UInt8] =
      switch material {
      case .secret(let secret): secret
      case .pair(let pair): try pair.scalar()
      }
    return try hmac(Array(purpose.utf8), secret: secret)
  }
}

private func hmac(_ message: [UInt8], secret: [UInt8]) throws(TokenError) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: 32)
  var count: UInt32 = 0
  guard let length = Int32(exactly: secret.count),
    HMAC(EVP_sha256(), secret, length, message, message.count, &digest, &count) != nil, count == 32
  else { throw .failed("signing") }
  return digest
}
