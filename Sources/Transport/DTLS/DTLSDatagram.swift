/// What the record headers of a datagram say, read before OpenSSL sees it.
///
/// OpenSSL ends a handshake for good at the first plaintext record that makes no sense, or that claims to be a fatal
/// alert; any sender that can reach us can make one. RFC 6347 section 4.1.2.7 asks for silence instead. So a
/// datagram that is not a run of whole, plausible records is dropped here, and plaintext alerts are only noted.
struct DTLSDatagram {
  /// RFC 5246 section 6.2.1.
  private enum ContentType {
    static let changeCipherSpec: UInt8 = 20, alert: UInt8 = 21, handshake: UInt8 = 22, applicationData: UInt8 = 23
  }

  private static let recordHeader = 13
  private static let fragmentHeader = 12
  /// Of AES-GCM, the only protection that is negotiated here: nonce and tag (RFC 5288, 3). OpenSSL before 3.0.22 ends the
  /// connection at a protected record that has not more.
  private static let protection = 8 + 16
  /// No handshake message of ours or of a browser comes near.
  private static let longestMessage = 1 << 14

  /// A handshake record under the new keys: the peer's Finished.
  private(set) var hasProtectedHandshake = false
  /// Any record of a handshake.
  private(set) var hasHandshake = false
  /// An alert under the keys, or data.
  private(set) var hasProtectedOther = false
  /// The description of a fatal alert without protection. A datagram with one never reaches OpenSSL.
  private(set) var plaintextFatalAlert: UInt8?

  /// - Returns: nil if the datagram is to be dropped.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else { return nil }
    var start = 0
    while start < bytes.count {
      guard bytes.count - start >= Self.recordHeader, bytes[start + 1] == 0xFE else { return nil }
      let length = Int(bytes.bigEndian16(at: start + 11))
      let body = start + Self.recordHeader
      guard length > 0, length <= bytes.count - body else { return nil }
      let record = UnsafeRawBufferPointer(rebasing: bytes[body..<body + length])
      guard accept(bytes[start], epoch: bytes.bigEndian16(at: start + 3), record) else { return nil }
      start = body + length
    }
  }

  private mutating func accept(_ type: UInt8, epoch: UInt16, _ record: UnsafeRawBufferPointer) -> Bool {
    guard epoch <= 1 else { return false }  // no renegotiation, so no third set of keys
    guard epoch == 0 || record.count > Self.protection else { return false }
    switch (type, epoch) {
    case (ContentType.handshake, 0):
      hasHandshake = true
      return Self.isRunOfFragments(record)
    case (ContentType.handshake, _):
      hasHandshake = true
      hasProtectedHandshake = true
      return true
    case (ContentType.changeCipherSpec, 0):
      hasHandshake = true
      return record.count == 1 && record[0] == 1
    case (ContentType.alert, 0):
      guard record.count == 2, record[0] == 2 else { return false }  // nothing we do depends on a warning
      plaintextFatalAlert = record[1]
      return true
    case (ContentType.alert, _), (ContentType.applicationData, 1):
      hasProtectedOther = true
      return true
    default:
      return false
    }
  }

  /// RFC 6347 section 4.2.2: type, length, message number, fragment offset and length, then the fragment.
  private static func isRunOfFragments(_ record: UnsafeRawBufferPointer) -> Bool {
    var start = 0
    while start < record.count {
      guard record.count - start >= fragmentHeader else { return false }
      let length = record.bigEndian24(at: start + 1)
      let offset = record.bigEndian24(at: start + 6)
      let count = record.bigEndian24(at: start + 9)
      guard length <= longestMessage, offset + count <= length, count > 0 || length == 0,
        count <= record.count - start - fragmentHeader
      else { return false }
      start += fragmentHeader + count
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  /// The caller has checked that the bytes are there.
  fileprivate func bigEndian24(at offset: Int) -> Int {
    Int(self[offset]) << 16 | Int(self[offset + 1]) << 8 | Int(self[offset + 2])
  }
}
