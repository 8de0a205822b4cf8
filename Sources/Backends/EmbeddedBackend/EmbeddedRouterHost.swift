import Koine
import KoineAdmissions
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineSimulatedNetwork
import KoineTransport

/// A router, and the other ends of all clients that are connected to it, on the clients' network loop.
///
/// Clients and router share a thread and nothing else: everything that one sends the other crosses the link as datagrams,
/// signalling too, and suffers what the link does to them.
///
/// `@unchecked Sendable`: used on the loop only, except what says otherwise.
final class EmbeddedRouterHost: ClientTransports, @unchecked Sendable {
  /// Owns this.
  unowned let clients: ClientLoop
  let loop: any NetworkLoop
  var network: NetworkSpec?
  var participantLimit: Int?
  let refusals = Refusals()
  private let authorization: Authorization
  /// Looked at with each question and event, so that it acts on a router that is open already.
  let controlPlane = Lock<EmbeddedBackend.ControlPlane?>(nil)
  /// Co-located services, in the order in which they were added.
  let attendants = Lock<[(kind: String, service: RoomService)]>([])
  private let trace: EmbeddedBackend.Trace?
  private var random: SeededRandom
  var signaling: SignalingHost?
  private var address = TransportAddress.loopback()
  /// The clients of connections.
  private var owners: [ConnectionID: Int] = [:]
  private let datagram = Bytes(capacity: 2_048)

  init(
    _ clients: ClientLoop, network: NetworkSpec?, random: SeededRandom, trace: EmbeddedBackend.Trace?,
    authorization: Authorization
  ) {
    (self.clients, loop) = (clients, clients.loop)
    self.network = network
    self.random = random
    self.trace = trace
    self.authorization = authorization
  }

  /// From any thread, while the backend's object exists.
  func post(_ work: @escaping @Sendable (EmbeddedRouterHost) -> Void) {
    loop.post { [self, clients] in
      work(self)
      clients.endTurn(at: loop.now)
    }
  }

  var router: Router? { signaling?.router }

  // MARK: Connections

  func makeTransport(for client: ClientDescription, at now: Tick) throws -> any ClientTransport {
    try openRouter(at: now)
    let address = try loop.open()
    func conditioner(_ seed: Int) -> LinkConditioner<SimulatedLinkEnd.Route>? {
      client.isInside ? nil : network.map { LinkConditioner(spec: $0, seed: UInt64(seed), start: now) }
    }
    return EmbeddedTransport(
      client.number, names: client.names, addresses: (address, self.address), host: self,
      ends: (SimulatedLinkEnd(conditioner(client.number * 2)), SimulatedLinkEnd(conditioner(client.number * 2 + 1))))
  }

  /// A connection for a client's signalling, which both ends have the key of.
  /// - Parameter isFirst: the first connection has the client's own number.
  func openConnection(of number: Int, isFirst: Bool, at now: Tick) -> (id: ConnectionID, key: [UInt8]) {
    let id = ConnectionID(isFirst ? number : clients.takeNumber())
    let key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    owners[id] = number
    signaling?.open(id, at: now)
    return (id, key)
  }

  func receive(_ message: [UInt8], on connection: ConnectionID, at now: Tick) {
    switch message.withUnsafeBytes(ClientMessage.reading) {
    case .success(let message): signaling?.receive(message, on: connection, at: now)
    case .failure(let unreadable): signaling?.receive(unreadable, on: connection)
    }
  }

  func connectionLost(_ connection: ConnectionID, at now: Tick) {
    owners[connection] = nil
    signaling?.connectionLost(connection, at: now)
  }

  func close(_ connection: ConnectionID, at now: Tick) {
    owners[connection] = nil
    signaling?.close(connection, at: now)
  }

  private func transport(_ number: Int) -> EmbeddedTransport? { clients.transport(number) as? EmbeddedTransport }

  /// In the order of their numbers.
  var transports: [EmbeddedTransport] { clients.all.compactMap { $0.transport as? EmbeddedTransport } }

  // MARK: The router's life: from the first client to the last

  private func openRouter(at now: Tick) throws {
    guard signaling == nil else { return }
    address = try loop.open()
    signaling = try makeRouter(at: now)
  }

  private func makeRouter(at now: Tick) throws -> SignalingHost {
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [address])
    configuration.authorization = controlPlane.authorization(after: authorization)
    configuration.admission = refusals.policy
    controlPlane.hooks.apply(to: &configuration)
    configuration.attendant = attendant
    if let participantLimit { configuration.limits.participants = participantLimit }
    if let trace { configuration.tracesPlaintext = { trace("router", $0) } }
    return SignalingHost(
      router: Router(configuration: configuration, random: random.fork(), now: now),
      configuration: .init(resumeGrace: configuration.limits.resumeGrace))
  }

  /// The router loses its memory; clients find out by the resets of their connections.
  func restart(at now: Tick) {
    guard signaling != nil, let new = try? makeRouter(at: now) else { return }
    signaling = new
    owners = [:]
    for transport in transports { transport.resetConnections(at: now) }
  }

  func rest() {
    signaling = nil
    owners = [:]
    loop.close(address)
  }

  /// For tests: the number of entries in each table; once every client has left there is nothing but an idle host.
  var holdings: [String: Int] {
    ["owners": owners.count].merging(clients.holdings) { $0 + $1 }.merging(signaling?.holdings ?? [:]) { $0 + $1 }
      .merging(router?.holdings ?? [:]) { $0 + $1 }
  }

  /// Time has ended.
  func dissolve() {
    (signaling, owners) = (nil, [:])
    let gone = attendants.withLock { attendants in
      defer { attendants = [] }
      return attendants
    }
    withExtendedLifetime(gone) {}  // let go of outside the lock
  }

  // MARK: Datagrams and time

  func receive(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) -> Bool
  {
    guard destination == address else { return false }
    let transport = clients.number(at: source).flatMap(transport)
    if datagram.readable.first != SignalStream.firstByte {
      // The reset that a restart sends may be lost: each datagram gets another one until the client has a new connection.
      transport?.resetIfUnknown(at: now)
      router?.handle(datagram, from: source, to: destination, at: now)
    } else if let transport {
      clients.touch(transport.number)
      transport.receiveAtRouter(datagram.readable, at: now)
    }
    return true
  }

  func handleTimeout(at now: Tick) {
    signaling?.handleTimeout(at: now)
    router?.handleTimeout(at: now)
  }

  var deadline: Tick? { (router?.deadline).sooner(signaling?.deadline) }

  var deadlineReason: String {
    deadline == router?.deadline ? router?.deadlineReason ?? "none" : "end of a lost connection"
  }

  func poll(at now: Tick) {
    while let outgoing = signaling?.pollMessage(at: now) {
      guard let transport = owners[outgoing.connection].flatMap(transport) else { continue }
      clients.touch(transport.number)
      if let json = outgoing.message.json { transport.sendFromRouter(json, on: outgoing.connection) }
    }
    while signaling?.pollEvent() != nil {}  // a stream that its client has left falls silent, and breaks
    while let transmit = router?.poll(into: datagram.writable, at: now) {
      guard let transport = clients.number(at: transmit.destination).flatMap(transport) else { continue }
      clients.touch(transport.number)
      transport.routerEnd.emit(
        UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]),
        (transmit.source, transmit.destination), over: loop, at: now)
    }
  }
}
