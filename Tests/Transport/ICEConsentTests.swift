import KoineBase
import Testing

@testable import KoineTransport

private let full = ICEAgent.Role.full(controlling: true)
private let controlled = ICEAgent.Role.full(controlling: false)

/// Consent of a path (RFC 7675), and changes of the path.
struct ICEConsentTests {
  @Test(arguments: [ICEAgent.Role.lite, controlled]) func consentKeepsThePathForHours(_ role: ICEAgent.Role) {
    let pair = ICEPair.connected(full, role)
    let before = pair.now
    pair.run(for: .seconds(7_200))
    #expect(pair.isConnected)
    let requests = pair.requests(fromOne: true, since: before)
    #expect((1_300...1_600).contains(requests.count), "one in 5 s or so")
    #expect(Set(requests.map(\.message.transaction)).count == requests.count)
    let pauses = zip(requests.dropFirst(), requests).map { $0.datagram.sent - $1.datagram.sent }
    #expect(pauses.allSatisfy { $0 >= .seconds(4) && $0 <= .seconds(6) })
    #expect(Set(pauses).count > 1_000, "not all alike")
  }

  @Test(arguments: [ICEAgent.Role.lite, controlled]) func pathWithoutConsentIsLost(_ role: ICEAgent.Role) throws {
    let pair = ICEPair.connected(full, role)
    pair.run(for: .seconds(20))
    let cut = pair.now
    pair.path = { _ in [] }
    pair.run(for: .seconds(60))
    for end in [pair.one, pair.other] {
      #expect(end.events == [.connected, .disconnected])
      let after = try #require(end.times.last) - cut
      #expect(after > .seconds(23) && after <= .seconds(30), "30 s after the last consent")
      #expect(end.agent.deadline == nil)
    }
  }

  @Test func pathSurvivesAnInterruptionOfTwentySeconds() {
    let pair = ICEPair.connected(full, controlled)
    for _ in 0..<5 {
      pair.path = { _ in [] }
      pair.run(for: .seconds(20))
      pair.path = { [$0] }
      pair.run(for: .seconds(10))
    }
    #expect(pair.isConnected)
  }

  /// An interruption that ends between the last two regular checks before consent expires.
  @Test(arguments: [ICEAgent.Role.lite, controlled])
  func pathConfirmedAfterAnInterruptionKeepsItsConsent(_ role: ICEAgent.Role) throws {
    let pair = ICEPair.connected(full, role)
    pair.run(for: .seconds(20))
    let answered = try #require(pair.requests(fromOne: true).last).datagram.sent
    pair.path = { _ in [] }
    pair.run(for: answered + .seconds(29) - pair.now)
    pair.path = { [$0] }
    let sent = pair.datagrams.count
    pair.one.agent.confirmSelected(at: pair.now)
    pair.other.agent.confirmSelected(at: pair.now)
    pair.run(for: .milliseconds(500))
    #expect(pair.datagrams.count - sent <= 4, "one check and its answer for each end")
    pair.one.agent.confirmSelected(at: pair.now)
    pair.run(for: .milliseconds(500))
    #expect(pair.datagrams.count - sent <= 4, "an answered path needs no further check")
    pair.run(for: .seconds(60))
    #expect(pair.isConnected)
  }

  /// Only responses to an agent's own checks are consent; received requests are not.
  @Test func requestsWithoutResponsesAreNoConsent() {
    let pair = ICEPair.connected(full, controlled)
    pair.path = { $0.isRequest ? [$0] : [] }
    pair.run(for: .seconds(31))
    #expect(pair.one.events == [.connected, .disconnected])
    #expect(pair.other.events == [.connected, .disconnected])
  }

  @Test func responseFromAnotherAddressIsNoConsent() {
    let pair = ICEPair.connected(full, controlled)
    pair.path = { datagram in
      var datagram = datagram
      if !datagram.isRequest { datagram.source = address("203.0.113.9") }
      return [datagram]
    }
    pair.run(for: .seconds(31))
    #expect(pair.one.events == [.connected, .disconnected])
  }

