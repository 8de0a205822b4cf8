import Foundation
import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineSimulatedNetwork
import KoineTransport
import Testing

@testable import KoineRouter

/// Workers of all tests: `KOINE_WORKERS=2 swift test --filter RouterTests`.
private let workers = ProcessInfo.processInfo.environment["KOINE_WORKERS"].flatMap { Int($0) }

/// A router and its clients on virtual time, over links with a delay and a seeded loss. Signalling goes as JSON.
final class World {
  var now = Tick(nanoseconds: 1_000_000_000)
  let router: Router
  let host: SignalingHost
  var clients: [Client] = []
  /// Delay of each link, in each direction.
  var delay: Duration = .milliseconds(5)
  /// Probability of packet loss in each direction, 0...1.
  var loss = 0.0
  /// Media packets that did not arrive.
  private(set) var lost = 0
  private var random: SeededRandom
  /// Receives every datagram that a client sends, before the network does.
  var tap: ((Client, Bytes) -> Void)?
  /// How much longer than others a client's datagram is on its way.
  var lag: ((Client, Bytes) -> Duration)?
  /// The source address of a client's datagrams at the router; nil: the client's own address.
  var redirect: ((Client) -> TransportAddress)?
  /// Scheduled events, the latest first.
  private var underWay: [(at: Tick, run: () -> Void)] = []
  private let scratch = Bytes(capacity: 2048)
  /// Workers for packets and timers that are due at one time; nil: the router handles them one by one.
  private let pool: ForkJoinPool?
  private static let address = TransportAddress.loopback(port: 7000)

