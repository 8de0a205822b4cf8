import KoineTransport
import Testing

/// Published vectors, named by their sections.
@Suite struct SRTPVectorTests {
  // MARK: RFC 3711, appendix B

  @Test func `RFC 3711 B_2, the keystream of AES in counter mode`() throws {
    let key = hex("2B7E151628AED2A6ABF7158809CF4F3C")
    let counter = hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000")
    let stream = try SRTPKeyDerivation.keystream(key: key, counter: counter, count: 0xFF02 * 16)
    #expect(
      Array(stream[..<48])
        == hex("E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB 41E95B3BB0A2E8DD477901E4FCA894C0"))
    #expect(
      Array(stream[(0xFEFF * 16)...])
        == hex("EC8CDF7398607CB0F2D21675EA9EA1E4 362B7C3C6773516318A077D7FC5073AE 6A2CC3787889374FBEB4C81B17BA6C44"))
  }

  @Test func `RFC 3711 B_3, keys derived from a master key`() throws {
    let key = hex("E1F97A0D3E018BE0D64FA32C06DE4139")
    let salt = hex("0EC675AD498AFEEBB6960B3AABE6")
    func derived(_ label: SRTPKeyDerivation.Label, _ count: Int) throws -> [UInt8] {
      try SRTPKeyDerivation.derive(label, key: key, salt: salt, count: count)
    }
    #expect(try derived(.rtpEncryption, 16) == hex("C61E7A93744F39EE10734AFE3FF7A087"))
    #expect(try derived(.rtpSalt, 14) == hex("30CBBC08863D8C85D49DB34A9AE1"))
    #expect(
      try derived(.rtpAuthentication, 94)
        == hex(
          """
          CEBE321F6FF7716B6FD4AB49AF256A15 6D38BAA48F0A0ACF3C34E2359E6CDBCE E049646C43D9327AD175578EF7227098
          6371C10C9A369AC2F94A8C5FBCDDDC25 6D6E919A48B610EF17C2041E47403576 6B68642C59BBFC2F34DB60DBDFB2
          """))
  }

  // MARK: RFC 7714, sections 16 and 17

  static let salt = hex("517569642070726f2071756f")
  static let key128 = hex("000102030405060708090a0b0c0d0e0f")
  static let key256 = key128 + hex("101112131415161718191a1b1c1d1e1f")
  static let rtp = hex(
    "8040f17b 8041f8d3 5501a0b2 47616c6c69612065737420 6f6d6e69732064697669736120696e20706172746573207472 6573")
  static let rtcp = hex(
    "81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef deadbeef deadbeef deadbeef deadbeef"
  )

  private func transform(_ key: [UInt8]) throws -> GCMTransform {
    let keys = GCMTransform.SessionKeys(rtpKey: key, rtpSalt: Self.salt, rtcpKey: key, rtcpSalt: Self.salt)
    return try GCMTransform(local: keys, remote: keys)
  }

  @Test(arguments: [
    (
      Self.key128,
      "f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833899d7f27beb16a9152cf765ee4390cce"
    ),
    (
      Self.key256,
      "32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b7aa3db36dfffd6b0f9bb7878d7a76c13"
    ),
  ])
  func `RFC 7714 16, SRTP packets`(key: [UInt8], ciphertext: String) throws {
    let expected = Self.rtp[..<12] + hex(ciphertext)
    var out = [UInt8](repeating: 0, count: Self.rtp.count + 16)
    let transform = try transform(key)
    let count = try Self.rtp.withUnsafeBytes { packet in
      try out.withUnsafeMutableBytes { out in
        try transform.protectRTP(
          header: UnsafeRawBufferPointer(rebasing: packet[..<12]),
          payload: UnsafeRawBufferPointer(rebasing: packet[12...]), into: out)
      }
    }
    #expect(count == out.count)
    #expect(out == Array(expected))
    let plain = try out.withUnsafeMutableBytes { try transform.unprotectRTP($0) }
    #expect(Array(out[..<plain]) == Self.rtp)
  }

  @Test(arguments: [
    (
      Self.key128,
      """
      63e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda 4ce09b4686303ded0bb9275bc84aa458 96cf4d2fc5abf872
      45d9eade
      """
    ),
    (
      Self.key256,
      """
      d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be 8415f658c61de0476f1b6fad1d1eb30c 4446839f57ff6f6c
      b26ac3be
      """
    ),
  ])
  func `RFC 7714 17, encrypted SRTCP packets`(key: [UInt8], ciphertext: String) throws {
    let index: UInt32 = 0x5D4
    var packet = Self.rtcp + [UInt8](repeating: 0, count: 16)
    let transform = try transform(key)
    _ = try packet.withUnsafeMutableBytes { try transform.sealReport($0, source: 0x4d61_7273, index: index) }
    #expect(packet == Array(Self.rtcp[..<8]) + hex(ciphertext))
    packet += hex("800005d4")
    let plain = try packet.withUnsafeMutableBytes { try transform.unprotectRTCP($0) }
    #expect(Array(packet[..<plain]) == Self.rtcp)
  }

  @Test(arguments: [
    (Self.key128, "841dd9683dd78ec92ae58790125f62b3"), (Self.key256, "91db4afbfeee5a978fab4393ed2615fe"),
  ])
  func `RFC 7714 17, SRTCP packets that are only authenticated`(key: [UInt8], tag: String) throws {
    let transform = try transform(key)
    let packet = Self.rtcp + hex(tag) + hex("000005d4")
    var good = packet
    #expect(try good.withUnsafeMutableBytes { try transform.unprotectRTCP($0) } == Self.rtcp.count)
    var flagged = packet
    flagged[flagged.count - 4] = 0x80
    let other = try self.transform(key)
    #expect(throws: SRTPError.authenticationFailed) {
      try flagged.withUnsafeMutableBytes { try other.unprotectRTCP($0) }
    }
  }

  @Test func `AEAD opens only unchanged ciphertext`() throws {
    let aead = try AEAD(key: Self.key128)
    let nonce = try #require(AEAD.Nonce(hex("51753c6580c2726f20718414")))  // RFC 7714 16.1.1
    var message = Array(Self.rtp[12...]) + [UInt8](repeating: 0, count: 16)
    let extra = Array(Self.rtp[..<12])
    let body = Array(Self.rtp[12...])
    let count = try message.withUnsafeMutableBytes { out in
      try body.withUnsafeBytes { body in
        try extra.withUnsafeBytes { try aead.seal(body, nonce: nonce, additionalData: $0, into: out) }
      }
    }
    #expect(count == message.count)
    #expect(message.prefix(4) == hex("f24de3a3")[...])
    var changed = message
    changed[3] ^= 1
    #expect(throws: SRTPError.authenticationFailed) {
      try changed.withUnsafeMutableBytes { changed in
        try extra.withUnsafeBytes { try aead.open(changed, nonce: nonce, additionalData: $0) }
      }
    }
    let plain = try message.withUnsafeMutableBytes { message in
      try extra.withUnsafeBytes { try aead.open(message, nonce: nonce, additionalData: $0) }
    }
    #expect(Array(message[..<plain]) == body)
    #expect(throws: SRTPError.malformed) {
      try message.withUnsafeMutableBytes { message in
        try extra.withUnsafeBytes {
          try aead.open(UnsafeMutableRawBufferPointer(rebasing: message[..<15]), nonce: nonce, additionalData: $0)
        }
      }
    }
    #expect(throws: SRTPError.unsupportedKeys) { _ = try AEAD(key: [1, 2, 3]) }
  }
}

/// Bytes from hexadecimal digits; whatever else stands between them is skipped.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
