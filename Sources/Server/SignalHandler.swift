import KoineBase
import KoineJSONCodec
import KoineRouter
import KoineSignaling
import Logging
import NIOCore
import NIOWebSocket

/// One client's signalling over WebSocket (RFC 6455): one text message is one message of the room protocol.
///
/// Pings what is silent, closes what stays silent, what says too much and what reads too slowly.
final class SignalHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private static let pingInterval = TimeAmount.seconds(5)
  /// As long as signalling streams of the embedded backend wait.
  private static let silenceLimit = TimeAmount.seconds(15)

  private let host: RouterHost
  private let admission: DoorKeeper.Pass
  private let limits: ServerLimits
  private var connection: ConnectionID?
  private var outlet: ChannelOutlet?
  private var budget: MessageBudget
  private var pings: RepeatedTask?
  private var lastHeard = NIODeadline.now()

  private let isBrowser: Bool

  /// - Parameter isBrowser: whether the client describes its media by SDP.
  init(host: RouterHost, pass: DoorKeeper.Pass, limits: ServerLimits, isBrowser: Bool) {
    self.host = host
    self.isBrowser = isBrowser
    admission = pass
    self.limits = limits
    budget = MessageBudget(burst: limits.messageBurst, perSecond: limits.messagesPerSecond)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let outlet = ChannelOutlet(channel: context.channel, limit: limits.unreadBytes)
    self.outlet = outlet
    connection = host.open(outlet, isBrowser: isBrowser)
    lastHeard = .now()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    pings = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.pingInterval, delay: Self.pingInterval) { _ in
      let (handler, context) = bound.value
      handler.ping(context)
    }
  }

  private func ping(_ context: ChannelHandlerContext) {
    guard .now() - lastHeard < Self.silenceLimit else { return context.close(promise: nil) }
    let frame = WebSocketFrame(fin: true, opcode: .ping, data: context.channel.allocator.buffer(capacity: 0))
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    lastHeard = .now()
    guard budget.take(), admission.takeMessage() else { return close(context, .policyViolation) }
    switch frame.opcode {
    case .text: take(frame.unmaskedData)
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .pong: break
    case .connectionClose: close(context, .normalClosure)
    default: close(context, .unacceptableData)
    }
  }

  private func take(_ text: ByteBuffer) {
    guard let connection else { return }
    text.withUnsafeReadableBytes { bytes in
      if isBrowser {
        host.take(Result { () throws(SignalingError) in try BrowserMessage(json: bytes) }, on: connection)
      } else {
        host.take(Result { () throws(SignalingError) in try ClientMessage(json: bytes) }, on: connection)
      }
    }
  }

  private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
    var data = context.channel.allocator.buffer(capacity: 2)
    data.write(webSocketErrorCode: code)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)))
      .whenComplete { _ in bound.value.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) { leave() }
  func handlerRemoved(context: ChannelHandlerContext) { leave() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func leave() {
    pings?.cancel()
    pings = nil
    if let connection { host.close(connection) }
    connection = nil
    admission.giveBack()
  }
}

/// Writes messages to a channel, from the network loop.
final class ChannelOutlet: SignalOutlet {
  private let channel: any Channel
  private let limit: Int
  /// Bytes that have been handed over and not yet been read by the other end's kernel.
  private let waiting = Lock(0)

  init(channel: any Channel, limit: Int) {
    self.channel = channel
    self.limit = limit
  }

  // Written out on the channel's own thread, so that the network loop has only to hand it over.
  func send(_ message: ServerMessage) { channel.eventLoop.execute { [self] in write(try? message.json()) } }
  func send(_ answer: BrowserAnswer) { channel.eventLoop.execute { [self] in write(try? JSONCodec.encode(answer)) } }

  private func write(_ json: [UInt8]?) {
    guard let json else { return }
    let count = json.count
    let isTooMuch = waiting.withLock { waiting in
      waiting += count
      return waiting > limit
    }
    guard !isTooMuch else { return channel.close(promise: nil) }
    let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: json))
    channel.writeAndFlush(frame).whenComplete { [self] _ in waiting.withLock { $0 -= count } }
  }
}

/// So many at once, then so many a second.
struct MessageBudget {
  private let burst: Double
  private let perSecond: Double
  private var left: Double
  private var filled = NIODeadline.now()

  init(burst: Double, perSecond: Double) { (self.burst, self.perSecond, left) = (burst, perSecond, burst) }

  mutating func take(at now: NIODeadline = .now()) -> Bool {
    left = min(burst, left + perSecond * max(Double((now - filled).nanoseconds) / 1e9, 0))
    filled = now
    guard left >= 1 else { return false }
    left -= 1
    return true
  }
}
