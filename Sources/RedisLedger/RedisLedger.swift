package import KoineBase
package import KoineLedger
package import Logging
package import NIOCore
import NIOPosix

/// A ledger in Redis, or in a server with its protocol: one connection for requests and one for messages, on one event loop.
///
/// Redis decides: each request is a script or a single command there (`RedisScript`). Refusals that say that the server cannot work
/// (`OOM`, `READONLY`, `LOADING`, `NOPERM`, `CLUSTERDOWN` …) are answered with `away`, and each kind has one line in the log until it
/// is over. A request is never repeated, with one exception: a server that does not know a script has not executed it,
/// and gets the script itself.
///
/// The first request with a script on a connection carries the script's text (EVAL), and waits until all earlier requests are answered.
/// So a server lacks a script only after SCRIPT FLUSH. Then new requests wait until all sent requests are answered, and the requests
/// that were not executed are sent first, in their order. If a later script may have been executed in the meantime, because another node
/// has sent its text, they are not sent again: their answer is `away`. (Heartbeats and messages to nodes are no scripts, and have no
/// order among them.)
///
/// `@unchecked Sendable`: `waiting` is locked, and all other state is used on `loop` only.
package final class RedisLedger: Ledger, @unchecked Sendable {
  package struct Limits: Sendable {
    /// Bytes of requests without an answer. Further requests are answered with `tooMany`.
    package var waiting = 16 << 20
    /// For an answer, and for a connection.
    package var silence = LedgerTimes.answer
    /// A connection on which nothing was sent for so long gets a PING.
    package var rest = Duration.seconds(2)

    package init() {}
  }

  /// A request whose answer has not been passed on yet. Answers are passed on in the order of the requests.
  private final class Slot {
    let number: UInt64
    let exchange: RedisExchange?
    let size: Int
    var answer: LedgerAnswer?
    /// Whether it was sent with its script.
    var isWhole = false

    init(_ number: UInt64, _ exchange: RedisExchange?, size: Int, answer: LedgerAnswer? = nil) {
      (self.number, self.exchange, self.size, self.answer) = (number, exchange, size, answer)
    }
  }

  private static let ownGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  private let address: RedisAddress
  private let node: NodeID?
  private let limits: Limits
  private let loop: any EventLoop
  private let logger: Logger
  private let onEvent: @Sendable (LedgerEvent) -> Void
  private let waiting = Lock(0)
  private let lastFailure = Lock<String?>(nil)

  private var requests: RedisLink?
  private var messages: RedisLink?
  private var slots = CircularBuffer<Slot>()
  /// Digests of the scripts that were sent whole on this connection.
  private var sentScripts: Set<String> = []
  /// Requests that were sent and have no reply.
  private var underWay = 0
  /// Requests that the server has not executed because it lacked their scripts, and requests after them that are not sent yet.
  private var unexecuted: [Slot] = []
  private var unsent = CircularBuffer<Slot>()
  /// Whether there is a connection for requests, and whether that was announced.
  private var isOpen = false
  private var isConnected = false
  private var report = AwayReport()
  private var messageReport = AwayReport()
  /// Whether there has been a connection for messages.
  private var hasListened = false

  /// - Parameters:
  ///   - node: the node whose messages are received, beside those for all nodes; nil: no messages are received.
  ///   - loop: nil: a thread that all ledgers of the process share.
  ///   - onEvent: called on the loop, never inside `send`.
  package init(
    _ address: RedisAddress, node: NodeID? = nil, limits: Limits = Limits(), on loop: (any EventLoop)? = nil,
    logger: Logger, onEvent: @escaping @Sendable (LedgerEvent) -> Void
  ) {
    (self.address, self.node, self.limits, self.logger, self.onEvent) = (address, node, limits, logger, onEvent)
    self.loop = loop ?? Self.ownGroup.next()
  }

  /// Begins to connect. The first event is `connected`, whenever that is.
  package func start() { loop.execute { self.begin() } }

  /// Ends the connections. Requests that wait are answered with `away`. A ledger that is not closed lives on.
  /// - Returns: a future that succeeds when no further event will come.
  @discardableResult
  package func close() -> EventLoopFuture<Void> {
    loop.submit {
      self.requests?.end()
      self.messages?.end()
      self.answerAll(.failed(.away("the ledger is closed")))
      (self.requests, self.messages) = (nil, nil)
      (self.isOpen, self.isConnected) = (false, false)
    }
  }

  package func send(_ request: LedgerRequest, number: UInt64, at now: Tick) {
    let exchange = RedisExchange(request, database: address.database)
    let size = exchange?.size ?? 0
    let isAccepted = waiting.withLock { waiting in
      guard waiting + size <= limits.waiting else { return false }
      waiting += size
      return true
    }
    // The request is not kept if it is too much.
    if isAccepted {
      loop.execute { self.begin(number, exchange, size) }
    } else {
      loop.execute { self.add(Slot(number, nil, size: 0, answer: .failed(.tooMany))) }
    }
  }

  // MARK: Requests

  private func begin(_ number: UInt64, _ exchange: RedisExchange?, _ size: Int) {
    let slot = Slot(number, exchange, size: size)
    guard exchange != nil else {
      slot.answer = .failed(.away("the request has numbers that the ledger cannot hold"))
      return add(slot)
    }
    slots.append(slot)
    unsent.append(slot)
    sendWaiting()
    passOn()
  }

  private func add(_ slot: Slot) {
    slots.append(slot)
    passOn()
  }

  private func transmit(_ slot: Slot) {
    guard let exchange = slot.exchange else { return }
    var command = exchange.first
    if let digest = exchange.digest, let whole = exchange.second, sentScripts.insert(digest).inserted {
      (command, slot.isWhole) = (whole, true)
    }
    underWay += 1
    let isSent = requests?.send(command) { [self] result in
      underWay -= 1
      handle(result, for: slot)
      if case .success = result { sendWaiting() }
      passOn()
    }
    guard isSent != true else { return }
    underWay -= 1
    slot.answer = .failed(.away("there is no connection to the ledger"))
  }

  private func sendWaiting() {
    if !unexecuted.isEmpty {
      guard underWay == 0 else { return }
      unsent = CircularBuffer(unexecuted + unsent)
      unexecuted = []
    }
    while let slot = unsent.first {
      if underWay > 0, let digest = slot.exchange?.digest, !sentScripts.contains(digest) { return }
      unsent.removeFirst()
      if slot.answer == nil { transmit(slot) }
    }
  }

  private func giveUpUnexecuted(before later: RedisExchange) {
    guard later.digest != nil else { return }
    for former in unexecuted { former.answer = .failed(.away("Redis has flushed its scripts")) }
    unexecuted = []
  }

  private func handle(_ result: Result<RedisReply, RedisConnection.Unanswered>, for slot: Slot) {
    guard let exchange = slot.exchange else { return }
    switch result {
    case .failure(let reason): slot.answer = .failed(.away("\(reason)"))
    case .success(.error(let text)):
      let code = RedisCode(of: text)
      if code == .noScript, exchange.digest != nil, !slot.isWhole {
        sentScripts = []
        return unexecuted.append(slot)
      }
      giveUpUnexecuted(before: exchange)  // an error may come after a part of the work
      refuse(slot, exchange.kind, text, code)
    case .success(let reply):
      giveUpUnexecuted(before: exchange)
      let change = report.executed(exchange.kind)
      if change.isBack { logger.notice("ledger: connected to \(address)") }
      for code in change.over { logger.notice("ledger: Redis no longer refuses requests with \(code.rawValue)") }
      do { slot.answer = try exchange.answer(to: reply) } catch {
        refuse(
          slot, exchange.kind, "UNREADABLE an answer that \(exchange.kind) cannot have",
          RedisCode(rawValue: "UNREADABLE"))
      }
    }
  }

  private func refuse(_ slot: Slot, _ kind: String, _ text: String, _ code: RedisCode) {
    slot.answer = .failed(.away(LogText.line(text, limit: 200)))
    if code.endsConnection {
      // The log has a line about the connection.
      passOn()
      requests?.reconnect(RedisDialer.Failure(LogText.line(text, limit: 200), code))
    } else if report.refused(kind, code) {
      let advice = code.advice.map { " (\($0))" } ?? ""
      logger.warning("ledger: Redis refuses \(kind): \(LogText.line(text, limit: 200))\(advice)")
    }
  }

  /// Passes on the answers up to the first request without one.
  private func passOn() {
    while let slot = slots.first, let answer = slot.answer {
      slots.removeFirst()
      waiting.withLock { $0 -= slot.size }
      onEvent(.answered(number: slot.number, answer))
    }
  }

  private func answerAll(_ answer: LedgerAnswer) {
    for slot in slots where slot.answer == nil { slot.answer = answer }
    passOn()
  }

  // MARK: Connections

  private func begin() {
    guard requests == nil else { return }
    if let warning = address.warning { logger.warning("\(warning)") }
    let rest = TimeAmount.nanoseconds(limits.rest.nanoseconds)
    let requests = RedisLink(dialer(), rest: rest, on: loop) { [self] in handle($0) }
    self.requests = requests
    requests.start()
    guard let node else { return }
    let channels = [LedgerChannel.node(node), .all].map { channel in
      (channel: channel, name: RedisExchange.channel(channel, database: address.database))
    }
    let messages = RedisLink(
      dialer(), channels: channels.map(\.name), rest: rest, on: loop,
      onMessage: { [self] name, message in
        guard let known = channels.first(where: { $0.name.utf8.elementsEqual(name) }) else { return }
        onEvent(.message(known.channel, message))
      }, onEvent: { [self] in handleMessages($0) })
    self.messages = messages
    messages.start()
  }

  /// Why there is no connection, also if there never was one; nil while there is one. Any thread may read it.
  package var failure: String? { lastFailure.withLock { $0 } }

  private func dialer() -> RedisDialer {
    var times = RedisDialer.Limits()
    times.silence = .nanoseconds(limits.silence.nanoseconds)
    times.connect = times.silence
    return RedisDialer(address, limits: times, on: loop)
  }

  private func handle(_ event: RedisLink.Event) {
    switch event {
    case .opened:
      isOpen = true
      sentScripts = []
      announceConnection()
    case .away(let failure):
      isOpen = false
      // Requests that wait for a script or behind one may be without an answer although no command is.
      (unexecuted, unsent) = ([], CircularBuffer())
      answerAll(.failed(.away(failure.description)))
      if report.away(failure) { logger.warning("ledger: away: \(failure)\(advice(failure))") }
      lastFailure.withLock { $0 = failure.description }
      guard isConnected else { return }
      isConnected = false
      onEvent(.disconnected(failure.description))
    }
  }

  /// A node begins when it hears the other nodes: without their messages it could neither be moved nor have its rooms managed.
  private func announceConnection() {
    guard isOpen, !isConnected, node == nil || hasListened else { return }
    isConnected = true
    lastFailure.withLock { $0 = nil }
    onEvent(.connected)
  }

  private func handleMessages(_ event: RedisLink.Event) {
    switch event {
    case .opened:
      _ = messageReport.executed("")
      // The node may have missed a notice. All other messages are repeated by their senders until they are acknowledged.
      if hasListened { onEvent(.message(.all, RegistryNotice.bytes)) }
      hasListened = true
      announceConnection()
    case .away(let failure):
      // While the ledger is away altogether, one line says so.
      guard isOpen else { break }
      if !isConnected { lastFailure.withLock { $0 = failure.description } }
      if messageReport.away(failure) {
        logger.warning("ledger: no messages from other nodes: \(failure)\(advice(failure))")
      }
    }
  }

  private func advice(_ failure: RedisDialer.Failure) -> String { failure.code?.advice.map { " (\($0))" } ?? "" }
}
