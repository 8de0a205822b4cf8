import KoineBase
package import KoineVendorAPIs
import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP port at this machine's loopback address, whose requests a service answers. For test kits: the rooms are elsewhere.
///
/// Requests are read as `Server` reads them: with the same limits, `Host` and `Origin` checks and patience.
package final class LoopbackServer: Sendable {
  /// Called when a connection opens and when a request begins. The closure that it returns is called once the request has been
  /// answered, or the connection has closed.
  package typealias RequestWatch = @Sendable () -> @Sendable () -> Void

  /// Connections at a time; further ones are closed.
  private static let connectionLimit = 256

  /// The port, which the system has chosen.
  package let port: Int
  private let listener: any Channel
  private let connections: OpenChannels
  private let dispatcher: APIDispatcher

  /// Opens the port. Not to be called on an event loop, because it waits for one.
  /// - Parameters:
  ///   - bodyLimit: the longest body of a request, in bytes.
  ///   - watch: told of open requests, on the connections' event loops.
  /// - Throws: `ServerError` if no port can be opened.
  package init(_ service: any APIService, bodyLimit: Int, watch: @escaping RequestWatch) throws(ServerError) {
    let (connections, dispatcher) = (OpenChannels(limit: Self.connectionLimit), APIDispatcher(service))
    let routes = ServiceRoutes(dispatcher: dispatcher, bodyLimit: bodyLimit)
    do {
      listener = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 64)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { channel in
          guard connections.add(channel) else { return channel.close() }
          return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            // `HTTPHandler` answers requests that cannot be read.
            try pipeline.configureHTTPServerPipeline(withErrorHandling: false)
            try pipeline.addHandler(RequestWatcher(watch))
            try pipeline.addHandler(HTTPHandler(routing: routes, transport: HTTPTransport(isEncrypted: false)))
          }
        }
        .bind(host: "127.0.0.1", port: 0).wait()
    } catch { throw ServerError(description: "no port at the loopback address: \(error)") }
    (self.connections, self.dispatcher) = (connections, dispatcher)
    port = listener.localAddress?.port ?? 0
  }

  /// Closes the port and its connections, without waiting for requests that are being answered.
  package func close() {
    listener.close(promise: nil)
    connections.closeAll()
  }

  deinit { close() }
}

/// The connections of one port.
private final class OpenChannels: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosed = false
  }

  private let limit: Int
  private let state = Lock(State())

  init(limit: Int) { self.limit = limit }

  /// - Returns: false if the connection must be closed.
  func add(_ channel: any Channel) -> Bool {
    let id = ObjectIdentifier(channel)
    let isAdded = state.withLock { state in
      guard !state.isClosed, state.channels.count < limit else { return false }
      state.channels[id] = channel
      return true
    }
    if isAdded {
      channel.closeFuture.whenComplete { [self] _ in state.withLock { _ = $0.channels.removeValue(forKey: id) } }
    }
    return isAdded
  }

  func closeAll() {
    let channels = state.withLock { state in
      state.isClosed = true
      return state.channels.values.map { $0 }
    }
    for channel in channels { channel.close(promise: nil) }
  }
}

private struct ServiceRoutes: HTTPRouting {
  private let site = Site(names: [], listener: "127.0.0.1")
  let dispatcher: APIDispatcher
  let bodyLimit: Int

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    guard site.isNamed(by: request.headers) else {
      return .refused(HTTPAnswer(.misdirectedRequest, "not this host's name\n"))
    }
    guard dispatcher.owns(request) else { return .refused(HTTPAnswer(.notFound, "not here\n")) }
    guard
      site.isOrigin(of: request.headers, isEncrypted: transport.isEncrypted) || dispatcher.answersOtherSites(request)
    else { return .refused(HTTPAnswer(.forbidden, "not for pages of other sites\n")) }
    return .takesBody(limit: bodyLimit) { body, loop in dispatcher.answer(request, body, over: transport, on: loop) }
  }
}

/// Reports when a connection waits for an answer: from its opening to the first answer, and from each further request to its answer.
private final class RequestWatcher: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let watch: LoopbackServer.RequestWatch
  private var end: (@Sendable () -> Void)?

  init(_ watch: @escaping LoopbackServer.RequestWatch) { self.watch = watch }

  private func begin() { if end == nil { end = watch() } }

  private func finish() {
    end?()
    end = nil
  }

  func channelActive(context: ChannelHandlerContext) {
    begin()
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head = unwrapInboundIn(data) { begin() }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
    let written = promise ?? context.eventLoop.makePromise()
    // Pipelined requests: the next one may begin before the end of this answer is on the wire.
    let ending = end
    end = nil
    written.futureResult.whenComplete { _ in ending?() }
    context.write(data, promise: written)
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { finish() }
}
