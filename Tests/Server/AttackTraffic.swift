import Dispatch
import Foundation
import Glibc
import Koine
import KoineBase
import KoineServer
import KoineSockets
import NIOCore
import NIOPosix

/// An attacker on the path between a server and its clients' media: forwards packets, keeps some of them, and sends them
/// changed, late and replayed, from addresses that the server trusts and from others.
///
/// `@unchecked Sendable`: used on the network loop, except `kept`, which is locked, and the flood's own senders.
final class Wiretap: UDPLoopClient, @unchecked Sendable {
  /// Where clients think the server is; keeps the server's port.
  static let announced = KoineBase.SocketAddress(ipv4: 0x7F00_0002, port: 0)

  private static let memory = 512

  var deadlineReason: String { "none" }
  private let place = LoopPlace()
  private let server: KoineBase.SocketAddress
  private var front = announced
  /// Ours towards the server, by the client's, and back.
  private var ours: [KoineBase.SocketAddress: KoineBase.SocketAddress] = [:]
  private var clients: [KoineBase.SocketAddress: KoineBase.SocketAddress] = [:]
  private struct Kept {
    var datagrams: [[UInt8]] = []
    var next = 0
    var senders: [UDPSender] = []
    var isOver = false
    /// For each datagram of a client's; 0: none.
    var besideEach = 0
    var sent = 0
  }
  private let kept = Lock(Kept())

  /// - Parameter server: the server's real address.
  init(before server: KoineBase.SocketAddress) async {
    self.server = server
    await withCheckedContinuation { done in
      place.post(for: self) { [self] in
        front = (try? place.open(Self.announced.with(port: server.port))) ?? front
        for _ in 0..<2 {
          guard let stranger = try? place.open(.loopback()), let sender = place.makeSender(from: stranger) else {
            break
          }
          kept.withLock { $0.senders.append(sender) }
        }
        done.resume()
      }
    }
  }

  func handle(
    _ datagram: Bytes, from source: KoineBase.SocketAddress, to destination: KoineBase.SocketAddress, at now: Tick
  ) {
    if destination == front {
      guard let own = ours[source] ?? admit(source) else { return }
      keep(datagram)
      place.send(datagram.readable, from: own, to: server)
      let (count, datagrams, senders) = kept.withLock { ($0.besideEach, $0.datagrams, $0.senders) }
      var random = SystemRandomNumberGenerator()
      sendAttack(count, with: datagrams, from: senders, &random)
    } else if let client = clients[destination] {
      place.send(datagram.readable, from: front, to: client)
    }
  }

  private func admit(_ client: KoineBase.SocketAddress) -> KoineBase.SocketAddress? {
    guard let own = try? place.open(.loopback()), let sender = place.makeSender(from: own) else { return nil }
    ours[client] = own
    clients[own] = client
    kept.withLock { $0.senders.append(sender) }
    return own
  }

  private func keep(_ datagram: Bytes) {
    kept.withLock { kept in
      if kept.datagrams.count < Self.memory {
        kept.datagrams.append(datagram.array)
      } else {
        kept.datagrams[kept.next] = datagram.array
        kept.next = (kept.next + 1) % Self.memory
      }
    }
  }

  func handleTimeout(at now: Tick) {}
  func endTurn(at now: Tick) { place.flush() }

  // MARK: The flood

  /// - Parameter atLineRate: as fast as one core can, on a thread of its own; otherwise fifty datagrams with each datagram of
  /// a client, some thousand a second, which leaves time for other tests on the machine.
  func flood(atLineRate: Bool) {
    guard atLineRate else { return kept.withLock { $0.besideEach = 50 } }
    Thread.detachNewThread { [self] in
      var random = SystemRandomNumberGenerator()
      while true {
        let (isOver, datagrams, senders) = kept.withLock { ($0.isOver, $0.datagrams, $0.senders) }
        if isOver { return }
        for _ in 0..<64 { sendAttack(16, with: datagrams, from: senders, &random) }
      }
    }
  }

  private func sendAttack(
    _ count: Int, with datagrams: [[UInt8]], from senders: [UDPSender], _ random: inout SystemRandomNumberGenerator
  ) {
    guard count > 0, let sender = senders.randomElement(using: &random) else { return }
    for _ in 0..<count {
      let datagram = Self.attackDatagram(datagrams, &random)
      datagram.withUnsafeBytes { sender.send($0, to: server) }
    }
    sender.flush()
    kept.withLock { $0.sent += count }
  }

  /// Random bytes, or a recorded datagram: unchanged and late, truncated, or changed.
  private static func attackDatagram(_ heard: [[UInt8]], _ random: inout SystemRandomNumberGenerator) -> [UInt8] {
    let kind = Int.random(in: 0..<4, using: &random)
    guard kind > 0, var datagram = heard.randomElement(using: &random) else {
      var noise = [UInt8](
        repeating: UInt8.random(in: .min ... .max, using: &random), count: 1 + Int(random.next() % 1_400))
      // STUN, DTLS, RTP, RTCP, and what is none of them.
      noise[0] = [0, 1, 22, 23, 128, 144, 192, 255][Int(random.next() % 8)]
      return noise
    }
    switch kind {
    case 1: return datagram
    case 2: return Array(datagram.prefix(Int.random(in: 1...datagram.count, using: &random)))
    default:
      for _ in 0..<4 { datagram[Int.random(in: datagram.indices, using: &random)] ^= UInt8(1 + random.next() % 255) }
      return datagram
    }
  }

