import CKoineOpenSSL
import KoineTokens

/// The hash functions of request signatures.
enum Digest {
  static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    SHA256(bytes, bytes.count, &digest)
    return digest
  }

  static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    // An empty key needs an address, too.
    let pointer = key.isEmpty ? [0] : key
    guard HMAC(EVP_sha256(), pointer, Int32(clamping: key.count), message, message.count, &digest, &count) != nil else {
      // Only without memory. An answer that equals no signature refuses the request.
      return []
    }
    return digest
  }

  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Whether two texts are equal. The time depends on their lengths only.
  static func isEqual(_ one: some Sequence<UInt8>, _ other: some Sequence<UInt8>) -> Bool {
    let (one, other) = (Array(one), Array(other))
    return one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }
}
