import KoineBase
import KoineTransport
import Testing

@Suite struct DTLSTests {
  // MARK: The handshake

  @Test func `a handshake takes two round trips and gives both ends the same keys`() throws {
    let pair = try DTLSPair()
    let begin = pair.now
    pair.start()
    pair.run()
    let keys = try #require(pair.client.state.keys)
    #expect(keys.profile == .aeadAES128GCM)
    #expect(pair.server.state.keys?.mirrored == keys)
    #expect(pair.now - begin == .milliseconds(80))
    #expect(pair.client.deadline == nil)
    #expect(pair.server.deadline == nil)
    #expect(pair.sent.allSatisfy { $0.bytes.count <= 1200 })
    #expect(pair.sent.count == 4, "one datagram per flight")
    #expect(pair.client.repeated + pair.server.repeated == 0)
  }

  @Test(arguments: SRTPProfile.allCases)
  func `keys are equal on both ends and usable for every profile`(_ profile: SRTPProfile) throws {
    let pair = try DTLSPair(clientProfiles: [profile])
    pair.start()
    pair.run()
    let (client, server) = (try #require(pair.client.state.keys), try #require(pair.server.state.keys))
    #expect(client.profile == profile)
    #expect(client == server.mirrored)
    #expect(client.localKey.count == profile.keyLength)
    #expect(client.localSalt.count == profile.saltLength)
    #expect(client.localKey != client.remoteKey)
    #expect(client.localSalt != client.remoteSalt)
    let (a, b) = (try SRTPSession.make(client), try SRTPSession.make(server))
    let packet = RTPSample(sequence: 1, source: 2, payload: 100)
    #expect(try SRTPSessionTests.unprotect(packet.protected(by: a), by: b) == packet.bytes)
    #expect(try SRTPSessionTests.unprotect(packet.protected(by: b), by: a) == packet.bytes)
  }

  /// A certificate is made once in a process, and some DTLS stacks look at its dates.
  @Test func certificatesOutliveEachProcess() throws {
    let pair = try DTLSPair()
    pair.start()
    pair.run()
    // X.509 writes the years from 2050 on as a GeneralizedTime of 15 digits (RFC 5280, 4.1.2.5).
    let ends = pair.sent.compactMap { datagram -> Int? in
      let bytes = Array(datagram.bytes)
      let time = bytes.indices.dropLast(16).last {
        bytes[$0] == 0x18 && bytes[$0 + 1] == 15 && bytes[$0 + 16] == UInt8(ascii: "Z")
      }
      return time.flatMap { Int(String(decoding: bytes[($0 + 2)..<($0 + 6)], as: UTF8.self)) }
    }
    #expect(ends.count == 2 && ends.allSatisfy { $0 >= 2_055 }, "30 years from now")
  }

  @Test func `the server's order of profiles decides the profile`() throws {
    let pair = try DTLSPair(clientProfiles: SRTPProfile.preferred.reversed())
    pair.start()
    pair.run()
    #expect(pair.client.state.keys?.profile == .aeadAES128GCM)
  }

  @Test func `without a common profile there are no keys`() throws {
    let pair = try DTLSPair(clientProfiles: [.aeadAES256GCM], serverProfiles: [.aes128CMSHA1_80])
    pair.start()
    pair.run()
    #expect(pair.client.state == .failed(.noCommonProfile))
    #expect(pair.server.state == .failed(.noCommonProfile))
  }

  // MARK: Loss

  @Test(arguments: 0..<60)
  func `a handshake completes with a third of its datagrams lost, others late or duplicated`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let pair = try DTLSPair()
    pair.fate = { _, _ in
      switch Int.random(in: 0..<10, using: &random) {
      case 0...2: .isLost
      case 3...4: .isLate(.milliseconds(Int64.random(in: 1...300, using: &random)))
      case 5: .isDoubled
      default: .arrives
      }
    }
    pair.start()
    pair.run()
    #expect(pair.client.state.keys != nil)
    #expect(pair.client.state.keys == pair.server.state.keys?.mirrored)
  }

  @Test(arguments: [(true, 0), (false, 0), (true, 1), (false, 1)])
  func `a lost flight is retransmitted once`(fromClient: Bool, number: Int) throws {
    let pair = try DTLSPair()
    let begin = pair.now
    pair.fate = { $0 == fromClient && $1 == number ? .isLost : .arrives }
    pair.start()
    pair.run()
    #expect(pair.client.state.keys != nil)
    #expect(pair.client.state.keys == pair.server.state.keys?.mirrored)
    #expect(pair.now - begin <= .milliseconds(80 + 75 + 40))
  }

