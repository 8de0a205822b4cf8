import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import KoineServer

/// A stranger's bytes through the handlers that the server puts on every connection: the first byte, HTTP, the upgrade, WebSocket frames and
/// messages. The router's side answers what the input says. The laws: what comes out is bounded by what goes in, nothing is
/// handled once a connection is closed, and a client that goes silent is closed.
func fuzzHTTP(_ bytes: UnsafeRawBufferPointer) {
  guard let connection = FuzzedConnection() else { return require(false, "a connection can be made") }
  var input = Input(bytes)
  let kind = input.byte()
  if kind & 1 == 1 { connection.upgrade(kind & 2 == 2 ? Server.browserPath : Server.signalingPath) }
  while !input.isEmpty { connection.step(&input) }
  connection.end()
}

func httpSeeds() -> [[UInt8]] {
  func bytes(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + text.utf8 }
  func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [1, first, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
  }
  let join = #"{"type":"join","version":1,"room":"tea","name":"E","description":{"ufrag":"abcd","password":"b"}}"#
  let upgrade = FuzzedConnection.upgrade(to: Server.signalingPath)
  return [
    [0] + bytes("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nHEAD /page.js HTTP/1.0\r\n\r\n"),
    [0] + bytes("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
    [0] + bytes("GET / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"),
    [0] + bytes("POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
      + bytes("2\r\nab\r\n")
      + bytes(
        "0\r\n\r\nPOST /api HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST /api HTTP/1.0\r\nContent-Length: 1\r\n\r\na"),
    [0] + bytes("POST /api HTTP/1.1\r\nContent-Length: 201\r\n\r\nabc"),
    [0, 0, 0, 1, 22] + [2, 13, 2, 13],
    [0] + bytes(upgrade) + frame(0x81, Array(join.utf8)) + [3, 0, 2, 14],
    // A text in three fragments with a ping between, a pong, a close.
    [1] + frame(0x01, [0x7B, 0x22]) + frame(0x89, [0x41]) + frame(0x00, [0x41]) + frame(0x80, [0x7D])
      + frame(0x8A, []) + frame(0x88, [3, 232]),
    [3, 3, 0] + frame(0x81, Array(join.utf8)) + [2, 10, 2, 14, 3, 1, 3, 2],
  ]
}

private final class FuzzedHost: SignalHost {
  private let state = Lock((outlets: [any MessageSink](), messages: 0, isClosed: false))

  func open(_ outlet: any MessageSink, isBrowser: Bool, pass: ConnectionLimiter.Permit?) -> ConnectionID {
    state.withLock { state in
      state.outlets.append(outlet)
      require(state.outlets.count == 1, "a connection is opened once")
      return ConnectionID(1)
    }
  }

  func close(_ line: ConnectionID) {
    state.withLock { state in
      require(!state.isClosed, "a connection is closed once")
      state.isClosed = true
    }
  }

  func handle(_ message: Result<ClientMessage, UnreadableMessage>, on connection: ConnectionID) { count() }
  func handle(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID) { count() }
  func refuseJoin(_ failure: Failure, on line: ConnectionID) { count() }

  private func count() {
    state.withLock { state in
      require(!state.isClosed, "nothing is handled after the end")
      state.messages += 1
    }
  }

  func say(_ message: ServerMessage) {
    for outlet in state.withLock({ $0.outlets }) { outlet.send(EncodedMessage(message), endOf: nil) }
  }

  var isOpen: Bool { state.withLock { !$0.outlets.isEmpty && !$0.isClosed } }
}

/// Requests of `/api…` are answered with their body, and must not have a larger one than is allowed.
private struct FuzzedRouting: HTTPRouting {
  private static let limit = 200

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { true }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    guard request.uri.hasPrefix("/api") else {
      return .skipsBody { $0.makeSucceededFuture(HTTPAnswer(.ok, "ok\n")) }
    }
    return .takesBody(limit: Self.limit) { body, loop in
      require(body.count <= Self.limit, "a body is bounded")
      return loop.makeSucceededFuture(HTTPAnswer(status: .ok, headers: [:], body: ByteBuffer(bytes: body)))
    }
  }
}

private final class FuzzedConnection {
  private static let answers: [ServerMessage] = [
    .waiting, .refused(Failure(.unauthorized, "no")), .pong(1), .registered(identity: "ana"), .resumed(heard: 0),
  ]

  private let channel = EmbeddedChannel()
  private let host = FuzzedHost()
  private let limiter: ConnectionLimiter
  private var (sent, received) = (0, 0)

  init?() {
    var limits = ServerLimits()
    (limits.messageBurst, limits.addressJoinBurst) = (200, 20)
    limiter = ConnectionLimiter(limits: limits)
    let pipeline = SignalPipeline(host: host, limits: limits, routing: FuzzedRouting())
    guard let pass = limiter.enter(from: "192.0.2.1", at: channel.eventLoop.now),
      (try? pipeline.install(on: channel, pass: pass)) != nil,
      let address = try? NIOCore.SocketAddress(ipAddress: "192.0.2.1", port: 1),
      (try? channel.connect(to: address).wait()) != nil
    else { return nil }
    channel.closeFuture.whenComplete { _ in pass.channelClosed() }
  }

  static func upgrade(to path: String) -> String {
    """
    GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
    """
  }

  func upgrade(_ path: String) {
    write(Array(Self.upgrade(to: path).utf8))
    require(host.isOpen, "the upgrade is answered")
  }

  func step(_ input: inout Input) {
    received += 10
    switch input.number(below: 4) {
    case 0:
      let count = Int(input.byte()) << 8 | Int(input.byte())
      write(Array(input.part(count)))
    case 1:  // a frame: its first byte, its length, its payload, masked by zeros
      let first = input.byte()
      let count = Int(input.byte()) << 8 | Int(input.byte())
      let payload = Array(input.part(count))
      let length: [UInt8] = count < 126 ? [0x80 | UInt8(count)] : [0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
      write([first] + length + [0, 0, 0, 0] + payload)
    case 2: channel.embeddedEventLoop.advanceTime(by: .milliseconds(1 << Int64(input.number(below: 16))))
    default: host.say(Self.answers[input.number(below: Self.answers.count)])
    }
    settle()
  }

  /// The client goes silent.
  func end() {
    channel.embeddedEventLoop.advanceTime(by: .seconds(30))
    settle()
    require(!channel.isActive, "a silent client is closed")
    require(!host.isOpen, "the router is told of the end")
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  private func write(_ bytes: [UInt8]) {
    guard channel.isActive else { return }
    received += bytes.count
    _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    settle()
  }

  private func settle() {
    channel.embeddedEventLoop.run()
    while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { sent += buffer.readableBytes }
    // An answer to a request of eighteen bytes has some two hundred; everything else is shorter than what it answers.
    require(sent <= 4_000 + received * 20, "\(sent) bytes answer \(received)")
  }
}
