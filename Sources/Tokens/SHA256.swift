import CKoineOpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256Digest {
  /// Computes the SHA-256 digest of bytes.
  /// - Returns: 32 bytes.
  public static func of(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(bytes)
    var digest = [UInt8](repeating: 0, count: 32)
    _ = SHA256(bytes, bytes.count, &digest)
    return digest
  }
}
