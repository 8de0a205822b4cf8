import CKoineOpenSSL

/// AES in Galois counter mode with a 12-byte nonce and a 16-byte tag (NIST SP 800-38D), both ways with one key.
///
/// The key is set once; sealing and opening allocate nothing. One owner: the contexts carry state between calls.
/// A nonce must never seal two different messages.
package struct AEAD: ~Copyable {
  package static let tagLength = 16

  /// Twelve bytes, kept as big-endian numbers so that combining with a salt is two exclusive ors.
  package struct Nonce: Sendable, Hashable {
    var high: UInt64
    var low: UInt32

    package init(high: UInt64, low: UInt32) { (self.high, self.low) = (high, low) }

    /// - Returns: nil unless there are exactly 12 bytes.
    package init?(_ bytes: [UInt8]) {
      guard bytes.count == 12 else { return nil }
      high = bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
      low = bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    }

    @inline(__always) static func ^ (a: Nonce, b: Nonce) -> Nonce { Nonce(high: a.high ^ b.high, low: a.low ^ b.low) }
  }

  private let sealer: AEADSealer
  private let opener: AEADOpener

  /// - Parameter key: 16 bytes for AES-128, 32 for AES-256.
  package init(key: [UInt8]) throws(SRTPError) {
    let sealing = try AEADSealer(key: key)
    let opening = try AEADOpener(key: key)
    sealer = sealing
    opener = opening
  }

  /// Writes the ciphertext and the tag to `out`, which may begin with the plaintext itself.
  /// - Returns: the bytes written: those of the plaintext and 16 more.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, nonce: Nonce, additionalData: UnsafeRawBufferPointer,
    into out: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) -> Int {
    try sealer.seal(plaintext, nonce: nonce, additionalData: additionalData, into: out)
  }

  /// Decrypts in place: `message` is ciphertext and tag. After a failure its content is undefined.
  /// - Returns: the length of the plaintext, at the start of `message`.
  package func open(
    _ message: UnsafeMutableRawBufferPointer, nonce: Nonce, additionalData: UnsafeRawBufferPointer
  ) throws(SRTPError) -> Int {
    let count = message.count - Self.tagLength
    guard count >= 0 else { throw .malformed }
    try opener.open(
      UnsafeMutableRawBufferPointer(rebasing: message[..<count]),
      tag: UnsafeRawBufferPointer(rebasing: message[count...]), nonce: nonce, additionalData: additionalData)
    return count
  }
}

/// One direction of `AEAD`: encrypts.
struct AEADSealer: ~Copyable {
  private let context: OpaquePointer

  init(key: [UInt8]) throws(SRTPError) { context = try newContext(key: key, encrypting: true) }
  deinit { EVP_CIPHER_CTX_free(context) }

  /// `additionalData` and then `trailer` are authenticated only. Room in `out` is the caller's promise, checked here.
  @inline(__always)
  func seal(
    _ plaintext: UnsafeRawBufferPointer, nonce: AEAD.Nonce, additionalData: UnsafeRawBufferPointer,
    trailer: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    into out: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) -> Int {
    guard let count = Int32(exactly: plaintext.count), let extra = Int32(exactly: additionalData.count),
      plaintext.count + AEAD.tagLength <= out.count, let target = out.baseAddress
    else { throw .noRoom }
    let output = target.assumingMemoryBound(to: UInt8.self)
    var written: Int32 = 0
    var block = BigEndianNonce(nonce)
    let done = withUnsafeBytes(of: &block) { iv in
      EVP_EncryptInit_ex(context, nil, nil, nil, iv.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1
        && (extra == 0 || EVP_EncryptUpdate(context, nil, &written, additionalData.octets, extra) == 1)
        && (trailer.isEmpty || EVP_EncryptUpdate(context, nil, &written, trailer.octets, Int32(trailer.count)) == 1)
        && (count == 0 || EVP_EncryptUpdate(context, output, &written, plaintext.octets, count) == 1)
        && EVP_EncryptFinal_ex(context, output + plaintext.count, &written) == 1
        && EVP_CIPHER_CTX_ctrl(
          context, EVP_CTRL_AEAD_GET_TAG, Int32(AEAD.tagLength), target + plaintext.count) == 1
    }
    guard done else {
      ERR_clear_error()
      throw .library(0)
    }
    return plaintext.count + AEAD.tagLength
  }
}

/// One direction of `AEAD`: decrypts and checks.
struct AEADOpener: ~Copyable {
  private let context: OpaquePointer

