import KoineBase
import KoineJSONCodec
import KoineSignaling
import NIOCore
import NIOWebSocket

/// Writes messages to a WebSocket's channel, from the network loop, and keeps watch over what waits there.
final class ChannelOutlet: SignalOutlet {
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

  // Written out on the channel's own thread, so that the network loop has only to hand it over.
  func send(_ message: SharedMessage) {
    switch message.message {
    case .joined, .waiting, .registered, .resumed: state.withLock { $0.isAccepted = true }
    default: break
    }
    channel.eventLoop.execute { [self] in
      let json = message.json
      let bytes = message.message.isAnswerToJoin ? json?.readableBytes ?? 0 : 0
      write(json, message.message, then: paced(bytes, message.page, message.whenWritten))
    }
  }

  func send(_ answer: BrowserAnswer, endOf page: RepeatedPage?) {
    channel.eventLoop.execute { [self] in
      write((try? JSONCodec.encode(answer)).map(ByteBuffer.init(bytes:)), nil, then: paced(0, page, nil))
    }
  }

  /// Counts bytes for the client's address.
  /// - Returns: what to do once they have been written: to say so, after as long as the address has to wait for more.
  private func paced(
    _ bytes: Int, _ page: RepeatedPage?, _ whenWritten: (@Sendable () -> Void)?
  ) -> (@Sendable () -> Void)? {
    let bytes = bytes + (page?.bytes ?? 0)
    let pause = bytes > 0 ? charge(bytes) : .zero
    let followers = [page?.whenWritten, whenWritten].compactMap(\.self)
    guard !followers.isEmpty else { return nil }
    return { [channel] in
      _ = channel.eventLoop.scheduleTask(in: pause) { for follower in followers { follower() } }
    }
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

  /// On the channel's thread. Every frame counts, whoever wanted it.
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

/// The end of a page of messages that are said again to a client that is back.
struct RepeatedPage: Sendable {
  /// Of the page, about.
  let bytes: Int
  /// Called on the channel's thread once the page has been written, or cannot be any more, and the next may follow.
  let whenWritten: @Sendable () -> Void
}

/// A message on its way to some or all of a room: written as JSON once, by whichever thread is first.
final class SharedMessage: Sendable {
  private enum Writing { case notYet, done(ByteBuffer?) }

  let message: ServerMessage
  /// That the message ends.
  let page: RepeatedPage?
  /// Called on the channel's thread once the message has been written, or cannot be any more.
  let whenWritten: (@Sendable () -> Void)?
  private let writing = Lock(Writing.notYet)

  init(_ message: ServerMessage, endOf page: RepeatedPage? = nil, whenWritten: (@Sendable () -> Void)? = nil) {
    (self.message, self.page, self.whenWritten) = (message, page, whenWritten)
  }

  /// nil where it cannot be written, as it is too large.
  var json: ByteBuffer? {
    writing.withLock { writing in
      if case .done(let json) = writing { return json }
      let json = (try? message.json()).map(ByteBuffer.init(bytes:))
      writing = .done(json)
      return json
    }
  }
}

extension ServerMessage {
  fileprivate var isAnswerToJoin: Bool {
    switch self {
    case .joined, .history: true
    default: false
    }
  }
}
