import NIOCore
import NIOHTTP1

/// Answers plain HTTP requests: GET only, one short answer each.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let desk: FrontDesk
  private var request: HTTPRequestHead?
  private var isAnswering = false

  init(desk: FrontDesk) { self.desk = desk }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): request = head
    case .body: break  // nothing here takes one
    case .end:
      guard let head = request, !isAnswering else { return }
      request = nil
      isAnswering = true
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let promise = context.eventLoop.makePromise(of: FrontDesk.Answer.self)
      promise.completeWithTask { [desk] in await desk.answer(head) }
      promise.futureResult.whenSuccess { answer in
        let (handler, context) = bound.value
        handler.write(answer, to: head, context)
      }
    }
  }

  private func write(_ answer: FrontDesk.Answer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
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
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      if !request.isKeepAlive { bound.value.close(promise: nil) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent {
      context.close(promise: nil)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
