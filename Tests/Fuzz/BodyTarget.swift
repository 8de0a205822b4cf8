import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import KoineServer

/// Bodies of requests to HTTP APIs, in every framing and cut anywhere, through the handlers of a connection. The laws: an API gets
/// exactly the bytes that were sent, one request after the other; a body beyond the limit is refused, and nothing behind it counts.
func fuzzBody(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let connection = BodyConnection()
  var expected: [[UInt8]] = []
  var isRefused = false
  var sent: [UInt8] = []
  for _ in 0..<8 where !input.isEmpty && !isRefused {
    let kind = input.byte()
    let count = Int(input.byte()) << 1 | Int(kind >> 7)
    // What the input does not have is made from its number, so that a large body needs few bytes.
    var body = Array(input.part(min(count, 24)))
    while body.count < count { body.append(UInt8(truncatingIfNeeded: body.count &* 31)) }
    if kind & 1 == 0 {
      sent += head(length: body.count, expects: kind & 2 != 0) + body
    } else {
      sent += head(length: nil, expects: kind & 2 != 0)
      var rest = body[...]
      while !rest.isEmpty {
        let size = min(Int(input.byte()) % 64 + 1, rest.count)
        let extensions = kind & 4 != 0 ? ";a=b" : ""
        sent += Array("\(String(size, radix: 16))\(extensions)\r\n".utf8) + rest.prefix(size) + Array("\r\n".utf8)
        rest = rest.dropFirst(size)
      }
      sent += Array("0\r\n\(kind & 8 != 0 ? "X-Trailer: y\r\n" : "")\r\n".utf8)
    }
    isRefused = body.count > BodyRouting.limit
    if !isRefused { expected.append(body) }
  }
  var rest = sent[...]
  while !rest.isEmpty {
    let size = input.isEmpty ? rest.count : min(Int(input.byte()) + 1, rest.count)
    connection.write(Array(rest.prefix(size)))
    rest = rest.dropFirst(size)
  }
  let answers = connection.finish()
  require(connection.bodies == expected, "an API gets the bodies that were sent")
  require(answers.map(\.status) == expected.map { _ in 200 } + (isRefused ? [413] : []), "each request has its answer")
  require(zip(answers, expected).allSatisfy { $0.body == $1 }, "answers come in the order of the requests")
}

private func head(length: Int?, expects: Bool) -> [UInt8] {
  let framing = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
  return Array("POST /api HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\(expects ? "Expect: 100-continue\r\n" : "")\r\n".utf8)
}

func bodySeeds() -> [[UInt8]] {
  let small: [UInt8] = [0, 3, 97, 98, 99, 97, 98, 99]
  let chunked: [UInt8] = [13, 5] + Array("hello more".utf8) + [1, 2, 60]
  return [
    small, chunked, small + chunked + small, [2, 0], [3, 0, 1, 0, 3, 9], [0x80, 99], [0, 101], [1, 101] + small,
    [1, 100] + [UInt8](repeating: 7, count: 60), [7, 60] + [UInt8](repeating: 200, count: 60),
  ]
}

private final class BodyHost: SignalHost {
  func open(_ outlet: any MessageSink, isBrowser: Bool, pass: ConnectionLimiter.Permit?) -> ConnectionID {
    require(false, "nothing is upgraded")
    return ConnectionID(1)
  }
  func close(_ line: ConnectionID) {}
  func handle(_ message: Result<ClientMessage, UnreadableMessage>, on connection: ConnectionID) {}
  func handle(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID) {}
  func refuseJoin(_ failure: Failure, on line: ConnectionID) {}
}

private struct BodyRouting: HTTPRouting {
  static let limit = 200
  let bodies = Lock<[[UInt8]]>([])

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    .takesBody(limit: Self.limit) { [bodies] body, loop in
      bodies.withLock { $0.append(body) }
      return loop.makeSucceededFuture(HTTPAnswer(status: .ok, headers: [:], body: ByteBuffer(bytes: body)))
    }
  }
}

private final class BodyConnection {
  private let channel = EmbeddedChannel()
  private let routing = BodyRouting()
  private var received: [UInt8] = []

  init() {
    let limits = ServerLimits()
    let limiter = ConnectionLimiter(limits: limits)
    let pipeline = SignalPipeline(host: BodyHost(), limits: limits, routing: routing)
    guard let pass = limiter.enter(from: "192.0.2.1", at: channel.eventLoop.now),
      (try? pipeline.install(on: channel, pass: pass)) != nil,
      let address = try? NIOCore.SocketAddress(ipAddress: "192.0.2.1", port: 1),
      (try? channel.connect(to: address).wait()) != nil
    else {
      require(false, "a connection can be made")
      return
    }
    channel.closeFuture.whenComplete { _ in pass.channelClosed() }
  }

  var bodies: [[UInt8]] { routing.bodies.withLock { $0 } }

  func write(_ bytes: [UInt8]) {
    guard channel.isActive else { return }
    _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    read()
  }

  private func read() {
    channel.embeddedEventLoop.run()
    while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { received += buffer.readableBytesView }
  }

  /// The answers, without `100 Continue`.
  func finish() -> [(status: Int, body: [UInt8])] {
    read()
    channel.embeddedEventLoop.advanceTime(by: .seconds(60))
    read()
    require(!channel.isActive, "a silent client is closed")
    _ = try? channel.finish(acceptAlreadyClosed: true)
    var answers: [(status: Int, body: [UInt8])] = []
    var rest = received[...]
    let end = Array("\r\n\r\n".utf8)
    while let mark = (rest.startIndex..<rest.endIndex).first(where: { rest[$0...].starts(with: end) }) {
      let head = String(decoding: rest[..<mark], as: UTF8.self).lowercased()
      let status = Int(head.dropFirst(9).prefix(3)) ?? 0
      let length = head.components(after: "content-length: ").flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
      rest = rest[(mark + 4)...]
      require(rest.count >= length, "an answer is complete")
      if status != 100 { answers.append((status, Array(rest.prefix(length)))) }
      rest = rest.dropFirst(length)
    }
    require(rest.isEmpty, "nothing follows the last answer")
    return answers
  }
}

extension String {
  fileprivate func components(after text: String) -> Substring? {
    firstRange(of: text).map { self[$0.upperBound...] }
  }
}
