import KoineBase
import Testing

@testable import KoineTransport

/// Which of several good paths a lite agent takes.
@Suite struct ICELitePathTests {
  private let client = address("10.0.0.1")
  private let near = address("10.0.0.2")
  private let far = address("10.0.0.3")
  private let start = Tick(nanoseconds: 1_000_000_000)

  /// A lite agent that has answered a check of the client on both of its addresses, the near one first.
  private func reachedOnBoth() throws -> ICEAgent {
    var random = SeededRandom(seed: 1)
    let (own, theirs) = (ICECredentials.random(using: &random), ICECredentials.random(using: &random))
    var agent = ICEAgent(role: .lite, local: own, random: random, now: start)
    agent.setRemote(theirs)
    for (number, local) in [near, far].enumerated() {
      agent.addLocal(local)
      var check = STUNMessage(.request, .init(high: 1, low: UInt64(number)))
      check.username = "\(own.ufrag):\(theirs.ufrag)"
      check.controlling = 1
      let bytes = Bytes(capacity: 500)
      bytes.count = try #require(check.write(into: bytes.writable, key: own.password))
      agent.handle(bytes.readable, from: client, to: local, at: start)
    }
    answerChecks(of: &agent, from: client, password: theirs.password)
    return agent
  }

  /// Responds to the agent's checks as the peer does when it is reached at `source`.
  private func answerChecks(of agent: inout ICEAgent, from source: TransportAddress, password: String) {
    let buffer = Bytes(capacity: 1_500)
    while let transmit = agent.poll(into: buffer.writable) {
      let datagram = UnsafeRawBufferPointer(rebasing: buffer.writable[..<transmit.count])
      guard let check = try? STUNMessage(parsing: datagram), check.kind == .request, transmit.destination == source
      else {
        continue
      }
      let answer = Bytes(capacity: 500)
      answer.count = STUNMessage(.success, check.transaction).write(into: answer.writable, key: password) ?? 0
      agent.handle(answer.readable, from: source, to: transmit.source, at: start)
    }
  }

  @Test func liteAgentSelectsThePairThatThePeerUses() throws {
    let agent = try reachedOnBoth()
    #expect(try #require(agent.selected) == (near, client))
    agent.used(from: client, to: far, at: start)
    #expect(try #require(agent.selected) == (far, client))
  }

  @Test func pairWithoutAValidCheckIsNotSelected() throws {
    let agent = try reachedOnBoth()
    agent.used(from: address("10.0.0.9"), to: far, at: start)
    agent.used(from: client, to: address("10.0.0.4"), at: start)
    #expect(try #require(agent.selected) == (near, client))
    #expect(agent.isProven(client))
    #expect(!agent.isProven(address("10.0.0.9")))
  }

  /// An attacker on the path sends a valid check again from another address: the media path does not move.
  @Test func replayedCheckFromAnotherAddressDoesNotMoveThePath() throws {
    var random = SeededRandom(seed: 1)
    let (own, theirs) = (ICECredentials.random(using: &random), ICECredentials.random(using: &random))
    let agent = ICEAgent(role: .lite, local: own, random: random, now: start)
    agent.setRemote(theirs)
    agent.addLocal(near)
    let (thief, moved) = (address("10.0.0.9"), address("10.0.0.8"))
    var buffer = [UInt8](repeating: 0, count: 500)
    func handle(_ number: UInt64, from source: TransportAddress) throws -> Int {
      var check = STUNMessage(.request, .init(high: 1, low: number))
      check.username = "\(own.ufrag):\(theirs.ufrag)"
      (check.controlling, check.usesCandidate) = (1, true)
      let bytes = Bytes(capacity: 500)
      bytes.count = try #require(check.write(into: bytes.writable, key: own.password))
      agent.handle(bytes.readable, from: source, to: near, at: start)
      var answers = 0
      while let transmit = buffer.withUnsafeMutableBytes({ agent.poll(into: $0) }) {
        let message = try buffer[..<transmit.count].withUnsafeBytes { try STUNMessage(parsing: $0) }
        if message.kind == .success { answers += 1 }
        guard message.kind == .request, source != thief else { continue }
        let answer = Bytes(capacity: 500)
        answer.count =
          STUNMessage(.success, message.transaction).write(into: answer.writable, key: theirs.password) ?? 0
        agent.handle(answer.readable, from: source, to: near, at: start)
      }
      return answers
    }
    #expect(try handle(1, from: client) == 1)
    #expect(try handle(1, from: thief) == 0 && !agent.isProven(thief))
    #expect(try handle(1, from: client) == 1, "the answer may have been lost")
    #expect(try #require(agent.selected) == (near, client))
    for number in 2...1_200 { _ = try handle(UInt64(number), from: client) }
    #expect(try handle(1_000, from: thief) == 0)
    #expect(try handle(9_999, from: moved) == 1)
    #expect(try #require(agent.selected) == (near, moved), "a new one moves it")
  }