  @Test func disconnectedAgentSendsNothing() {
    let pair = ICEPair.connected(full, controlled)
    pair.path = { _ in [] }
    pair.run(for: .seconds(40))
    pair.path = { [$0] }
    let before = pair.datagrams.count
    var request = STUNMessage(.request, .init(high: 1, low: 2))
    request.username = "\(pair.other.credentials.ufrag):x"
    (request.usesCandidate, request.controlling) = (true, 1)
    pair.inject(request, key: pair.other.credentials.password, from: address("10.0.0.9"), to: pair.other.addresses[0])
    pair.run(for: .seconds(100))
    #expect(pair.datagrams.count == before)
    #expect(pair.other.events == [.connected, .disconnected])
  }

  // MARK: Moving

  private func request(to pair: ICEPair, nominating: Bool, number: UInt64 = 7) -> STUNMessage {
    var request = STUNMessage(.request, .init(high: 7, low: number))
    request.username = "\(pair.other.credentials.ufrag):\(pair.one.credentials.ufrag)"
    (request.usesCandidate, request.controlling, request.priority) = (nominating, 1, 1_000)
    return request
  }

  /// A new address before the same participant: a phone that leaves the house, or a router that forgot.
  @Test func participantChangesItsAddress() {
    let pair = ICEPair.connected()
    let (old, new) = (pair.one.addresses[0], address("198.51.100.7", 40_000))
    pair.path = { datagram in
      var datagram = datagram
      if datagram.isFromOne {
        datagram.source = new
      } else {
        guard datagram.destination == new else { return [] }
        datagram.destination = old
      }
      return [datagram]
    }
    pair.run(for: .seconds(7))
    #expect(pair.other.events == [.connected, .pairChanged] && pair.one.events == [.connected])
    #expect(pair.other.agent.selected?.remote == new)
    pair.run(for: .seconds(100))
    #expect(pair.other.events.count == 2)
    #expect(pair.one.events.count == 1)
  }

  @Test(arguments: [nil, "wrong"]) func checkWithWrongIntegrityDoesNotMoveThePath(_ key: String?) {
    let pair = ICEPair.connected()
    let before = pair.datagrams.count
    pair.inject(
      request(to: pair, nominating: true), key: key, from: address("203.0.113.9"), to: pair.other.addresses[0])
    #expect(pair.other.events == [.connected])
    #expect(pair.agree)
    #expect(pair.datagrams.count == before, "and is not answered")
  }

