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

/// A router and everybody who is connected to it, on one network loop.
///
/// Participants and the router share a thread and nothing else: whatever one tells the other crosses the link as
/// datagrams, signalling too, and suffers what the link does to them.
///
/// `@unchecked Sendable`: touched on the loop only, but for `connect`, which posts.
final class Hub: LinkHost, NetworkLoopClient, @unchecked Sendable {
  let loop: any NetworkLoop
  var network: NetworkSpec?
  var participantLimit: Int?
  let refusals = Refusals()
  private let authorization: Authorization
  let attendant = Lock<Attendant?>(nil)
  private let trace: EmbeddedBackend.Trace?
  private var random: SeededRandom
  var signaling: SignalingHost?
  var routerAddress = TransportAddress.loopback()
  var clients: [Int: ClientDoor] = [:]
  var doors: [Int: RouterDoor] = [:]
  var numbers: [TransportAddress: Int] = [:]
  /// Whose connection it is.
  var owners: [ConnectionID: Int] = [:]
  /// Whose ends have something to do at the end of the turn: with many people a turn concerns few of them.
  var touched: Set<Int> = []
  /// When each wants to be looked at again.
  private var dues: [Int: Tick] = [:]
  private let datagram = Bytes(capacity: 2_048)
  private let nextNumber = Lock(0)

  init(
    network: NetworkSpec?, random: SeededRandom, trace: EmbeddedBackend.Trace?, authorization: Authorization,
    makeLoop: (@escaping @Sendable () -> (any NetworkLoopClient)?) -> any NetworkLoop
  ) {
    self.network = network
    self.random = random
    self.trace = trace
    self.authorization = authorization
    let this = Lock<WeakHub>(WeakHub())
    loop = makeLoop { this.withLock { $0.hub } }
    this.withLock { $0.hub = self }
  }

  private struct WeakHub { weak var hub: Hub? }

  // MARK: From sessions

  /// - Parameter isInside: whether it is where the router is, with no network between.
  func connect(_ request: JoinRequest, receiver: any LinkReceiver, isInside: Bool = false) -> RoomLink {
    let link = RoomLink(number: takeNumber(), host: self)
    loop.post { [self] in
      let names: Set = [request.participantID ?? request.name, request.name]
      let refusal = admit(link.number, names: isInside ? [] : names, isInside: isInside) { address, now in
        try ParticipantEnd(
          link: link, request: request, receiver: receiver, addresses: [address], random: random.fork(), now: now,
          trace: trace)
      }
      if let refusal {
        receiver.linkDidChange(.ended(.refused(refusal)))
        link.close()
      }
    }
    return link
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> RoomEndpointLink {
    let link = RoomEndpointLink(number: takeNumber(), host: self)
    loop.post { [self] in
      let refusal = admit(link.number, names: [request.identity]) { _, _ in
        EndpointEnd(request, receiver: receiver, random: random.fork())
      }
      if let refusal { receiver.endpointDidChange(.ended(.refused(refusal))) }
    }
    return link
  }

  private func takeNumber() -> Int {
    nextNumber.withLock { number in
      number += 1
      return number
    }
  }

  /// An endpoint says something.
  func say(_ message: ClientMessage, from number: Int) {
    loop.post { [self] in
      (clients[number]?.end as? EndpointEnd)?.say(message, at: loop.now)
      touched.insert(number)
      endTurn(at: loop.now)
    }
  }

  /// An endpoint goes; the router finds its connection closed.
  func dismiss(_ number: Int) {
    loop.post { [self] in
      clients[number]?.end.end(.left)
      touched.insert(number)
      endTurn(at: loop.now)
    }
  }

  /// - Returns: why it could not be done.
  private func admit(
    _ number: Int, names: Set<String>, isInside: Bool = false,
    make: (_ address: TransportAddress, _ now: Tick) throws -> ClientEnd
  ) -> Failure? {
    let now = loop.now
    defer { endTurn(at: now) }
    do {
      try openRouter(at: now)
      let address = try loop.open()
      let client = ClientDoor(
        try make(address, now), names: names, address: address,
        conditioner: isInside ? nil : conditioner(UInt64(number) * 2, at: now))
      clients[number] = client
      doors[number] = RouterDoor(conditioner: isInside ? nil : conditioner(UInt64(number) * 2 + 1, at: now))
      numbers[address] = number
      try connect(number, client, ConnectionID(number), at: now)
      return nil
    } catch {
      return Failure(.unreachable, "the embedded router cannot be reached: \(error)")
    }
  }

  /// Makes a connection for the client's signalling: both ends get a key in memory, everything else crosses the link.
  private func connect(_ number: Int, _ client: ClientDoor, _ line: ConnectionID, at now: Tick) throws {
    touched.insert(number)
    let key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    try client.connect(line, key: key, at: now)
    guard let door = doors[number] else { return }
    door.newest = line
    door.lines.append(
      RouterDoor.Line(
        id: line, address: client.address, stream: try SignalStream(key: key, end: .router, now: now)))
    owners[line] = number
    signaling?.open(line, at: now)
  }

  private func reconnectThoseWhoWant(at now: Tick) {
    for number in touched.sorted() {
      guard let client = clients[number], client.end.takeConnectionRequest(at: now) else { continue }
      do { try connect(number, client, ConnectionID(takeNumber()), at: now) } catch {
        client.end.connectionLost(at: now)
      }
    }
  }

  private func conditioner(_ seed: UInt64, at now: Tick) -> LinkConditioner<LinkEnd.Way>? {
    network.map { LinkConditioner(spec: $0, seed: seed, start: now) }
  }

  func hasOrders(_ number: Int) {
    loop.post { [self] in
      guard let client = clients[number] else { return }
      let now = loop.now
      client.end.carryOutOrders(at: now)
      touched.insert(number)
      endTurn(at: now)
    }
  }

  // MARK: The router's life: from the first participant to the last

  var router: Router? { signaling?.router }

  private func openRouter(at now: Tick) throws {
    guard signaling == nil else { return }
    routerAddress = try loop.open()
    signaling = try makeRouter(at: now)
  }

  func makeRouter(at now: Tick) throws -> SignalingHost {
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [routerAddress])
    configuration.authorization = refusals.before(authorization)
    configuration.attendant = attendant.withLock { $0 }
    if let participantLimit { configuration.limits.participants = participantLimit }
    if let trace { configuration.tracesPlaintext = { trace("router", $0) } }
    return SignalingHost(
      router: Router(configuration: configuration, random: random.fork(), now: now),
      configuration: .init(resumeGrace: configuration.limits.resumeGrace))
  }

