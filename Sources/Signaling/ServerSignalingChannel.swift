package import KoineBase

/// The server's end of a signalling channel (`ClientSignalingChannel` has the protocol). Sans-IO: the owner has the connections and
/// the time.
///
///     connected ── connectionLost ──→ lost(until the grace ends) ── resume ──→ resending ── the last page ──→ connected
///         └────────── resume, on a connection that the server does not know to be dead ──→ resending
package struct ServerSignalingChannel<Message: CountedMessage>: Sendable {
  package enum State: Hashable, Sendable {
    case connected
    /// Messages are sent again, from this number on; messages that are sent in the meantime follow them.
    case resending(from: Int)
    case lost(until: Tick)
  }

  /// The messages that are to be sent next, after a resumption.
  package enum Page {
    case messages(ArraySlice<Message>)
    /// All have been sent again.
    case none
    /// More messages than the channel keeps have been sent in the meantime: the channel has a gap, and its connection must be closed.
    case gap
  }

  package private(set) var state = State.connected
  /// Lets its bearer resume the channel. A secret.
  package let key: String
  /// Whether the client has been sent the key.
  package private(set) var isOffered = false
  private var sequence = MessageSequence<Message>()

  package init(key: String = Self.makeKey()) { self.key = key }

  /// 128 bits from the system.
  package static func makeKey() -> String {
    var random = SystemRandomNumberGenerator()
    return (0..<2).map { _ in String(random.next(), radix: 36) }.joined(separator: "-")
  }

  /// Whether the client has shown that it can resume the channel.
  package var isResumable: Bool { isOffered && sequence.isAcknowledged }

  /// The key is being sent.
  package mutating func offer() { isOffered = true }

  /// Keeps a message until the client acknowledges it.
  /// - Returns: whether the message goes out now: not while the connection is lost, nor before the messages that are sent again.
  package mutating func send(_ message: Message) -> Bool {
    sequence.send(message)
    switch state {
    case .connected: return true
    case .resending: return !message.isCounted
    case .lost: return false
    }
  }

  /// Counts a message of the client.
  /// - Returns: the count to acknowledge, now and then.
  package mutating func receive(isCounted: Bool) -> Int? { sequence.receive(isCounted: isCounted) }

  package mutating func acknowledge(_ count: Int) { sequence.acknowledge(count) }

  /// Messages that the client has not acknowledged, in order.
  package var unacknowledged: ArraySlice<Message> { sequence.unacknowledged }

  package mutating func connectionLost(until end: Tick) { state = .lost(until: end) }

  /// When the wait for a lost client ends.
  package var deadline: Tick? { if case .lost(let end) = state { end } else { nil } }

  /// The client is back, on another connection.
  /// - Parameter count: messages that it has received.
  /// - Returns: the count of its own messages that have been received, to be sent before `nextPage`; nil where the channel cannot be
  ///   resumed from there, and nothing has changed.
  package mutating func resume(received count: Int) -> Int? {
    guard isOffered, sequence.resume(received: count) != nil else { return nil }
    state = .resending(from: count)
    return sequence.received
  }

  /// Messages to be sent again. Call it after `resume`, and again when a page has been written, until there is none.
  package mutating func nextPage(within limits: MessageSequence<Message>.Limits) -> Page {
    guard case .resending(let number) = state else { return .none }
    guard let page = sequence.page(from: number, within: limits) else { return .gap }
    let next = number + page.count
    state = next < sequence.sent ? .resending(from: next) : .connected
    return page.isEmpty ? .none : .messages(page)
  }
}
