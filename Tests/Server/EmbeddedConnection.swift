import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTLS
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import KoineServer

/// Stands in for the router: records messages, and answers only with the test's messages.
final class StubHost: SignalHost {
  struct State {
    var outlets: [any MessageSink] = []
    var messages: [ClientMessage] = []
    var closed = 0
    var refusals = 0
  }

  let state = Lock(State())

  func open(_ outlet: any MessageSink, isBrowser: Bool, pass: ConnectionLimiter.Permit?) -> ConnectionID {
    state.withLock { state in
      state.outlets.append(outlet)
      return ConnectionID(state.outlets.count)
    }
  }

  func close(_ line: ConnectionID) { state.withLock { $0.closed += 1 } }

  func handle(_ message: Result<ClientMessage, UnreadableMessage>, on connection: ConnectionID) {
    if case .success(let message) = message { state.withLock { $0.messages.append(message) } }
  }

  func handle(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID) {
    if case .success(.other(let message)) = message { state.withLock { $0.messages.append(message) } }
  }

  func refuseJoin(_ failure: Failure, on line: ConnectionID) { state.withLock { $0.refusals += 1 } }

  var messages: [ClientMessage] { state.withLock { $0.messages } }

  func send(_ message: ServerMessage) {
    for outlet in state.withLock({ $0.outlets }) { outlet.send(EncodedMessage(message), endOf: nil) }
  }
}

/// Every request opens a WebSocket or is answered with `ok`. Those of `/api…` are answered with their body, which has at most 100
/// bytes.
struct StubRouting: HTTPRouting {
  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { true }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    guard request.uri.hasPrefix("/api") else {
      return .skipsBody { $0.makeSucceededFuture(HTTPAnswer(.ok, "ok\n")) }
    }
    return .takesBody(limit: 100) { body, loop in
      loop.makeSucceededFuture(HTTPAnswer(status: .ok, headers: [:], body: ByteBuffer(bytes: body)))
    }
  }
}

/// A connection through the server's own handlers, with bytes in, bytes out, and time by hand.
struct EmbeddedConnection {
  let channel = EmbeddedChannel()
  let host = StubHost()

  init(
    limits: ServerLimits = ServerLimits(), limiter: ConnectionLimiter? = nil, routing: any HTTPRouting = StubRouting(),
    tls: TLSContext? = nil
  ) throws {
    let pipeline = SignalPipeline(host: host, limits: limits, routing: routing)
    let limiter = limiter ?? ConnectionLimiter(limits: limits)
    let pass = try #require(limiter.enter(from: "192.0.2.1", at: channel.eventLoop.now))
    channel.remoteAddress = try NIOCore.SocketAddress(ipAddress: "192.0.2.1", port: 1)
    try pipeline.install(on: channel, pass: pass, tls: tls)
    try channel.connect(to: NIOCore.SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
  }

  var isOpen: Bool { channel.isActive }

  func pass(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

  /// Drops errors: a handler reports some in addition to handling them.
  func write(_ bytes: [UInt8]) {
    _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    channel.embeddedEventLoop.run()
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  /// All bytes that have come out since the last call.
  func read() -> [UInt8] {
    var bytes: [UInt8] = []
    while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer.readableBytesView) }
    return bytes
  }

  func upgrade(_ path: String) {
    write(
      """
      GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
      """)
    #expect(String(decoding: read(), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
  }

  /// The beginning of a frame that is masked with zeros (RFC 6455 section 5.2): a text's, or another opcode's.
  static func header(_ count: Int, opcode: UInt8 = 1, isFinal: Bool = true) -> [UInt8] {
    let length: [UInt8] =
      if count < 126 {
        [0x80 | UInt8(count)]
      } else if count < 65_536 {
        [0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
      } else {
        [0xFF] + (0..<8).reversed().map { UInt8(count >> ($0 * 8) & 0xFF) }
      }
    return [(isFinal ? 0x80 : 0) | opcode] + length + [0, 0, 0, 0]
  }

  static func frame(_ text: String) -> [UInt8] { header(text.utf8.count) + Array(text.utf8) }

  func send(_ text: String) { write(Self.frame(text)) }

  /// Time goes on, and the client answers pings.
  func advanceAnsweringPings(_ seconds: Int) {
    for _ in 0..<seconds where isOpen {
      pass(.seconds(1))
      write(Self.header(0, opcode: 10))
    }
  }

  /// The code and the reason of the close frame, if one has been sent.
  func closeFrame() -> (code: Int, reason: String)? {
    let bytes = read()
    var offset = 0
    while offset + 2 <= bytes.count {
      let short = Int(bytes[offset + 1])
      let (header, count) = short == 126 ? (4, Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])) : (2, short)
      let payload = bytes[min(offset + header, bytes.count)..<min(offset + header + count, bytes.count)]
      if bytes[offset] == 0x88 {
        let code = payload.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        return (code, String(decoding: payload.dropFirst(2), as: UTF8.self))
      }
      offset += header + count
    }
    return nil
  }
}