  private func remove(_ number: Int, at now: Tick) {
    guard let client = clients.removeValue(forKey: number) else { return }
    numbers[client.address] = nil
    dues[number] = nil
    loop.close(client.address)
    for line in doors.removeValue(forKey: number)?.lines ?? [] {
      owners[line.id] = nil
      signaling?.close(line.id, at: now)
    }
    guard clients.isEmpty else { return }
    signaling = nil
    loop.close(routerAddress)
  }

  /// For tests: what is kept for whom, by name. Once everybody has left there is nothing but a waiting hub.
  var holdings: [String: Int] {
    let own = [
      "clients": clients.count, "doors": doors.count, "client addresses": numbers.count, "owners": owners.count,
      "deadlines": dues.count, "touched": touched.count,
    ]
    return own.merging(router?.holdings ?? [:]) { $1 }.merging(signaling?.holdings ?? [:]) { $1 }
  }

  /// Time has ended: lets go of everybody without a word, who hold this by their links.
  func dissolve() {
    (signaling, clients, doors, numbers, owners) = (nil, [:], [:], [:], [:])
    (dues, touched) = ([:], [])
    let gone = attendant.withLock { attendant in
      defer { attendant = nil }
      return attendant
    }
    withExtendedLifetime(gone) {}  // let go of outside the lock
  }

  // MARK: Datagrams and time

