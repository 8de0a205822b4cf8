import CKoineOpenSSL
import KoineBase

/// The RSA key that signs VideoSDK's webhooks: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2), 2,048 bits.
///
/// Owns one `EVP_PKEY`. `@unchecked Sendable`: nothing is changed after `init`, and OpenSSL counts references atomically.
final class WebhookKey: @unchecked Sendable {
  private let raw: OpaquePointer

  private init(taking raw: OpaquePointer) { self.raw = raw }

  deinit { EVP_PKEY_free(raw) }

  /// - Returns: nil if OpenSSL makes no key. It takes some tenths of a second.
  static func generate() -> WebhookKey? {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var raw: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048) == 1,
      EVP_PKEY_generate(context, &raw) == 1, let raw
    else {
      ERR_clear_error()
      return nil
    }
    return WebhookKey(taking: raw)
  }

  /// - Parameter der: as `der` gives it.
  /// - Returns: nil for other bytes.
  init?(der: [UInt8]) {
    let raw = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
      var start = bytes.baseAddress
      return d2i_AutoPrivateKey(nil, &start, bytes.count)
    }
    guard let raw, EVP_PKEY_get_base_id(raw) == EVP_PKEY_RSA else {
      ERR_clear_error()
      EVP_PKEY_free(raw)
      return nil
    }
    self.raw = raw
  }

  /// The private key (RFC 8017 appendix A.1.2). Empty if OpenSSL fails.
  var der: [UInt8] { encoded(i2d_PrivateKey) }

  /// The public key as the vendor's API shows it: PEM of an `RSAPublicKey` (RFC 8017 appendix A.1.1).
  var publicPEM: String {
    let text = Array(Base64.encode(encoded(i2d_PublicKey)))
    let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) + "\n" }
    return "-----BEGIN RSA PUBLIC KEY-----\n" + lines.joined() + "-----END RSA PUBLIC KEY-----\n"
  }

  private func encoded(_ write: (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32)
    -> [UInt8]
  {
    let count = write(raw, nil)
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, filled in
      var end = bytes.baseAddress
      filled = max(0, Int(write(raw, &end)))
    }
  }

  /// - Returns: the signature in base64; nil if OpenSSL fails.
  func sign(_ bytes: [UInt8]) -> String? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var count = Int(EVP_PKEY_get_size(raw))
    var signature = [UInt8](repeating: 0, count: max(count, 0))
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, raw) == 1,
      EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
    else {
      ERR_clear_error()
      return nil
    }
    return Base64.encode(Array(signature.prefix(count)))
  }
}

/// A webhook key in the registry, so that receivers may keep the public key over a restart.
struct StoredWebhookKey: Codable, Sendable {
  var der: String

  static let key = "videosdk/webhook-key"
}
