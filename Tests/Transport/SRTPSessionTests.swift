import KoineBase
import KoineTransport
import Testing

/// Each test runs with both implementations and every profile.
@Suite struct SRTPSessionTests {
  enum Implementation: CaseIterable, Sendable {
    case gcm, libsrtp
    func session(_ keys: SRTPKeys) throws -> SRTPSession {
      self == .gcm ? try .gcm(keys) : try .libsrtp(keys)
    }
  }

  /// The implementations of the sending and the receiving session, and their profile.
  struct Pairing: Sendable, CustomTestStringConvertible {
    var sender, receiver: Implementation
    var profile: SRTPProfile
    var testDescription: String { "\(sender) to \(receiver), \(profile)" }

    static let all: [Pairing] = SRTPProfile.allCases.flatMap { profile in
      profile.isAEAD
        ? Implementation.allCases.flatMap { from in
          Implementation.allCases.map { Pairing(sender: from, receiver: $0, profile: profile) }
        }
        : [Pairing(sender: .libsrtp, receiver: .libsrtp, profile: profile)]
    }

    func connected() throws -> (sender: SRTPSession, receiver: SRTPSession) {
      let keys = SRTPSessionTests.keys(profile)
      return (try sender.session(keys), try receiver.session(keys.mirrored))
    }
  }

  static func keys(_ profile: SRTPProfile) -> SRTPKeys {
    var random = SeededRandom(seed: 3711)
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
    return SRTPKeys(
      profile: profile, localKey: bytes(profile.keyLength), localSalt: bytes(profile.saltLength),
      remoteKey: bytes(profile.keyLength), remoteSalt: bytes(profile.saltLength))
  }

  // MARK: Both implementations write the same bytes

  @Test(arguments: [SRTPProfile.aeadAES128GCM, .aeadAES256GCM])
  func `both implementations protect packets identically, across a rollover and out of order`(_ profile: SRTPProfile)
    throws
  {
    let own = try SRTPSession.gcm(Self.keys(profile))
    let reference = try SRTPSession.libsrtp(Self.keys(profile))
    var random = SeededRandom(seed: 1)
    var sequences = (0..<3000).map { UInt16(truncatingIfNeeded: 63_500 + $0) }
    for start in stride(from: 0, to: sequences.count, by: 12) { sequences[start..<start + 12].shuffle(using: &random) }
    for sequence in sequences {
      let packet = RTPSample(
        sequence: sequence, source: sequence % 3 == 0 ? 7 : 8, contributors: Int(sequence % 4),
        extensionWords: sequence % 5 == 0 ? nil : Int(sequence % 3), payload: Int(sequence % 1200))
      let mine = try packet.protected(by: own)
      #expect(try packet.protected(by: reference) == mine)
    }
    for length in stride(from: 8, to: 400, by: 4) {
      let report = Self.report(length)
      #expect(try Self.protectReport(report, by: own) == Self.protectReport(report, by: reference))
    }
  }

