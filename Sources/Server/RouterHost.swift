import KoineAdmissions
import KoineBase
import KoineLedger
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineSockets
import KoineTokens
import KoineTransport
import KoineVendorAPIs
import Logging

/// Where a connection's messages go. Called on the network loop: must return at once.
protocol MessageSink: AnyObject, Sendable {
  /// - Parameter page: that the message ends.
  func send(_ message: EncodedMessage, endOf page: MessagePage?)
  /// Closes the connection once everything sent before has been written.
  func close()
}

/// A router on its sockets, and the connections of its clients.
///
/// `@unchecked Sendable`: used on the network loop only, except for members that are marked.
final class RouterHost: UDPLoopClient, SignalHost, @unchecked Sendable {
  private let place = LoopPlace()
  let configuration: ServerConfiguration
  let logger: Logger
  private let currentAuthorization: Lock<Authorization>
  private let access: Lock<ServerConfiguration.Access>
  /// The vendors' HTTP APIs. Set before `start`.
  private(set) var apis: VendorAPIs?
  /// Signs the passes of the server's own services, which are admitted in addition to the clients of `Access`.
  private let ownKey: Lock<SigningKey?>
  /// See `setSigns`.
  private let signs: Lock<Bool>
  @exclusivity(unchecked) private(set) var signaling: SignalingHost?
  @exclusivity(unchecked) var lines: [ConnectionID: ClientLine] = [:]
  /// Closed at the end of the turn, when their last messages have been sent.
  @exclusivity(unchecked) private var closingLines: [ConnectionID] = []
  let checker = CredentialChecker()
  var loggers = ClientLoggers()
  @exclusivity(unchecked) private var pool: ForkJoinPool?
  /// One sender for each worker of the pool.
  @exclusivity(unchecked) private var senders: [BatchSender] = []
  @exclusivity(unchecked) private var addressFilter = SourceAddressFilter()
  @exclusivity(unchecked) private var idleMemory = IdleMemory()
  private let resumeGrace: Duration
  private let connectTimeout: Duration
  private let nextConnection = Lock(0)
  /// In a cluster.
  let ownLedger: ServerLedger?
  private(set) var commands: NodeCommands?
  /// In a cluster. Changed by `RouterHost+Cluster`.
  @exclusivity(unchecked) var ledger: ServerCluster.Connection?
  @exclusivity(unchecked) var loadMeter: LoadMeter?
  var ledgerMeter = LedgerMeter()
  let readiness = Lock(Readiness())
  let nodes = Lock(KnownNodes())
  /// The nodes of the last list that have other keys than this node.
  @exclusivity(unchecked) var nodesWithOtherKeys: Set<NodeID> = []
  @exclusivity(unchecked) var nodesWithSameAddress: Set<NodeID> = []
  var drainWaits: [CheckedContinuation<Void, Never>] = []
  var releaseWaits: [CheckedContinuation<Void, Never>] = []
  var hasLeftCluster = false
  @exclusivity(unchecked) private var addresses: [TransportAddress] = []
  /// Announced addresses by the bound ones, where they differ.
  @exclusivity(unchecked) private var boundAddresses: [TransportAddress: SocketAddress] = [:]
  @exclusivity(unchecked) private var announcedAddresses: [SocketAddress: TransportAddress] = [:]

  /// - Parameters:
  ///   - resumeGrace: how long after a connection loss its client may resume.
  ///   - connectTimeout: how long a participant may take until its media path is connected.
  init(
    _ configuration: ServerConfiguration, resumeGrace: Duration = RouterLimits().resumeGrace,
    connectTimeout: Duration = RouterLimits().connectTimeout
  ) {
    self.configuration = configuration
    self.resumeGrace = resumeGrace
    self.connectTimeout = connectTimeout
    logger = configuration.logger
    ownLedger = configuration.cluster.map { _ in ServerLedger() }
    // With a name, so that a pass of the server's own is checked by this key alone, and a token that names no key is not.
    let ownKey = try? SigningKey(generating: .p256, id: "koine.server")
    self.ownKey = Lock(ownKey)
    signs = Lock(configuration.backEndAPIs?.signs ?? true)
    access = Lock(configuration.access)
    currentAuthorization = Lock(Authorization(configuration.access, ownKey, nil))
    commands = nodeCommands()
  }

