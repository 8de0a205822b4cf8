import NIOCore

/// A connection to Redis that is made again whenever it is lost, after a pause of up to a second. On one event loop.
///
///     connecting ──→ open ──→ pausing ──→ connecting …        ended
final class RedisLink: @unchecked Sendable {  // all on `loop`
  enum Event {
    case opened
    /// The connection is lost, or could not be made. The commands of the lost connection have been answered.
    case away(RedisDialer.Failure)
  }

  private enum State {
    case connecting
    case open(RedisConnection)
    case pausing(Scheduled<Void>)
    case ended
  }

  /// Pauses double from the first to the last, and are shortened by up to a half at random.
  static let pauses: [TimeAmount] = [.milliseconds(20), .milliseconds(100), .milliseconds(400), .seconds(1)]

  private static let stable = TimeAmount.seconds(2)

  /// A connection that nothing was sent to for so long gets a PING, so that a lost one is noticed.
  private let rest: TimeAmount
  private let dialer: RedisDialer
  private let channels: [String]
  private let loop: any EventLoop
  private let onEvent: (Event) -> Void
  private let onMessage: ([UInt8], [UInt8]) -> Void
  private var state = State.ended
  private var failures = 0
  /// Why this side has closed the connection.
  private var refusal: RedisDialer.Failure?
  private var openedAt: NIODeadline?
  private var lastCommand = NIODeadline.uptimeNanoseconds(0)
  private var ping: Scheduled<Void>?
  private var random: any RandomNumberGenerator

  /// - Parameters:
  ///   - channels: those to subscribe to; empty: the connection is for commands.
  ///   - onEvent: called on the loop.
  ///   - onMessage: called on the loop with each message of the channels.
  init(
    _ dialer: RedisDialer, channels: [String] = [], rest: TimeAmount, on loop: any EventLoop,
    random: any RandomNumberGenerator = SystemRandomNumberGenerator(),
    onMessage: @escaping ([UInt8], [UInt8]) -> Void = { _, _ in },
    onEvent: @escaping (Event) -> Void
  ) {
    (self.dialer, self.channels, self.rest, self.loop, self.random) = (dialer, channels, rest, loop, random)
    (self.onEvent, self.onMessage) = (onEvent, onMessage)
  }

  /// Begins to connect.
  func start() {
    guard case .ended = state else { return }
    connect()
  }

  /// Ends the connection, and connects no more.
  func end() {
    let former = state
    state = .ended
    ping?.cancel()
    switch former {
    case .pausing(let pause): pause.cancel()
    case .open(let connection): connection.close("the ledger is closed")
    case .connecting, .ended: break
    }
  }

  var isOpen: Bool { if case .open = state { true } else { false } }

  /// - Returns: false if there is no connection; then `answer` is not called.
  func send(_ command: RedisCommand, _ answer: @escaping RedisConnection.Answer) -> Bool {
    guard case .open(let connection) = state else { return false }
    lastCommand = loop.now
    connection.send(command, answer)
    return true
  }

  /// Gives up the present connection, for example because the server has become a replica.
  func reconnect(_ reason: RedisDialer.Failure) {
    guard case .open(let connection) = state else { return }
    refusal = reason
    connection.close(reason.description)
  }

  // MARK: Connecting

  private func connect() {
    state = .connecting
    dialer.connect(onMessage: onMessage) { [self] result in
      switch result {
      case .failure(let failure): lost(failure)
      case .success(let connection): subscribe(connection)
      }
    }
  }

  /// One command for each channel, so that each has one reply.
  private func subscribe(_ connection: RedisConnection) {
    guard case .connecting = state else { return connection.close("the ledger is closed") }
    refusal = nil
    var waiting = channels.count
    connection.whenClosed { [self] reason in lost(refusal ?? RedisDialer.Failure("\(reason)")) }
    guard waiting > 0 else { return opened(connection) }
    for channel in channels {
      connection.send(["SUBSCRIBE", channel]) { [self] result in
        waiting -= 1
        if case .success(.error(let text)) = result {
          refusal = refusal ?? RedisDialer.Failure(text, RedisCode(of: text))
          connection.close(text)
        } else if waiting == 0, case .success = result {
          opened(connection)
        }
      }
    }
  }

  private func opened(_ connection: RedisConnection) {
    guard case .connecting = state else { return }
    state = .open(connection)
    (openedAt, lastCommand) = (loop.now, loop.now)
    schedulePing()
    onEvent(.opened)
  }

  private func lost(_ failure: RedisDialer.Failure) {
    if case .ended = state { return }
    ping?.cancel()
    // A connection that was lost at once is one more failure.
    if let openedAt, loop.now >= openedAt + Self.stable { failures = 0 }
    openedAt = nil
    let longest = Self.pauses[min(failures, Self.pauses.count - 1)].nanoseconds
    failures += 1
    let pause = TimeAmount.nanoseconds(Int64.random(in: longest / 2...longest, using: &random))
    state = .pausing(
      loop.assumeIsolated().scheduleTask(in: pause) { [self] in
        if case .pausing = state { connect() }
      })
    onEvent(.away(failure))
  }

  private func schedulePing() {
    ping = loop.assumeIsolated().scheduleTask(deadline: lastCommand + rest) { [self] in
      guard case .open = state else { return }
      if loop.now >= lastCommand + rest { _ = send(["PING"]) { _ in } }
      schedulePing()
    }
  }
}
