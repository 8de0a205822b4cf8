public import KoineBase
package import KoineRouter
public import KoineSignaling
import KoineVendorAPIs
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// A router on real sockets: HTTP, signalling over WebSocket, and one UDP port for all media.
///
///     start ─→ serving ─→ stop: all participants are notified that the rooms close, then the sockets close
public final class Server: Sendable {
  /// Where the room protocol is spoken.
  public static let signalingPath = "/signaling"
  /// Where it is spoken with offers and answers (SDP) in place of the structured descriptions.
  public static let browserPath = "/browser"

  /// The port of HTTP and WebSocket.
  public let port: Int
  /// What clients are told of the media port.
  public let mediaAddresses: [KoineBase.SocketAddress]
  private let host: RouterHost
  /// On this machine's loopback address, without TLS: the way in for a service beside the router; nil where there is none.
  public let insidePort: Int?
  /// The port of `/metrics`, where it has one of its own.
  public let metricsPort: Int?
  private let listener: any Channel
  private let inside: (any Channel)?
  private let metrics: (any Channel)?
  private let control: ControlSocket?
  private let served: ServedAPIs?
  private let apis: APIDispatcher?
  private let certificate: ServerCertificate
  private let group: MultiThreadedEventLoopGroup
  private let logger: Logger

  /// Threads that read and write HTTP and signalling. The messages of one connection stay on one of them, in order.
  private static var signalingLoops: Int { min(max(System.coreCount, 2), 4) }

  private init(
    served: ServedAPIs?, host: RouterHost, mediaAddresses: [KoineBase.SocketAddress], listener: any Channel,
    inside: (any Channel)?,
    metrics: (any Channel)?, control: ControlSocket?, apis: APIDispatcher?,
    certificate: ServerCertificate, group: MultiThreadedEventLoopGroup, logger: Logger
  ) {
    (self.control, self.apis, self.served) = (control, apis, served)
    (self.host, self.mediaAddresses, self.listener) = (host, mediaAddresses, listener)
    (self.certificate, self.group, self.logger) = (certificate, group, logger)
    port = listener.localAddress?.port ?? 0
    self.inside = inside
    insidePort = inside?.localAddress?.port
    self.metrics = metrics
    metricsPort = metrics?.localAddress?.port
  }

  /// Opens all sockets and begins to serve.
  /// - Throws: `ServerError` if a socket cannot be opened, or the certificate cannot be read.
  public static func start(_ configuration: ServerConfiguration) async throws -> Server {
    let certificate = ServerCertificate(configuration)
    try certificate.read()
    let host = RouterHost(configuration)
    var configuration = configuration
    var served: ServedAPIs?
    if let backEndAPIs = configuration.backEndAPIs {
      let made = try await ServedAPIs(
        backEndAPIs, shared: host.ownLedger?.registry, homes: host.roomHomes, logger: configuration.logger
      ) { await host.execute($0) }
      host.use(made.apis)
      configuration.apis = made.apis
      served = made
    }
    let addresses = try await host.start()
    served?.agreeOnKeys { host.use(ownKey: $0) }
    await served?.apis.restoreLinks()
    let execute: ControlSocket.Execution = { [served] request in await Self.execute(request, host, served) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: signalingLoops)
    let limiter = ConnectionLimiter(limits: configuration.limits)
    let apis = configuration.apis.map { APIDispatcher($0) }
    let part: HTTPRoutes.Part = configuration.metrics == nil ? .all : .allButMetrics
    let desk = HTTPRoutes(
      host: host, limiter: limiter, part: part,
      site: Site(names: configuration.hostNames, listener: configuration.host),
      apis: apis, events: served?.events)
    let metricsDesk = HTTPRoutes(
      host: host, limiter: limiter, part: .metrics,
      site: Site(names: configuration.hostNames, listener: configuration.metrics?.host ?? ""),
      events: served?.events)
    let insideDesk = HTTPRoutes(
      host: host, limiter: limiter, part: part, site: Site(names: [], listener: "127.0.0.1"))
    var place = ServerConfiguration.Endpoint(host: configuration.host, port: configuration.port)
    do {
      let listener = try await bootstrap(host, configuration, limiter, desk, certificate, on: group)
        .bind(host: place.host, port: place.port).get()
      func other(
        _ desk: HTTPRoutes, at endpoint: ServerConfiguration.Endpoint?, isInside: Bool = false
      ) async throws -> (any Channel)? {
        guard let endpoint else { return nil }
        place = endpoint
        let limiter = ConnectionLimiter(limits: configuration.limits, isInside: isInside)
        return try await bootstrap(host, configuration, limiter, desk, nil, on: group)
          .bind(host: endpoint.host, port: endpoint.port).get()
      }
      let metrics = try await other(metricsDesk, at: configuration.metrics)
      let inside = try await other(
        insideDesk, at: configuration.attendant == nil ? nil : ServerConfiguration.Endpoint(host: "127.0.0.1", port: 0),
        isInside: true)
      var control: ControlSocket?
      if let path = configuration.control {
        control = try await ControlSocket.open(at: path, on: group, execute: execute)
      }
      served?.start(on: group)
      let server = Server(
        served: served, host: host, mediaAddresses: addresses, listener: listener, inside: inside, metrics: metrics,
        control: control,
        apis: apis, certificate: certificate, group: group, logger: configuration.logger)
      var metadata: Logger.Metadata = [
        certificate.isUsed ? "https" : "http": "\(Self.place(configuration.host, server.port))",
        "media": .array(addresses.map { .string($0.description) }),
        "from": host.isForThisMachineOnly ? "this machine only" : "everywhere",
      ]
      metadata["ca"] = certificate.authority.map { "\($0)" }
      server.logger.info("serving", metadata: metadata)
      certificate.renewRegularly(on: group.next())
      return server
    } catch {
      await host.leaveCluster()
      await host.stop()
      try? await group.shutdownGracefully()
      if let error = error as? ServerError { throw error }
      throw ServerError(
        description: "cannot listen on \(Self.place(place.host, place.port)): \(ServerError.words(for: error))")
    }
  }

