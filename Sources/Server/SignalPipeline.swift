import KoineRouter
import KoineSignaling
import KoineSignalingHost
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

/// What reads and writes one connection's bytes: HTTP first, then WebSocket frames where the client asks for them.
struct SignalPipeline: Sendable {
  let host: any SignalHost
  let limits: ServerLimits
  /// Whether a request may become a WebSocket.
  let opensWebSocket: @Sendable (HTTPRequestHead) -> Bool
  let answer: HTTPHandler.Answering

  /// On the channel's event loop.
  func install(on channel: any Channel, pass: ConnectionLimiter.Permit) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(ByteThrottle(pass: pass, limits: limits, now: channel.eventLoop.now), position: .first)
    let plain = HTTPHandler(answering: answer)
    let boundPlain = NIOLoopBound(plain, eventLoop: channel.eventLoop)
    try pipeline.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [SignalUpgrader(pipeline: self, pass: pass)],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(boundPlain.value, promise: nil)
        }
      ))
    try pipeline.addHandler(plain)
  }

  fileprivate static func path(of head: HTTPRequestHead) -> String { String(head.uri.prefix { $0 != "?" }) }

  fileprivate func webSocket(
    _ outlet: WebSocketWriter?, _ pass: ConnectionLimiter.Permit
  ) -> NIOWebSocketServerUpgrader {
    NIOWebSocketServerUpgrader(
      maxFrameSize: limits.messageBytes,
      shouldUpgrade: { [opensWebSocket] channel, head in
        channel.eventLoop.makeSucceededFuture(opensWebSocket(head) ? HTTPHeaders() : nil)
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
  private let answering: NIOWebSocketServerUpgrader

  init(pipeline: SignalPipeline, pass: ConnectionLimiter.Permit) {
    (self.pipeline, self.pass) = (pipeline, pass)
    answering = pipeline.webSocket(nil, pass)
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
    return pipeline.webSocket(outlet, pass).upgrade(context: context, upgradeRequest: upgradeRequest)
  }
}