  @Test func checkWithoutNominationDoesNotMoveThePath() {
    let pair = ICEPair.connected()
    let (elsewhere, here) = (address("10.0.0.9"), pair.other.addresses[0])
    let key = pair.other.credentials.password
    pair.inject(request(to: pair, nominating: false), key: key, from: elsewhere, to: here)
    #expect(pair.other.events == [.connected])
    #expect(pair.agree)
    #expect(
      pair.datagrams.contains { $0.message?.mappedAddress == elsewhere.socketAddress }, "it is answered all the same")
    pair.inject(answer(of: pair), key: pair.one.credentials.password, from: elsewhere, to: here)
    #expect(pair.other.agent.isValidated(elsewhere) && pair.other.events == [.connected])
    pair.inject(request(to: pair, nominating: true, number: 8), key: key, from: elsewhere, to: here)
    #expect(pair.other.events == [.connected, .pairChanged])
    #expect(pair.other.agent.selected?.remote == elsewhere)
  }

  /// A participant knows its passwords, but cannot respond from a forged source address.
  @Test func forgedSourceAddressDoesNotMoveThePathAndReceivesLittle() {
    let pair = ICEPair.connected()
    let (victim, here) = (address("10.0.0.9"), pair.other.addresses[0])
    let before = pair.datagrams.count
    pair.path = { $0.destination == victim ? [] : [$0] }
    let out = Bytes(capacity: 500)
    var received = 0
    for number in 0..<20 as Range<UInt64> {
      let check = request(to: pair, nominating: true, number: 100 + number)
      received += check.write(into: out.writable, key: pair.other.credentials.password) ?? 0
      pair.inject(check, key: pair.other.credentials.password, from: victim, to: here)
      pair.run(for: .milliseconds(250))
    }
    #expect(pair.other.events == [.connected])
    #expect(pair.agree)
    let toVictim = pair.datagrams[before...].filter { $0.destination == victim }
    #expect(toVictim.reduce(0) { $0 + $1.bytes.count } <= 3 * received, "answers to its checks included")
    pair.inject(answer(of: pair), key: pair.one.credentials.password, from: address("10.0.0.8"), to: here)
    #expect(!pair.other.agent.isValidated(victim), "the answer came from elsewhere")
    pair.inject(answer(of: pair), key: pair.one.credentials.password, from: victim, to: here)
    #expect(pair.other.agent.selected?.remote == victim, "the other end is there after all")
  }

  @Test func responsesToChecksCountTowardsTheSendLimit() throws {
    let pair = ICEPair()  // not introduced: the lite agent sends no checks of its own
    let (victim, here) = (address("10.0.0.9"), pair.other.addresses[0])
    let check = request(to: pair, nominating: true)
    let out = Bytes(capacity: 500)
    let received = try #require(check.write(into: out.writable, key: pair.other.credentials.password))
    pair.inject(check, key: pair.other.credentials.password, from: victim, to: here)
    let answer = try #require(pair.datagrams.last).bytes.count
    let (isAdmitted, isTooMuch) = (
      pair.other.agent.admits(3 * received - answer), pair.other.agent.admits(3 * received - answer + 1)
    )
    #expect(isAdmitted)
    #expect(!isTooMuch)
  }

  /// STUN servers, and WebRTC clients of other calls, answer every check with its transaction id.
  @Test(arguments: [nil, "wrong"]) func responseWithoutIntegrityValidatesNoAddress(_ key: String?) {
    let pair = ICEPair.connected()
    let (victim, here) = (address("10.0.0.9"), pair.other.addresses[0])
    pair.path = { $0.destination == victim ? [] : [$0] }
    pair.inject(request(to: pair, nominating: true), key: pair.other.credentials.password, from: victim, to: here)
    for code in [nil, 400, 401, 487] {
      pair.inject(answer(of: pair, errorCode: code), key: key, from: victim, to: here)
      #expect(!pair.other.agent.isValidated(victim))
      #expect(pair.other.events == [.connected])
    }
  }

  @Test func roleConflictWithIntegrityValidatesTheAddress() {
    let pair = ICEPair.connected()
    let (elsewhere, here) = (address("10.0.0.9"), pair.other.addresses[0])
    pair.path = { $0.destination == elsewhere ? [] : [$0] }
    pair.inject(request(to: pair, nominating: true), key: pair.other.credentials.password, from: elsewhere, to: here)
    pair.inject(
      answer(of: pair, errorCode: 487), key: pair.one.credentials.password, from: elsewhere, to: here)
    #expect(pair.other.agent.selected?.remote == elsewhere)
  }

  /// The answer to the last check that the lite agent has sent.
  private func answer(of pair: ICEPair, errorCode: Int? = nil) -> STUNMessage {
    let check = pair.requests(fromOne: false).last?.message
    var answer = STUNMessage(errorCode == nil ? .success : .failure, check?.transaction ?? .init(high: 0, low: 0))
    answer.errorCode = errorCode
    return answer
  }

  /// A lite agent counts only requests on its selected path as consent.
  @Test func requestsFromAnotherAddressAreNoConsent() {
    let pair = ICEPair.connected()
    pair.path = { _ in [] }
    for _ in 0..<10 {
      pair.run(for: .seconds(4))
      pair.inject(
        request(to: pair, nominating: false), key: pair.other.credentials.password, from: address("10.0.0.9"),
        to: pair.other.addresses[0])
    }
    #expect(pair.other.events == [.connected, .disconnected])
  }

  /// A full agent checks a nominated pair before it selects it.
  @Test func controlledAgentSwitchesOnceTheNewPairResponds() throws {
    let pair = ICEPair.connected(full, controlled)
    let (elsewhere, here) = (address("10.0.0.9"), pair.other.addresses[0])
    pair.path = { $0.destination == elsewhere ? [] : [$0] }
    pair.inject(
      request(to: pair, nominating: true), key: pair.other.credentials.password, from: elsewhere, to: here)
    pair.run(for: .milliseconds(60))
    #expect(pair.other.events == [.connected])
    #expect(pair.agree)
    let check = try #require(pair.requests(fromOne: false).last)
    #expect(check.datagram.destination == elsewhere)
    pair.inject(
      STUNMessage(.success, check.message.transaction), key: pair.one.credentials.password, from: elsewhere, to: here)
    #expect(pair.other.events == [.connected, .pairChanged])
    #expect(pair.other.agent.selected?.remote == elsewhere)
  }
}
