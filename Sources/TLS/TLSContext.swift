import CKoineOpenSSL

/// What the connections of one side have in common: the certificate that is shown, or those that are trusted (`SSL_CTX`).
///
/// TLS 1.2 and 1.3 by the libssl that DTLS needs anyway: a second cryptographic library would double the build.
/// `@unchecked Sendable`: nothing is changed after `init`, and OpenSSL counts references atomically.
package final class TLSContext: @unchecked Sendable {
  enum Role { case client, server }

  let role: Role
  let raw: OpaquePointer

  private init(_ role: Role) throws(TLSError) {
    guard let raw = SSL_CTX_new(role == .server ? TLS_server_method() : TLS_client_method()) else {
      throw .fromQueue("SSL_CTX_new")
    }
    (self.role, self.raw) = (role, raw)
    SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)  // what the macro of the name does
    koine_ssl_ctx_set_options(raw)
    koine_ssl_ctx_no_session_cache(raw)
    koine_ssl_ctx_release_buffers(raw)
    guard SSL_CTX_set_cipher_list(raw, Self.ciphers) == 1 else { throw .fromQueue("SSL_CTX_set_cipher_list") }
  }

  /// Of TLS 1.2: with forward secrecy, and authenticated encryption. All of TLS 1.3's have both.
  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

  deinit { SSL_CTX_free(raw) }

  /// For a server.
  /// - Parameters:
  ///   - certificate: a PEM file: the certificate, then those that lead to one that clients know.
  ///   - key: a PEM file, not encrypted.
  package static func server(certificate: String, key: String) throws(TLSError) -> TLSContext {
    let context = try TLSContext(.server)
    // A callback of our own, because OpenSSL's asks at the terminal for the passphrase of an encrypted key.
    SSL_CTX_set_default_passwd_cb(context.raw) { _, _, _, _ in -1 }
    guard SSL_CTX_use_certificate_chain_file(context.raw, certificate) == 1 else {
      throw .fromQueue("reading '\(certificate)'")
    }
    guard SSL_CTX_use_PrivateKey_file(context.raw, key, SSL_FILETYPE_PEM) == 1,
      SSL_CTX_check_private_key(context.raw) == 1
    else { throw .fromQueue("reading '\(key)'") }
    return context
  }

  /// For a client, which believes only certificates that are in the server's name.
  /// - Parameter authorities: a PEM file; nil: those that the system trusts.
  package static func client(trusting authorities: String? = nil) throws(TLSError) -> TLSContext {
    let context = try TLSContext(.client)
    SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER, nil)
    let status =
      authorities.map { SSL_CTX_load_verify_file(context.raw, $0) } ?? SSL_CTX_set_default_verify_paths(context.raw)
    guard status == 1 else { throw .fromQueue("reading the trusted certificates") }
    return context
  }
}

/// What went wrong with TLS.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  /// With what OpenSSL says of this thread's last errors, which are taken off its queue.
  static func fromQueue(_ what: String) -> TLSError {
    var reasons: [String] = []
    while case let code = ERR_get_error(), code != 0 {
      var text = [CChar](repeating: 0, count: 256)
      ERR_error_string_n(code, &text, text.count)
      reasons.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    return TLSError(description: ([what] + reasons).joined(separator: ": "))
  }
}