  func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) {
    let isSignalling = datagram.readable.first == SignalStream.firstByte
    if destination == routerAddress {
      if !isSignalling {
        resetIfUnknown(source, at: now)
        router?.handle(datagram, from: source, to: destination, at: now)
      } else if let number = numbers[source] {
        touched.insert(number)
        guard let door = doors[number] else { return }
        if door.lines.isEmpty { door.reset((destination, source), over: loop, at: now) }
        for line in door.lines {
          line.stream.handle(datagram.readable, at: now)
          readMessages(of: line, at: now)
        }
      }
    } else if let number = numbers[destination], let client = clients[number] {
      touched.insert(number)
      if isSignalling {
        guard source == routerAddress else { return }
        client.handleSignalling(datagram.readable, at: now)
      } else {
        client.end.handle(datagram, from: source, to: destination, at: now)
      }
    }
  }

  /// The reset that a restart sends may be lost: each datagram of the client gets another one until it has a new connection.
  private func resetIfUnknown(_ source: TransportAddress, at now: Tick) {
    guard let number = numbers[source], let door = doors[number], door.lines.isEmpty else { return }
    touched.insert(number)
    door.reset((routerAddress, source), over: loop, at: now)
  }

  private func readMessages(of line: RouterDoor.Line, at now: Tick) {
    while let bytes = line.stream.pollMessage() {
      switch bytes.withUnsafeBytes(ClientMessage.reading) {
      case .success(let message): signaling?.receive(message, on: line.id, at: now)
      case .failure(let unreadable): signaling?.receive(unreadable, on: line.id)
      }
    }
  }

  func handleTimeout(at now: Tick) {
    signaling?.handleTimeout(at: now)
    router?.handleTimeout(at: now)
    let due = dues.filter { $0.value <= now }.keys.sorted()
    for door in due.compactMap({ doors[$0] }) {
      for line in door.lines {
        line.stream.handleTimeout(at: now)
        guard line.stream.isBroken else { continue }
        owners[line.id] = nil
        signaling?.connectionLost(line.id, at: now)
      }
      door.lines.removeAll { $0.stream.isBroken }
    }
    for client in due.compactMap({ clients[$0] }) { client.handleTimeout(at: now) }
    touched.formUnion(due)
    endTurn(at: now)
    DeadlineLaw.check("Hub", deadline: deadline, at: now, because: deadlineReason)
  }

  private var deadline: Tick? {
    dues.values.reduce((router?.deadline).sooner(signaling?.deadline)) { $0.sooner($1) }
  }

  /// What `deadline` waits for.
  var deadlineReason: String {
    guard let due = dues.min(by: { $0.value < $1.value }), deadline == due.value, let client = clients[due.key] else {
      return deadline == router?.deadline ? router?.deadlineReason ?? "none" : "end of a lost connection"
    }
    return client.end.deadline == due.value ? client.end.deadlineReason : "signalling stream or simulated link"
  }

  /// Lets out everything that has become due, and finds out when to wake.
  func endTurn(at now: Tick) {
    reconnectThoseWhoWant(at: now)
    while let outgoing = signaling?.pollMessage(at: now) {
      let id = outgoing.connection
      guard let number = owners[id], let line = doors[number]?.lines.last(where: { $0.id == id }) else { continue }
      touched.insert(number)
      if let json = outgoing.message.json { line.stream.send(json) }
    }
    while signaling?.pollEvent() != nil {}  // a stream that its client has left falls silent, and breaks
    while let transmit = router?.poll(into: datagram.writable, at: now) {
      guard let number = numbers[transmit.destination] else { continue }
      touched.insert(number)
      doors[number]?.emit(written(transmit.count), (transmit.source, transmit.destination), over: loop, at: now)
    }
    let concerned = touched.sorted()
    touched.removeAll(keepingCapacity: true)
    for number in concerned {
      guard let client = clients[number] else { continue }
      drain(client, doors[number], at: now)
      dues[number] = client.deadline.sooner(doors[number]?.deadline)
    }
    let gone = concerned.filter { clients[$0]?.end.isOver == true }
    for number in gone { remove(number, at: now) }
    if !gone.isEmpty { return endTurn(at: now) }  // the router has told others of it
    loop.flush()
    loop.wake(at: deadline)
    if clients.isEmpty { loop.rest() }
  }

  private func drain(_ client: ClientDoor, _ door: RouterDoor?, at now: Tick) {
    client.takeMessages()
    while let count = client.stream?.poll(into: datagram.writable, at: now) {
      client.emit(written(count), (client.address, routerAddress), over: loop, at: now)
    }
    while let transmit = client.end.poll(into: datagram.writable, at: now) {
      client.emit(written(transmit.count), (transmit.source, transmit.destination), over: loop, at: now)
    }
    client.release(over: loop, at: now)
    guard let door else { return }
    for line in door.lines {
      while let count = line.stream.poll(into: datagram.writable, at: now) {
        door.emit(written(count), (routerAddress, line.address), over: loop, at: now)
      }
    }
    door.release(over: loop, at: now)
  }

  private func written(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: datagram.writable[..<count])
  }
}