  @Test func `retransmissions slow down and end at the handshake's time limit`() throws {
    let pair = try DTLSPair()
    let begin = pair.now
    pair.fate = { _, _ in .isLost }
    pair.start()
    pair.run()
    #expect(pair.client.state == .failed(.timedOut))
    #expect(pair.server.state == .failed(.timedOut))
    #expect(pair.now - begin == DTLSEndpoint.handshakeLimit)
    #expect((40...60).contains(pair.client.repeated))
    #expect(Set(pair.sent.map(\.bytes)).count == 1, "the same datagram, and nothing of OpenSSL's own")
  }

  @Test func `the last flight is retransmitted whenever the client asks for it`() throws {
    let pair = try DTLSPair()
    pair.fate = { fromClient, number in !fromClient && (1..<30).contains(number) ? .isLost : .arrives }
    pair.start()
    pair.run()
    #expect(pair.client.state.keys != nil)
    #expect(pair.server.state.keys?.mirrored == pair.client.state.keys)
    #expect(pair.server.repeated >= 29)
  }

  @Test func `a ClientHello in reordered fragments is accepted`() throws {
    let pair = try DTLSPair()
    pair.fate = { fromClient, number in fromClient && number == 0 ? .isLost : .arrives }
    pair.start()
    let hello = try #require(pair.sent.first).bytes
    let (first, second) = fragments(of: hello, at: 60)
    pair.inject(second, toServer: true)
    #expect(pair.sent.count == 1, "no answer to half a hello")
    pair.inject(first, toServer: true)
    #expect(pair.sent.count == 2)
    pair.run()
    #expect(pair.client.state.keys != nil)
    #expect(pair.client.state.keys == pair.server.state.keys?.mirrored)
  }

  // MARK: Identity

  @Test func `a wrong fingerprint fails without keys`() throws {
    let wrong = Fingerprint(sha256: [UInt8](repeating: 7, count: 32))
    for (clientExpects, serverExpects) in [(wrong, nil), (nil, wrong), (wrong, wrong)] as [(Fingerprint?, Fingerprint?)]
    {
      let pair = try DTLSPair(
        clientExpects: clientExpects.map { .some($0) }, serverExpects: serverExpects.map { .some($0) })
      pair.start()
      pair.run()
      if clientExpects != nil { #expect(pair.client.state == .failed(.fingerprintMismatch)) }
      if serverExpects != nil { #expect(pair.server.state == .failed(.fingerprintMismatch)) }
      pair.run(for: .seconds(1), until: { false })
      #expect(pair.client.state.keys == nil && pair.server.state.keys == nil, "the other end hears of it")
    }
  }

  @Test func `a late fingerprint completes the handshake and no keys are exported before it`() throws {
    let pair = try DTLSPair(clientExpects: .some(nil))
    pair.start()
    pair.run(for: .seconds(5))
    #expect(pair.client.state == .handshaking)
    let (_, b) = try DTLSPair.certificates.get()
    pair.client.setRemote(b.fingerprint)
    #expect(pair.client.state.keys != nil)
    #expect(pair.client.state.keys == pair.server.state.keys?.mirrored)
    #expect(pair.client.deadline == nil)
  }

  @Test func `a fingerprint that never comes ends in a timeout`() throws {
    let pair = try DTLSPair(clientExpects: .some(nil))
    pair.start()
    pair.run()
    #expect(pair.client.state == .failed(.timedOut))
  }

  @Test func `fingerprints are SHA-256 in SDP form and compare without case`() throws {
    let fingerprint = try Certificate.shared().fingerprint
    #expect(fingerprint.algorithm == "sha-256")
    #expect(fingerprint.value.split(separator: ":").count == 32)
    #expect(fingerprint.matches(Fingerprint(algorithm: "SHA-256", value: fingerprint.value.lowercased())))
    #expect(!fingerprint.matches(Fingerprint(algorithm: "sha-1", value: fingerprint.value)))
    #expect(try Certificate.shared() === Certificate.shared())
    #expect(try Certificate().fingerprint != fingerprint)
    #expect(Fingerprint(sha256: [0, 0xAB, 0xFF]).value == "00:AB:FF")
  }

  // MARK: The end

  @Test(arguments: [true, false])
  func `close_notify ends the other side`(byClient: Bool) throws {
    let pair = try DTLSPair()
    pair.start()
    pair.run()
    (byClient ? pair.client : pair.server).close()
    pair.drain()
    #expect((byClient ? pair.client : pair.server).state == .closed)
    pair.run(for: .seconds(1), until: { false })
    #expect(pair.client.state == .closed)
    #expect(pair.server.state == .closed)
    let count = pair.sent.count
    (byClient ? pair.client : pair.server).close()
    pair.drain()
    #expect(pair.sent.count == count, "nothing follows the goodbye")
  }

  @Test func `an endpoint that has not started drops datagrams and has no deadline`() throws {
    let pair = try DTLSPair()
    pair.inject([22, 0xFE, 0xFD], toServer: true)
    #expect(pair.server.state == .new)
    #expect(pair.server.deadline == nil)
    #expect(pair.server.dropped == 1)
    pair.server.close()
    #expect(pair.server.state == .closed)
    pair.server.start(at: pair.now)
    #expect(pair.server.state == .closed)
  }

  // MARK: Rubbish

  @Test(arguments: 0..<20)
  func `random datagrams during a handshake are harmless`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(1000 + seed))
    let pair = try DTLSPair()
    var busy = false
    pair.fate = { [unowned pair] _, _ in
      if !busy {
        busy = true
        for _ in 0..<20 { pair.inject(randomDatagram(&random), toServer: Bool.random(using: &random)) }
        busy = false
      }
      return .arrives
    }
    pair.start()
    pair.run()
    #expect(pair.client.state.keys != nil, "\(pair.client.state), \(pair.server.state)")
    #expect(pair.client.state.keys == pair.server.state.keys?.mirrored)
    for _ in 0..<200 { pair.inject(randomDatagram(&random), toServer: Bool.random(using: &random)) }
    #expect(pair.client.state.keys != nil)
    #expect(pair.server.state.keys != nil)
    #expect(pair.client.dropped + pair.server.dropped > 0)
  }

