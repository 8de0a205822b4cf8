/// The client's end of a signalling channel: messages in both directions, each delivered once and in order over connections that
/// come and go. Sans-IO: the owner has the connections and the time.
///
///     client                                 server
///       ── join ─────────────────────────────→
///       ←───────────────── resumable, joined ──   a key, and for how long the server waits for a lost client
///       ── heard(n) ─────────────────────────→   from now on the server keeps messages until they are acknowledged
///       ←───────────────────────── … heard(m) ──   both ends acknowledge, now and then
///            the connection breaks; a new one
///       ── resumeConversation(key, heard) ───→
///       ←──────────────────── resumed(heard) ──   both ends send again what the other has not received
///
/// States:
///
///     connecting ── joined or registered ──→ established ── connectionLost ──→ lost ── connectionMade ──→ resuming
///                                               ↑                                                           │ resumed
///                                               └───────────────────────────────────────────────────────────┘
///     resuming ── refused ──→ connecting: the server does not know the channel (any more); the client joins, or registers, again
///     any state ── abandon ──→ lost ── connectionMade ──→ connecting: the same at another server
///
/// Each message is encoded once, when it is sent first.
public struct ClientSignalingChannel: Sendable {
  public enum State: Hashable, Sendable { case connecting, established, lost, resuming }

  /// What a message of the server means to the client.
  public enum Event: Hashable, Sendable {
    case message(ServerMessage)
    /// The channel goes on where it broke.
    case resumed
    /// The server does not know the channel. A new one has begun; its client joins again. `unacknowledged` messages may not have
    /// been received.
    case forgotten(unacknowledged: [ClientMessage])
    /// The message was of the channel itself.
    case none
  }

  private struct Encoded: CountedMessage {
    let message: ClientMessage
    let json: [UInt8]

    var isCounted: Bool { message.isCounted }
    var weight: Int { json.count + 128 }
  }

  public private(set) var state = State.connecting
  private var sequence = MessageSequence<Encoded>(isAcknowledged: true)
  private var key: String?
  /// The key of the channel before this one, which the server does not know or cannot resume: proves to the server that a join
  /// comes from the same client (`Join.resumptionKey`).
  public private(set) var formerKey: String?
  /// Set until the next connection, which begins a new channel.
  private var isAbandoned = false
  private var outgoing: [Encoded] = []

  public init() {}

  /// Whether the channel outlives its connection.
  public var isResumable: Bool { key != nil }

  /// Sends a message: now, or once the channel has been resumed.
  /// - Throws: `SignalingError` for a message that a server would not accept; it is not sent.
  public mutating func send(_ message: ClientMessage) throws(SignalingError) {
    let json = try message.json()
    // The server counts no message that it cannot read. Data messages are many, and their sizes have been checked.
    if case .data = message {} else { try Self.check(json) }
    send(Encoded(message: message, json: json))
  }

  private static func check(_ json: [UInt8]) throws(SignalingError) {
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(SignalingError) in try ClientMessage(json: bytes) }
    }
    _ = try result.get()
  }

  private mutating func send(_ message: Encoded) {
    switch state {
    case .connecting, .established: outgoing.append(message)
    case .lost, .resuming: guard message.isCounted else { return }  // of a connection that is gone
    }
    sequence.send(message)
  }

  /// Sends a message of the channel itself, on this connection only.
  private mutating func sendOwn(_ message: ClientMessage) {
    if let json = try? message.json() { outgoing.append(Encoded(message: message, json: json)) }
  }

  /// The JSON of the next message for the present connection.
  public mutating func pollMessage() -> [UInt8]? { outgoing.isEmpty ? nil : outgoing.removeFirst().json }

  /// The connection is gone.
  public mutating func connectionLost() {
    outgoing = []
    state = .lost
  }

  /// Gives up the channel and its connection: the next connection leads to another server, where the client joins, or registers,
  /// again. Messages that are sent before count as unacknowledged messages of this channel.
  public mutating func abandon() {
    connectionLost()
    isAbandoned = true
  }

  /// There is a new connection.
  /// - Returns: `forgotten` after `abandon`, otherwise `none`.
  @discardableResult
  public mutating func connectionMade() -> Event {
    guard state == .lost else { return .none }
    if isAbandoned { return forget() }
    guard let key else {  // the connection broke before the server had answered: everything is sent again
      let messages = sequence.unacknowledged
      beginNewChannel()
      for message in messages { send(message) }
      return .none
    }
    state = .resuming
    outgoing = []
    sendOwn(.resumeConversation(key: key, heard: sequence.received))
    return .none
  }

  public mutating func receive(_ message: ServerMessage) -> Event {
    if let count = sequence.receive(isCounted: message.isCounted) { sendOwn(.heard(count)) }
    switch message {
    case .joined, .registered:
      state = .established
      return .message(message)
    case .resumable(let key, _):
      self.key = key
      sendOwn(.heard(sequence.received))
      return .none
    case .heard(let count):
      sequence.acknowledge(count)
      return .none
    case .resumed(let count):
      guard state == .resuming, let unacknowledged = sequence.resume(received: count) else { return forget() }
      outgoing = Array(unacknowledged)
      state = .established
      return .resumed
    case .refused(let failure, _) where state == .resuming && failure.isAboutChannel: return forget()
    default: return .message(message)
    }
  }

  /// A message that could not be read counts, too.
  public mutating func receiveUnreadable() {
    if let count = sequence.receive() { sendOwn(.heard(count)) }
  }

  private mutating func forget() -> Event {
    let messages = sequence.unacknowledged.map(\.message)
    beginNewChannel()
    return .forgotten(unacknowledged: messages)
  }

  private mutating func beginNewChannel() {
    let former = key ?? formerKey
    self = ClientSignalingChannel()
    formerKey = former
  }
}

extension Failure {
  /// Whether a server that refuses a resumption for this reason does not know the channel. With too many clients returning at once,
  /// or without its ledger, a server has not looked at the key: the client tries again later. And it may send the client elsewhere.
  fileprivate var isAboutChannel: Bool { code != .tooMany && code != .unavailable && code != .moved }
}

/// When to connect again: at once, then after pauses that double, each between half and all of its length.
public struct Backoff: Hashable, Sendable {
  public var first: Duration
  public var longest: Duration
  private var attempts = 0

  public init(first: Duration = .milliseconds(500), longest: Duration = .seconds(8)) {
    (self.first, self.longest) = (first, longest)
  }

  /// - Parameter jitter: 0...1, random, so that clients that were lost together do not return together.
  public mutating func next(jitter: Double) -> Duration {
    defer { attempts += 1 }
    guard attempts > 0 else { return .zero }
    let pause = min(first * (1 << min(attempts - 1, 16)), longest)
    return pause * (0.5 + 0.5 * min(max(jitter, 0), 1))
  }

  public mutating func succeeded() { attempts = 0 }
}
