import CKoineOpenSSL

/// The curves of RFC 7518 section 3.4.
public enum EllipticCurve: Hashable, Sendable, CaseIterable {
  /// NIST P-256, for ES256.
  case p256
  /// NIST P-384, for ES384.
  case p384

  /// OpenSSL's name.
  var name: String { self == .p256 ? "prime256v1" : "secp384r1" }
  /// Bytes of a coordinate.
  var size: Int { self == .p256 ? 32 : 48 }
}

/// Owns one `EVP_PKEY` on a curve of ours. `@unchecked Sendable`: nothing is changed after `init`, and OpenSSL counts
/// references atomically.
final class EllipticKey: @unchecked Sendable {
  let curve: EllipticCurve
  private let raw: OpaquePointer

  private init(taking raw: OpaquePointer, curve: EllipticCurve) { (self.raw, self.curve) = (raw, curve) }

  deinit { EVP_PKEY_free(raw) }

  static func generate(_ curve: EllipticCurve) throws(TokenError) -> EllipticKey {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw failure("making a key") }
    defer { EVP_PKEY_CTX_free(context) }
    var raw: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve.name) == 1,
      EVP_PKEY_generate(context, &raw) == 1, let raw
    else { throw failure("making a key") }
    return EllipticKey(taking: raw, curve: curve)
  }

  /// - Parameters:
  ///   - secret: the private scalar, big-endian, as long as a coordinate; nil for a key that only checks.
  ///   - point: 4, x, y (SEC 1 section 2.3.3, uncompressed).
  init(_ curve: EllipticCurve, secret: [UInt8]?, point: [UInt8]) throws(TokenError) {
    guard point.count == 1 + 2 * curve.size, point.first == 4, secret.map({ $0.count == curve.size }) ?? true else {
      throw .invalidKey("of the wrong length")
    }
    guard let parameters = Self.parameters(curve, secret: secret, point: point) else {
      throw Self.failure("reading a key")
    }
    defer { OSSL_PARAM_free(parameters) }
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw Self.failure("reading a key") }
    defer { EVP_PKEY_CTX_free(context) }
    let selection = secret == nil ? koine_public_key_selection() : koine_key_pair_selection()
    var raw: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1, EVP_PKEY_fromdata(context, &raw, selection, parameters) == 1, let raw
    else {
      ERR_clear_error()
      throw .invalidKey("not on the curve")
    }
    (self.raw, self.curve) = (raw, curve)
    try checkConsistency(isPair: secret != nil)
  }

  /// The builder keeps the addresses it is given, and copies from them in its last call.
  private static func parameters(
    _ curve: EllipticCurve, secret: [UInt8]?, point: [UInt8]
  ) -> UnsafeMutablePointer<OSSL_PARAM>? {
    guard let builder = OSSL_PARAM_BLD_new() else { return nil }
    defer { OSSL_PARAM_BLD_free(builder) }
    let scalar = secret.flatMap { BN_bin2bn($0, Int32($0.count), nil) }
    defer { BN_clear_free(scalar) }
    guard (scalar != nil) == (secret != nil) else { return nil }
    return curve.name.withCString { name in
      point.withUnsafeBytes { point in
        guard koine_push_group_name(builder, name) == 1,
          koine_push_public_key(builder, point.baseAddress, point.count) == 1,
          scalar == nil || koine_push_private_key(builder, scalar) == 1
        else { return nil }
        return OSSL_PARAM_BLD_to_param(builder)
      }
    }
  }

  /// PEM: a private key (SEC 1 or PKCS #8, not encrypted) or a public one (SubjectPublicKeyInfo).
  static func reading(pem: String, isPrivate: Bool) throws(TokenError) -> EllipticKey {
    let bytes = Array(pem.utf8)
    guard bytes.count <= 16_384 else { throw .tooLarge(limit: 16_384) }
    // The BIO keeps the address that it is given: it must not outlive the closure.
    let raw = bytes.withUnsafeBytes { text -> OpaquePointer? in
      guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
      defer { BIO_free(bio) }
      // A callback of our own, because OpenSSL's asks at the terminal for the passphrase of an encrypted key.
      return isPrivate
        ? PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        : PEM_read_bio_PUBKEY(bio, nil, { _, _, _, _ in -1 }, nil)
    }
    ERR_clear_error()
    guard let raw else { throw .invalidKey("no PEM of \(isPrivate ? "an unencrypted private" : "a public") key") }
    guard let curve = curve(of: raw) else {
      EVP_PKEY_free(raw)
      throw .invalidKey("neither on P-256 nor on P-384")
    }
    let key = EllipticKey(taking: raw, curve: curve)
    try key.checkConsistency(isPair: isPrivate)
    return key
  }

  /// PKCS #8 or SubjectPublicKeyInfo.
  func pem(isPrivate: Bool) throws(TokenError) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { throw Self.failure("writing a key") }
    defer { BIO_free(bio) }
    let status =
      isPrivate ? PEM_write_bio_PrivateKey(bio, raw, nil, nil, 0, nil, nil) : PEM_write_bio_PUBKEY(bio, raw)
    var text = [UInt8](repeating: 0, count: 2_048)
    let count = BIO_read(bio, &text, Int32(text.count))
    guard status == 1, count > 0 else { throw Self.failure("writing a key") }
    return String(decoding: text.prefix(Int(count)), as: UTF8.self)
  }

  /// The members `x` and `y` of a JSON Web Key (RFC 7518 section 6.2), each as long as a coordinate.
  func point() throws(TokenError) -> (x: [UInt8], y: [UInt8]) { (try number("qx"), try number("qy")) }

  /// The member `d`, as long as a coordinate.
  func scalar() throws(TokenError) -> [UInt8] { try number("priv") }

  /// - Parameter name: OpenSSL's, of a big number.
  private func number(_ name: String) throws(TokenError) -> [UInt8] {
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(raw, name, &number) == 1, let number else { throw Self.failure("writing a key") }
    defer { BN_clear_free(number) }
    var bytes = [UInt8](repeating: 0, count: curve.size)
    guard BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(curve.size) else {
      throw Self.failure("writing a key")
    }
    return bytes
  }

  /// r and s, each as long as a coordinate (RFC 7518 section 3.4).
  func sign(_ message: [UInt8]) throws(TokenError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw Self.failure("signing") }
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(raw)))
    var count = der.count
    guard EVP_DigestSignInit(context, nil, digest, nil, raw) == 1,
      EVP_DigestSign(context, &der, &count, message, message.count) == 1
    else { throw Self.failure("signing") }
    let pair = der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &place, count)
    }
    guard let pair else { throw Self.failure("signing") }
    defer { ECDSA_SIG_free(pair) }
    var (r, s) = ([UInt8](repeating: 0, count: curve.size), [UInt8](repeating: 0, count: curve.size))
    guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, Int32(r.count)) == Int32(curve.size),
      BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, Int32(s.count)) == Int32(curve.size)
    else { throw Self.failure("signing") }
    return r + s
  }

  func isSignature(_ signature: [UInt8], of message: [UInt8]) throws(TokenError) -> Bool {
    guard signature.count == 2 * curve.size else { return false }
    guard let pair = ECDSA_SIG_new() else { throw Self.failure("checking") }
    defer { ECDSA_SIG_free(pair) }
    let r = BN_bin2bn(Array(signature.prefix(curve.size)), Int32(curve.size), nil)
    let s = BN_bin2bn(Array(signature.suffix(curve.size)), Int32(curve.size), nil)
    guard r != nil, s != nil, ECDSA_SIG_set0(pair, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      throw Self.failure("checking")
    }
    var encoded: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(pair, &encoded)
    guard count > 0, let encoded else { throw Self.failure("checking") }
    defer { koine_openssl_free(encoded) }
    guard let context = EVP_MD_CTX_new() else { throw Self.failure("checking") }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, digest, nil, raw) == 1 else { throw Self.failure("checking") }
    let status = EVP_DigestVerify(context, encoded, Int(count), message, message.count)
    // A signature that cannot be right (r or s of 0, say) leaves a line in the queue, which others would read.
    ERR_clear_error()
    return status == 1
  }

  private var digest: OpaquePointer? { curve == .p256 ? EVP_sha256() : EVP_sha384() }

  /// The point lies on the curve; a pair's halves belong together.
  private func checkConsistency(isPair: Bool) throws(TokenError) {
    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, raw, nil) else { throw Self.failure("checking a key") }
    defer { EVP_PKEY_CTX_free(context) }
    let status = isPair ? EVP_PKEY_check(context) : EVP_PKEY_public_check(context)
    ERR_clear_error()
    guard status == 1 else { throw .invalidKey(isPair ? "its halves do not match" : "not on the curve") }
  }

  private static func curve(of raw: OpaquePointer) -> EllipticCurve? {
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(raw, &name, name.count, &count) == 1 else {
      ERR_clear_error()
      return nil
    }
    let text = String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return EllipticCurve.allCases.first { $0.name == text }
  }

  private static func failure(_ what: String) -> TokenError {
    ERR_clear_error()
    return .failed(what)
  }
}
