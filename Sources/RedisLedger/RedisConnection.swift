import KoineBase
package import NIOCore

/// One connection to a Redis server: the last handler of its channel. Commands are pipelined, and replies are assigned to them in
/// order. Everything here happens on the channel's event loop, hence `@unchecked Sendable`.
///
///     connecting ── channelActive ──→ open ──→ closed: by either side, by an error, or because the server is silent
package final class RedisConnection: ChannelInboundHandler, @unchecked Sendable {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  /// A command whose reply will not come. Whether the server has executed the command is unknown.
  package struct Unanswered: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
  }

  package typealias Answer = (Result<RedisReply, Unanswered>) -> Void

  private enum State {
    case connecting
    case open(ChannelHandlerContext)
    case closed(Unanswered)
  }

  private let reader: RedisReader
  private let silence: TimeAmount
  private let isSecure: Bool
  private let onMessage: (_ channel: [UInt8], _ message: [UInt8]) -> Void
  private var state = State.connecting
  private var pending = CircularBuffer<Answer>()
  /// Whether the server has sent anything.
  private var hasAnswered = false
  /// When a command was sent to a server without pending commands, or the last bytes arrived.
  private var lastProgress = NIODeadline.uptimeNanoseconds(0)
  private var watch: Scheduled<Void>?
  private var willFlush = false
  private var onOpen: (() -> Void)?
  private var onClose: ((Unanswered) -> Void)?

  /// - Parameters:
  ///   - silence: the server counts as lost if commands are pending and no byte arrives for so long.
  ///   - isSecure: whether the connection is one of TLS.
  ///   - onMessage: gets the messages of channels to which the connection has subscribed.
  package init(
    limits: RedisReader.Limits = .init(), silence: TimeAmount, isSecure: Bool = false,
    onMessage: @escaping (_ channel: [UInt8], _ message: [UInt8]) -> Void = { _, _ in }
  ) {
    (reader, self.silence, self.onMessage) = (RedisReader(limits: limits), silence, onMessage)
    self.isSecure = isSecure
  }

  /// Sends a command.
  /// - Parameter answer: called once, on the event loop, and in the order of the commands; also when the connection closes.
  package func send(_ command: RedisCommand, _ answer: @escaping Answer) {
    switch state {
    case .connecting: answer(.failure(Unanswered("the connection is not open")))
    case .closed(let reason): answer(.failure(reason))
    case .open(let context):
      if pending.isEmpty { lastProgress = context.eventLoop.now }
      pending.append(answer)
      var buffer = context.channel.allocator.buffer(capacity: command.size)
      command.write(to: &buffer)
      context.write(wrapOutboundOut(buffer), promise: nil)
      scheduleFlush(context)
      scheduleWatch(context)
    }
  }

  /// - Parameter action: called once, when commands can be sent or the connection has closed; at once if that is so.
  package func whenOpen(_ action: @escaping () -> Void) {
    if case .connecting = state { onOpen = action } else { action() }
  }

  /// - Parameter action: called once, after all pending commands have been answered; at once if the connection is closed.
  package func whenClosed(_ action: @escaping (Unanswered) -> Void) {
    if case .closed(let reason) = state { action(reason) } else { onClose = action }
  }

  /// Ends the connection.
  package func close(_ reason: String) {
    guard case .open(let context) = state else { return }
    end(reason)
    context.close(promise: nil)
  }

  // MARK: In

  package func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { open(context) }
  }

  package func channelActive(context: ChannelHandlerContext) {
    open(context)
    context.fireChannelActive()
  }

  private func open(_ context: ChannelHandlerContext) {
    guard case .connecting = state else { return }
    state = .open(context)
    onOpen?()
    onOpen = nil
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .open = state else { return }
    lastProgress = context.eventLoop.now
    hasAnswered = true
    do {
      try unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
        try reader.read(bytes) { handle($0) }
      }
    } catch { close("\(error)") }
  }

  private func handle(_ reply: RedisReply) {
    guard case .open = state else { return }  // closed by the handler of an earlier reply
    if case .array(let parts) = reply, parts.count == 3, parts[0] == .bytes(Array("message".utf8)),
      case .bytes(let channel) = parts[1], case .bytes(let message) = parts[2]
    {
      return onMessage(channel, message)
    }
    guard let answer = pending.popFirst() else { return close("a reply of Redis answers no command") }
    answer(.success(reply))
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    close(RedisFailureText(error).description + (isSecure ? "" : hint))
  }

  package func channelInactive(context: ChannelHandlerContext) {
    endByOther()
    context.fireChannelInactive()
  }

  package func handlerRemoved(context: ChannelHandlerContext) { endByOther() }

  private func endByOther() { end("the connection was closed" + hint) }

  /// A Redis without TLS is silent to a handshake; one with TLS closes a connection that does not begin with one.
  private var hint: String {
    if hasAnswered { return "" }
    return isSecure ? "; 'rediss:' is for a server with TLS" : "; 'redis:' is for a server without TLS"
  }

  // MARK: Time

  private func scheduleFlush(_ context: ChannelHandlerContext) {
    guard !willFlush else { return }
    willFlush = true
    // One flush for all commands of this turn of the loop.
    context.eventLoop.assumeIsolated().execute { [self] in
      willFlush = false
      if case .open = state { context.flush() }
    }
  }

  private func scheduleWatch(_ context: ChannelHandlerContext) {
    guard watch == nil else { return }
    let loop = context.eventLoop
    watch = loop.assumeIsolated().scheduleTask(deadline: lastProgress + silence) { [self] in
      watch = nil
      guard case .open(let context) = state, !pending.isEmpty else { return }
      guard loop.now < lastProgress + silence else {
        return close("no answer for \(Double(silence.nanoseconds) / 1e9) s" + (isSecure ? hint : ""))
      }
      scheduleWatch(context)
    }
  }

  // MARK: The end

  private func end(_ text: String) {
    if case .closed = state { return }
    let reason = Unanswered(text)
    state = .closed(reason)
    watch?.cancel()
    watch = nil
    while let answer = pending.popFirst() { answer(.failure(reason)) }
    onOpen?()
    onClose?(reason)
    (onOpen, onClose) = (nil, nil)
  }
}
