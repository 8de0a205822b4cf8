import Koine
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineSignalingHost
import KoineSimulatedNetwork
import KoineTransport

/// One end of a client's link to the router: the link delays, drops and reorders what this end sends.
final class SimulatedLinkEnd {
  typealias Route = (source: TransportAddress, destination: TransportAddress)

  private var conditioner: LinkConditioner<Route>?
  /// Until then nothing is sent.
  var cutUntil: Tick?
  /// Routers with which this end has no connection.
  var blocked: Set<TransportAddress> = []

  init(_ conditioner: LinkConditioner<Route>?) { self.conditioner = conditioner }

  func setNetwork(_ spec: NetworkSpec, seed: UInt64, at now: Tick) {
    if conditioner == nil {
      conditioner = LinkConditioner(spec: spec, seed: seed, start: now)
    } else {
      conditioner?.change(to: spec, at: now)
    }
  }

  /// Sends at once, or holds the datagram for its time.
  func emit(_ datagram: UnsafeRawBufferPointer, _ route: Route, over loop: any NetworkLoop, at now: Tick) {
    if let cutUntil, now < cutUntil { return }
    if blocked.contains(route.source) || blocked.contains(route.destination) { return }
    guard conditioner != nil else { return loop.send(datagram, from: route.source, to: route.destination) }
    let copy = Bytes(capacity: datagram.count)
    copy.append(datagram)
    conditioner?.push(copy, tag: route, at: now)
  }

  /// Sends the datagrams that are due.
  func release(over loop: any NetworkLoop, at now: Tick) {
    while let (datagram, route) = conditioner?.pop(at: now) {
      loop.send(datagram.readable, from: route.source, to: route.destination)
    }
  }

  var deadline: Tick? { conditioner?.deadline }
}

/// A client's link to the embedded router: media as datagrams, signalling as sealed streams of datagrams, and both ends of each.
final class EmbeddedTransport: ClientTransport {
  /// The router's end of a connection.
  private struct RouterConnection {
    let id: ConnectionID
    let node: EmbeddedNode
    let address: TransportAddress
    let stream: SignalStream
  }

  let number: Int
  /// The client's participant id and name, or its identity; none for a client that is inside with the router.
  let names: Set<String>
  weak var client: (any RoomClient)?
  private(set) var address: TransportAddress
  private let host: EmbeddedRouterHost
  let clientEnd, routerEnd: SimulatedLinkEnd
  /// The client's end of its present connection; nil while there is none.
  private var stream: SignalStream?
  /// The connection that the client has made last, whether the router still knows it or not.
  private var connection: (id: ConnectionID, node: EmbeddedNode)?
  /// The newest last. An older one stays until it has been silent for too long: the router cannot know better.
  private var routerConnections: [RouterConnection] = []
  private let datagram = Bytes(capacity: 2_048)

  init(
    _ number: Int, names: Set<String>, address: TransportAddress, host: EmbeddedRouterHost,
    ends: (client: SimulatedLinkEnd, router: SimulatedLinkEnd)
  ) {
    (self.number, self.names, self.host, self.address) = (number, names, host, address)
    (clientEnd, routerEnd) = ends
  }

  var addresses: [TransportAddress] { [address] }
  var isConnected: Bool { stream != nil }
  private var loop: any NetworkLoop { host.loop }

  // MARK: Connections

  func connect(to place: String?, at now: Tick) throws {
    let node = try host.node(at: place)
    let (id, key) = host.openConnection(of: number, at: node, isFirst: connection == nil, at: now)
    connection = (id, node)
    let (own, other) = (
      try SignalStream(key: key, end: .participant, now: now), try SignalStream(key: key, end: .router, now: now)
    )
    stream = own
    if node.name != nil { other.keepalive = .seconds(Self.nodeKeepalive) }
    routerConnections.append(RouterConnection(id: id, node: node, address: address, stream: other))
    client?.connectionMade(at: now)
  }

  /// In seconds; the shortest silence that clients wait for is longer than two of these.
  private static let nodeKeepalive = 2

  /// A node of a cluster says how long the client is to wait for it.
  private func followTimes() {
    guard connection?.node.name != nil, let stream, let times = client?.signaling.times else { return }
    (stream.keepalive, stream.silenceLimit) = (min(times.ping, .seconds(4)), times.silence)
  }

  func disconnect() { stream = nil }

  private func connectionLost(at now: Tick, because loss: SignalingClient.Loss = .broken) {
    stream = nil
    client?.connectionLost(at: now, because: loss)
  }

  /// The client gets another address, and its connection breaks.
  func move(to new: TransportAddress, at now: Tick) {
    client?.addressChanged(from: address, to: new, at: now)
    address = new
    connectionLost(at: now)
  }

  /// A router does not know the client's connections any more. It answers them as a machine closes TCP connections of a process
  /// that is gone.
  func resetConnections(to node: EmbeddedNode, at now: Tick) {
    let count = routerConnections.count
    routerConnections.removeAll { $0.node === node }
    guard routerConnections.count < count else { return }
    sendReset(from: node, at: now)
    host.clients.touch(number)
  }

