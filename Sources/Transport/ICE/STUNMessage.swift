import CKoineOpenSSL
package import KoineBase
package import KoineRTP

/// A STUN message as ICE uses it: binding requests, their answers, and their attributes (RFC 8489, RFC 8445 section 16).
package struct STUNMessage: Hashable, Sendable {
  package enum Class: UInt16, Sendable {
    case request = 0x000
    case indication = 0x010
    case success = 0x100
    case failure = 0x110
  }

  package struct TransactionID: Hashable, Sendable {
    package let high: UInt32
    package let low: UInt64
    package init(high: UInt32, low: UInt64) { (self.high, self.low) = (high, low) }
  }

  package var kind: Class
  package var transaction: TransactionID
  package var username: String?
  package var priority: UInt32?
  package var usesCandidate = false
  package var controlling: UInt64?
  package var controlled: UInt64?
  package var mappedAddress: SocketAddress?
  package var errorCode: Int?
  /// Where the integrity attribute stands in the parsed bytes.
  private var integrityOffset: Int?

  private static let cookie: UInt32 = 0x2112_A442
  private static let binding: UInt16 = 0x001
  private static let headerLength = 20
  private static let integrityLength = 24
  private static let longestUsername = 513

  private enum Attribute {
    static let username: UInt16 = 0x0006, integrity: UInt16 = 0x0008, errorCode: UInt16 = 0x0009
    static let xorMappedAddress: UInt16 = 0x0020, priority: UInt16 = 0x0024, useCandidate: UInt16 = 0x0025
    static let fingerprint: UInt16 = 0x8028, controlled: UInt16 = 0x8029, controlling: UInt16 = 0x802A
  }

  package init(_ kind: Class, _ transaction: TransactionID) {
    self.kind = kind
    self.transaction = transaction
  }

  // MARK: Reading

  /// Reads a binding message. A fingerprint that is there must be right; integrity is for `verify` to tell.
  package init(parsing bytes: UnsafeRawBufferPointer) throws(RTPError) {
    guard let type = bytes.uint16(at: 0), let length = bytes.uint16(at: 2), let cookie = bytes.uint32(at: 4),
      let high = bytes.uint32(at: 8), let low = bytes.uint64(at: 12)
    else { throw .truncated }
    guard type & 0xC000 == 0, cookie == Self.cookie, length % 4 == 0, Int(length) == bytes.count - Self.headerLength
    else {
      throw .malformed
    }
    guard type & 0x3EEF == Self.binding, let kind = Class(rawValue: type & 0x0110) else { throw .malformed }
    self.init(kind, TransactionID(high: high, low: low))
    var offset = Self.headerLength
    while offset < bytes.count {
      guard let attribute = bytes.uint16(at: offset), let size = bytes.uint16(at: offset + 2) else { throw .truncated }
      let start = offset + 4
      let end = start + Int(size)
      guard end <= bytes.count else { throw .truncated }
      if attribute == Attribute.fingerprint {
        guard bytes.uint32(at: start) == Self.fingerprint(of: bytes.part(0..<offset)) else { throw .malformed }
        return  // nothing may follow
      }
      // What follows the integrity attribute is not protected by it and not believed (RFC 8489, 14.5).
      if integrityOffset == nil { try read(attribute, at: offset, bytes.part(start..<end)) }
      offset = start + (Int(size) + 3) / 4 * 4
    }
  }

  private mutating func read(_ attribute: UInt16, at offset: Int, _ value: UnsafeRawBufferPointer) throws(RTPError) {
    switch attribute {
    case Attribute.username: username = String(decoding: value, as: UTF8.self)
    case Attribute.integrity:
      guard value.count == 20 else { throw .malformed }
      integrityOffset = offset
    case Attribute.errorCode:
      guard let high = value.byte(at: 2), let low = value.byte(at: 3) else { throw .truncated }
      errorCode = Int(high & 7) * 100 + Int(low)
    case Attribute.priority: priority = value.uint32(at: 0)
    case Attribute.useCandidate: usesCandidate = true
    case Attribute.controlling: controlling = value.uint64(at: 0)
    case Attribute.controlled: controlled = value.uint64(at: 0)
    case Attribute.xorMappedAddress: mappedAddress = try address(value)
    default: break
    }
  }

  private func address(_ value: UnsafeRawBufferPointer) throws(RTPError) -> SocketAddress {
    guard let family = value.byte(at: 1), let port = value.uint16(at: 2) else { throw .truncated }
    let plainPort = port ^ UInt16(Self.cookie >> 16)
    if family == 1, let address = value.uint32(at: 4) {
      return SocketAddress(ipv4: address ^ Self.cookie, port: plainPort)
    }
    guard family == 2, let high = value.uint64(at: 4), let low = value.uint64(at: 12) else { throw .malformed }
    let mask = UInt64(Self.cookie) << 32 | UInt64(transaction.high)
    return SocketAddress(ipv6High: high ^ mask, low: low ^ transaction.low, port: plainPort)
  }

  /// Whether the message's MESSAGE-INTEGRITY was made with `key`.
  /// - Parameter bytes: the bytes that the message was parsed from.
  package func verify(_ bytes: UnsafeRawBufferPointer, key: String) -> Bool {
    guard let integrityOffset, bytes.count >= integrityOffset + Self.integrityLength else { return false }
    var covered = Array(bytes.prefix(integrityOffset))
    Self.setLength(integrityOffset + Self.integrityLength - Self.headerLength, in: &covered)
    let expected = Self.authentication(of: covered, key: key)
    var difference: UInt8 = 0
    for (index, byte) in expected.enumerated() { difference |= byte ^ bytes[integrityOffset + 4 + index] }
    return difference == 0
  }

  /// Our user name fragment, the first half of a request's USERNAME, without checking anything else.
  package static func localFragment(ofRequest bytes: UnsafeRawBufferPointer) -> String? {
    guard let message = try? STUNMessage(parsing: bytes), message.kind == .request else { return nil }
    return message.username?.split(separator: ":", maxSplits: 1).first.map(String.init)
  }

  /// The transaction of a success or an error, without checking anything else.
  package static func transaction(ofResponse bytes: UnsafeRawBufferPointer) -> TransactionID? {
    guard let message = try? STUNMessage(parsing: bytes) else { return nil }
    return switch message.kind {
    case .success, .failure: message.transaction
    case .request, .indication: nil
    }
  }

  // MARK: Writing

  /// Writes the message with integrity (if there is a key) and fingerprint.
  /// - Returns: the length; nil if `out` is too small, or the user name longer than one may be (RFC 8489, 14.3).
  package func write(into out: UnsafeMutableRawBufferPointer, key: String?) -> Int? {
    guard username.map({ $0.utf8.count <= Self.longestUsername }) ?? true else { return nil }
    var writer = ByteWriter(out)
    writer.write(Self.binding | kind.rawValue)
    writer.write(UInt16(0))
    writer.write(Self.cookie)
    writer.write(transaction.high)
    writer.write(transaction.low)
    if let username { write(Attribute.username, Array(username.utf8), &writer) }
    if let priority { write(Attribute.priority, priority.bytes, &writer) }
    if usesCandidate { write(Attribute.useCandidate, [], &writer) }
    if let controlling { write(Attribute.controlling, controlling.bytes, &writer) }
    if let controlled { write(Attribute.controlled, controlled.bytes, &writer) }
    if let errorCode { write(Attribute.errorCode, [0, 0, UInt8(errorCode / 100), UInt8(errorCode % 100)], &writer) }
    if let mappedAddress { write(Attribute.xorMappedAddress, masked(mappedAddress), &writer) }
    if let key {
      guard !writer.overflowed else { return nil }
      writer.patch(UInt16(writer.count + Self.integrityLength - Self.headerLength), at: 2)
      let covered = Array(UnsafeRawBufferPointer(rebasing: out[..<writer.count]))
      write(Attribute.integrity, Self.authentication(of: covered, key: key), &writer)
    }
    guard !writer.overflowed else { return nil }
    writer.patch(UInt16(writer.count + 8 - Self.headerLength), at: 2)
    let fingerprint = Self.fingerprint(of: UnsafeRawBufferPointer(rebasing: out[..<writer.count]))
    write(Attribute.fingerprint, fingerprint.bytes, &writer)
    return writer.overflowed ? nil : writer.count
  }

  private func write(_ attribute: UInt16, _ value: [UInt8], _ writer: inout ByteWriter) {
    writer.write(attribute)
    writer.write(UInt16(value.count))
    value.withUnsafeBytes { writer.write($0) }
    writer.pad(to: 4)
  }

  private func masked(_ address: SocketAddress) -> [UInt8] {
    let port = (address.port ^ UInt16(Self.cookie >> 16)).bytes
    switch address.family {
    case .ipv4: return [0, 1] + port + (UInt32(truncatingIfNeeded: address.low) ^ Self.cookie).bytes
    case .ipv6:
      let mask = UInt64(Self.cookie) << 32 | UInt64(transaction.high)
      return [0, 2] + port + (address.high ^ mask).bytes + (address.low ^ transaction.low).bytes
    }
  }

  // MARK: Integrity and fingerprint

  private static func setLength(_ length: Int, in bytes: inout [UInt8]) {
    guard bytes.count >= 4 else { return }
    bytes[2] = UInt8(truncatingIfNeeded: length >> 8)
    bytes[3] = UInt8(truncatingIfNeeded: length)
  }

  /// HMAC-SHA1 with the short-term password (RFC 8489, 14.5).
  private static func authentication(of bytes: [UInt8], key: String) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 20
    let secret = Array(key.utf8)
    _ = HMAC(EVP_sha1(), secret, Int32(secret.count), bytes, bytes.count, &digest, &length)
    return digest
  }

  /// CRC-32 of everything before, masked (RFC 8489, 14.7).
  private static func fingerprint(of bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc: UInt32 = .max
    for byte in bytes { crc = table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ (crc >> 8) }
    return ~crc ^ 0x5354_554E
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }
}

extension FixedWidthInteger {
  fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

extension STUNMessage.TransactionID {
  static func random(using random: inout SeededRandom) -> Self {
    Self(high: UInt32(truncatingIfNeeded: random.next()), low: random.next())
  }
}
