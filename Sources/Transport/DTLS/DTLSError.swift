import CKoineOpenSSL

/// Why a DTLS association was not made, or a certificate not generated.
package enum DTLSError: Error, Hashable, Sendable {
  /// The peer did not complete the handshake within `DTLSEndpoint.handshakeLimit`, or signalling did not supply the expected
  /// fingerprint in this time.
  case timedOut
  /// The peer's certificate is not the one that signalling promised.
  case fingerprintMismatch
  /// The handshake ended without a protection profile both sides know.
  case noCommonProfile
  /// The peer ended the handshake with this alert (RFC 5246 section 7.2).
  case alert(UInt8)
  /// OpenSSL refused; with its own words.
  case library(String)

  /// Takes the first error off OpenSSL's queue of this thread, and empties the queue.
  static func fromQueue(_ operation: String) -> DTLSError {
    let code = ERR_get_error()
    defer { ERR_clear_error() }
    guard code != 0 else { return .library(operation) }
    let reason = koine_err_reason(code)
    let alerts = Int32(SSL_AD_REASON_OFFSET)..<Int32(SSL_AD_REASON_OFFSET) + 256
    if koine_err_library(code) == ERR_LIB_SSL, alerts.contains(reason) {
      return .alert(UInt8(truncatingIfNeeded: reason - Int32(SSL_AD_REASON_OFFSET)))
    }
    guard let text = ERR_reason_error_string(code) else { return .library("\(operation): error \(code)") }
    return .library("\(operation): \(String(cString: text))")
  }
}
