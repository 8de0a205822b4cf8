import Glibc
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Answers the HTTP requests of one connection, one after the other. Closes the connection if its client does not finish the head
/// of a request within `patience`, nor its body within `patience` after that, even if bytes still arrive.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// The time for the head of a request, for its body, and for its answer and the reading of the answer.
  private static let patience = TimeAmount.seconds(20)
  /// How long the client may take to read a last answer that came before the end of its request. If the connection closed at once,
  /// the client's system would drop the answer because of the bytes that the server has not read.
  private static let farewell = TimeAmount.seconds(2)

  ///     waiting ── head ─→ receiving ── end ─→ answering ── answer written ─→ waiting
  ///        └── error ─────────┴── refusal ────────┴── the connection does not stay ─→ closing
  private enum State {
    case waiting
    case receiving(HTTPRequestHead, HTTPRoute)
    case answering
    /// The last answer has been written. Further bytes are dropped.
    case closing
  }

  private let routing: any HTTPRouting
  private let transport: HTTPTransport
  private var state = State.waiting
  /// Of the request that is being received.
  private var body: [UInt8] = []
  private var end: Scheduled<Void>?

  init(routing: any HTTPRouting, transport: HTTPTransport) { (self.routing, self.transport) = (routing, transport) }

  func handlerAdded(context: ChannelHandlerContext) { wait(Self.patience, context) }
  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    (state, body) = (.closing, [])
    context.fireChannelInactive()
  }

  private func wait(_ time: TimeAmount, _ context: ChannelHandlerContext) {
    end?.cancel()
    end = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
  }

  // MARK: Requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch (unwrapInboundIn(data), state) {
    case (.head(let head), .waiting): receive(head, context)
    case (.body(let bytes), .receiving(let head, .takesBody(let limit, _))):
      if body.count + bytes.readableBytes <= limit {
        body.append(contentsOf: bytes.readableBytesView)
      } else {
        write(.tooLarge(limit), to: head, isUnread: true, context)
      }
    case (.end, .receiving(let head, let route)):
      state = .answering
      wait(Self.patience, context)
      answer(head, route, context)
    case (.head, _), (.body, _), (.end, _): break
    }
  }

  private func receive(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    wait(Self.patience, context)
    let framing = RequestFraming(head)
    if case .refused(let status) = framing {
      return write(HTTPAnswer(status, "the length of the body is unclear\n"), to: head, isUnread: true, context)
    }
    let route = routing.route(head, over: transport)
    switch route {
    case .refused(let answer) where framing.hasBody: return write(answer, to: head, isUnread: true, context)
    case .takesBody(let limit, _):
      if case .length(let count) = framing, count > limit {
        return write(.tooLarge(limit), to: head, isUnread: true, context)
      }
      if framing.hasBody, head.version != .http1_0, head.expectsContinue {
        context.writeAndFlush(
          wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))), promise: nil)
      }
    case .refused, .skipsBody: break
    }
    state = .receiving(head, route)
  }

  private func answer(_ head: HTTPRequestHead, _ route: HTTPRoute, _ context: ChannelHandlerContext) {
    let answer: EventLoopFuture<HTTPAnswer>
    switch route {
    case .refused(let refusal): return write(refusal, to: head, isUnread: false, context)
    case .skipsBody(let answering): answer = answering(context.eventLoop)
    case .takesBody(_, let answering):
      answer = answering(body, context.eventLoop)
    }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    answer.whenSuccess { answer in
      let (handler, context) = bound.value
      guard case .answering = handler.state else { return }
      handler.write(answer, to: head, isUnread: false, context)
    }
  }

  // MARK: Answers

  /// - Parameters:
  ///   - request: nil for a request that cannot be read.
  ///   - isUnread: whether parts of the request may still come. The connection closes then.
  private func write(
    _ answer: HTTPAnswer, to request: HTTPRequestHead?, isUnread: Bool, _ context: ChannelHandlerContext
  ) {
    let version = request?.version ?? .http1_1
    let stays = !isUnread && !answer.closes && request?.mayStay == true
    var head = HTTPResponseHead(version: version, status: answer.status, headers: answer.headers)
    head.headers.add(name: "Content-Length", value: String(answer.body.readableBytes))
    if !head.headers.contains(name: "Date") { head.headers.add(name: "Date", value: "\(HTTPDate(seconds: time(nil)))") }
    if !stays {
      head.headers.add(name: "Connection", value: "close")
    } else if version == .http1_0 {
      head.headers.add(name: "Connection", value: "keep-alive")
    }
    // Before the end is written, because a further request may then arrive from inside of the call.
    state = stays ? .waiting : .closing
    body = []
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if request?.method != .HEAD, answer.body.readableBytes > 0 {
      context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
    }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      let (handler, context) = bound.value
      if stays {
        handler.wait(Self.patience, context)
      } else if isUnread {
        context.close(mode: .output, promise: nil)
        handler.wait(Self.farewell, context)
      } else {
        context.close(promise: nil)
      }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A WebSocket that is not opened: its request comes here and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    // The end of a connection in the middle of a request is an error of the parser, too.
    guard context.channel.isActive else { return }
    switch (error as? HTTPParserError, state) {
    case (let error?, .waiting), (let error?, .receiving):
      let answer =
        error == .headerOverflow
        ? HTTPAnswer(.requestHeaderFieldsTooLarge, "the headers are too large\n")
        : HTTPAnswer(.badRequest, "this is not a request of HTTP/1.1\n")
      write(answer, to: nil, isUnread: true, context)
    case (.some, .closing): break  // a part of a request that is dropped
    case (.some, .answering), (nil, _): context.close(promise: nil)
    }
  }
}

extension HTTPRequestHead {
  /// Whether the connection can have further requests. After a request for another protocol, no more requests are read.
  fileprivate var mayStay: Bool { isKeepAlive && method != .CONNECT && !headers.contains(name: "Upgrade") }

  /// RFC 9110 section 10.1.1.
  fileprivate var expectsContinue: Bool { headers.first(name: "Expect")?.lowercased() == "100-continue" }
}

extension HTTPAnswer {
  fileprivate static func tooLarge(_ limit: Int) -> HTTPAnswer {
    HTTPAnswer(.payloadTooLarge, "the body has more than \(limit) bytes\n")
  }
}
