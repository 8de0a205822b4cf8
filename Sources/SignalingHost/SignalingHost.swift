package import KoineBase
package import KoineRouter
package import KoineSignaling

/// Names a connection that carries signalling: a WebSocket, or a stream of the embedded backend.
package struct ConnectionID: Hashable, Sendable {
  package let value: Int
  package init(_ value: Int) { self.value = value }
}

/// The signalling of a router's clients: their connections, and the channels that outlive them.
///
/// Sans-IO with a single owner, as the router. The owner opens a connection, hands over the client's messages, and says when the
/// connection is lost. After each call, and after each call of the router's, it drains `pollMessage(at:)` and `pollEvent()`, and calls
/// `handleTimeout(at:)` no later than `deadline`.
///
///     open ─→ connected ── connectionLost ─→ lost ── the grace ends ─→ closed
///                 ↑                            │ resumeConversation, on another connection
///                 └────────────────────────────┘
///
/// A client has the number of its first connection. A client that cannot resume (it has never acknowledged a message) is closed with
/// its connection.
package final class SignalingHost {
  package struct Configuration: Sendable {
    /// How long a lost client is waited for.
    package var resumeGrace: Duration
    /// Whether the owner calls `pageWritten` once a page has been written; else all messages are sent again at once.
    package var pacesPages = false

    package init(resumeGrace: Duration, pacesPages: Bool = false) {
      (self.resumeGrace, self.pacesPages) = (resumeGrace, pacesPages)
    }
  }

  /// A message on its way to a connection.
  package struct Outgoing: Sendable {
    package let connection: ConnectionID
    package let message: EncodedMessage
    /// Messages that are sent again after a resumption come in pages: of the last message of a page, the page's size in bytes.
    package fileprivate(set) var pageBytes: Int?
    /// Whether the owner calls `pageWritten` once the message has been written.
    package var endsPage: Bool { pageBytes != nil || message.message?.hasMoreHistory == true }
  }

  package enum Event: Hashable, Sendable {
    /// Its client has resumed on another connection, or cannot be sent what it missed.
    case closeConnection(ConnectionID)
    /// The client is back, on another connection.
    case clientResumed(ClientID)
    /// The client has gone, or is waited for no longer.
    case clientClosed(ClientID)
  }

  private final class Client {
    let id: ClientID
    var channel = ServerSignalingChannel<EncodedMessage>()
    /// nil while it is lost.
    var connection: ConnectionID?
    let translator: (any MessageTranslator)?
    /// The owner's, while the client is lost.
    var permit: (any AnyObject & Sendable)?

    init(_ connection: ConnectionID, _ translator: (any MessageTranslator)?) {
      (id, self.connection, self.translator) = (ClientID(connection.value), connection, translator)
    }
  }

  package let router: Router
  private let configuration: Configuration
  private var clients: [ClientID: Client] = [:]
  private var connections: [ConnectionID: Client] = [:]
  private var keys: [String: Client] = [:]
  /// The longest lost first: all have the same grace.
  @exclusivity(unchecked) private var lost: [Client] = []
  @exclusivity(unchecked) private var outgoing: [Outgoing] = []
  @exclusivity(unchecked) private var nextOutgoing = 0
  @exclusivity(unchecked) private var events: [Event] = []
  /// Copies of one message come one after the other: it is encoded once for all of them.
  @exclusivity(unchecked) private var last: (number: UInt64, message: EncodedMessage)?
  /// Receives each message of the router before it is translated, for logs.
  package var observe: ((ServerMessage, ClientID) -> Void)?

  package init(router: Router, configuration: Configuration) {
    (self.router, self.configuration) = (router, configuration)
  }

  // MARK: Connections

  /// A client's first connection.
  /// - Parameter translator: for a front end with messages of its own.
  package func open(_ connection: ConnectionID, translator: (any MessageTranslator)? = nil, at now: Tick) {
    let client = Client(connection, translator)
    guard connections[connection] == nil, clients[client.id] == nil else { return }
    clients[client.id] = client
    connections[connection] = client
    router.open(client.id, resumptionKey: client.channel.key, at: now)
  }

  /// The connection broke. If the client can come back, its participant stays in the room for the grace, and its messages wait; if
  /// not, the client is closed.
  /// - Parameter permit: kept while the client is lost.
  /// - Returns: the client that is waited for.
  @discardableResult package func connectionLost(
    _ connection: ConnectionID, keeping permit: (any AnyObject & Sendable)? = nil, at now: Tick
  ) -> ClientID? {
    guard let client = connections[connection] else { return nil }
    guard client.channel.isResumable else {
      close(client, at: now)
      return nil
    }
    connections[connection] = nil
    client.connection = nil
    client.permit = permit
    client.channel.connectionLost(until: now + configuration.resumeGrace)
    lost.append(client)
    router.setReachable(client.id, false)
    return client.id
  }

  /// The client of this connection has gone.
  package func close(_ connection: ConnectionID, at now: Tick) {
    if let client = connections[connection] { close(client, at: now) }
  }

  /// Ends the wait for a client that has lost its connection.
  package func giveUp(_ id: ClientID, at now: Tick) {
    guard let client = clients[id], client.connection == nil else { return }
    close(client, grace: .zero, at: now)
  }

  private func close(_ client: Client, grace: Duration? = nil, at now: Tick) {
    forget(client)
    router.close(client.id, grace: grace, at: now)
    events.append(.clientClosed(client.id))
  }

  private func forget(_ client: Client) {
    clients[client.id] = nil
    if let connection = client.connection { connections[connection] = nil }
    if client.channel.isOffered { keys[client.channel.key] = nil }
    client.permit = nil
    lost.removeAll { $0 === client }
  }

  /// The client that sends on the connection.
  package func client(on connection: ConnectionID) -> ClientID? { connections[connection]?.id }

  /// nil while the client is lost.
  package func connection(of client: ClientID) -> ConnectionID? { clients[client]?.connection }

  /// The permit of a lost client.
  package func permit(of client: ClientID) -> (any AnyObject & Sendable)? { clients[client]?.permit }

  package func translator(on connection: ConnectionID) -> (any MessageTranslator)? {
    connections[connection]?.translator
  }

  // MARK: Messages of clients

  /// - Parameter verdict: on the message's credential, where it has been checked already.
  package func receive(
    _ message: ClientMessage, authorization verdict: CredentialVerdict? = nil, on connection: ConnectionID, at now: Tick
  ) {
    guard let client = connections[connection] else { return }
    acknowledge(client, isCounted: message.isCounted)
    switch message {
    case .ping(let number): send(.pong(number), to: client)
    case .heard(let count):
      client.channel.acknowledge(count)
      if client.channel.isResumable { router.setResumable(client.id) }
    case .resumeConversation(let key, let count):
      resume(key, received: count, on: connection, insteadOf: client, at: now)
    case .bye: close(client, at: now)
    default:
      guard let translator = client.translator else {
        return router.handle(message, authorization: verdict, from: client.id, at: now)
      }
      perform(translator.translate(message), authorization: verdict, of: client, at: now)
    }
  }

  /// A message that only the front end's own protocol has: counts it.
  /// - Returns: its client, for `perform`.
  package func receiveOwnMessage(on connection: ConnectionID) -> ClientID? {
    guard let client = connections[connection] else { return nil }
    acknowledge(client, isCounted: true)
    return client.id
  }

  /// A message that cannot be read is answered, never punished.
  package func receive(_ unreadable: UnreadableMessage, on connection: ConnectionID) {
    guard let client = connections[connection] else { return }
    acknowledge(client, isCounted: true)
    router.refuse(unreadable, from: client.id)
  }

  /// Refuses a join that has come on this connection, for a reason that the owner knows.
  package func refuseJoin(_ failure: Failure, on connection: ConnectionID) {
    guard let client = connections[connection] else { return }
    acknowledge(client, isCounted: true)
    send(.refused(failure), to: client)
  }

  private func acknowledge(_ client: Client, isCounted: Bool) {
    if let count = client.channel.receive(isCounted: isCounted) { send(.heard(count), to: client) }
  }

  /// Carries out the actions of the client's translator.
  package func perform(
    _ actions: [TranslatedAction], authorization verdict: CredentialVerdict? = nil, of id: ClientID, at now: Tick
  ) {
    if let client = clients[id] { perform(actions, authorization: verdict, of: client, at: now) }
  }

  private func perform(
    _ actions: [TranslatedAction], authorization verdict: CredentialVerdict? = nil, of client: Client,
    encoded: EncodedMessage? = nil, at now: Tick
  ) {
    for action in actions {
      switch action {
      case .handle(let message): router.handle(message, authorization: verdict, from: client.id, at: now)
      case .setCapabilities(let capabilities): router.setCapabilities(capabilities, of: client.id)
      case .send(let message): send(message, to: client)
      case .forward: if let encoded { send(encoded, to: client) }
      case .sendOwn(let message): send(message, to: client)
      }
    }
  }

  // MARK: Resumption

  /// The client that was begun on the new connection is dropped, and the old connection is closed if it is still open.
  private func resume(
    _ key: String, received count: Int, on connection: ConnectionID, insteadOf new: Client, at now: Tick
  ) {
    guard !router.isInRoom(new.id), let client = keys[key], client !== new,
      let received = client.channel.resume(received: count)
    else {
      return send(.refused(Failure(.unknownConversation, "this conversation is not known, or no longer")), to: new)
    }
    close(new, at: now)
    if let old = client.connection {
      connections[old] = nil
      events.append(.closeConnection(old))
    }
    lost.removeAll { $0 === client }
    (client.connection, client.permit) = (connection, nil)
    connections[connection] = client
    router.setReachable(client.id, true)
    send(.resumed(heard: received), to: client)
    sendNextPage(to: client)
    router.historyWritten(to: client.id)
    events.append(.clientResumed(client.id))
  }

  /// A message that ends a page (`Outgoing.endsPage`) has been written: the next page may be sent.
  package func pageWritten(on connection: ConnectionID) {
    guard let client = connections[connection] else { return }
    sendNextPage(to: client)
    router.historyWritten(to: client.id)
  }

  /// So a client that does not read costs one page.
  private func sendNextPage(to client: Client) {
    guard let connection = client.connection else { return }
    switch client.channel.nextPage(within: configuration.pacesPages ? .page : .unlimited) {
    case .none: break
    case .gap: events.append(.closeConnection(connection))
    case .messages(let page):
      for message in page { outgoing.append(Outgoing(connection: connection, message: message)) }
      outgoing[outgoing.count - 1].pageBytes = page.reduce(0) { $0 + $1.weight }
    }
  }

  // MARK: Messages to clients

  private func send(_ message: ServerMessage, to client: Client) { send(EncodedMessage(message), to: client) }

  private func send(_ message: EncodedMessage, to client: Client) {
    guard client.channel.send(message), let connection = client.connection else { return }
    outgoing.append(Outgoing(connection: connection, message: message))
  }

  /// The next message and its connection.
  package func pollMessage(at now: Tick) -> Outgoing? {
    while true {
      if nextOutgoing < outgoing.count {
        nextOutgoing += 1
        return outgoing[nextOutgoing - 1]
      }
      if nextOutgoing > 0 {
        outgoing.removeAll(keepingCapacity: true)
        nextOutgoing = 0
      }
      guard let item = router.pollMessage() else { return nil }
      observe?(item.message, item.client)
      if let client = clients[item.client] { deliver(item, to: client, at: now) }
    }
  }

  private func deliver(_ item: AddressedMessage, to client: Client, at now: Tick) {
    if item.message.isWorthReturning { offer(client) }
    let encoded = last.flatMap { $0.number == item.number ? $0.message : nil } ?? EncodedMessage(item.message)
    last = (item.number, encoded)
    guard let translator = client.translator else { return send(encoded, to: client) }
    perform(translator.translate(item.message), of: client, encoded: encoded, at: now)
  }

  /// Before the first answer that gives the client something to return to.
  private func offer(_ client: Client) {
    guard !client.channel.isOffered else { return }
    client.channel.offer()
    keys[client.channel.key] = client
    send(.resumable(key: client.channel.key, graceSeconds: configuration.resumeGrace.inSeconds), to: client)
  }

  package func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  // MARK: Time

  /// When `handleTimeout` next has work to do. The router has its own deadline.
  package var deadline: Tick? { lost.first?.channel.deadline }

  package func handleTimeout(at now: Tick) {
    while let client = lost.first, let deadline = client.channel.deadline, deadline <= now {
      close(client, grace: .zero, at: now)
    }
  }

  // MARK: Snapshots and figures

  /// A snapshot of a room, with the data messages that clients have not acknowledged.
  package func snapshot(of room: String, at now: Tick) -> RoomSnapshot? {
    router.snapshot(of: room, at: now) { [clients] id in
      clients[id]?.channel.unacknowledged.compactMap(\.message) ?? []
    }
  }

  /// For tests: the number of entries in each table; all zero once every client has gone.
  package var holdings: [String: Int] {
    ["signalling clients": clients.count, "connections": connections.count, "keys": keys.count, "lost": lost.count]
  }
}

extension ServerMessage {
  fileprivate var isWorthReturning: Bool {
    switch self {
    case .joined, .registered, .waiting: true
    default: false
    }
  }
}
