/// A client's side of its conversation with the router: what may be said on the connection there is now, and what the
/// router's messages mean for the conversation. Has no clock and no connection of its own.
///
///     connecting ── joined or registered ──→ standing ── disconnected ──→ broken ── connected ──→ resuming
///                                               ↑                                                    │ resumed
///                                               └────────────────────────────────────────────────────┘
///     resuming ── refused ──→ forgotten: the router knows nothing (any more); whoever speaks joins, or registers, anew
public struct ClientConversation: Sendable {
  public enum State: Hashable, Sendable { case connecting, standing, broken, resuming }

  /// What to do with a message of the router.
  public enum Heard: Hashable, Sendable {
    case message(ServerMessage)
    /// The conversation goes on where it broke.
    case resumed
    /// The router does not know the conversation. Begin anew: `begin` has been called, what was not heard is `unheard`.
    case forgotten(unheard: [ClientMessage])
    case nothing
  }

  public private(set) var state = State.connecting
  private var conversation = Conversation<ClientMessage>(isTold: true)
  private var key: String?
  /// The key of the conversation before this one, which the router does not know or cannot resume: proves to the router that
  /// a join comes from the same client (`Join.resumptionKey`).
  public private(set) var formerKey: String?
  private var outgoing: [ClientMessage] = []

  public init() {}

  /// Whether the conversation can outlive its connection.
  public var isResumable: Bool { key != nil }

  /// Says something: now, or once the conversation is taken up again.
  public mutating func say(_ message: ClientMessage) {
    switch state {
    case .connecting, .standing: outgoing.append(message)
    case .broken, .resuming: guard message.isCounted else { return }  // pings of a connection that is gone
    }
    conversation.say(message)
  }

  /// The next message to be sent on the connection.
  public mutating func pollMessage() -> ClientMessage? { outgoing.isEmpty ? nil : outgoing.removeFirst() }

  /// The connection is gone.
  public mutating func disconnected() {
    outgoing = []
    state = .broken
  }

  /// A new connection stands.
  public mutating func connected() {
    guard state == .broken else { return }
    guard let key else {  // it broke before the router had answered: everything is said again
      let again = Array(conversation.unheard)
      beginAnew()
      for message in again { say(message) }
      return
    }
    state = .resuming
    outgoing = [.resumeConversation(key: key, heard: conversation.heard)]
  }

  public mutating func hear(_ message: ServerMessage) -> Heard {
    if let told = conversation.hear(isCounted: message.isCounted) { outgoing.append(.heard(told)) }
    switch message {
    case .joined, .registered:
      state = .standing
      return .message(message)
    case .resumable(let key, _):
      self.key = key
      outgoing.append(.heard(conversation.heard))
      return .nothing
    case .heard(let count):
      conversation.told(heard: count)
      return .nothing
    case .resumed(let count):
      guard state == .resuming, let unheard = conversation.takenUp(heard: count) else { return forget() }
      outgoing = Array(unheard)
      state = .standing
      return .resumed
    // With too many clients on their way back, the router has not looked at the key: a client tries again later.
    case .refused(let failure) where state == .resuming && failure.code != .tooMany: return forget()
    default: return .message(message)
    }
  }

  /// A message that could not be read counts all the same.
  public mutating func hearUnreadable() {
    if let told = conversation.hear() { outgoing.append(.heard(told)) }
  }

  private mutating func forget() -> Heard {
    let unheard = Array(conversation.unheard)
    beginAnew()
    return .forgotten(unheard: unheard)
  }

  private mutating func beginAnew() {
    let former = key ?? formerKey
    self = ClientConversation()
    formerKey = former
  }
}

/// When to try again: at once, then after pauses that double, each between half and all of its length.
public struct Backoff: Hashable, Sendable {
  public var first: Duration
  public var longest: Duration
  private var attempts = 0

  public init(first: Duration = .milliseconds(500), longest: Duration = .seconds(8)) {
    (self.first, self.longest) = (first, longest)
  }

  /// - Parameter luck: 0...1, so that those who were lost together do not come back together.
  public mutating func next(luck: Double) -> Duration {
    defer { attempts += 1 }
    guard attempts > 0 else { return .zero }
    let pause = min(first * (1 << min(attempts - 1, 16)), longest)
    return pause * (0.5 + 0.5 * min(max(luck, 0), 1))
  }

  public mutating func succeeded() { attempts = 0 }
}