  private static func place(_ host: String, _ port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// In a cluster, hands all rooms over to other nodes, and returns when that is done, or after a limit. Else returns at once.
  package func drain(limit: Duration) async {
    guard host.configuration.cluster != nil else { return }
    logger.notice("draining: rooms are handed over to other nodes")
    await host.drain(limit: limit)
  }

  /// In a cluster, sends all participants to other nodes, and ends the lease. Else without effect.
  package func leaveCluster() async { await host.leaveCluster() }

  /// Notifies all participants that their rooms close, then stops the server. In a cluster, sends them to other nodes.
  public func stop() async {
    logger.info("stopping")
    await host.leaveCluster()
    await control?.close()
    try? await listener.close()
    try? await inside?.close()
    try? await metrics?.close()
    await apis?.stop()
    // The events of the rooms go into the registry before the ledger is closed.
    await served?.apis.settle()
    await host.stop()
    await served?.stop()
    try? await group.shutdownGracefully()
    logger.info("stopped")
  }

  /// Carries out a command of `RoomControl`. The way to the rooms for HTTP APIs, the cluster and the command line.
  package func execute(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    await Self.execute(request, host, served)
  }

  /// Links are in the registry of the APIs, where there is one.
  private static func execute(
    _ request: RoomRequest, _ host: RouterHost, _ served: ServedAPIs?
  ) async -> Result<RoomAnswer, RoomControlError> {
    switch (request.command, served) {
    case (.link(let names), let served?): return await served.apis.link(names, request).map { _ in .done }
    case (.unlink(let names), let served?): return await served.apis.unlink(names, request).map { _ in .done }
    default: return await host.execute(request)
    }
  }

  /// Applies new access rules to later joins. Participants in a room stay.
  public func admit(_ access: ServerConfiguration.Access) { host.admit(access) }

  /// Believes other requests to the vendors' HTTP APIs from now on, and signs the APIs' tokens by other keys. Tokens stay valid as long
  /// as the set has the private key that they follow from. The registry and the public address stay.
  /// - Throws: `ServerError` if the credentials cannot be read, `TokenError` if a key cannot be used. Everything then stays as it was.
  ///   Without APIs nothing happens.
  public func renewAPIs(_ apis: BackEndAPIs) throws {
    try served?.renew(apis)
    host.setSigns(apis.signs)
  }

  /// Creates a token with which a service of the server joins a room, hidden and receiving. It is valid while the server runs.
  /// - Throws: `ServerError` if the server has no key of its own; `TokenError` if the token cannot be signed.
  public func pass(for room: String, name: String) throws -> String { try host.pass(for: room, name: name) }

  /// Sends a message of the co-located service to a room. Any thread may call it.
  public func send(_ answer: RoomService.Answer) { host.send(answer) }

  /// Uses another certificate for new connections.
  /// - Throws: if the files cannot be read. The former certificate then stays in use.
  public func renewCertificate(_ files: ServerConfiguration.TLSFiles) throws { try certificate.read(files) }

  /// Reads the configured certificate again, for new connections. With a local CA, renews its certificates if they end soon or if the
  /// machine's names have changed.
  /// - Throws: if the files cannot be read. The former certificate then stays in use.
  public func renewCertificate() throws { try certificate.read() }

  // MARK: Channels

  private static func bootstrap(
    _ host: RouterHost, _ configuration: ServerConfiguration, _ limiter: ConnectionLimiter, _ desk: HTTPRoutes,
    _ certificate: ServerCertificate?, on group: MultiThreadedEventLoopGroup
  ) -> ServerBootstrap {
    let pipeline = SignalPipeline(
      host: host, limits: configuration.limits, routing: desk,
      answersPlainHTTP: configuration.answersPlainHTTP || configuration.localCA != nil)
    return ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      // Budgets are looked at between two reads.
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        guard let pass = limiter.enter(from: channel.remoteAddress?.ipAddress ?? "") else { return channel.close() }
        channel.closeFuture.whenComplete { _ in pass.channelClosed() }
        return channel.eventLoop.makeCompletedFuture {
          try pipeline.install(on: channel, pass: pass, tls: certificate?.context)
        }
      }
  }
}
