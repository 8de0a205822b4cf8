import CKoineOpenSSL

/// Session keys from master keys (RFC 3711 section 4.3, RFC 7714 section 11), with a key derivation rate of zero.
package enum SRTPKeyDerivation {
  package enum Label: UInt8, Sendable {
    case rtpEncryption = 0
    case rtpAuthentication, rtpSalt
    case rtcpEncryption, rtcpAuthentication, rtcpSalt
  }

  /// - Parameters:
  ///   - key: 16 or 32 bytes.
  ///   - salt: 14 bytes, or the 12 of an AEAD profile, which count as if two zero bytes followed.
  ///   - count: how many bytes to derive.
  package static func derive(_ label: Label, key: [UInt8], salt: [UInt8], count: Int) throws(SRTPError) -> [UInt8] {
    guard salt.count <= 14 else { throw .unsupportedKeys }
    var counter = [UInt8](repeating: 0, count: 16)
    counter.replaceSubrange(0..<salt.count, with: salt)
    counter[7] ^= label.rawValue  // key_id = label || index / rate, right-aligned in 112 bits
    return try keystream(key: key, counter: counter, count: count)
  }

  /// The keystream of AES in counter mode (RFC 3711 section 4.1.1) from the given first counter block of 16 bytes.
  package static func keystream(key: [UInt8], counter: [UInt8], count: Int) throws(SRTPError) -> [UInt8] {
    guard counter.count == 16, count >= 0, let length = Int32(exactly: count) else { throw .unsupportedKeys }
    guard let cipher = key.count == 16 ? EVP_aes_128_ctr() : key.count == 32 ? EVP_aes_256_ctr() : nil else {
      throw .unsupportedKeys
    }
    guard let context = EVP_CIPHER_CTX_new() else { throw .library(0) }
    defer { EVP_CIPHER_CTX_free(context) }
    let zeros = [UInt8](repeating: 0, count: count)
    var output = zeros
    var written: Int32 = 0
    guard EVP_EncryptInit_ex(context, cipher, nil, key, counter) == 1,
      EVP_EncryptUpdate(context, &output, &written, zeros, length) == 1, written == length
    else {
      ERR_clear_error()
      throw .library(0)
    }
    return output
  }
}