  init(key: [UInt8]) throws(SRTPError) { context = try newContext(key: key, encrypting: false) }
  deinit { EVP_CIPHER_CTX_free(context) }

  /// Decrypts `ciphertext` in place. `additionalData` and then `trailer` are authenticated only.
  @inline(__always)
  func open(
    _ ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeRawBufferPointer, nonce: AEAD.Nonce,
    additionalData: UnsafeRawBufferPointer,
    trailer: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(SRTPError) {
    guard let count = Int32(exactly: ciphertext.count), let extra = Int32(exactly: additionalData.count),
      tag.count == AEAD.tagLength
    else { throw .malformed }
    let output = ciphertext.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var written: Int32 = 0
    var block = BigEndianNonce(nonce)
    var rest: (UInt64, UInt64) = (0, 0)  // GCM has nothing left to write at the end, but the call wants a place for it
    let done = withUnsafeBytes(of: &block) { iv in
      EVP_DecryptInit_ex(context, nil, nil, nil, iv.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1
        && EVP_CIPHER_CTX_ctrl(
          context, EVP_CTRL_AEAD_SET_TAG, Int32(AEAD.tagLength), UnsafeMutableRawPointer(mutating: tag.baseAddress))
          == 1
        && (extra == 0 || EVP_DecryptUpdate(context, nil, &written, additionalData.octets, extra) == 1)
        && (trailer.isEmpty || EVP_DecryptUpdate(context, nil, &written, trailer.octets, Int32(trailer.count)) == 1)
        && (count == 0 || EVP_DecryptUpdate(context, output, &written, output, count) == 1)
    }
    guard done else {
      ERR_clear_error()
      throw .library(0)
    }
    let authentic = withUnsafeMutableBytes(of: &rest) {
      EVP_DecryptFinal_ex(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &written) == 1
    }
    guard authentic else {
      ERR_clear_error()
      throw .authenticationFailed
    }
  }
}

/// The nonce as it lies in memory for the cipher: 12 bytes in network order.
private struct BigEndianNonce {
  let first, second, third: UInt32

  @inline(__always) init(_ nonce: AEAD.Nonce) {
    first = UInt32(truncatingIfNeeded: nonce.high >> 32).bigEndian
    second = UInt32(truncatingIfNeeded: nonce.high).bigEndian
    third = nonce.low.bigEndian
  }
}

/// Fetching a cipher and expanding a key are slow; both happen here, once.
private func newContext(key: [UInt8], encrypting: Bool) throws(SRTPError) -> OpaquePointer {
  guard let cipher = key.count == 16 ? Ciphers.shared.aes128 : key.count == 32 ? Ciphers.shared.aes256 : nil else {
    throw .unsupportedKeys
  }
  guard let context = EVP_CIPHER_CTX_new() else { throw .library(0) }
  guard EVP_CipherInit_ex(context, cipher, nil, key, nil, encrypting ? 1 : 0) == 1 else {
    EVP_CIPHER_CTX_free(context)
    ERR_clear_error()
    throw .library(0)
  }
  return context
}

/// The fetched ciphers; they live as long as the process.
/// `@unchecked Sendable`: OpenSSL's algorithm objects are immutable and counted atomically.
private struct Ciphers: @unchecked Sendable {
  static let shared = Ciphers()
  let aes128 = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
  let aes256 = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
}

extension UnsafeRawBufferPointer {
  @inline(__always) fileprivate var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