  @Test(arguments: Pairing.all)
  func `receiver opens protected packets, across a rollover and out of order`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    var random = SeededRandom(seed: 2)
    let packets = (0..<3000).map {
      RTPSample(
        sequence: UInt16(truncatingIfNeeded: 65_500 + $0 - 1500), source: 9, extensionWords: 2, payload: 100 + $0 % 900)
    }
    var sealed = try packets.map { try $0.protected(by: sender) }.enumerated().map { ($0.offset, $0.element) }
    for start in stride(from: 0, to: sealed.count, by: 500) { sealed[start..<start + 500].shuffle(using: &random) }
    for (number, bytes) in sealed {
      #expect(try Self.unprotect(bytes, by: receiver) == packets[number].bytes)
    }
  }

  @Test(arguments: Pairing.all)
  func `RTCP reports are opened in both directions`(_ pairing: Pairing) throws {
    let (a, b) = try pairing.connected()
    for length in stride(from: 8, to: 1100, by: 52) {
      let report = Self.report(length)
      #expect(try Self.unprotectReport(Self.protectReport(report, by: a), by: b) == report)
      #expect(try Self.unprotectReport(Self.protectReport(report, by: b), by: a) == report)
    }
  }

  @Test(arguments: Pairing.all)
  func `sequence numbers with large gaps are opened across the rollover`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    for jump in [0, 30_000, 60_000, 65_500, 65_535, 65_536, 65_540, 98_000, 130_700, 131_071, 131_072] {
      let packet = RTPSample(sequence: UInt16(truncatingIfNeeded: jump), source: 4, payload: 50)
      #expect(try Self.unprotect(packet.protected(by: sender), by: receiver) == packet.bytes)
    }
  }

  // MARK: Replay

  @Test(arguments: Pairing.all)
  func `a replayed packet is refused`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let sealed = try (UInt16(0)..<10).map {
      try RTPSample(sequence: 65_530 &+ $0, source: 1, payload: 20).protected(by: sender)
    }
    for packet in sealed.suffix(9) { _ = try Self.unprotect(packet, by: receiver) }
    for packet in sealed.suffix(9) {
      #expect(throws: SRTPError.replayed) { try Self.unprotect(packet, by: receiver) }
    }
    _ = try Self.unprotect(sealed[0], by: receiver)
  }

  @Test(arguments: Implementation.allCases)
  func `a source whose packets before its first rollover were lost is opened`(_ implementation: Implementation) throws {
    let keys = Self.keys(.aeadAES128GCM)
    let (sender, receiver) = (try implementation.session(keys), try SRTPSession.make(keys.mirrored))
    let packets = (UInt16(0)..<10).map { RTPSample(sequence: 65_530 &+ $0, source: 1, payload: 20) }
    let sealed = try packets.map { try $0.protected(by: sender) }
    var forged = sealed[8]
    forged[20] ^= 1
    #expect(throws: SRTPError.authenticationFailed) { try Self.unprotect(forged, by: receiver) }
    for number in [8, 9, 7, 3, 0] {
      #expect(try Self.unprotect(sealed[number], by: receiver) == packets[number].bytes)
    }
  }

  @Test(arguments: Pairing.all)
  func `a packet 1,023 numbers late is opened, 1,024 late is refused`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let sealed = try (UInt16(100)..<1300).map {
      try RTPSample(sequence: $0, source: 1, payload: 20).protected(by: sender)
    }
    _ = try Self.unprotect(sealed[1100], by: receiver)
    _ = try Self.unprotect(sealed[1100 - 1023], by: receiver)
    #expect(throws: SRTPError.tooOld) { try Self.unprotect(sealed[1100 - 1024], by: receiver) }
    #expect(throws: SRTPError.replayed) { try Self.unprotect(sealed[1100 - 1023], by: receiver) }
  }

  @Test(arguments: Pairing.all)
  func `a sequence number is protected once`(_ pairing: Pairing) throws {
    let (sender, _) = try pairing.connected()
    let packet = RTPSample(sequence: 70, source: 1, payload: 20)
    _ = try packet.protected(by: sender)
    #expect(throws: SRTPError.replayed) { try packet.protected(by: sender) }
    _ = try RTPSample(sequence: 69, source: 1, payload: 20).protected(by: sender)
  }

  @Test(arguments: Pairing.all)
  func `a replayed report is refused`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let first = try Self.protectReport(Self.report(28), by: sender)
    let second = try Self.protectReport(Self.report(28), by: sender)
    #expect(first != second)
    _ = try Self.unprotectReport(second, by: receiver)
    _ = try Self.unprotectReport(first, by: receiver)
    #expect(throws: SRTPError.replayed) { try Self.unprotectReport(first, by: receiver) }
  }

  // MARK: Forged and random packets

  @Test(arguments: Pairing.all)
  func `a packet with a changed bit is refused and the original is opened`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let packet = RTPSample(sequence: 500, source: 1, contributors: 1, extensionWords: 1, payload: 40)
    let sealed = try packet.protected(by: sender)
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << bit
        #expect(throws: SRTPError.self) { try Self.unprotect(changed, by: receiver) }
      }
    }
    #expect(try Self.unprotect(sealed, by: receiver) == packet.bytes)
  }

  @Test(arguments: Pairing.all)
  func `a report with a changed bit is refused and the original is opened`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let sealed = try Self.protectReport(Self.report(60), by: sender)
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << bit
        #expect(throws: SRTPError.self) { try Self.unprotectReport(changed, by: receiver) }
      }
    }
    #expect(try Self.unprotectReport(sealed, by: receiver) == Self.report(60))
  }

  @Test(arguments: Pairing.all)
  func `truncated packets and reports are refused`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let sealed = try RTPSample(sequence: 1, source: 1, contributors: 2, extensionWords: 2, payload: 60).protected(
      by: sender)
    let report = try Self.protectReport(Self.report(40), by: sender)
    for length in 0..<sealed.count {
      #expect(throws: SRTPError.self) { try Self.unprotect(Array(sealed[..<length]), by: receiver) }
    }
    for length in 0..<report.count {
      #expect(throws: SRTPError.self) { try Self.unprotectReport(Array(report[..<length]), by: receiver) }
    }
  }

  @Test(arguments: Pairing.all)
  func `random bytes are refused`(_ pairing: Pairing) throws {
    let (_, receiver) = try pairing.connected()
    var random = SeededRandom(seed: 5)
    for _ in 0..<3000 {
      var bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if !bytes.isEmpty, Bool.random(using: &random) { bytes[0] = bytes[0] & 0x3F | 0x80 }
      #expect(throws: SRTPError.self) { try Self.unprotect(bytes, by: receiver) }
      #expect(throws: SRTPError.self) { try Self.unprotectReport(bytes, by: receiver) }
    }
  }

  @Test(arguments: Pairing.all)
  func `a new source is refused with wrong keys and opened with the right ones`(_ pairing: Pairing) throws {
    let (sender, receiver) = try pairing.connected()
    let stranger = try pairing.receiver.session(Self.keys(pairing.profile).mirrored)
    let forged = try RTPSample(sequence: 1, source: 77, payload: 60).protected(by: stranger)
    #expect(throws: SRTPError.authenticationFailed) { try Self.unprotect(forged, by: receiver) }
    let packet = RTPSample(sequence: 40_000, source: 77, payload: 60)
    #expect(try Self.unprotect(packet.protected(by: sender), by: receiver) == packet.bytes)
  }

  // MARK: Buffers and keys

  @Test(arguments: Pairing.all)
  func `an output buffer that is too small is an error`(_ pairing: Pairing) throws {
    let (sender, _) = try pairing.connected()
    let packet = RTPSample(sequence: 1, source: 1, payload: 60)
    #expect(throws: SRTPError.noRoom) {
      try packet.protected(by: sender, room: packet.bytes.count + sender.rtpOverhead - 1)
    }
    #expect(throws: SRTPError.noRoom) {
      try Self.protectReport(Self.report(28), by: sender, room: 28 + sender.rtcpOverhead - 1)
    }
    #expect(throws: SRTPError.malformed) { try Self.protectReport(Self.report(8).dropLast(4), by: sender) }
    _ = try packet.protected(by: sender)
  }

  @Test(arguments: Implementation.allCases)
  func `a packet is protected in place`(_ implementation: Implementation) throws {
    let keys = Self.keys(.aeadAES128GCM)
    let (sender, apart) = (try implementation.session(keys), try implementation.session(keys))
    let packet = RTPSample(sequence: 1, source: 1, payload: 500)
    var buffer = packet.bytes + [UInt8](repeating: 0, count: 16)
    let count = try buffer.withUnsafeMutableBytes { buffer in
      let read = UnsafeRawBufferPointer(buffer)
      return try sender.protectRTP(
        header: UnsafeRawBufferPointer(rebasing: read[..<12]),
        payload: UnsafeRawBufferPointer(rebasing: read[12..<512]), into: buffer)
    }
    #expect(count == buffer.count)
    #expect(try packet.protected(by: apart) == buffer)
  }

  @Test func `keys of a wrong length are refused`() throws {
    for profile in SRTPProfile.allCases {
      var keys = Self.keys(profile)
      keys.remoteSalt.removeLast()
      #expect(throws: SRTPError.unsupportedKeys) { _ = try SRTPSession.libsrtp(keys) }
      #expect(throws: SRTPError.unsupportedKeys) { _ = try SRTPSession.gcm(keys) }
    }
    #expect(throws: SRTPError.unsupportedKeys) { _ = try SRTPSession.gcm(Self.keys(.aes128CMSHA1_80)) }
  }

  // MARK: Helpers

  static func unprotect(_ bytes: [UInt8], by session: SRTPSession) throws -> [UInt8] {
    var bytes = bytes
    let count = try bytes.withUnsafeMutableBytes { try session.unprotectRTP($0) }
    return Array(bytes[..<count])
  }

  static func unprotectReport(_ bytes: [UInt8], by session: SRTPSession) throws -> [UInt8] {
    var bytes = bytes
    let count = try bytes.withUnsafeMutableBytes { try session.unprotectRTCP($0) }
    return Array(bytes[..<count])
  }

  static func protectReport(
    _ report: some Collection<UInt8>, by session: SRTPSession, room: Int? = nil
  ) throws -> [UInt8] {
    var buffer = Array(report) + [UInt8](repeating: 0, count: max(0, (room ?? report.count + 20) - report.count))
    let count = try buffer.withUnsafeMutableBytes { try session.protectRTCP($0, count: report.count) }
    return Array(buffer[..<count])
  }

  /// A receiver report of source 42 with something behind its header.
  static func report(_ length: Int) -> [UInt8] {
    let words = length / 4 - 1
    return [0x80, 201, UInt8(words >> 8), UInt8(words & 255), 0, 0, 0, 42] + (8..<length).map { UInt8($0 & 255) }
  }
}