  /// RFC 7675, 5.1: only a check that the other end answers for is consent.
  @Test func mediaIsNotConsent() throws {
    let agent = try reachedOnBoth()
    for second in 1...29 { agent.used(from: client, to: second % 2 == 0 ? near : far, at: start + .seconds(second)) }
    #expect(agent.deadline == start + .seconds(30))
    agent.handleTimeout(at: start + .seconds(30))
    #expect([agent.pollEvent(), agent.pollEvent()].contains(.disconnected) || agent.deadline == nil)
  }

  @Test func checkProvesAnAddressForTheConsentPeriod() throws {
    let agent = try reachedOnBoth()
    agent.used(from: client, to: near, at: start + .seconds(31))
    agent.used(from: client, to: far, at: start + .seconds(31))
    #expect(try #require(agent.selected) == (near, client))
    #expect(!agent.isProven(client))
  }
}

/// The same, with keys.
@Suite struct PeerPathTests {
  /// A connected pair whose server has answered a check of the client on another address, too.
  private func reachedOnBoth(_ far: TransportAddress) throws -> PeerPair {
    let pair = try PeerPair.connected()
    let server = pair.server.localCredentials
    var check = STUNMessage(.request, .init(high: 1, low: 1))
    check.username = "\(server.ufrag):\(pair.client.localCredentials.ufrag)"
    check.controlling = 1
    let bytes = Bytes(capacity: 500)
    bytes.count = try #require(check.write(into: bytes.writable, key: server.password))
    pair.server.handle(bytes, from: pair.clientAddress, to: far, at: pair.now)
    let out = Bytes(capacity: 1_600)
    while let transmit = pair.server.poll(into: out.writable, at: pair.now) {
      let datagram = UnsafeRawBufferPointer(rebasing: out.writable[..<transmit.count])
      guard transmit.source == far, let own = try? STUNMessage(parsing: datagram), own.kind == .request else {
        continue
      }
      let answer = Bytes(capacity: 500)
      answer.count =
        STUNMessage(.success, own.transaction).write(
          into: answer.writable, key: pair.client.localCredentials.password) ?? 0
      pair.server.handle(answer, from: pair.clientAddress, to: far, at: pair.now)
    }
    return pair
  }