  /// Media is taken from these only, without ports; nil: from everywhere. (Binding to the loopback device would not do: the
  /// kernel delivers datagrams for another own address as if they came in by that address's interface.)
  @exclusivity(unchecked) private var ownAddressesOnly: Set<SocketAddress>?

  var now: Tick { Scheduler.real.now }

  /// From any thread.
  func post(_ work: @escaping @Sendable () -> Void) { place.post(for: self, work) }

  // MARK: Life

  /// From any thread. Opens the sockets and the router.
  /// - Returns: the media addresses that clients are told.
  func start() async throws -> [SocketAddress] {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<[SocketAddress], any Error>) in
      post { [self] in
        do {
          try open()
          done.resume(returning: addresses.map(\.socketAddress))
        } catch {
          close()
          done.resume(throwing: error)
        }
      }
    }
  }

  private func open() throws {
    var port = configuration.mediaPort
    let wanted = configuration.mediaAddresses.isEmpty ? try ownAddresses() : configuration.mediaAddresses
    for address in wanted {
      let bound = try place.open(address.bound.with(port: port))
      port = bound.port
      let announced = TransportAddress(udp: address.announced.with(port: port))
      addresses.append(announced)
      if announced.socketAddress != bound {
        boundAddresses[announced] = bound
        announcedAddresses[bound] = announced
      }
    }
    if isForThisMachineOnly { ownAddressesOnly = Set(InterfaceAddresses.all()) }
    // No threads for nothing: they come with the sockets, and go with them.
    let pool = ForkJoinPool(workers: configuration.loops)
    self.pool = pool
    senders = (0..<pool.workers).map { _ in
      BatchSender(addresses.map { ($0, place.makeSender(from: boundAddresses[$0] ?? $0.socketAddress)) })
    }
    var routerConfiguration = RouterConfiguration(certificate: try Certificate.shared(), addresses: addresses)
    routerConfiguration.limits.apply(configuration.limits)
    routerConfiguration.limits.resumeGrace = resumeGrace
    routerConfiguration.limits.connectTimeout = connectTimeout
    routerConfiguration.authorization = .fromVerdicts
    routerConfiguration.admission = configuration.admission
    apis?.hooks.apply(to: &routerConfiguration)
    routerConfiguration.commandExecuted = { [logger] in logger.log($0, $1) }
    routerConfiguration.attendant = configuration.attendant
    routerConfiguration.roomPermit = { [weak self] client in self?.roomPermit(for: client) }
    routerConfiguration.pacesPages = true
    routerConfiguration.cluster = configuration.cluster.map { cluster in
      var record = cluster.record
      record.keysDigest = keysDigest
      if ownLedger != nil { record.state = .starting }
      return ClusterConfiguration(record: record)
    }
    let signaling = SignalingHost(
      router: Router(configuration: routerConfiguration, random: .system(), now: now),
      configuration: .init(resumeGrace: resumeGrace, pacesPages: true))
    signaling.observe = { [weak self] message, client in self?.log(message, to: client) }
    self.signaling = signaling
    joinCluster()
    endTurn(at: now)
  }

  /// From any thread.
  func pass(for room: String, name: String) throws -> String {
    guard let ownKey = ownKey.withLock({ $0 }) else { throw ServerError(description: "no key could be made") }
    let now = NumericDate.ofSystemClock()
    return try KoineToken(
      room: room, name: name, rights: [.subscribe, .hidden], issued: now, expires: now + 10 * 365 * 86_400
    )
    .signed(with: ownKey)
  }

  /// From any thread.
  func send(_ answer: RoomService.Answer) {
    post { [self] in
      signaling?.router.send(answer, at: now)
      endTurn(at: now)
    }
  }

  /// A server that listens at a loopback address takes media at the machine's other addresses, too, but from nowhere else.
  var isForThisMachineOnly: Bool {
    configuration.mediaAddresses.isEmpty && ownHost?.isLoopback == true
  }

  private var ownHost: SocketAddress? {
    SocketAddress(configuration.host == "localhost" ? "127.0.0.1" : configuration.host, port: 0)
  }

  private func ownAddresses() throws -> [ServerConfiguration.MediaAddress] {
    guard let host = ownHost else {
      throw ServerError(description: "'\(configuration.host)' is no numeric address: say which addresses media goes by")
    }
    // The loopback address alone would not do: browsers take no media there.
    guard host.isUnspecified || host.isLoopback else { return [.init(announced: host)] }
    return InterfaceAddresses.all().map { .init(announced: $0) }
  }

  /// Notifies all participants that the rooms close, then closes the sockets. May be called from any thread.
  func stop() async {
    await withCheckedContinuation { done in
      post { [self] in
        signaling?.router.execute(
          RoomRequest(.closeAllRooms, by: CommandOrigin(.server, "koine"), reason: "the server stops"), at: now)
        endTurn(at: now)
        close()
        done.resume()
      }
    }
  }

  private func close() {
    signaling = nil
    closeLedger()
    pool = nil
    senders.removeAll()
    lines.removeAll()
    loggers = ClientLoggers()
    for address in addresses { place.close(boundAddresses[address] ?? address.socketAddress) }
    addresses.removeAll()
    place.rest()
  }

  /// A job that came after the end has made the loop's place again.
  func restIfStopped() { if signaling == nil { place.rest() } }

  // MARK: Connections: from any thread

  /// See `NodeRecord.keysDigest`.
  var keysDigest: String? {
    let signs = signs.withLock { $0 }
    return access.withLock { access in
      guard case .keys = access, !signs else { return access.keysDigest }
      return access.keysDigest.map { $0 + "-public" }
    }
  }

  func admit(_ new: ServerConfiguration.Access) {
    access.withLock { $0 = new }
    renewAuthorization()
    publishKeysDigest(keysDigest)
  }

  /// Whether the vendors' HTTP APIs sign tokens by keys of the configuration, and not by those that a cluster shares.
  func setSigns(_ isSigning: Bool) {
    signs.withLock { $0 = isSigning }
    publishKeysDigest(keysDigest)
  }

  private func renewAuthorization() {
    authorization = Authorization(access.withLock { $0 }, ownKey.withLock { $0 }, apis)
  }

  /// Signs passes by another key from now on. From any thread.
  func use(ownKey key: SigningKey) {
    ownKey.withLock { $0 = key }
    renewAuthorization()
  }

  /// Has joins follow what the APIs know. Called before `start`.
  func use(_ apis: VendorAPIs) {
    self.apis = apis
    apis.whenKeysChange { [weak self] in self?.renewAuthorization() }
    renewAuthorization()
  }

  var authorization: Authorization {
    get { currentAuthorization.withLock { $0 } }
    set { currentAuthorization.withLock { $0 = newValue } }
  }

  /// - Parameters:
  ///   - isBrowser: whether it describes its media by SDP.
  ///   - pass: what the connection counts by, while it is open and while it is lost; nil: by nothing.
  func open(_ outlet: any MessageSink, isBrowser: Bool, pass: ConnectionLimiter.Permit? = nil) -> ConnectionID {
    let connection = ConnectionID(
      nextConnection.withLock { number in
        number += 1
        return number
      })
    post { [self] in
      lines[connection] = ClientLine(outlet: outlet, pass: pass, at: now)
      let translator = BrowserTranslator(sessionID: String(connection.value)) { [weak self] in self?.browserNodes() }
      signaling?.open(connection, translator: isBrowser ? translator : nil, at: now)
    }
    return connection
  }

  func close(_ line: ConnectionID) {
    post { [self] in
      let pass = lines.removeValue(forKey: line)?.pass
      let client = signaling?.client(on: line)
      if let client { loggers[client]?.info("connection lost") }
      if let lost = signaling?.connectionLost(line, keeping: pass, at: now) {
        pass?.lose { [weak self] in self?.giveUp(lost) }
      } else {
        pass?.giveBack()
      }
      endTurn(at: now)
    }
  }

  private func giveUp(_ client: ClientID) {
    post { [self] in
      signaling?.giveUp(client, at: now)
      endTurn(at: now)
    }
  }

  /// Of the connection on which a client is reached, or was before it was lost.
  func pass(of client: ClientID) -> ConnectionLimiter.Permit? {
    signaling?.connection(of: client).flatMap { lines[$0]?.pass } ?? signaling?.permit(of: client)
      as? ConnectionLimiter.Permit
  }

  private func roomPermit(for client: ClientID) -> AnyObject? {
    // A connection without a pass is not a stranger's.
    guard let pass = pass(of: client) else { return place }
    return pass.openRoom()
  }

  func refuseJoin(_ failure: Failure, on line: ConnectionID) {
    post { [self] in
      signaling?.refuseJoin(failure, on: line)
      if let client = signaling?.client(on: line) { log(.refused(failure), to: client) }
      endTurn(at: now)
    }
  }

  func handle(_ message: Result<ClientMessage, UnreadableMessage>, on connection: ConnectionID) {
    receive(.native(message), on: connection)
  }

  /// Handles nothing more that comes on the line, and closes it when what it is owed has been sent.
  func close(afterTurn line: ConnectionID) {
    guard lines[line]?.isClosing == false else { return }
    lines[line]?.isClosing = true
    closingLines.append(line)
  }

  /// From any thread. nil once the router is closed.
  func statistics() async -> RouterStatistics? {
    await withCheckedContinuation { done in post { [self] in done.resume(returning: signaling?.router.statistics) } }
  }

  /// From any thread. How often the network loop has woken since it began.
  func loopTurns() async -> Int {
    await withCheckedContinuation { done in post { [self] in done.resume(returning: place.turns) } }
  }

  // MARK: Datagrams and time

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    if let own = ownAddressesOnly, !own.contains(source.with(port: 0)), !source.isLoopback { return }
    signaling?.router.store(
      datagram, from: TransportAddress(udp: source),
      to: announcedAddresses[destination] ?? TransportAddress(udp: destination), at: now)
  }

  func handleTimeout(at now: Tick) {
    signaling?.handleTimeout(at: now)
    signaling?.router.handleTimeout(by: pool, at: now)
    if idleMemory.isDue(at: now) { IdleMemory.giveBack() }
    measureLoad(at: now)
    endTurn(at: now)
    DeadlineLaw.check("RouterHost", deadline: deadline, at: now, because: deadlineReason)
  }

  private var deadline: Tick? {
    (signaling?.router.deadline).sooner(signaling?.deadline).sooner(idleMemory.deadline).sooner(loadMeter?.deadline)
  }

  var deadlineReason: String {
    let reason = soonestDeadline([
      "router": signaling?.router.deadline, "end of a lost connection": signaling?.deadline,
      "idle memory": idleMemory.deadline, "measurement of the load": loadMeter?.deadline,
    ])
    return reason == "router" ? signaling?.router.deadlineReason ?? reason : reason
  }

  func loopSpins(_ description: String) { logger.warning("\(description)") }

  func endTurn(at now: Tick) {
    guard let signaling, let pool else { return }
    let router = signaling.router
    router.handleArrivals(by: pool, at: now)
    carryToLedger(at: now)
    while let outgoing = signaling.pollMessage(at: now) {
      lines[outgoing.connection]?.outlet.send(outgoing.message, endOf: outgoing.endsPage ? page(outgoing) : nil)
    }
    while let event = signaling.pollEvent() { handle(event) }
    for line in closingLines { lines[line]?.outlet.close() }
    closingLines = []
    // Before anything is answered: what the answers bring must come through.
    if addressFilter.mustChange(router, at: now) {
      let sources = router.sources.lazy.map(\.socketAddress)
      for address in addresses { place.expect(from: sources, at: boundAddresses[address] ?? address.socketAddress) }
    }
    idleMemory.handle(hasRooms: !router.isEmpty, at: now)
    let senders = senders
    router.poll(by: pool, at: now) { departure, worker in senders[worker].send(departure) }
    place.wake(at: deadline)
  }

  private func handle(_ event: SignalingHost.Event) {
    switch event {
    case .closeConnection(let connection): close(afterTurn: connection)
    case .clientResumed(let client): loggers[client]?.info("connection taken up again")
    case .clientClosed(let client): loggers.remove(for: client)
    }
  }

  /// The next page follows once this one has been written.
  private func page(_ outgoing: SignalingHost.Outgoing) -> MessagePage {
    MessagePage(bytes: outgoing.pageBytes ?? 0) { [weak self, connection = outgoing.connection] in
      self?.post { [weak self] in
        guard let self else { return }
        signaling?.pageWritten(on: connection)
        endTurn(at: now)
      }
    }
  }
}

