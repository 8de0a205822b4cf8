import Koine
import KoineBase
import KoineRoomClient
import KoineSignaling
import KoineSockets
import KoineTransport

/// Everybody of this process who is connected to one server, on the process's network loop.
///
/// `@unchecked Sendable`: touched on the loop only, but for what posts.
final class ServerHub: LinkHost, UDPLoopClient, @unchecked Sendable {
  private let address: ServerAddress
  private let authorities: String?
  private let place = LoopPlace()
  private var clients: [Int: ServerClient] = [:]
  private var numbers: [TransportAddress: Int] = [:]
  private var random = SeededRandom.system()
  private let datagram = Bytes(capacity: 2_048)
  private let nextNumber = Lock(0)

  init(address: ServerAddress, authorities: String?) { (self.address, self.authorities) = (address, authorities) }

  private var now: Tick { Scheduler.real.now }

  private func post(_ work: @escaping @Sendable () -> Void) { place.post(for: self, work) }

  // MARK: From sessions, on any thread

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> RoomLink {
    let link = RoomLink(number: takeNumber(), host: self)
    post { [self] in
      let addresses = openSockets(for: link.number)
      do {
        let end = try ParticipantEnd(
          link: link, request: request, receiver: receiver, addresses: addresses, random: random.fork(), now: now)
        begin(end, number: link.number, addresses)
      } catch {
        addresses.forEach(close)
        receiver.linkDidChange(.ended(.refused(Failure(.unreachable, "no peer: \(error)"))))
        link.close()
      }
    }
    return link
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> RoomEndpointLink {
    let link = RoomEndpointLink(number: takeNumber(), host: self)
    post { [self] in begin(EndpointEnd(request, receiver: receiver, random: random.fork()), number: link.number, []) }
    return link
  }

  func hasOrders(_ number: Int) {
    post { [self] in
      let now = now
      clients[number]?.end.carryOutOrders(at: now)
      endTurn(at: now)
    }
  }

  func say(_ message: ClientMessage, from number: Int) {
    post { [self] in
      (clients[number]?.end as? EndpointEnd)?.say(message, at: now)
      endTurn(at: now)
    }
  }

  func dismiss(_ number: Int) {
    post { [self] in
      clients[number]?.end.end(.left)
      endTurn(at: now)
    }
  }

  private func takeNumber() -> Int {
    nextNumber.withLock { number in
      number += 1
      return number
    }
  }

  // MARK: Coming and going

  private func begin(_ end: ClientEnd, number: Int, _ addresses: [TransportAddress]) {
    clients[number] = ServerClient(end, addresses: addresses, at: now) { [weak self, address, authorities] attempt in
      WebSocketClient(address, authorities: authorities) { [weak self] event in
        self?.post { [weak self] in self?.take(event, attempt, of: number) }
      }
    }
    endTurn(at: now)
  }

  /// One socket for each family, on an address that the system chooses anew for every datagram: so the way out may change
  /// while the call goes on.
  private func openSockets(for number: Int) -> [TransportAddress] {
    let all = [SocketAddress(ipv4: 0, port: 0), SocketAddress(ipv6High: 0, low: 0, port: 0)]
    let addresses = all.compactMap { try? TransportAddress(udp: place.open($0)) }
    for address in addresses { numbers[address] = number }
    return addresses
  }

  private func close(_ address: TransportAddress) {
    place.close(address.socketAddress)
    numbers[address] = nil
  }

  private func take(_ event: WebSocketEvent, _ attempt: Int, of number: Int) {
    clients[number]?.take(event, of: attempt, at: now)
    endTurn(at: now)
  }

  private func remove(_ number: Int) {
    guard let client = clients.removeValue(forKey: number) else { return }
    client.close()
    client.addresses.forEach(close)
  }

  // MARK: Datagrams and time

  func handle(
    _ datagram: Bytes, from source: KoineBase.SocketAddress, to destination: KoineBase.SocketAddress, at now: Tick
  ) {
    let own = TransportAddress(udp: destination)
    guard let number = numbers[own] else { return }
    clients[number]?.end.handle(datagram, from: TransportAddress(udp: source), to: own, at: now)
  }

  func handleTimeout(at now: Tick) {
    for client in clients.values { client.end.handleTimeout(at: now) }
    endTurn(at: now)
    DeadlineLaw.check("ServerHub", deadline: soonestClient?.deadline, at: now, because: deadlineReason)
  }

  private var soonestClient: ClientEnd? {
    clients.values.map(\.end).filter { $0.deadline != nil }.min { $0.deadline ?? .zero < $1.deadline ?? .zero }
  }

  var deadlineReason: String { soonestClient?.deadlineReason ?? "none" }

  func endTurn(at now: Tick) {
    var deadline: Tick?
    for (number, client) in clients {
      client.takeTurn(at: now)
      while let transmit = client.end.poll(into: datagram.writable, at: now) {
        place.send(
          UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]), from: transmit.source.socketAddress,
          to: transmit.destination.socketAddress)
      }
      if client.end.isOver { remove(number) } else { deadline = deadline.sooner(client.end.deadline) }
    }
    place.flush()
    place.wake(at: deadline)
    if clients.isEmpty { place.rest() }
  }
}
