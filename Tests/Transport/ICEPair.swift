import KoineBase
import Testing

@testable import KoineTransport

func address(_ host: String, _ port: UInt16 = 5_000) -> TransportAddress {
  guard let address = SocketAddress(host, port: port) else { preconditionFailure("\(host) is no address") }
  return TransportAddress(udp: address)
}

/// One agent with its recorded events.
struct ICEEnd {
  let credentials: ICECredentials
  let addresses: [TransportAddress]
  var agent: ICEAgent
  var events: [ICEAgent.Event] = []
  /// When each event came.
  var times: [Tick] = []

  init(_ role: ICEAgent.Role, _ addresses: [TransportAddress], seed: UInt64, now: Tick) {
    var random = SeededRandom(seed: seed)
    credentials = .random(using: &random)
    self.addresses = addresses
    agent = ICEAgent(role: role, local: credentials, random: random, now: now)
    for address in addresses { agent.addLocal(address) }
  }
}

/// Two agents in virtual time, and all datagrams between them.
final class ICEPair {
  struct SentDatagram {
    var bytes: [UInt8]
    let isFromOne: Bool
    let sent: Tick
    var source, destination: TransportAddress
    var arrival: Tick

    var message: STUNMessage? { bytes.withUnsafeBytes { try? STUNMessage(parsing: $0) } }
    var isRequest: Bool { message?.kind == .request }
  }

  private(set) var now = Tick(nanoseconds: 1_000_000_000)
  let start: Tick
  var one, other: ICEEnd
  var delay = Duration.milliseconds(10)
  /// Maps each sent datagram to the datagrams that arrive.
  var path: (SentDatagram) -> [SentDatagram] = { [$0] }
  /// As they were sent.
  private(set) var datagrams: [SentDatagram] = []
  private var flying: [SentDatagram] = []

  init(
    _ role: ICEAgent.Role = .full(controlling: true), _ otherRole: ICEAgent.Role = .lite,
    addresses: [TransportAddress] = [address("10.0.0.1")], others: [TransportAddress] = [address("10.0.0.2", 6_000)],
    seeds: (UInt64, UInt64) = (1, 2)
  ) {
    start = now
    one = ICEEnd(role, addresses, seed: seeds.0, now: now)
    other = ICEEnd(otherRole, others, seed: seeds.1, now: now)
  }

  /// Gives each agent the other's credentials and candidates. Without candidates, an agent waits for a check.
  func introduce(oneKnows: Bool = true, otherKnows: Bool = true) {
    one.agent.setRemote(other.credentials)
    other.agent.setRemote(one.credentials)
    if oneKnows { for address in other.addresses { one.agent.addRemote(ICECandidate(host: address)) } }
    if otherKnows { for address in one.addresses { other.agent.addRemote(ICECandidate(host: address)) } }
    one.agent.handleTimeout(at: now)
    other.agent.handleTimeout(at: now)
  }

  static func connected(_ role: ICEAgent.Role = .full(controlling: true), _ otherRole: ICEAgent.Role = .lite) -> ICEPair
  {
    let pair = ICEPair(role, otherRole)
    pair.introduce()
    pair.run(for: .seconds(1))
    #expect(pair.one.events == [.connected] && pair.other.events == [.connected])
    return pair
  }

  func run(for duration: Duration) {
    let end = now + duration
    drain()
    while now < end {
      let next = flying.map(\.arrival).min().sooner(one.agent.deadline).sooner(other.agent.deadline) ?? end
      now = min(max(next, now), end)
      let due = flying.filter { $0.arrival <= now }
      flying.removeAll { $0.arrival <= now }
      for datagram in due { deliver(datagram) }
      for end in [\ICEPair.one, \ICEPair.other] {
        if let deadline = self[keyPath: end].agent.deadline, deadline <= now {
          self[keyPath: end].agent.handleTimeout(at: now)
        }
      }
      let sent = datagrams.count
      drain()
      let isIdle = due.isEmpty && datagrams.count == sent
      if isIdle, let next = one.agent.deadline.sooner(other.agent.deadline), next <= now {
        Issue.record("a deadline with nothing to do: it would come again and again")
        return
      }
    }
  }

  private func deliver(_ datagram: SentDatagram) {
    datagram.bytes.withUnsafeBytes { bytes in
      if datagram.isFromOne {
        other.agent.handle(bytes, from: datagram.source, to: datagram.destination, at: now)
      } else {
        one.agent.handle(bytes, from: datagram.source, to: datagram.destination, at: now)
      }
    }
  }

  private func drain() {
    let buffer = Bytes(capacity: 1_500)
    for (end, isFromOne) in [(\ICEPair.one, true), (\ICEPair.other, false)] {
      while let transmit = self[keyPath: end].agent.poll(into: buffer.writable) {
        let datagram = SentDatagram(
          bytes: Array(buffer.writable[..<transmit.count]), isFromOne: isFromOne, sent: now, source: transmit.source,
          destination: transmit.destination, arrival: now + delay)
        datagrams.append(datagram)
        flying += path(datagram)
      }
      while let event = self[keyPath: end].agent.pollEvent() {
        self[keyPath: end].events.append(event)
        self[keyPath: end].times.append(now)
      }
    }
  }

  /// Delivers a message of the test to `other`, and collects the resulting datagrams.
  func inject(_ message: STUNMessage, key: String?, from source: TransportAddress, to destination: TransportAddress) {
    let out = Bytes(capacity: 500)
    out.count = message.write(into: out.writable, key: key) ?? 0
    other.agent.handle(out.readable, from: source, to: destination, at: now)
    drain()
  }

  // MARK: What came of it

  var isConnected: Bool { one.events == [.connected] && other.events == [.connected] && agree }

  /// Do both ends use the same pair?
  var agree: Bool {
    guard let ours = one.agent.selected, let theirs = other.agent.selected else { return false }
    return ours == (theirs.remote, theirs.local)
  }

  func requests(fromOne: Bool, since: Tick? = nil) -> [(datagram: SentDatagram, message: STUNMessage)] {
    datagrams.compactMap { datagram in
      guard datagram.isFromOne == fromOne, datagram.sent >= since ?? start, let message = datagram.message,
        message.kind == .request
      else { return nil }
      return (datagram, message)
    }
  }

  var refusals: Int { datagrams.count { $0.message?.errorCode == 487 } }
}
