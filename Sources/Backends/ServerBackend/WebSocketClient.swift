import Glibc
import KoineBase
import KoineSignaling
import KoineTLS
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// What happens on a WebSocket. Called on its own thread.
enum WebSocketEvent: Sendable {
  case opened
  case message([UInt8])
  /// Nothing follows.
  case closed(String)
}

/// A client's WebSocket (RFC 6455): text messages both ways.
final class WebSocketClient: Sendable {
  /// One thread for all of the process.
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private static let connectLimit = TimeAmount.seconds(5)

  private let channel: EventLoopFuture<any Channel>

  /// Begins to connect.
  /// - Parameter authorities: a PEM file; nil: those that the system trusts.
  init(_ address: ServerAddress, authorities: String?, onEvent: @escaping @Sendable (WebSocketEvent) -> Void) {
    let handler = Self.group.next().makePromise(of: Void.self)
    channel = ClientBootstrap(group: Self.group)
      .connectTimeout(Self.connectLimit)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if address.isSecure {
            let context = try TLSContext.client(trusting: authorities)
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context, serverName: address.host))
          }
          try Self.configurePipeline(channel, address, handler, onEvent)
        }
      }
      .connect(host: address.host, port: address.port)
    handler.futureResult.whenSuccess { onEvent(.opened) }
    let events = Once(onEvent)
    handler.futureResult.whenFailure { events.close(Self.words(for: $0, at: address)) }
    channel.whenFailure { handler.fail($0) }
    channel.whenSuccess { channel in
      channel.closeFuture.whenComplete { _ in
        handler.fail(ChannelError.eof)  // if it never opened
        events.close("the connection was closed")
      }
    }
  }

  /// What the system says, and of which address.
  private static func words(for error: any Error, at address: ServerAddress) -> String {
    switch error {
    case let error as NIOConnectionError:
      if let failure = error.connectionErrors.last { return words(for: failure.error, at: address) }
      return "the name '\(error.host)' cannot be resolved"
    case let error as IOError: return "\(String(cString: strerror(error.errnoCode))) (\(address.authority))"
    case ChannelError.connectTimeout(let limit):
      return "no answer within \(limit.nanoseconds / 1_000_000_000) s (\(address.authority))"
    case ChannelError.eof: return "no room server answers at \(address)"
    default: return "\(error) (\(address.authority))"
    }
  }

  /// Tells the end once.
  private final class Once: Sendable {
    private let onEvent: @Sendable (WebSocketEvent) -> Void
    private let isOver = Lock(false)

    init(_ onEvent: @escaping @Sendable (WebSocketEvent) -> Void) { self.onEvent = onEvent }

    func close(_ reason: String) {
      let isFirst = isOver.withLock { isOver in
        defer { isOver = true }
        return !isOver
      }
      if isFirst { onEvent(.closed(reason)) }
    }
  }

  private static func configurePipeline(
    _ channel: any Channel, _ address: ServerAddress, _ opened: EventLoopPromise<Void>,
    _ onEvent: @escaping @Sendable (WebSocketEvent) -> Void
  ) throws {
    let request = UpgradeRequest(address)
    let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: SignalingLimits.serverMessage) { channel, _ in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
          NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 1_024,
            maxAccumulatedFrameSize: SignalingLimits.serverMessage))
        try pipeline.addHandler(WebSocketReader(onEvent))
        opened.succeed()
      }
    }
    let bound = NIOLoopBound(request, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.addHTTPClientHandlers(
      withClientUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in context.pipeline.syncOperations.removeHandler(bound.value, promise: nil) }
      ))
    try channel.pipeline.syncOperations.addHandler(request)
  }

  func send(_ text: [UInt8]) {
    channel.whenSuccess { channel in
      let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: text))
      channel.writeAndFlush(frame, promise: nil)
    }
  }

  func close() { channel.whenSuccess { $0.close(promise: nil) } }
}

/// Asks for the WebSocket as soon as the connection stands, and gives up where the server has other ideas.
private final class UpgradeRequest: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let address: ServerAddress

  init(_ address: ServerAddress) { self.address = address }

  func channelActive(context: ChannelHandlerContext) {
    var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.path)
    head.headers.add(name: "Host", value: address.authority)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }  // no upgrade
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Takes frames; answers pings; closes what stays silent, for the server pings every five seconds.
private final class WebSocketReader: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private static let silenceLimit = TimeAmount.seconds(15)
  private let onEvent: @Sendable (WebSocketEvent) -> Void
  private var watch: RepeatedTask?
  private var lastHeard = NIODeadline.now()

  init(_ onEvent: @escaping @Sendable (WebSocketEvent) -> Void) { self.onEvent = onEvent }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    watch = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(5), delay: .seconds(5)) { _ in
      let (reader, context) = bound.value
      if .now() - reader.lastHeard > Self.silenceLimit { context.close(promise: nil) }
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { watch?.cancel() }
  func channelInactive(context: ChannelHandlerContext) { watch?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    lastHeard = .now()
    switch frame.opcode {
    case .text, .binary: onEvent(.message(Array(buffer: frame.data)))
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.data)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .connectionClose: context.close(promise: nil)
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
