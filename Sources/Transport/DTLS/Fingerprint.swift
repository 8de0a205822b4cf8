extension Fingerprint {
  /// From the SHA-256 digest of a certificate in DER form.
  package init(sha256 digest: some Collection<UInt8>) {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(digest.count * 3)
    for byte in digest {
      if !text.isEmpty { text.append(UInt8(ascii: ":")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    self.init(algorithm: "sha-256", value: String(decoding: text, as: UTF8.self))
  }

  /// Both parts are compared without regard to case, as RFC 8122 allows either.
  package func matches(_ other: Fingerprint) -> Bool {
    algorithm.lowercased() == other.algorithm.lowercased() && value.uppercased() == other.value.uppercased()
  }
}