  @Test func forgedDatagramsDoNotMoveThePath() throws {
    let far = address("10.0.0.3", 6_000)
    let pair = try reachedOnBoth(far)
    for first: UInt8 in [4, 22, 64, 128, 144, 191, 255] {
      var forged = [UInt8](repeating: 7, count: 60)
      forged[0] = first
      pair.server.handle(Bytes(forged), from: pair.clientAddress, to: far, at: pair.now)
    }
    #expect(try #require(pair.server.path) == (pair.serverAddress, pair.clientAddress))

    var sent: [Bytes] = []  // what the client sends of its own, taken from the way
    pair.tamper = { if (128...191).contains($0.readable.first ?? 0) { sent.append(Bytes($0.readable)) } }
    let stream = StreamParameters(mid: "0", codec: .opus, payloadType: 111, encodings: [.init(ssrc: 5)])
    let microphone = pair.client.addSender(stream)
    let frame = EncodedFrame(
      codec: .opus, data: Bytes([1, 2, 3]), captured: pair.now, rtpTimestamp: 0, isKey: true)
    pair.client.send(frame, on: microphone, at: pair.now)
    pair.run(for: .seconds(3))
    #expect(try #require(pair.server.path) == (pair.serverAddress, pair.clientAddress))
    pair.server.handle(Bytes(try #require(sent.first).readable), from: pair.clientAddress, to: far, at: pair.now)
    #expect(try #require(pair.server.path) == (pair.serverAddress, pair.clientAddress), "a repetition is not new")
  }

  /// Checks under a foreign source address, and a ClientHello; then checks from as many other addresses as are remembered.
  @Test func handshakeGoesToAForgedAddressWithinTheLimit() throws {
    let (pair, victim) = (try PeerPair(), address("203.0.113.7"))
    var (now, received, sent) = (pair.now, 0, 0)
    let out = Bytes(capacity: 1_600)
    func give(_ datagram: Bytes, from source: TransportAddress) {
      if source == victim { received += datagram.count }
      pair.server.handle(datagram, from: source, to: pair.serverAddress, at: now)
      while let transmit = pair.server.poll(into: out.writable, at: now) {
        if transmit.destination == victim { sent += transmit.count }
      }
    }
    func giveCheck(_ number: UInt64, from source: TransportAddress) throws {
      var check = STUNMessage(.request, .init(high: 1, low: number))
      check.username = "\(pair.server.localCredentials.ufrag):\(pair.client.localCredentials.ufrag)"
      (check.controlling, check.usesCandidate) = (1, true)
      let bytes = Bytes(capacity: 500)
      bytes.count = try #require(check.write(into: bytes.writable, key: pair.server.localCredentials.password))
      give(bytes, from: source)
    }
    try giveCheck(0, from: victim)
    let handshake = try DTLSEndpoint(role: .client, certificate: try Certificate.shared())
    handshake.start(at: now)
    let hello = Bytes(capacity: 1_600)
    hello.count = try #require(handshake.poll(into: hello.writable))
    give(hello, from: victim)
    #expect(pair.server.path?.remote == victim)
    for number in 1...8 as ClosedRange<UInt64> { try giveCheck(number, from: address("198.51.100.\(number)")) }
    for _ in 0..<300 {
      now += .milliseconds(100)
      pair.server.handleTimeout(at: now)
      give(Bytes([0]), from: address("198.51.100.99"))  // nothing that is understood: only lets the server send
    }
    #expect(sent <= 3 * received)
  }

  @Test func authenticatedMediaMovesThePath() throws {
    let far = address("10.0.0.3", 6_000)
    let pair = try reachedOnBoth(far)
    let sound = StreamParameters(
      mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: nil, encodings: [.init(ssrc: 2222, rtxSSRC: nil)])
    let sender = pair.client.addSender(sound)
    _ = pair.server.addReceiver(sound, mode: .frames)
    pair.client.send(
      EncodedFrame(codec: .opus, data: Bytes([1, 2, 3]), captured: pair.now, rtpTimestamp: 1, isKey: true), on: sender,
      at: pair.now)
    let datagram = Bytes(capacity: 1_600)
    while let transmit = pair.client.poll(into: datagram.writable, at: pair.now) {
      datagram.count = transmit.count
      guard datagram.readable.first == 0x90 || datagram.readable.first == 0x80 else { continue }
      pair.server.handle(Bytes(datagram.readable), from: pair.clientAddress, to: far, at: pair.now)
    }
    #expect(try #require(pair.server.path) == (far, pair.clientAddress))
  }
}