  init(seed: UInt64 = 1, workers: Int? = workers, _ configure: (inout RouterConfiguration) -> Void = { _ in }) throws {
    random = SeededRandom(seed: seed)
    pool = workers.map { ForkJoinPool(workers: $0) }
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [Self.address])
    configure(&configuration)
    router = Router(configuration: configuration, random: random.fork(), now: now)
    host = SignalingHost(
      router: router,
      configuration: .init(resumeGrace: configuration.limits.resumeGrace, pacesPages: configuration.pacesPages))
  }

  func makeClient(port: UInt16? = nil, trace: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil) throws -> Client {
    let number = clients.count
    var configuration = PeerConfiguration(role: .client, certificate: try Certificate.shared())
    configuration.tracesPlaintext = trace
    let peer = try Peer(configuration: configuration, random: random.fork(), now: now)
    let client = Client(
      number: number, address: .loopback(port: port ?? UInt16(20_000 + number)), peer: peer, random: random.fork(),
      world: self)
    clients.append(client)
    host.open(client.connection, at: now)
    return client
  }

  /// Makes clients with these names that have joined one room. Returns once the media of each is connected.
  func joined(_ names: String..., room: String = "room") throws -> [Client] {
    let clients = try names.map { name in
      let client = try makeClient()
      client.join(room, as: name)
      return client
    }
    run(.milliseconds(300))
    for client in clients { try #require(client.isConnected) }
    return clients
  }

  // MARK: Time

  func after(_ wait: Duration, _ run: @escaping () -> Void) {
    var (low, high) = (0, underWay.count)
    while low < high {
      let middle = (low + high) / 2
      if underWay[middle].at > now + wait { low = middle + 1 } else { high = middle }
    }
    underWay.insert((now + wait, run), at: low)
  }

  /// Calls `body` with 0, 1, 2, … once per interval.
  func every(_ interval: Duration, times: Int, _ body: @escaping (Int) -> Void) {
    for step in 0..<times { after(interval * step) { body(step) } }
  }

  func run(_ time: Duration) {
    let end = now + time
    while true {
      drain()
      var next = router.deadline.sooner(host.deadline)
      for client in clients { next = next.sooner(client.peer.deadline).sooner(client.wayDown?.deadline) }
      next = next.sooner(underWay.last?.at)
      guard let next, next <= end else { break }
      now = max(now, next)
      while let first = underWay.last, first.at <= now {
        underWay.removeLast()
        first.run()
        if pool == nil { drain() }
      }
      drain()
      for client in clients {
        while let (datagram, sent) = client.wayDown?.pop(at: now) {
          client.passages.append((sent, now - sent, datagram.count + 28))
          client.peer.handle(datagram, from: Self.address, to: client.address, at: now)
          drain()
        }
      }
      host.handleTimeout(at: now)
      router.handleTimeout(by: pool, at: now)
      for client in clients { client.peer.handleTimeout(at: now) }
      drain()
      guard keepsDeadlineLaw() else { return }
    }
    now = end
    drain()
  }

  /// Records an issue where the law is broken: to go on would be to spin.
  private func keepsDeadlineLaw() -> Bool {
    var violations = [
      DeadlineLaw.check("Router", deadline: router.deadline, at: now, because: router.deadlineReason)
    ]
    for peer in clients.map(\.peer) {
      violations.append(
        DeadlineLaw.check("Peer", deadline: peer.deadline, at: now, because: peer.deadlineReason))
    }
    for violation in violations.compactMap(\.self) { Issue.record("\(violation)") }
    return violations.allSatisfy { $0 == nil }
  }

  // MARK: Packets and messages

  /// Hands the router a datagram that no client sent.
  func inject(_ bytes: some Collection<UInt8>, from source: TransportAddress) {
    worker(Bytes(bytes), from: source, to: Self.address)
    drain()
  }

  private func worker(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress) {
    if pool == nil {
      router.handle(datagram, from: source, to: destination, at: now)
    } else {
      router.store(datagram, from: source, to: destination, at: now)
    }
  }

  private func pollByPool(_ pool: ForkJoinPool) -> Bool {
    let sent = Lock<[(transmit: Transmit, datagram: Bytes)]>([])
    router.poll(by: pool, at: now) { departure, _ in
      let scratch = Bytes(capacity: 2048)
      while let transmit = departure.poll(into: scratch.writable) {
        let datagram = Bytes(scratch.writable[..<transmit.count])
        sent.withLock { $0.append((transmit, datagram)) }
      }
    }
    let all = sent.withLock { $0 }
    for (transmit, datagram) in all { passDown(transmit, datagram) }
    return !all.isEmpty
  }

  private func passDown(_ transmit: Transmit, _ datagram: Bytes) {
    if let client = clients.first(where: { $0.address == transmit.destination }), client.wayDown != nil {
      client.wayDown?.push(datagram, tag: now, at: now)
      return
    }
    send(datagram) { [weak self] datagram in
      guard let self, let client = self.clients.first(where: { $0.address == transmit.destination }) else { return }
      client.received += 1
      client.peer.handle(datagram, from: transmit.source, to: transmit.destination, at: self.now)
    }
  }

  func drain() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      router.handleArrivals(by: pool, at: now)
      while let outgoing = host.pollMessage(at: now), let message = outgoing.message.message {
        let connection = outgoing.connection
        isQuiet = false
        clients.first { $0.connection == connection }?.receive(message)
      }
      if let pool {
        if pollByPool(pool) { isQuiet = false }
      } else {
        while let transmit = router.poll(into: scratch.writable, at: now) {
          isQuiet = false
          passDown(transmit, Bytes(scratch.writable[..<transmit.count]))
        }
      }
      for client in clients {
        client.handleEvents()
        while let transmit = client.peer.poll(into: scratch.writable, at: now) {
          isQuiet = false
          guard !client.isUnplugged else { continue }
          tap?(client, Bytes(scratch.writable[..<transmit.count]))
          let source = redirect?(client) ?? transmit.source
          let datagram = Bytes(scratch.writable[..<transmit.count])
          send(datagram, lag: lag?(client, datagram) ?? .zero) { [weak self] datagram in
            guard let self else { return }
            self.worker(datagram, from: source, to: transmit.destination)
          }
        }
      }
    }
  }

  private func send(_ datagram: Bytes, lag: Duration = .zero, _ deliver: @escaping (Bytes) -> Void) {
    if Double.random(in: 0..<1, using: &random) < loss {
      lost += 1
      return
    }
    after(delay + lag) { deliver(datagram) }
  }

  @discardableResult
  func execute(_ command: RoomCommand, reason: String? = nil) -> Result<RoomAnswer, RoomControlError> {
    defer { drain() }
    return router.execute(RoomRequest(command, by: CommandOrigin(.test, "world"), reason: reason), at: now)
  }

  func send(_ message: ClientMessage, from client: Client) {
    do {
      let read = try message.json().withUnsafeBytes { try ClientMessage(json: $0) }
      host.receive(read, on: client.connection, at: now)
      drain()
    } catch {
      Issue.record("\(message): \(error)")
    }
  }
}
