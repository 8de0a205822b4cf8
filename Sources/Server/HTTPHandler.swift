import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Answers plain HTTP requests: GET only, one short answer each. Closes a connection if its client does not finish a request within
/// `patience`, even if bytes still arrive, or does not finish the TLS handshake before.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// The time for a request, and for reading its answer.
  private static let patience = TimeAmount.seconds(20)

  typealias Answering = @Sendable (HTTPRequestHead, any EventLoop) -> EventLoopFuture<HTTPRoutes.Answer>

  private let answering: Answering
  private var end: Scheduled<Void>?
  private var request: HTTPRequestHead?
  private var isAnswering = false

  init(answering: @escaping Answering) { self.answering = answering }

  func handlerAdded(context: ChannelHandlerContext) { wait(context) }
  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  private func wait(_ context: ChannelHandlerContext) {
    end?.cancel()
    end = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): request = head
    case .body: break  // nothing here takes one
    case .end:
      guard let head = request, !isAnswering else { return }
      request = nil
      isAnswering = true
      wait(context)
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      answering(head, context.eventLoop).whenSuccess { answer in
        let (handler, context) = bound.value
        handler.write(answer, to: head, context)
      }
    }
  }

  private func write(_ answer: HTTPRoutes.Answer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
    isAnswering = false
    var head = HTTPResponseHead(version: request.version, status: answer.status)
    head.headers.add(name: "Content-Type", value: answer.type)
    head.headers.add(name: "Content-Length", value: String(answer.body.utf8.count))
    head.headers.add(name: "X-Content-Type-Options", value: "nosniff")
    for (name, value) in answer.headers { head.headers.add(name: name, value: value) }
    if !request.isKeepAlive { head.headers.add(name: "Connection", value: "close") }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if request.method != .HEAD {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
    }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      let (handler, context) = bound.value
      if request.isKeepAlive { handler.wait(context) } else { context.close(promise: nil) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A WebSocket that is not opened: its request comes here and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    context.close(promise: nil)
  }
}
