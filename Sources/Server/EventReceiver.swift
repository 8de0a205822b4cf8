import KoineBase
import KoineJSONCodec
import NIOCore
import NIOHTTP1
import NIOPosix

/// A receiver of events that `koine serve` sends to back ends: answers each POST of JSON with 200, and passes its body on.
public final class EventReceiver: Sendable {
  /// Connections at a time; further ones are closed.
  private static let connectionLimit = 128

  /// The TCP port at which it listens.
  public let port: Int
  private let listener: any Channel
  private let group: MultiThreadedEventLoopGroup

  private init(_ listener: any Channel, _ group: MultiThreadedEventLoopGroup) {
    (self.listener, self.group, port) = (listener, group, listener.localAddress?.port ?? 0)
  }

  /// Begins to listen.
  /// - Parameters:
  ///   - host: a host name or an IP address.
  ///   - port: 0: the system chooses one.
  ///   - onEvent: gets the body of each request, as JSON in one line without its end. It is called on a thread of the receiver, in
  ///     the order of the requests.
  /// - Throws: `ServerError` if the socket cannot be opened.
  public static func start(
    host: String, port: Int, onEvent: @escaping @Sendable (String) -> Void
  ) async throws -> EventReceiver {
    // One thread: events are passed on in their order.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let open = Lock(0)
    let routing = EventReceiverRouting(onEvent: onEvent)
    do {
      let listener = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          let mayEnter = open.withLock { count in
            guard count < connectionLimit else { return false }
            count += 1
            return true
          }
          guard mayEnter else { return channel.close() }
          channel.closeFuture.whenComplete { _ in open.withLock { $0 -= 1 } }
          return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withErrorHandling: false)
            try pipeline.addHandler(HTTPHandler(routing: routing, transport: HTTPTransport(isEncrypted: false)))
          }
        }
        .bind(host: host, port: port).get()
      return EventReceiver(listener, group)
    } catch {
      try? await group.shutdownGracefully()
      throw ServerError(description: "cannot listen on \(host):\(port): \(ServerError.words(for: error))")
    }
  }

  /// Closes the socket and all connections.
  public func stop() async {
    try? await listener.close()
    try? await group.shutdownGracefully()
  }
}

private struct EventReceiverRouting: HTTPRouting {
  private static let bodyLimit = 64 * 1024

  let onEvent: @Sendable (String) -> Void

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    guard request.method == .POST else {
      return .refused(HTTPAnswer(.methodNotAllowed, "POST only\n", [("Allow", "POST")]))
    }
    // Servers of rooms send none. Pages of the user's browser must not write into the user's terminal.
    guard !request.headers.contains(name: "Origin") else { return .refused(HTTPAnswer(.forbidden, "not for pages\n")) }
    return .takesBody(limit: Self.bodyLimit) { [onEvent] body, loop in
      guard let line = Self.line(body) else {
        return loop.makeSucceededFuture(HTTPAnswer(.badRequest, "the body is not JSON\n"))
      }
      onEvent(line)
      return loop.makeSucceededFuture(HTTPAnswer(.ok, ""))
    }
  }

  private struct AnyJSON: Decodable { init(from decoder: any Decoder) throws {} }

  /// JSON in one line, without characters that move a terminal's cursor. Nil for a text that is not JSON.
  static func line(_ body: [UInt8]) -> String? {
    guard (try? JSONCodec.decode(AnyJSON.self, from: body)) != nil else { return nil }
    var line = ""
    // Inside of texts JSON has no raw characters below U+0020, so line breaks are between its parts only.
    for scalar in String(decoding: body, as: UTF8.self).unicodeScalars {
      switch scalar.value {
      case 0x0A, 0x0D: break
      case 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069:
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}