  @Test func `a forged plaintext alert does not end a handshake that goes on`() throws {
    let pair = try DTLSPair()
    pair.start()
    for toServer in [true, false] { pair.inject(plaintextAlert(40), toServer: toServer) }
    pair.run()
    #expect(pair.client.state.keys != nil)
    #expect(pair.server.state.keys != nil)
    for toServer in [true, false] { pair.inject(plaintextAlert(40), toServer: toServer) }
    pair.run(for: .seconds(5), until: { false })
    #expect(pair.client.state.keys != nil)
    #expect(pair.server.state.keys != nil)
  }

  @Test func `an alert without further messages ends the handshake after two seconds`() throws {
    let pair = try DTLSPair()
    pair.fate = { _, _ in .isLost }
    pair.start()
    let begin = pair.now
    pair.inject(plaintextAlert(40), toServer: false)
    pair.run(until: { pair.client.state.isSettled })
    #expect(pair.client.state == .failed(.alert(40)))
    #expect(pair.now - begin == .seconds(2))
  }

  @Test(arguments: 0..<150)
  func `changed and truncated handshake datagrams never trap`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(2000 + seed))
    let pair = try DTLSPair()
    var busy = false
    pair.fate = { [unowned pair] fromClient, _ in
      guard !busy, let bytes = pair.sent.last?.bytes else { return .arrives }
      busy = true
      for _ in 0..<4 { pair.inject(mutated(bytes, &random), toServer: fromClient) }
      busy = false
      return .arrives
    }
    pair.start()
    pair.run()
    #expect(pair.client.state.isSettled)
    #expect(pair.server.state.isSettled)
  }
}

// MARK: Making datagrams

/// Splits a datagram that holds one record with one whole handshake message in two of one fragment each.
private func fragments(of datagram: [UInt8], at cut: Int) -> ([UInt8], [UInt8]) {
  let body = Array(datagram[25...])
  func fragment(_ range: Range<Int>, record: UInt8) -> [UInt8] {
    var bytes = Array(datagram[..<25])
    bytes[10] = record  // the record's number
    let length = range.count + 12
    (bytes[11], bytes[12]) = (UInt8(length >> 8), UInt8(length & 255))
    (bytes[19], bytes[20], bytes[21]) = (0, UInt8(range.lowerBound >> 8), UInt8(range.lowerBound & 255))
    (bytes[22], bytes[23], bytes[24]) = (0, UInt8(range.count >> 8), UInt8(range.count & 255))
    return bytes + body[range]
  }
  return (fragment(0..<cut, record: 5), fragment(cut..<body.count, record: 6))
}

private func plaintextAlert(_ description: UInt8) -> [UInt8] {
  [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, description]
}

/// Random bytes; half of them with a credible record header.
private func randomDatagram(_ random: inout SeededRandom) -> [UInt8] {
  var bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
  guard bytes.count > 13, Bool.random(using: &random) else { return bytes }
  bytes[0] = UInt8.random(in: 20...24, using: &random)
  (bytes[1], bytes[2]) = (0xFE, 0xFD)
  (bytes[3], bytes[4]) = (0, UInt8.random(in: 0...2, using: &random))
  (bytes[11], bytes[12]) = (0, UInt8(bytes.count - 13))
  return bytes
}

private func mutated(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
  var bytes = bytes
  if Int.random(in: 0..<4, using: &random) == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
  for _ in 0..<Int.random(in: 1...4, using: &random) {
    if let index = bytes.indices.randomElement(using: &random) { bytes[index] = .random(in: 0...255, using: &random) }
  }
  return bytes
}
