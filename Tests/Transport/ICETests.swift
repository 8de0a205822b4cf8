import KoineBase
import Testing

@testable import KoineTransport

private let full = ICEAgent.Role.full(controlling: true)
private let controlled = ICEAgent.Role.full(controlling: false)

/// How two agents find each other (RFC 8445).
struct ICETests {
  @Test func fullAndLiteAgentsConnect() {
    let pair = ICEPair()
    pair.introduce()
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
    #expect(pair.other.times == [pair.start + .milliseconds(10)])
    #expect(pair.one.times == [pair.start + .milliseconds(20)])
    #expect(pair.datagrams.count { $0.isRequest && !$0.isFromOne } == 1, "the lite agent validates the address once")
    #expect(pair.other.agent.isValidated(pair.one.addresses[0]))
  }

  @Test func fullAgentsConnect() {
    let pair = ICEPair(full, controlled)
    pair.introduce()
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
    #expect(pair.refusals == 0)
  }

  /// RFC 8445, 8.1.1: a pair is nominated after it has responded, in a separate request.
  @Test func pairIsNominatedAfterItHasResponded() {
    let pair = ICEPair()
    pair.introduce()
    pair.run(for: .seconds(1))
    let requests = pair.requests(fromOne: true)
    #expect(requests.map(\.message.usesCandidate) == [false, true])
    #expect(Set(requests.map(\.message.transaction)).count == 2)
    #expect(requests.allSatisfy { $0.message.controlling != nil && $0.message.controlled == nil })
  }

  @Test func lostNominationIsRetransmitted() {
    let pair = ICEPair(full, controlled)
    var dropped = 0
    pair.path = { datagram in
      guard datagram.message?.usesCandidate == true, dropped < 3 else { return [datagram] }
      dropped += 1
      return []
    }
    pair.introduce()
    pair.run(for: .seconds(2))
    #expect(dropped == 3)
    #expect(pair.isConnected)
  }

  @Test func bestOfSeveralPairsIsSelected() {
    let pair = ICEPair(
      full, controlled, addresses: [address("10.0.0.1"), address("10.1.0.1"), address("fd00::1")],
      others: [address("10.0.0.2"), address("fd00::2")])
    pair.introduce()
    pair.run(for: .seconds(8))
    #expect(pair.isConnected)
    #expect(pair.one.agent.selected?.remote == address("fd00::2"), "the best pair")
  }

  @Test(arguments: [ICEAgent.Role.lite, controlled]) func onlyWorkingPairIsSelected(_ role: ICEAgent.Role) {
    let (here, there) = (address("10.1.0.1"), address("10.0.0.3"))
    let pair = ICEPair(
      full, role, addresses: [address("10.0.0.1"), here, address("fd00::1")],
      others: [address("10.0.0.2"), there, address("fd00::2")])
    pair.path = { datagram in Set([datagram.source, datagram.destination]) == [here, there] ? [datagram] : [] }
    pair.introduce()
    pair.run(for: .seconds(8))
    #expect(pair.isConnected)
    #expect(pair.one.agent.selected.map { $0 == (here, there) } == true)
  }

  @Test func agentsConnectOverIPv6() {
    let pair = ICEPair(addresses: [address("fd00::1")], others: [address("fd00::2")])
    pair.introduce()
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
    let mapped = pair.datagrams.filter { !$0.isFromOne }.compactMap { $0.message?.mappedAddress }
    #expect(mapped == [address("fd00::1").socketAddress, address("fd00::1").socketAddress])
  }

  @Test func pairsHaveAddressesOfOneFamily() {
    let pair = ICEPair(
      full, controlled, addresses: [address("10.0.0.1"), address("fd00::1")], others: [address("10.0.0.2")])
    pair.introduce()
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
    #expect(pair.datagrams.allSatisfy { $0.source.family == .ipv4 && $0.destination.family == .ipv4 })
  }

  /// One agent does not know the other's address, but the other can reach it.
  @Test func unknownPeerIsLearnedFromItsCheck() {
    let pair = ICEPair(full, controlled)
    pair.introduce(otherKnows: false)
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
  }

  @Test(arguments: [ICEAgent.Role.lite, controlled]) func addressBehindNATIsLearned(_ role: ICEAgent.Role) {
    let (inside, outside) = (address("192.168.0.1"), address("198.51.100.7", 40_000))
    let pair = ICEPair(full, role, addresses: [inside])
    pair.path = { datagram in
      var datagram = datagram
      if datagram.isFromOne {
        datagram.source = outside
      } else {
        guard datagram.destination == outside else { return [] }
        datagram.destination = inside
      }
      return [datagram]
    }
    pair.introduce()
    pair.run(for: .seconds(2))
    #expect(pair.one.events == [.connected] && pair.other.events == [.connected])
    #expect(pair.one.agent.selected?.local == inside)
    #expect(pair.other.agent.selected?.remote == outside)
  }

