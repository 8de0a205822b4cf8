import KoineBase
import KoineRTP
import KoineSimulatedNetwork
import Testing

@testable import KoineTransport

/// Two peers on virtual ticks, joined by links that lose, delay and disorder datagrams from a seed.
final class PeerPair {
  struct Link {
    var loss = 0.0
    var delay = Duration.milliseconds(5)
    var jitter = Duration.zero
  }

  private(set) var now = Tick(nanoseconds: 1_000_000_000)
  let client: Peer
  let server: Peer
  var link: Link
  var clientEvents: [PeerEvent] = []
  var serverEvents: [PeerEvent] = []
  /// Runs on every datagram before it is lost or delayed; for tests that tamper.
  var tamper: (Bytes) -> Void = { _ in }
  private var random: SeededRandom
  /// In the place of `link`, where a test gives a network: towards the server, and back.
  private var ways: [LinkConditioner<Tick>] = []
  /// Of the datagrams that the network has brought to the server: when they were sent, how long they took, their sizes.
  private(set) var passages: [(sent: Tick, delay: Duration, size: Int)] = []
  private var flying: [(arrival: Tick, order: Int, toServer: Bool, datagram: Bytes)] = []
  private var order = 0
  let clientAddress: TransportAddress
  let serverAddress: TransportAddress

  /// - Parameter seed: of the links' random decisions.
  init(link: Link = Link(), host: String = "10.0.0.", seed: UInt64 = 7) throws {
    self.link = link
    random = SeededRandom(seed: seed)
    guard let one = SocketAddress(host + "1", port: 5000), let two = SocketAddress(host + "2", port: 6000) else {
      throw RTPError.malformed
    }
    (clientAddress, serverAddress) = (TransportAddress(udp: one), TransportAddress(udp: two))
    let certificate = try Certificate.shared()
    client = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: certificate), random: SeededRandom(seed: 1), now: now
    )
    server = try Peer(
      configuration: PeerConfiguration(role: .server, certificate: certificate), random: SeededRandom(seed: 2), now: now
    )
    client.addLocalAddress(clientAddress)
    server.addLocalAddress(serverAddress)
    server.setRemote(client.localDescription, at: now)
    client.setRemote(server.localDescription, at: now)
  }

  /// - Parameter network: a `NetworkSpec` towards the server; `back` is the one towards the client.
  static func connected(network: String, back: String, seed: UInt64 = 7) throws -> PeerPair {
    let pair = try PeerPair(seed: seed)
    pair.ways = try [network, back].enumerated().map { way, text in
      LinkConditioner(spec: try NetworkSpec(text), seed: seed * 2 + UInt64(way), start: pair.now)
    }
    pair.run(for: .seconds(3)) { pair.client.isConnected && pair.server.isConnected }
    return pair
  }

  static func connected(link: Link = Link(), seed: UInt64 = 7) throws -> PeerPair {
    let pair = try PeerPair(link: link, seed: seed)
    pair.run(for: .seconds(3)) { pair.client.isConnected && pair.server.isConnected }
    return pair
  }

  /// Runs until `condition` holds, at most for `duration`.
  func run(for duration: Duration, until condition: () -> Bool = { false }) {
    let end = now + duration
    drain()
    while now < end, !condition() {
      var next = flying.map(\.arrival).min().sooner(client.deadline).sooner(server.deadline) ?? end
      for way in ways { next = min(next, way.deadline ?? next) }
      now = min(max(next, now + .microseconds(10)), end)
      deliver()
      drain()
      for peer in [client, server] { wake(peer) }
    }
  }

  private func wake(_ peer: Peer) {
    guard let due = peer.deadline, due <= now else { return }
    peer.handleTimeout(at: now)
    drain()
    let violation = DeadlineLaw.check("Peer", deadline: peer.deadline, at: now, because: peer.deadlineReason)
    if let violation { Issue.record("\(violation)") }
  }

  private func deliver() {
    let due = flying.filter { $0.arrival <= now }.sorted { ($0.arrival, $0.order) < ($1.arrival, $1.order) }
    flying.removeAll { $0.arrival <= now }
    if !ways.isEmpty {
      while let (datagram, sent) = ways[0].pop(at: now) {
        passages.append((sent, now - sent, datagram.count + 28))
        server.handle(datagram, from: clientAddress, to: serverAddress, at: now)
      }
      while let (datagram, _) = ways[1].pop(at: now) {
        client.handle(datagram, from: serverAddress, to: clientAddress, at: now)
      }
    }
    for item in due {
      if item.toServer {
        server.handle(item.datagram, from: clientAddress, to: serverAddress, at: now)
      } else {
        client.handle(item.datagram, from: serverAddress, to: clientAddress, at: now)
      }
    }
  }

  func drain() {
    for (peer, toServer) in [(client, true), (server, false)] {
      let buffer = Bytes(capacity: 1_600)
      while let transmit = peer.poll(into: buffer.writable, at: now) {
        let datagram = Bytes(capacity: 1_600)
        datagram.append(UnsafeRawBufferPointer(rebasing: buffer.writable[..<transmit.count]))
        tamper(datagram)
        guard ways.isEmpty else {
          ways[toServer ? 0 : 1].push(datagram, tag: now, at: now)
          continue
        }
        if Double.random(in: 0..<1, using: &random) < link.loss { continue }
        let jitter = link.jitter * Double.random(in: 0..<1, using: &random)
        order += 1
        flying.append((now + link.delay + jitter, order, toServer, datagram))
      }
    }
    while let event = client.pollEvent() { clientEvents.append(event) }
    while let event = server.pollEvent() { serverEvents.append(event) }
  }

  func inject(_ bytes: [UInt8], toServer: Bool) {
    order += 1
    flying.append((now, order, toServer, Bytes(bytes)))
  }
}
