import KoineBase
import KoineJSONCodec
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import Logging
import NIOCore
import NIOWebSocket

/// One client's signalling over WebSocket (RFC 6455): one text message is one message of the room protocol.
///
/// Pings a silent client. Closes the connection of a client that stays silent, sends too much, reads too slowly, or has no join
/// accepted in time.
final class SignalHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private static let pingInterval = TimeAmount.seconds(5)
  /// As long as signalling streams of the embedded backend wait.
  private static let silenceLimit = TimeAmount.seconds(15)
  /// From the upgrade to the first accepted join, registration or resumption.
  static let joinLimit = TimeAmount.seconds(10)

  private let host: any SignalHost
  private let outlet: WebSocketWriter
  private let admission: ConnectionLimiter.Permit
  private var connection: ConnectionID?
  private var budget: TokenBucket
  private var pings: RepeatedTask?
  private var joinEnd: Scheduled<Void>?
  private var lastHeard: NIODeadline

  private let isBrowser: Bool

  /// - Parameter isBrowser: whether the client describes its media by SDP.
  init(
    host: any SignalHost, outlet: WebSocketWriter, pass: ConnectionLimiter.Permit, limits: ServerLimits, isBrowser: Bool
  ) {
    self.host = host
    self.outlet = outlet
    self.isBrowser = isBrowser
    admission = pass
    lastHeard = outlet.now
    budget = TokenBucket(burst: limits.messageBurst, perSecond: limits.messagesPerSecond, now: lastHeard.tick)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    admission.beginSignalling()
    connection = host.open(outlet, isBrowser: isBrowser, pass: admission)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    pings = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.pingInterval, delay: Self.pingInterval) { _ in
      let (handler, context) = bound.value
      handler.ping(context)
    }
    joinEnd = context.eventLoop.assumeIsolated().scheduleTask(in: Self.joinLimit) { [outlet] in
      if !outlet.isAccepted { outlet.close(.noJoin) }
    }
  }

  private func ping(_ context: ChannelHandlerContext) {
    guard outlet.now - lastHeard < Self.silenceLimit else { return context.close(promise: nil) }
    outlet.write(ByteBuffer(), as: .ping)
    outlet.closeIfStalled(at: outlet.now)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard !outlet.isClosing else { return }
    // RFC 6455, 5.1 and 5.2: clients mask, and no extension has been negotiated.
    guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return outlet.close(.protocolError) }
    lastHeard = outlet.now
    guard budget.take(at: lastHeard.tick), admission.takeMessage(at: lastHeard) else {
      return outlet.close(.tooFast)
    }
    switch frame.opcode {
    case .text: handleText(frame.unmaskedData)
    case .ping: outlet.write(frame.unmaskedData, as: .pong)
    case .pong: break
    case .connectionClose: outlet.close(.normalClosure)
    default: outlet.close(.unacceptableData)
    }
  }

  private func handleText(_ text: ByteBuffer) {
    guard let connection else { return }
    text.withUnsafeReadableBytes { bytes in
      if isBrowser {
        let message = Result { () throws(SignalingError) in try BrowserMessage(json: bytes) }
        if case .success(let message) = message, message.isEntry, !mayJoin() { return }
        host.handle(message, on: connection)
      } else {
        let message = ClientMessage.reading(bytes)
        if case .success(let message) = message, message.isEntry, !mayJoin() { return }
        host.handle(message, on: connection)
      }
    }
  }

  private func mayJoin() -> Bool {
    guard let connection, !admission.takeJoin(at: lastHeard) else { return true }
    host.refuseJoin(Failure(.tooMany, "too many joins from one address"), on: connection)
    return false
  }

  func channelInactive(context: ChannelHandlerContext) { leave() }
  func handlerRemoved(context: ChannelHandlerContext) { leave() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let violation = error as? SignalViolation { outlet.close(violation) } else { context.close(promise: nil) }
  }

  private func leave() {
    pings?.cancel()
    pings = nil
    joinEnd?.cancel()
    if let connection { host.close(connection) }
    connection = nil
  }
}

extension ClientMessage {
  /// Whether a connection that has not been accepted yet may be accepted for it: these are bounded by address.
  fileprivate var isEntry: Bool {
    switch self {
    case .join, .register, .resumeConversation: true
    default: false
    }
  }
}

extension BrowserMessage {
  fileprivate var isEntry: Bool {
    switch self {
    case .join: true
    case .offer: false
    case .other(let message): message.isEntry
    }
  }
}