  /// - Returns: how many datagrams were sent.
  func stop() -> Int {
    place.post(for: self) { [self] in place.rest() }
    return kept.withLock { kept in
      kept.isOver = true
      return kept.sent
    }
  }
}

/// Connections from addresses of their own: a thousand that never finish a message, and some that come and go as fast as they
/// can with nonsense.
final class AttackingConnections: Sendable {
  private struct State {
    var isOver = false
    var calls = 0
  }

  private let server: NIOCore.SocketAddress
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let state = Lock(State())
  private let halfOpen = Lock(0)

  init(to port: Int) throws { server = try NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: port) }

  private var isOver: Bool { state.withLock { $0.isOver } }
  /// Number of connections that have been made and have sent half a message.
  var connected: Int { halfOpen.withLock { $0 } }

  private func connect(from number: Int) -> EventLoopFuture<any Channel> {
    do {
      let own = try NIOCore.SocketAddress(ipAddress: "127.0.1.\(number)", port: 0)
      return ClientBootstrap(group: group).bind(to: own).connect(to: server)
    } catch {
      return group.next().makeFailedFuture(error)
    }
  }

  // MARK: Half a word

  private static let beginnings = [
    "", "G", "GET", "GET / HTTP/1.1\r\nHost: localhost\r\n", "\0\u{1}\u{2}",
    "GET /signaling HTTP/1.1\r\nUpgrade: websocket\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n",
  ]

  /// - Returns: once all are connected. A connection that the server closes is made again.
  func hold(_ count: Int) async throws {
    for first in stride(from: 0, to: count, by: 50) {
      let batch = (first..<min(first + 50, count)).map { hold(number: $0) }
      for one in batch { try await one.get() }
    }
  }

  private func hold(number: Int) -> EventLoopFuture<Void> {
    connect(from: 1 + number % 8).map { [self] channel in
      halfOpen.withLock { $0 += 1 }
      channel.writeAndFlush(ByteBuffer(string: Self.beginnings[number % Self.beginnings.count]), promise: nil)
      channel.closeFuture.whenComplete { [self] _ in
        if !isOver { _ = hold(number: number) }
      }
    }
  }

  // MARK: Nonsense

  func sendNonsense(_ count: Int) {
    for number in 0..<count { call(number) }
  }

  private func call(_ number: Int) {
    guard !isOver else { return }
    connect(from: 20 + number).whenComplete { [self] result in
      state.withLock { $0.calls += 1 }
      guard case .success(let channel) = result else { return call(number) }
      channel.writeAndFlush(ByteBuffer(bytes: nonsense())).whenComplete { _ in channel.close(promise: nil) }
      channel.closeFuture.whenComplete { [self] _ in call(number) }
    }
  }

  private func nonsense() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    let noise = (0..<Int.random(in: 0...2_000, using: &random)).map { _ in
      UInt8.random(in: .min ... .max, using: &random)
    }
    let path = Bool.random(using: &random) ? Server.signalingPath : Server.browserPath
    let upgrade = Array(
      """
      GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
      """.utf8)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return noise
    case 1: return Array("GET /".utf8) + noise
    case 2: return Array(upgrade.prefix(Int.random(in: 0...upgrade.count, using: &random)))
    case 3: return upgrade + noise
    case 4: return upgrade + Self.frame(noise)
    default:
      var words = Self.words.randomElement(using: &random) ?? []
      if Bool.random(using: &random) { words = Array(words.prefix(Int.random(in: 0...words.count, using: &random))) }
      if Bool.random(using: &random), !words.isEmpty { words[Int.random(in: words.indices, using: &random)] ^= 4 }
      return upgrade + (0..<Int.random(in: 1...20, using: &random)).flatMap { _ in Self.frame(words) }
    }
  }

  private static let words = [
    #"{"type":"join","version":1,"room":"tea","name":"Eve","description":{"ufrag":"a","password":"b"}}"#,
    #"{"type":"ping","number":1}"#, #"{"type":"resumeConversation","key":"1-1","heard":0}"#, #"{"type":"leave"}"#,
    #"{"join":{"version":1,"room":"tea"}}"#, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{}", "null", "1e999",
  ].map { Array($0.utf8) }

  /// A text message, masked with nothing (RFC 6455, 5.2).
  private static func frame(_ text: [UInt8]) -> [UInt8] {
    let count = text.count
    let length = count < 126 ? [0x80 | UInt8(count)] : [0xFE, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
    return [0x81] + length + [0, 0, 0, 0] + text
  }

  /// - Returns: how often a participant joined.
  func stop() async throws -> Int {
    let calls = state.withLock { state in
      state.isOver = true
      return state.calls
    }
    try await group.shutdownGracefully()
    return calls
  }
}
