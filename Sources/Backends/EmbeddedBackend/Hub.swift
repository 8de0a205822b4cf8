import Koine
import KoineAdmissions
import KoineBase
import KoineRoomClient
import KoineRouter
import KoineSignaling
import KoineSimulatedNetwork
import KoineTransport

/// A router and everybody who is connected to it, on one network loop.
///
/// Participants and the router share a thread and nothing else: whatever one tells the other crosses the link as
/// datagrams, signalling too, and suffers what the link does to them.
///
/// `@unchecked Sendable`: touched on the loop only, but for `connect`, which posts.
final class Hub: LinkHost, @unchecked Sendable {
  let loop: any NetworkLoop
  private let network: NetworkSpec?
  private let trace: EmbeddedBackend.Trace?
  private var random: SeededRandom
  private var router: Router?
  private var routerAddress = SocketAddress.loopback()
  private var clients: [Int: ClientDoor] = [:]
  private var doors: [Int: RouterDoor] = [:]
  private var numbers: [SocketAddress: Int] = [:]
  private let datagram = Bytes(capacity: 2_048)
  private let nextNumber = Lock(0)

  init(
    network: NetworkSpec?, random: SeededRandom, trace: EmbeddedBackend.Trace?,
    makeLoop: (@escaping @Sendable () -> Hub?) -> any NetworkLoop
  ) {
    self.network = network
    self.random = random
    self.trace = trace
    let this = Lock<WeakHub>(WeakHub())
    loop = makeLoop { this.withLock { $0.hub } }
    this.withLock { $0.hub = self }
  }

  private struct WeakHub { weak var hub: Hub? }

  // MARK: From sessions

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> RoomLink {
    let link = RoomLink(number: takeNumber(), host: self)
    loop.post { [self] in
      let refusal = admit(link.number) { address, now in
        try ParticipantEnd(
          link: link, request: request, receiver: receiver, addresses: [address], random: random.fork(), now: now,
          trace: trace)
      }
      if let refusal { receiver.linkDidChange(.ended(.refused(refusal))) }
    }
    return link
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> RoomEndpointLink {
    let link = RoomEndpointLink(number: takeNumber(), host: self)
    loop.post { [self] in
      let refusal = admit(link.number) { _, _ in EndpointEnd(request, receiver: receiver) }
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
      clients[number]?.end.send(message)
      endTurn(at: loop.now)
    }
  }

  /// An endpoint goes; the router finds its connection closed.
  func dismiss(_ number: Int) {
    loop.post { [self] in
      clients[number]?.end.end(.left)
      endTurn(at: loop.now)
    }
  }

  /// - Returns: why it could not be done.
  private func admit(
    _ number: Int, make: (_ address: SocketAddress, _ now: Tick) throws -> ClientEnd
  ) -> SessionError? {
    let now = loop.now
    defer { endTurn(at: now) }
    do {
      try openRouter(at: now)
      let address = try loop.open()
      let key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      let client = try ClientDoor(
        try make(address, now), address: address, key: key, now: now,
        conditioner: conditioner(UInt64(number) * 2, at: now))
      let door = try RouterDoor(
        address: address, key: key, now: now, conditioner: conditioner(UInt64(number) * 2 + 1, at: now))
      clients[number] = client
      doors[number] = door
      numbers[address] = number
      router?.open(ConnectionID(number), at: now)
      return nil
    } catch {
      return SessionError(.unreachable, "the embedded router cannot be reached: \(error)")
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
      endTurn(at: now)
    }
  }

  // MARK: The router's life: from the first participant to the last

  private func openRouter(at now: Tick) throws {
    guard router == nil else { return }
    routerAddress = try loop.open()
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [routerAddress])
    configuration.authorization = .embedded
    if let trace { configuration.tracesPlaintext = { trace("router", $0) } }
    router = Router(configuration: configuration, random: random.fork(), now: now)
  }

  private func remove(_ number: Int, at now: Tick) {
    guard let client = clients.removeValue(forKey: number) else { return }
    numbers[client.address] = nil
    doors[number] = nil
    loop.close(client.address)
    router?.close(ConnectionID(number), at: now)
    guard clients.isEmpty else { return }
    router = nil
    loop.close(routerAddress)
  }

  // MARK: Datagrams and time

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    let isSignalling = datagram.readable.first == SignalStream.firstByte
    if destination == routerAddress {
      if !isSignalling {
        router?.handle(datagram, from: source, to: destination, at: now)
      } else if let number = numbers[source] {
        doors[number]?.stream.handle(datagram.readable, at: now)
        readMessages(of: number, at: now)
      }
    } else if let number = numbers[destination], let client = clients[number] {
      if isSignalling {
        client.handleSignalling(datagram.readable, at: now)
      } else {
        client.end.handle(datagram, from: source, to: destination, at: now)
      }
    }
  }

  private func readMessages(of number: Int, at now: Tick) {
    while let bytes = doors[number]?.stream.pollMessage() {
      let message = bytes.withUnsafeBytes { bytes in
        Result { () throws(SignalingError) in try ClientMessage(json: bytes) }
      }
      switch message {
      case .success(let message): router?.handle(message, on: ConnectionID(number), at: now)
      case .failure(let error): router?.refuse(error, on: ConnectionID(number))
      }
    }
  }

  func handleTimeout(at now: Tick) {
    router?.handleTimeout(at: now)
    for (number, door) in doors {
      door.stream.handleTimeout(at: now)
      if door.stream.isBroken { router?.close(ConnectionID(number), at: now) }
    }
    for client in clients.values { client.handleTimeout(at: now) }
    endTurn(at: now)
  }

  /// Lets out everything that has become due, and finds out when to wake.
  func endTurn(at now: Tick) {
    while let (connection, message) = router?.pollMessage() {
      if let bytes = try? message.json() { doors[connection.value]?.stream.send(bytes) }
    }
    while let transmit = router?.poll(into: datagram.writable, at: now) {
      guard let number = numbers[transmit.destination] else { continue }
      doors[number]?.emit(written(transmit.count), (transmit.source, transmit.destination), over: loop, at: now)
    }
    for (number, client) in clients.sorted(by: { $0.key < $1.key }) {
      drain(client, doors[number], at: now)
    }
    let gone = clients.filter { $0.value.end.isOver }.keys.sorted()
    for number in gone { remove(number, at: now) }
    if !gone.isEmpty { return endTurn(at: now) }  // the router has told others of it
    loop.flush()
    loop.wake(at: deadline)
    if clients.isEmpty { loop.rest() }
  }

  private func drain(_ client: ClientDoor, _ door: RouterDoor?, at now: Tick) {
    client.takeMessages()
    while let count = client.stream.poll(into: datagram.writable, at: now) {
      client.emit(written(count), (client.address, routerAddress), over: loop, at: now)
    }
    while let transmit = client.end.poll(into: datagram.writable, at: now) {
      client.emit(written(transmit.count), (transmit.source, transmit.destination), over: loop, at: now)
    }
    client.release(over: loop, at: now)
    guard let door else { return }
    while let count = door.stream.poll(into: datagram.writable, at: now) {
      door.emit(written(count), (routerAddress, door.address), over: loop, at: now)
    }
    door.release(over: loop, at: now)
  }

  private func written(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: datagram.writable[..<count])
  }

  private var deadline: Tick? {
    var soonest = router?.deadline
    for client in clients.values { soonest = soonest.sooner(client.deadline) }
    for door in doors.values { soonest = soonest.sooner(door.deadline) }
    return soonest
  }
}