/// An RTP packet with header and payload in buffers of their own.
struct RTPSample {
  let header, payload: [UInt8]
  var bytes: [UInt8] { header + payload }

  init(sequence: UInt16, source: UInt32, contributors: Int = 0, extensionWords: Int? = nil, payload count: Int) {
    var header: [UInt8] = [0x80 | UInt8(contributors) | (extensionWords == nil ? 0 : 0x10), 96]
    header += [UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 1, 2]
    header += (0..<4).map { UInt8(truncatingIfNeeded: source >> (24 - 8 * UInt32($0))) }
    header += [UInt8](repeating: 0xCC, count: 4 * contributors)
    if let extensionWords {
      header += [0xBE, 0xDE, 0, UInt8(extensionWords)] + [UInt8](repeating: 0, count: 4 * extensionWords)
    }
    self.header = header
    payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(sequence)) }
  }

  func protected(by session: SRTPSession, room: Int? = nil) throws -> [UInt8] {
    var out = [UInt8](repeating: 0xEE, count: room ?? header.count + payload.count + 16)
    let count = try header.withUnsafeBytes { header in
      try payload.withUnsafeBytes { payload in
        try out.withUnsafeMutableBytes { try session.protectRTP(header: header, payload: payload, into: $0) }
      }
    }
    return Array(out[..<count])
  }
}