  func resetIfUnknown(to node: EmbeddedNode, at now: Tick) {
    guard !routerConnections.contains(where: { $0.node === node }) else { return }
    sendReset(from: node, at: now)
    host.clients.touch(number)
  }

  /// Of the client's present connection, if that is to this router.
  private func sendReset(from node: EmbeddedNode, at now: Tick) {
    guard let connection, connection.node === node else { return }
    ConnectionReset.datagram(of: connection.id).withUnsafeBytes {
      routerEnd.emit($0, (node.address, address), over: loop, at: now)
    }
  }

  func close(at now: Tick) {
    loop.close(address)
    for connection in routerConnections {
      connection.node.owners[connection.id] = nil
      connection.node.signaling?.close(connection.id, at: now)
    }
    routerConnections = []
  }

  // MARK: The client's end

  func send(_ message: [UInt8], at now: Tick) {
    stream?.send(message)
    flushStream(at: now)
  }

  func send(
    _ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {
    clientEnd.emit(datagram, (source, destination), over: loop, at: now)
  }

  func takeSignaling(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, at now: Tick) -> Bool {
    guard datagram.first == SignalStream.firstByte else { return false }
    guard let connection, source == connection.node.address, let stream else { return true }
    if let reset = ConnectionReset.connection(datagram) {
      if reset == connection.id { connectionLost(at: now) }
      return true
    }
    stream.handle(datagram, at: now)
    while let message = stream.pollMessage() { client?.handleMessage(message, at: now) }
    return true
  }

  private func flushStream(at now: Tick) {
    guard let node = connection?.node else { return }
    while let count = stream?.poll(into: datagram.writable, at: now) {
      clientEnd.emit(written(count), (address, node.address), over: loop, at: now)
    }
  }

  // MARK: The router's end

  func receiveAtRouter(_ datagram: UnsafeRawBufferPointer, at node: EmbeddedNode, at now: Tick) {
    resetIfUnknown(to: node, at: now)
    for connection in routerConnections where connection.node === node {
      connection.stream.handle(datagram, at: now)
      deliver(from: connection, at: now)
    }
  }

  /// What comes for a frozen process waits.
  private func deliver(from connection: RouterConnection, at now: Tick) {
    while connection.node.state != .frozen, let message = connection.stream.pollMessage() {
      host.receive(message, on: connection.id, at: connection.node, at: now)
    }
  }

  /// The process goes on.
  func deliverHeld(at node: EmbeddedNode, at now: Tick) {
    for connection in routerConnections where connection.node === node { deliver(from: connection, at: now) }
    host.clients.touch(number)
  }

  func sendFromRouter(_ message: [UInt8], on connection: ConnectionID) {
    routerConnections.last { $0.id == connection }?.stream.send(message)
  }

  // MARK: Time

  func flush(at now: Tick) {
    followTimes()
    flushStream(at: now)
    clientEnd.release(over: loop, at: now)
    for connection in routerConnections where connection.node.state != .frozen {
      while let count = connection.stream.poll(into: datagram.writable, at: now) {
        routerEnd.emit(written(count), (connection.node.address, connection.address), over: loop, at: now)
      }
    }
    routerEnd.release(over: loop, at: now)
  }

  func handleTimeout(at now: Tick) {
    for connection in routerConnections where connection.node.state != .frozen {
      connection.stream.handleTimeout(at: now)
      guard connection.stream.isBroken else { continue }
      connection.node.owners[connection.id] = nil
      connection.node.signaling?.connectionLost(connection.id, at: now)
    }
    routerConnections.removeAll { $0.stream.isBroken }
    followTimes()
    stream?.handleTimeout(at: now)
    guard let stream, stream.isBroken else { return }
    connectionLost(at: now, because: connection?.node.name == nil ? .broken : .silent(stream.silenceLimit))
  }

  var deadline: Tick? {
    let own = (stream?.deadline).sooner(clientEnd.deadline).sooner(routerEnd.deadline)
    return routerConnections.reduce(own) { $1.node.state == .frozen ? $0 : $0.sooner($1.stream.deadline) }
  }

  private func written(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: datagram.writable[..<count])
  }
}

/// A datagram of its own beside those of `SignalStream`, which are longer: the first byte is theirs, then comes the connection.
enum ConnectionReset {
  private static let size = 9

  static func datagram(of connection: ConnectionID) -> [UInt8] {
    [SignalStream.firstByte] + (0..<8).map { UInt8(truncatingIfNeeded: connection.value >> (56 - 8 * $0)) }
  }

  /// - Returns: nil for a datagram that is none.
  static func connection(_ datagram: UnsafeRawBufferPointer) -> ConnectionID? {
    guard datagram.count == size else { return nil }
    return ConnectionID(datagram.dropFirst().reduce(0) { $0 << 8 | Int($1) })
  }
}
