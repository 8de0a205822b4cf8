import CKoineOpenSSL

/// A self-signed EC P-256 certificate with its key, and the OpenSSL settings made from them.
///
/// Making one costs a few hundred microseconds; `shared()` is made once per process and serves every call.
/// `@unchecked Sendable`: nothing is changed after `init`, and OpenSSL counts references to all three atomically.
package final class Certificate: @unchecked Sendable {
  package let fingerprint: Fingerprint
  /// What every endpoint with this certificate starts from (`SSL_CTX`).
  let context: OpaquePointer

  private static let ofProcess = Result { () throws(DTLSError) in try Certificate() }

  /// The certificate of this process.
  package static func shared() throws(DTLSError) -> Certificate { try ofProcess.get() }

  package init() throws(DTLSError) {
    guard let key = koine_generate_p256() else { throw .fromQueue("generating a key") }
    defer { EVP_PKEY_free(key) }
    guard let certificate = X509_new() else { throw .fromQueue("making a certificate") }
    defer { X509_free(certificate) }
    try Self.fill(certificate, key: key)
    fingerprint = try Self.fingerprint(of: certificate)
    context = try Self.makeContext(certificate: certificate, key: key)
  }

  deinit { SSL_CTX_free(context) }

  /// SHA-256 of the certificate's DER form. `certificate` is an `X509`.
  static func fingerprint(of certificate: OpaquePointer) throws(DTLSError) -> Fingerprint {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard X509_digest(certificate, EVP_sha256(), &digest, &count) == 1 else {
      throw .fromQueue("hashing a certificate")
    }
    return Fingerprint(sha256: digest.prefix(Int(count)))
  }

  /// X.509 version 3, a random serial number, valid from yesterday for 30 years; the name says nothing about its owner.
  ///
  /// Its fingerprint, which signalling carries, is what peers check (RFC 5763, 5), and a new one is made in each process, so its
  /// dates protect nothing. They must only not pass while a process runs: browsers do not look at them, other stacks may.
  private static func fill(_ certificate: OpaquePointer, key: OpaquePointer) throws(DTLSError) {
    let day = 24 * 60 * 60
    var serial = [UInt8](repeating: 0, count: 8)
    guard RAND_bytes(&serial, Int32(serial.count)) == 1 else { throw .fromQueue("drawing a serial number") }
    let number = serial.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
    let name = X509_get_subject_name(certificate)
    guard X509_set_version(certificate, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number) == 1,
      X509_gmtime_adj(X509_getm_notBefore(certificate), -day) != nil,
      X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 365 * day) != nil,
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "call", -1, -1, 0) == 1,
      X509_set_issuer_name(certificate, name) == 1,
      X509_set_pubkey(certificate, key) == 1,
      X509_sign(certificate, key, EVP_sha256()) > 0
    else { throw .fromQueue("signing a certificate") }
  }

  private static let ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"

  private static func makeContext(
    certificate: OpaquePointer, key: OpaquePointer
  ) throws(DTLSError) -> OpaquePointer {
    guard let context = SSL_CTX_new(DTLS_method()) else { throw .fromQueue("SSL_CTX_new") }
    // Both roles present a certificate without a certificate authority. The endpoint checks its fingerprint after the handshake and
    // before any key leaves the endpoint, so OpenSSL accepts every chain.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    SSL_CTX_set_cert_verify_callback(context, { _, _ in 1 }, nil)
    koine_ssl_ctx_set_options(context)
    koine_ssl_ctx_no_session_cache(context)
    koine_ssl_ctx_release_buffers(context)
    guard koine_ssl_ctx_only_dtls12(context) == 1,
      SSL_CTX_set_cipher_list(context, ciphers) == 1,
      koine_ssl_ctx_set_groups(context, "X25519:P-256:P-384") == 1,
      SSL_CTX_use_certificate(context, certificate) == 1,
      SSL_CTX_use_PrivateKey(context, key) == 1
    else {
      SSL_CTX_free(context)
      throw .fromQueue("configuring DTLS")
    }
    return context
  }
}
