import KoineBase
import KoineTransport
import Testing

@testable import KoineRouter

/// Which peer gets a datagram, and which peers are handled when their time has come.
@Suite struct PeerTableTests {
  private let now = Tick(nanoseconds: 1_000_000_000)
  private let table = PeerTable()
  private let router = TransportAddress.loopback(port: 7_000)
  private let shared = TransportAddress.loopback(port: 20_000)

  /// A participant's slot, and the credentials of its other end.
  private struct Participant {
    let slot: PeerSlot
    let remote: ICECredentials
  }

  private func participant(seed: UInt64) throws -> Participant {
    var random = SeededRandom(seed: seed)
    let certificate = try Certificate.shared()
    let client = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: certificate), random: random.fork(), now: now)
    let peer = try Peer(
      configuration: PeerConfiguration(role: .server, certificate: certificate), random: random.fork(), now: now)
    peer.addLocalAddress(router)
    peer.setRemote(client.localDescription, at: now)
    return Participant(slot: table.add(peer), remote: client.localCredentials)
  }

  /// A good check of the participant's comes from `shared`.
  /// - Returns: the router's own check to that address, if it sends one.
  private func check(of participant: Participant, number: UInt64) throws -> STUNMessage? {
    let peer = participant.slot.peer
    var check = STUNMessage(.request, .init(high: 1, low: number))
    check.username = "\(peer.localCredentials.ufrag):\(participant.remote.ufrag)"
    (check.controlling, check.usesCandidate) = (1, true)
    let datagram = try written(check, key: peer.localCredentials.password)
    let slot = try #require(table.find(datagram.readable, from: shared))
    #expect(slot === participant.slot)
    receive(datagram, slot)
    let out = Bytes(capacity: 1_600)
    var question: STUNMessage?
    while let transmit = peer.poll(into: out.writable, at: now) {
      let sent = try? STUNMessage(parsing: UnsafeRawBufferPointer(rebasing: out.writable[..<transmit.count]))
      if let sent, sent.kind == .request { question = sent }
    }
    return question
  }

  private func written(_ message: STUNMessage, key: String) throws -> Bytes {
    let bytes = Bytes(capacity: 500)
    bytes.count = try #require(message.write(into: bytes.writable, key: key))
    return bytes
  }

  private func receive(_ datagram: Bytes, _ slot: PeerSlot) {
    slot.peer.handle(datagram, from: shared, to: router, at: now)
    table.bind(slot, to: shared, at: now)
  }

  /// The address was Ana's and is Ben's now. Mallory sends checks under it, which only Ben's client receives.
  @Test func answerFromAnAddressInUseGoesToThePeerThatAsked() throws {
    let (ana, ben, mallory) = (try participant(seed: 1), try participant(seed: 2), try participant(seed: 3))
    _ = try check(of: ana, number: 1)
    let question = try #require(try check(of: ben, number: 2))
    for number in 3...20 as ClosedRange<UInt64> { _ = try check(of: mallory, number: number) }
    let answer = try written(STUNMessage(.success, question.transaction), key: ben.remote.password)
    let slot = try #require(table.find(answer.readable, from: shared))
    #expect(slot === ben.slot)
    receive(answer, slot)
    #expect(table.find(Bytes([128, 0]).readable, from: shared) === ben.slot, "the address is Ben's")
  }

  /// A peer asks to be woken at one time, then at a sooner one; when the table is called again, both are past.
  @Test func peerWithTwoPastAlarmsIsHandledOnce() throws {
    var random = SeededRandom(seed: 1)
    let certificate = try Certificate.shared()
    func peer(_ role: PeerConfiguration.Role) throws -> Peer {
      try Peer(configuration: PeerConfiguration(role: role, certificate: certificate), random: random.fork(), now: now)
    }
    let (asking, silent) = (try peer(.client), try peer(.server))
    asking.addLocalAddress(shared)
    silent.addLocalAddress(router)
    asking.setRemote(silent.localDescription, at: now)
    let slot = table.add(asking)
    // Its checks are not answered: in the end the next is sent after a long pause.
    var time = now
    settle(slot, at: time)
    while let next = table.deadline, next < now + .seconds(5) {
      time = next
      table.handleTimeouts(by: nil, at: time) { _ in }
      settle(slot, at: time)
    }
    let first = try #require(table.deadline)
    silent.addLocalAddress(.loopback(port: 7_001))
    asking.setRemote(silent.localDescription, at: time)
    settle(slot, at: time)
    #expect(try #require(table.deadline) < first)
    let later = time + .seconds(2)
    var handled = 0
    table.handleTimeouts(by: nil, at: later) { _ in handled += 1 }
    #expect(handled == 1)
    table.handleTimeouts(by: nil, at: later) { _ in handled += 1 }
    #expect(handled == 1, "nothing is left")
  }

  private func settle(_ slot: PeerSlot, at time: Tick) {
    let out = Bytes(capacity: 1_600)
    table.touch(slot)
    while table.poll(into: out.writable, at: time) != nil {}
  }
}