  // MARK: Roles

  /// RFC 8445, 7.3.1.1, with either end having the larger tie breaker.
  @Test(arguments: [true, false], [(1, 2), (2, 1), (7, 8), (8, 7)])
  func roleConflictIsResolved(_ controlling: Bool, _ seeds: (UInt64, UInt64)) {
    let role = ICEAgent.Role.full(controlling: controlling)
    for (addresses, others) in [(1, 1), (3, 3)] {
      let pair = ICEPair(
        role, role, addresses: (0..<addresses).map { address("10.0.0.1", 5_000 + UInt16($0)) },
        others: (0..<others).map { address("10.0.0.2", 6_000 + UInt16($0)) }, seeds: seeds)
      pair.introduce()
      pair.run(for: .seconds(8))
      #expect(pair.refusals > 0)
      #expect(pair.one.events.first == .connected)
      #expect(pair.other.events.first == .connected)
      #expect(pair.agree)
      let late = pair.start + .seconds(3)
      let roles = [true, false].map { end in
        Set(pair.requests(fromOne: end, since: late).map { $0.message.controlling != nil })
      }
      #expect(roles == [[true], [false]] || roles == [[false], [true]], "one controls and one is controlled")
    }
  }

  @Test func agentWithTheLargerTieBreakerKeepsItsRole() throws {
    let pair = ICEPair(full, full)
    pair.introduce()
    pair.run(for: .seconds(8))
    let first = try [true, false].map { try #require(pair.requests(fromOne: $0).first?.message.controlling) }
    let last = try [true, false].map { try #require(pair.requests(fromOne: $0).last?.message) }
    #expect(last.map { $0.controlling != nil } == [first[0] > first[1], first[1] > first[0]])
  }

  // MARK: Repeating

  @Test func checkIsRetransmittedWithTheSameTransaction() {
    let pair = ICEPair()
    pair.path = { _ in [] }
    pair.introduce()
    pair.run(for: .seconds(3))
    let requests = pair.requests(fromOne: true)
    #expect(Set(requests.map(\.message.transaction)).count == 1)
    let pauses = zip(requests.dropFirst(), requests).map { ($0.datagram.sent - $1.datagram.sent).inMilliseconds }
    #expect(pauses.starts(with: [100, 200, 400, 800, 800]))
  }

  /// An answer that comes after the request has been repeated is an answer.
  @Test(arguments: [60, 200, 500, 1_500]) func agentsConnectDespiteALongDelay(_ delay: Int) {
    let pair = ICEPair(full, controlled)
    pair.delay = .milliseconds(delay)
    pair.introduce()
    pair.run(for: .milliseconds(4 * delay + 10))
    #expect(pair.isConnected)
    #expect(pair.one.times == [pair.start + pair.delay * 2])
  }

  @Test func agentsConnectWithHalfOfTheDatagramsLost() {
    for seed in 1...30 as ClosedRange<UInt64> {
      let pair = ICEPair(full, seed % 2 == 0 ? .lite : controlled)
      var random = SeededRandom(seed: seed)
      let isLite = seed % 2 == 0
      pair.path = { datagram in
        let validatesAddress = isLite && datagram.isRequest && !datagram.isFromOne
        return validatesAddress || Bool.random(using: &random) ? [datagram] : []
      }
      pair.introduce()
      pair.run(for: .seconds(5))
      #expect(pair.isConnected, "seed \(seed)")
    }
  }

  /// RFC 8445, 14.2: first checks are 50 ms apart, the best pair's first.
  @Test func checksArePaced() {
    let others = ["10.0.0.2", "10.0.0.3", "fd00::2", "10.0.0.4"].map { address($0) }
    let pair = ICEPair(addresses: [address("10.0.0.1"), address("fd00::1")], others: others)
    pair.path = { _ in [] }
    pair.introduce()
    pair.run(for: .seconds(1))
    var first: [TransportAddress: Duration] = [:]
    for (datagram, _) in pair.requests(fromOne: true) where first[datagram.destination] == nil {
      first[datagram.destination] = datagram.sent - pair.start
    }
    #expect(
      first
        == Dictionary(
          uniqueKeysWithValues: zip([2, 0, 1, 3].map { others[$0] }, [0, 50, 100, 150].map { .milliseconds($0) })))
  }

  // MARK: No way

  @Test func agentWithoutResponsesFails() throws {
    let pair = ICEPair()
    pair.path = { _ in [] }
    pair.introduce()
    pair.run(for: .seconds(60))
    #expect(pair.one.events == [.failed])
    #expect(pair.other.events.isEmpty)
    let time = try #require(pair.one.times.first) - pair.start
    #expect(time > .seconds(5))
    #expect(time < .seconds(7))
    #expect(pair.one.agent.deadline == nil)
    #expect(pair.one.agent.selected == nil)
    #expect(pair.requests(fromOne: true).count == 9)
  }

  @Test(arguments: [true, false]) func agentWithWrongCredentialsFails(_ isPasswordWrong: Bool) {
    for role in [ICEAgent.Role.lite, controlled] {
      let pair = ICEPair(full, role)
      pair.introduce()
      var wrong = pair.other.credentials
      if isPasswordWrong { wrong.password += "x" } else { wrong.ufrag = "x" + wrong.ufrag }
      pair.one.agent.setRemote(wrong)
      var wrongHere = pair.one.credentials
      if isPasswordWrong { wrongHere.password += "x" } else { wrongHere.ufrag = "x" + wrongHere.ufrag }
      pair.other.agent.setRemote(wrongHere)
      pair.run(for: .seconds(60))
      #expect(pair.one.events == [.failed])
      #expect(pair.other.events == (role == .lite ? [] : [.failed]))
      #expect(pair.datagrams.allSatisfy { $0.isRequest }, "nothing is answered")
    }
  }

  /// RFC 8863, section 4: with nothing to check, an end waits for the first check.
  @Test func agentWithoutAPairFailsAfterTheTimeout() throws {
    let pair = ICEPair(full, controlled, others: [address("fd00::2")])
    pair.introduce()
    pair.run(for: .seconds(39))
    #expect(pair.one.events.isEmpty)
    #expect(pair.other.events.isEmpty)
    pair.run(for: .seconds(1))
    #expect(pair.one.events == [.failed] && pair.other.events == [.failed] && pair.datagrams.isEmpty)
  }

  @Test func agentWithoutANominationFailsAfterTheTimeout() {
    let pair = ICEPair(full, controlled)
    pair.path = { $0.message?.usesCandidate == true ? [] : [$0] }
    pair.introduce()
    pair.run(for: .seconds(60))
    #expect(pair.other.events == [.failed])
  }

  // MARK: Strangers

  @Test func duplicatedDatagramsAreHarmless() {
    for role in [ICEAgent.Role.lite, controlled] {
      let pair = ICEPair(full, role)
      pair.path = { datagram in
        var again = datagram
        again.arrival += .milliseconds(3)
        return [datagram, again]
      }
      pair.introduce()
      pair.run(for: .seconds(20))
      #expect(pair.isConnected)
    }
  }

  /// An attacker on the path can forward answers, but not from the address that was checked.
  @Test func responseFromAnotherAddressIsIgnored() {
    let pair = ICEPair(full, controlled)
    pair.path = { datagram in
      var datagram = datagram
      if datagram.message?.kind == .success { datagram.source = address("203.0.113.9") }
      return [datagram]
    }
    pair.introduce()
    pair.run(for: .seconds(60))
    #expect(pair.one.events == [.failed] && pair.other.events == [.failed])
  }

  @Test func forgedResponsesAreIgnored() throws {
    let pair = ICEPair(full, controlled)
    let (here, there) = (pair.one.addresses[0], pair.other.addresses[0])
    pair.introduce()
    pair.run(for: .milliseconds(1))
    let asked = try #require(pair.requests(fromOne: false).first?.message.transaction)
    for key in [nil, "wrong"] {
      pair.inject(STUNMessage(.success, asked), key: key, from: here, to: there)
      var refusal = STUNMessage(.failure, asked)
      for code in [400, 487] {
        refusal.errorCode = code
        pair.inject(refusal, key: key, from: here, to: there)
      }
      var request = STUNMessage(.request, asked)
      request.username = "\(pair.other.credentials.ufrag):x"
      (request.usesCandidate, request.controlling) = (true, .max)
      pair.inject(request, key: key, from: address("203.0.113.9"), to: there)
    }
    #expect(pair.other.events.isEmpty)
    #expect(pair.datagrams.allSatisfy { $0.isRequest })
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
    #expect(pair.refusals == 0)
  }

  @Test func randomDatagramsAreHarmless() {
    let pair = ICEPair.connected()
    var random = SeededRandom(seed: 3)
    let whole = pair.datagrams[0].bytes
    for _ in 0..<5_000 {
      var bytes = whole
      bytes.removeLast(Int(random.next() % 100) % bytes.count)
      bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
      bytes.withUnsafeBytes {
        pair.other.agent.handle($0, from: address("203.0.113.9"), to: pair.other.addresses[0], at: pair.now)
      }
    }
    pair.run(for: .seconds(1))
    #expect(pair.isConnected)
  }
}
