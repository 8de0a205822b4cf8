import Glibc
import KoineBase
import KoineRoomClient
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
  /// - Parameter silence: how long nothing had come from the server, where that is the reason.
  case closed(String, silence: Duration? = nil)
}

/// A client's WebSocket (RFC 6455): text messages both ways.
final class WebSocketClient: Sendable {
  /// One thread for all of the process.
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private static let connectLimit = TimeAmount.seconds(5)

  private let channel: EventLoopFuture<any Channel>
  private let silence: SilenceLimit

  /// Begins to connect.
  /// - Parameter authorities: a PEM file; nil: those that the system trusts.
  init(_ address: ServerAddress, authorities: String?, onEvent: @escaping @Sendable (WebSocketEvent) -> Void) {
    let handler = Self.group.next().makePromise(of: Void.self)
    let events = Once(onEvent)
    let silence = SilenceLimit()
    self.silence = silence
    channel = ClientBootstrap(group: Self.group)
      .connectTimeout(Self.connectLimit)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if address.isSecure {
            let context = try TLSContext.client(trusting: authorities)
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context, serverName: address.host))
          }
          try Self.configurePipeline(channel, address, handler, WebSocketReader(events, silence: silence))
        }
      }
      .connect(host: address.host, port: address.port)
    handler.futureResult.whenSuccess { onEvent(.opened) }
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

  /// Reports events, and the end once.
  fileprivate final class Once: Sendable {
    private let onEvent: @Sendable (WebSocketEvent) -> Void
    private let isOver = Lock(false)

    init(_ onEvent: @escaping @Sendable (WebSocketEvent) -> Void) { self.onEvent = onEvent }

    func receive(_ message: [UInt8]) { onEvent(.message(message)) }

    func close(_ reason: String, silence: Duration? = nil) {
      let isFirst = isOver.withLock { isOver in
        defer { isOver = true }
        return !isOver
      }
      if isFirst { onEvent(.closed(reason, silence: silence)) }
    }
  }

  /// How long the server may be silent. Set by any thread, used on the channel's.
  fileprivate final class SilenceLimit: Sendable {
    private let limit = Lock(ConnectionTimes().silence)

    var value: Duration {
      get { limit.withLock { $0 } }
      set { limit.withLock { $0 = newValue } }
    }
  }

  /// Sets how long the server may be silent before the connection counts as lost. Before the first call: 15 s.
  func setSilenceLimit(_ limit: Duration) {
    guard silence.value != limit else { return }
    silence.value = limit
    channel.whenSuccess { channel in channel.pipeline.fireUserInboundEventTriggered(SilenceLimitChanged()) }
  }

  private static func configurePipeline(
    _ channel: any Channel, _ address: ServerAddress, _ opened: EventLoopPromise<Void>,
    _ makeReader: @autoclosure @escaping @Sendable () -> WebSocketReader
  ) throws {
    let request = UpgradeRequest(address)
    let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: SignalingLimits.serverMessage) { channel, _ in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
          NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 1_024,
            maxAccumulatedFrameSize: SignalingLimits.serverMessage))
        try pipeline.addHandler(makeReader())
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

private struct SilenceLimitChanged: Sendable {}

/// Takes frames; answers pings; closes a connection on which nothing comes, not even the server's pings.
private final class WebSocketReader: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let events: WebSocketClient.Once
  private let silence: WebSocketClient.SilenceLimit
  private var watch: Scheduled<Void>?
  private var lastHeard = NIODeadline.now()

  init(_ events: WebSocketClient.Once, silence: WebSocketClient.SilenceLimit) {
    (self.events, self.silence) = (events, silence)
  }

  func handlerAdded(context: ChannelHandlerContext) { keepWatch(context) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is SilenceLimitChanged { keepWatch(context) } else { context.fireUserInboundEventTriggered(event) }
  }

  /// Looks again when the limit would be reached, and not at each frame.
  private func keepWatch(_ context: ChannelHandlerContext) {
    watch?.cancel()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    watch = context.eventLoop.scheduleTask(deadline: lastHeard + .nanoseconds(silence.value.nanoseconds)) {
      let (reader, context) = bound.value
      reader.look(context)
    }
  }

  private func look(_ context: ChannelHandlerContext) {
    let time = Duration.nanoseconds((NIODeadline.now() - lastHeard).nanoseconds)
    guard time >= silence.value else { return keepWatch(context) }
    events.close("nothing came from the server for \(Int(time.inSeconds)) s", silence: time)
    context.close(promise: nil)
  }

  func handlerRemoved(context: ChannelHandlerContext) { watch?.cancel() }
  func channelInactive(context: ChannelHandlerContext) { watch?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    lastHeard = .now()
    switch frame.opcode {
    case .text, .binary: events.receive(Array(buffer: frame.data))
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.data)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .connectionClose: context.close(promise: nil)
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