/// Where one hand writes datagrams, and its ways out of the sockets.
///
/// `@unchecked Sendable`: one thread at a time, as `ForkJoinPool` says.
private final class BatchSender: @unchecked Sendable {
  private let datagram = Bytes(capacity: 2_048)
  /// By the address that clients know; few.
  private let senders: [(source: TransportAddress, sender: UDPSender?)]

  init(_ senders: [(source: TransportAddress, sender: UDPSender?)]) { self.senders = senders }

  /// Sends all datagrams that a peer has ready, one after the other.
  func send(_ departure: PeerOutput) {
    while let transmit = departure.poll(into: datagram.writable) {
      sender(from: transmit.source)?.send(
        UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]), to: transmit.destination.socketAddress)
    }
    for (_, sender) in senders { sender?.flush() }
  }

  private func sender(from source: TransportAddress) -> UDPSender? {
    for entry in senders where entry.source == source { return entry.sender }
    return nil
  }
}

extension RouterLimits {
  fileprivate mutating func apply(_ limits: ServerLimits) {
    (rooms, participants, lobby) = (limits.rooms, limits.participants, limits.lobby)
    (tracks, subscriptions, forwardedVoices) = (limits.tracks, limits.subscriptions, limits.voices)
  }
}

extension Authorization {
  /// Each message with a credential comes to the router with its verdict (`RouterHost.begin`). One that came without is refused:
  /// it must not be checked on the network loop.
  fileprivate static let fromVerdicts = Authorization(
    check: { _ in .failure(Failure(.internal, "the credential has not been checked")) },
    checkIdentity: { _ in .failure(Failure(.internal, "the credential has not been checked")) })

  fileprivate init(_ access: ServerConfiguration.Access, _ ownKey: SigningKey?, _ apis: VendorAPIs?) {
    let base: Authorization =
      switch access {
      case .open: .embedded
      case .keys(let keys): .tokens(trusting: .keys(keys + Self.ownKeys(ownKey) + (apis?.verificationKeys ?? [])))
      }
    self = apis?.authorization(after: base) ?? base
  }

  /// None, or one, which leaves all places of tokens without a `kid` to the keys of `Access`.
  private static func ownKeys(_ key: SigningKey?) -> [VerificationKey] {
    guard var own = try? key?.verificationKey else { return [] }
    own.needsKeyID = true
    return [own]
  }
}

extension Logger {
  func with(_ metadata: Metadata) -> Logger {
    var logger = self
    for (key, value) in metadata { logger[metadataKey: key] = value }
    return logger
  }
}
