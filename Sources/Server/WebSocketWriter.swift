import KoineBase
import KoineSignaling
import KoineSignalingHost
import NIOCore
import NIOWebSocket

/// Writes messages to a WebSocket's channel, from the network loop, and keeps watch over what waits there.
final class WebSocketWriter: MessageSink {
  /// What a frame takes while it waits, besides its payload.
  private static let frameOverhead = 128
  /// For the other end to read the goodbye.
  private static let goodbye = TimeAmount.seconds(2)
  /// So long nothing that waits may be read.
  private static let stallLimit = TimeAmount.seconds(30)

  private struct State {
    /// Bytes that have been handed over and not yet been read by the other end's kernel.
    var waiting = 0
    /// When something was last read, or began to wait.
    var lastProgress: NIODeadline
    var isClosing = false
    var isAccepted = false
  }

  private let channel: any Channel
  private let limit: Int
  /// Charges the client's address for the bytes of an answer to a join or of messages repeated after a resumption. Returns the
  /// pause before the next page.
  private let charge: @Sendable (Int) -> TimeAmount
  private let state: Lock<State>

  init(channel: any Channel, limit: Int, charge: @escaping @Sendable (Int) -> TimeAmount = { _ in .zero }) {
    (self.channel, self.limit, self.charge) = (channel, limit, charge)
    state = Lock(State(lastProgress: channel.eventLoop.now))
  }

  /// The time of the channel's event loop.
  var now: NIODeadline { channel.eventLoop.now }

  var isClosing: Bool { state.withLock { $0.isClosing } }

  /// Whether a join (one that waits for a decision counts), a registration or a resumption has been accepted.
  var isAccepted: Bool { state.withLock { $0.isAccepted } }

  // Encoded on the channel's own thread, so that the network loop has only to hand the message over.
  func send(_ message: EncodedMessage, endOf page: MessagePage?) {
    switch message.message {
    case .joined, .waiting, .registered, .resumed: state.withLock { $0.isAccepted = true }
    default: break
    }
    channel.eventLoop.execute { [self] in
      let json = message.encoded { ByteBuffer(bytes: $0) }
      let answer = message.message?.isAnswerToJoin == true ? json?.readableBytes ?? 0 : 0
      write(json, message.message, then: paced(answer + (page?.bytes ?? 0), page))
    }
  }

  /// Counts bytes for the client's address.
  /// - Returns: reports the page as written, once the address may have more; to be called when the message has been written.
  private func paced(_ bytes: Int, _ page: MessagePage?) -> (@Sendable () -> Void)? {
    let pause = bytes > 0 ? charge(bytes) : .zero
    guard let page else { return nil }
    return { [channel] in _ = channel.eventLoop.scheduleTask(in: pause) { page.whenWritten() } }
  }

  func close() { channel.eventLoop.execute { [self] in close(.policyViolation) } }

  private func write(_ json: ByteBuffer?, _ message: ServerMessage?, then: (@Sendable () -> Void)? = nil) {
    if let json, json.readableBytes + Self.frameOverhead <= limit { return write(json, as: .text, then: then) }
    // Without it the client's view of the room would have a hole.
    let failure = Failure(.tooLarge, "what the room holds does not fit into a message")
    let answer: ServerMessage =
      if case .joined = message { .refused(failure) } else { .failed(request: nil, failure) }
    if let json = try? answer.json() { write(ByteBuffer(bytes: json), as: .text) }
    close(.messageTooLarge)
  }

  /// Writes a frame, on the channel's thread. Every frame counts against `limit`, also those that this side did not initiate.
  func write(_ data: ByteBuffer, as opcode: WebSocketOpcode, then: (@Sendable () -> Void)? = nil) {
    let count = data.readableBytes + Self.frameOverhead
    let (isClosing, isTooMuch) = state.withLock { state in
      guard !state.isClosing, state.waiting + count <= limit else { return (state.isClosing, true) }
      if state.waiting == 0 { state.lastProgress = now }
      state.waiting += count
      return (false, false)
    }
    guard !isClosing else { return }
    guard !isTooMuch else { return close(.policyViolation) }
    channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: data)).whenComplete { [self] _ in
      state.withLock { state in
        state.waiting -= count
        state.lastProgress = now
      }
      then?()
    }
  }

  /// On the channel's thread.
  func closeIfStalled(at now: NIODeadline) {
    let isStalled = state.withLock { $0.waiting > 0 && now - $0.lastProgress > Self.stallLimit }
    if isStalled { close(.policyViolation) }
  }

  func close(_ violation: SignalViolation) { close(violation.code, violation.reason) }

  /// On the channel's thread. Says why, hears nothing more, and waits only a moment for the other end to read it.
  /// - Parameter reason: for the client's developer, at most 123 bytes.
  func close(_ code: WebSocketErrorCode, _ reason: String = "") {
    let isFirst = state.withLock { state in
      defer { state.isClosing = true }
      return !state.isClosing
    }
    guard isFirst else { return }
    let channel = channel
    channel.setOption(.autoRead, value: false).whenFailure { _ in channel.close(promise: nil) }
    var data = channel.allocator.buffer(capacity: 128)
    data.write(webSocketErrorCode: code)
    data.writeString(reason)
    let cut = channel.eventLoop.scheduleTask(in: Self.goodbye) { channel.close(promise: nil) }
    channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)).whenComplete { _ in
      cut.cancel()
      channel.close(promise: nil)
    }
  }
}

/// A page of a room's history, or of messages that are sent again to a client that is back.
struct MessagePage: Sendable {
  /// Bytes of messages that are sent again, estimated; zero for history.
  let bytes: Int
  /// Called on the channel's thread once the page's last message has been written, or cannot be any more, and the next page may follow.
  let whenWritten: @Sendable () -> Void
}

extension ServerMessage {
  fileprivate var isAnswerToJoin: Bool {
    switch self {
    case .joined, .history: true
    default: false
    }
  }
}
