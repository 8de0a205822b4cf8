import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTLS
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The router's side of signalling connections. All calls are from the connections' event loops, in the order in which the
/// messages of a connection come.
protocol SignalHost: AnyObject, Sendable {
  /// - Parameters:
  ///   - isBrowser: whether the client describes its media by SDP.
  ///   - pass: given back by the host, once nothing waits for the client any more.
  func open(_ outlet: any MessageSink, isBrowser: Bool, pass: ConnectionLimiter.Permit?) -> ConnectionID
  func close(_ line: ConnectionID)
  func handle(_ message: Result<ClientMessage, UnreadableMessage>, on connection: ConnectionID)
  func handle(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID)
  /// Answers a join, a registration or a resumption that is not looked at.
  func refuseJoin(_ failure: Failure, on line: ConnectionID)
}

/// Reads and writes the bytes of one connection: TLS if the client uses it, HTTP, and WebSocket frames if the client asks for them.
struct SignalPipeline: Sendable {
  let host: any SignalHost
  let limits: ServerLimits
  let routing: any HTTPRouting
  /// Whether HTTP without TLS is answered for other machines, too, at a port that serves TLS.
  var answersPlainHTTP = false

  /// Begins to read a connection. On the channel's event loop.
  /// - Parameter tls: nil: a client that begins TLS is disconnected.
  func install(on channel: any Channel, pass: ConnectionLimiter.Permit, tls: TLSContext? = nil) throws {
    let throttle = ByteThrottle(pass: pass, limits: limits, now: channel.eventLoop.now)
    try channel.pipeline.syncOperations.addHandler(throttle, position: .first)
    let isFromThisMachine = channel.remoteAddress?.ipAddress.map(Site.isLoopback(address:)) ?? false
    let plain = HTTPTransport(
      isEncrypted: false, mustEncrypt: tls != nil && !answersPlainHTTP && !isFromThisMachine)
    try sort(channel, pass, tls, plain)
  }

  /// - Parameters:
  ///   - tls: nil: a client that begins TLS here is disconnected.
  ///   - transport: how requests reach the server if the client begins HTTP here.
  private func sort(
    _ channel: any Channel, _ pass: ConnectionLimiter.Permit, _ tls: TLSContext?, _ transport: HTTPTransport
  ) throws {
    let sorter = ConnectionSorter { kind in
      switch (kind, tls) {
      case (.http, _): try installHTTP(on: channel, pass, transport)
      case (.tls, let tls?):
        try channel.pipeline.syncOperations.addHandler(TLSHandler(tls))
        try sort(channel, pass, nil, HTTPTransport(isEncrypted: true))
      case (.tls, nil): return false
      }
      return true
    }
    try channel.pipeline.syncOperations.addHandler(sorter)
  }

  private func installHTTP(
    on channel: any Channel, _ pass: ConnectionLimiter.Permit, _ transport: HTTPTransport
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    let plain = HTTPHandler(routing: routing, transport: transport)
    let boundPlain = NIOLoopBound(plain, eventLoop: channel.eventLoop)
    var headers = NIOHTTPDecoderLimitConfiguration()
    (headers.maxHeaderFieldSize, headers.maxHeaderListSize) = (Self.headerLimit, Self.headerLimit)
    try pipeline.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [SignalUpgrader(pipeline: self, pass: pass, transport: transport)],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(boundPlain.value, promise: nil)
        }
      ),
      // `HTTPHandler` answers requests that cannot be read.
      withErrorHandling: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: headers)
    try pipeline.addHandler(plain)
  }

  /// Bytes of the names and values of a request's headers.
  private static let headerLimit = 64 << 10

  fileprivate static func path(of head: HTTPRequestHead) -> String { String(head.uri.prefix { $0 != "?" }) }

  fileprivate func webSocket(
    _ outlet: WebSocketWriter?, _ pass: ConnectionLimiter.Permit, _ transport: HTTPTransport
  ) -> NIOWebSocketServerUpgrader {
    NIOWebSocketServerUpgrader(
      maxFrameSize: limits.messageBytes,
      shouldUpgrade: { [routing] channel, head in
        channel.eventLoop.makeSucceededFuture(routing.opensWebSocket(head, over: transport) ? HTTPHeaders() : nil)
      },
      upgradePipelineHandler: { [host, limits] channel, head in
        channel.eventLoop.makeCompletedFuture {
          guard let outlet else { return }
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 1_024, maxAccumulatedFrameSize: limits.messageBytes)
          )
          try pipeline.addHandler(
            SignalHandler(
              host: host, outlet: outlet, pass: pass, limits: limits,
              isBrowser: Self.path(of: head) == Server.browserPath))
        }
      })
  }
}

/// NIO's upgrade to WebSocket, with `FrameGuard` before its decoder.
private final class SignalUpgrader: HTTPServerProtocolUpgrader {
  private let pipeline: SignalPipeline
  private let pass: ConnectionLimiter.Permit
  private let transport: HTTPTransport
  private let answering: NIOWebSocketServerUpgrader

  init(pipeline: SignalPipeline, pass: ConnectionLimiter.Permit, transport: HTTPTransport) {
    (self.pipeline, self.pass, self.transport) = (pipeline, pass, transport)
    answering = pipeline.webSocket(nil, pass, transport)
  }

  var supportedProtocol: String { answering.supportedProtocol }
  var requiredUpgradeHeaders: [String] { answering.requiredUpgradeHeaders }

  func buildUpgradeResponse(
    channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
  ) -> EventLoopFuture<HTTPHeaders> {
    answering.buildUpgradeResponse(
      channel: channel, upgradeRequest: upgradeRequest, initialResponseHeaders: initialResponseHeaders)
  }

  func upgrade(context: ChannelHandlerContext, upgradeRequest: HTTPRequestHead) -> EventLoopFuture<Void> {
    let outlet = WebSocketWriter(channel: context.channel, limit: pipeline.limits.unreadBytes) { [pass] in
      pass.takeAnswer(bytes: $0)
    }
    do {
      try context.pipeline.syncOperations.addHandler(FrameGuard(outlet: outlet, limit: pipeline.limits.messageBytes))
    } catch {
      return context.eventLoop.makeFailedFuture(error)
    }
    return pipeline.webSocket(outlet, pass, transport).upgrade(context: context, upgradeRequest: upgradeRequest)
  }
}
