import ArgumentParser
@preconcurrency import Dispatch
import Foundation
import Koine
import KoineComposition
import KoineLedger
import KoineMediaFiles
import KoineRedisLedger
import KoineSampleSupport
import KoineServer
import KoineServerBackend
import KoineTokens
import Logging

/// Rooms for other processes and machines.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serves rooms to other processes, machines and browsers.",
    discussion: """
      HTTP and signalling (WebSocket) on one TCP port, all media on one UDP port. Apps of every style reach it with \
      KOINE_BACKEND=ws://HOST:PORT. On SIGTERM or SIGINT it notifies all \
      participants that their rooms close, and ends. A node of a cluster (--cluster) hands its rooms over first.

      Every option can also be set in the environment (--tls-key as KOINE_SERVE_TLS_KEY; several values separated by \
      commas) and in a JSON file ("tls-key": "key.pem"; limits as an object). Options take precedence over the \
      environment, the environment over the file.
      """)

  @Option(
    name: .customLong("configuration"),
    help: "Takes from this JSON file what neither an option nor the environment says (KOINE_SERVE_CONFIGURATION).")
  var file: String?

  @Option(help: "Where HTTP and WebSocket are served. (default: 127.0.0.1:8080)")
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "A DNS name of the server; other names are refused then. At a loopback address none are accepted without it, except localhost.",
      valueName: "name"))
  var host: [String] = []

  @Option(
    help: ArgumentHelp(
      "Serves /metrics there, without TLS, and nowhere else. (default: where everything else is)",
      valueName: "host:port"))
  var metrics: String?

  @Option(
    help: ArgumentHelp(
      "Takes commands of `koine rooms` at this path, a Unix domain socket of this user's alone. (default: none)",
      valueName: "path"))
  var control: String?

  @Option(help: "The UDP port for all media; 0: the system chooses one. (default: 0)")
  var udp: String?

  @Option(
    help: ArgumentHelp(
      "Where clients reach the media port, instead of the machine's own addresses. PUBLIC=OWN behind a translation that keeps ports.",
      valueName: "ip"))
  var address: [String] = []

  @Flag(help: "Admits every client; signatures of tokens are not checked.")
  var open = false

  @Option(help: "Admits clients with a token that a key of this file has signed; the file is read again on SIGHUP.")
  var keys: String?

  @Option(
    help:
      "Answers requests to the vendors' HTTP APIs that a credential of this file has signed (`koine credentials` makes one); it is read again on SIGHUP."
  )
  var apiCredentials: String?

  @Option(
    help: "Keeps the registry of the vendors' HTTP APIs in this file. (default: in memory; in a cluster in its Redis)")
  var registry: String?

  @Option(
    help: ArgumentHelp(
      "Sends events to back ends on these hosts only: VideoSDK's webhooks, and --events. With --open also to this machine's loopback addresses. (default: none)",
      valueName: "host,…"))
  var webhookHosts: [String] = []

  @Option(
    help: ArgumentHelp(
      "Sends all events there by POST: of Amazon Chime and Amazon IVS in EventBridge's form, and VideoSDK's webhooks. aws=URL or videosdk=URL for one of both. May be given several times.",
      valueName: "url"))
  var events: [String] = []

  @Option(
    help:
      "Serves HTTPS and wss:// with this certificate chain (PEM); it is read again on SIGHUP. Other machines get no HTTP."
  )
  var tlsCertificate: String?

  @Option(help: "The certificate's key (PEM, not encrypted).")
  var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "Serves HTTPS beside HTTP with a certificate for this machine's names and --host. A certificate authority in this directory issues it; it is made once, and clients trust its ca.pem.",
      valueName: "dir"))
  var localCa: String?

  @Option(
    help: ArgumentHelp(
      "What one room, client or address may take, as participants=50,rooms=10. There are \(ServerLimits.names.joined(separator: ", ")).",
      valueName: "name=number,…"))
  var limits: [String] = []

  @Option(help: "The number of threads that send media, 1 to 64. (default: one for each core, at most 4)")
  var loops: String?

  @Option(help: "Records rooms into this folder when a participant requests it.")
  var recordings: String?

  @Option(
    help:
      "Nothing is recorded while fewer bytes than this are free: a number, or one with K, M, G or T. (default: 1G)")
  var recordingsFree: String?

  @Flag(help: "Also streams rooms live to RTMP servers that participants name.")
  var livestreams = false

  @Option(
    help: ArgumentHelp(
      "As --livestreams, to these servers only. * stands for all with public addresses, as without this option; a server with a private address must be named.",
      valueName: "host,…"))
  var livestreamHosts: [String] = []

  @Option(
    help: ArgumentHelp(
      "Makes the server a node of the cluster whose ledger is this Redis: redis://[USER:PASSWORD@]HOST:PORT, rediss://… with TLS, redis+sentinel://HOST,HOST/NAME. Better set as KOINE_SERVE_CLUSTER: options are public.",
      valueName: "url"))
  var cluster: String?

  @Option(help: "The node's name in the cluster. (default: the host's name)")
  var node: String?

  @Option(
    help: ArgumentHelp(
      "Where participants reach this node, as wss://n1.example.com. Without it the node homes no rooms: it sends participants on.",
      valueName: "url"))
  var `public`: String?

  @Option(help: "The node's region: rooms are placed near their first participant. (default: none)")
  var region: String?

  @Option(
    help: ArgumentHelp(
      "On SIGTERM a node hands its rooms over to others and ends after at most this time; at a second SIGTERM at once. (default: 600)",
      valueName: "seconds"))
  var drainLimit: String?

  @Option(help: "trace, debug, info, notice, warning, error or critical. (default: info)")
  var logLevel: String?

  func validate() throws { _ = try access(settings().admission) }

  func run() async throws {
    let settings = try settings()
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = settings.logLevel
      return handler
    }
    var configuration = ServerConfiguration(
      settings, access: try access(settings.admission), logger: Logger(label: "koine.server"))
    configuration.backEndAPIs = try apis(settings)
    configuration.cluster = try settings.cluster.map { try makeCluster($0, settings) }
    let desk = RecordingDoor()
    if settings.recordings != nil {
      let names = settings.livestreams ? RecordingService.names : RecordingService.namesOfFiles
      var service = RoomService(names: names) { message in desk.pass(message) }
      service.roomMoved = { room in desk.service?.roomMoved(room) }
      configuration.attendant = service
    }
    do {
      let server = try await Server.start(configuration)
      if let recordings = settings.recordings {
        desk.open(try makeDesk(folder: recordings, settings, server))
      }
      var ending: Task<Void, Never>?
      let (drained, isDrained) = AsyncStream.makeStream(of: Int32.self)
      for await number in Signals.stream(of: [SIGTERM, SIGINT, SIGHUP], and: drained) {
        if number == SIGHUP {
          reload(server, settings)
          continue
        }
        guard settings.cluster != nil, ending == nil, number != Signals.done else { break }
        ending = Task {
          await server.drain(limit: settings.drainLimit)
          isDrained.yield(Signals.done)
        }
      }
      ending?.cancel()
      // First: the recordings of rooms that are still here go on at other nodes.
      await server.leaveCluster()
      await desk.service?.close()
      await server.stop()
    } catch {
      SampleExit(code: 69, "\(error)").leave(command: "koine serve")
    }
  }

  private func makeCluster(_ text: String, _ settings: ServerSettings) throws -> ServerCluster {
    let address: RedisAddress
    do { address = try RedisAddress(text) } catch { throw ValidationError("cluster: \(error)") }
    if let file = address.authorities, !FileManager.default.isReadableFile(atPath: file) {
      throw ValidationError("cluster: ca: '\(file)' cannot be read")
    }
    let name = settings.node ?? ProcessInfo.processInfo.hostName
    if settings.publicAddress == nil {
      Logger(label: "koine.cluster").notice("without --public this node homes no rooms, and sends all participants on")
    }
    var random = SystemRandomNumberGenerator()
    guard let id = NodeID(name: name, incarnation: String(random.next(), radix: 36)) else {
      throw ValidationError("node: '\(name)' is not 1 to 64 letters, digits, dots, hyphens and underscores")
    }
    var record = NodeRecord(id: id)
    (record.publicAddress, record.region) = (settings.publicAddress, settings.region)
    let logger = Logger(label: "koine.cluster")
    return ServerCluster(
      record: record,
      connect: { node, receive in
        let ledger = RedisLedger(address, node: node, logger: logger, onEvent: receive)
        ledger.start()
        return .init(ledger) { ledger.close() }
      },
      nameTaken: { other in
        SampleExit(code: 69, "another living node has the name '\(other.name)': say --node").leave(
          command: "koine serve")
      })
  }

  /// The recorder is a participant like others, on this machine.
  private func makeDesk(folder: String, _ settings: ServerSettings, _ server: Server) throws -> RecordingService {
    MediaFiles.register()
    RecordingService.keepFilesPrivate()
    let hosts = LivestreamHosts(settings.livestreamHosts)
    for scheme in ["rtmp:", "rtmps:"] {
      BroadcastOutputs.register(scheme) { url in try EncodingOutput(url, mayConnect: { try hosts.check($0) }) }
    }
    guard let port = server.insidePort, let address = ServerAddress("ws://127.0.0.1:\(port)") else {
      throw ValidationError("there is no way in for a recorder")
    }
    let world = World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "recordings")))
    let logger = Logger(label: "koine.recorder")
    var rules = RecordingService.Rules(
      folder: URL(fileURLWithPath: folder, isDirectory: true), sendsOn: settings.livestreams,
      limit: settings.limits.recordings)
    (rules.hosts, rules.freeBytes, rules.startsPerMinute) = (hosts, settings.recordingsFree, 10)
    return RecordingService(
      rules, world: { world }, credential: { try server.pass(for: $0, name: "recorder") },
      say: { server.send($0) },
      log: { logger.info("\($0)") })
  }

  private func settings() throws -> ServerSettings {
    let environment = ProcessInfo.processInfo.environment
    var options: [ServerSettings.Name: [String]] = [:]
    options[.listen] = listen.map { [$0] }
    options[.host] = host.isEmpty ? nil : host
    options[.metrics] = metrics.map { [$0] }
    options[.control] = control.map { [$0] }
    options[.udp] = udp.map { [$0] }
    options[.address] = address.isEmpty ? nil : address
    options[.open] = open ? ["true"] : nil
    options[.keys] = keys.map { [$0] }
    options[.tlsCertificate] = tlsCertificate.map { [$0] }
    options[.tlsKey] = tlsKey.map { [$0] }
    options[.apiCredentials] = apiCredentials.map { [$0] }
    options[.registry] = registry.map { [$0] }
    options[.webhookHosts] = webhookHosts.isEmpty ? nil : webhookHosts
    options[.events] = events.isEmpty ? nil : events
    options[.localCA] = localCa.map { [$0] }
    options[.limits] = limits.isEmpty ? nil : limits
    options[.recordings] = recordings.map { [$0] }
    options[.livestreams] = livestreams ? ["true"] : nil
    options[.livestreamHosts] = livestreamHosts.isEmpty ? nil : livestreamHosts
    options[.recordingsFree] = recordingsFree.map { [$0] }
    options[.loops] = loops.map { [$0] }
    options[.cluster] = cluster.map { [$0] }
    options[.node] = node.map { [$0] }
    options[.public] = `public`.map { [$0] }
    options[.region] = region.map { [$0] }
    options[.drainLimit] = drainLimit.map { [$0] }
    options[.logLevel] = logLevel.map { [$0] }
    do {
      return try ServerSettings(
        options: options, environment: environment,
        file: try (file ?? environment[ServerSettings.fileVariable]).map(Self.read))
    } catch let error as ServerError {
      throw ValidationError(error.description)
    }
  }

  private static func read(_ path: String) throws -> (name: String, bytes: [UInt8]) {
    guard let data = FileManager.default.contents(atPath: path) else {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      throw ValidationError(
        isFolder.boolValue ? "'\(path)' is a folder, no file of settings" : "there is no file of settings at '\(path)'")
    }
    return (path, [UInt8](data))
  }

  private func access(_ admission: ServerSettings.Admission) throws -> ServerConfiguration.Access {
    guard case .keys(let file) = admission else { return .open }
    do { return .keys(try KeyFile.read(file).verificationKeys) } catch { throw ValidationError("\(error)") }
  }

  private func apis(_ settings: ServerSettings) throws -> BackEndAPIs {
    var keys: KeySet?
    if case .keys(let file) = settings.admission { keys = try KeyFile.read(file) }
    var apis = BackEndAPIs(access: try apiAccess(settings), keys: keys, registry: settings.registry)
    (apis.webhookHosts, apis.events) = (settings.webhookHosts, settings.events)
    apis.allowsLoopback = settings.admission == .open
    return apis
  }

  private func apiAccess(_ settings: ServerSettings) throws -> BackEndAPIs.Access {
    guard let file = settings.apiCredentials else { return settings.admission == .open ? .open : .closed }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw ValidationError("there is no file of credentials at '\(file)': `koine credentials` makes one")
    }
    return .credentials(json: [UInt8](data))
  }

  private func reload(_ server: Server, _ settings: ServerSettings) {
    let logger = Logger(label: "koine.server")
    do {
      let (apis, access) = (try apis(settings), try access(settings.admission))
      try server.renewAPIs(apis)
      server.admit(access)
      try server.renewCertificate()
      logger.info("keys, credentials and certificate are read again")
    } catch {
      logger.error("what cannot be read stays as it was", metadata: ["reason": "\(error)"])
    }
  }
}

/// The way to the recording service, which is made when the server has started: rooms may be here before it.
private final class RecordingDoor: Sendable {
  private struct State {
    var service: RecordingService?
    var waiting: [RoomService.Message] = []
  }

  /// Most messages that wait. Further ones are dropped.
  private static let waitingLimit = 1_024
  private let state = Lock(State())

  var service: RecordingService? { state.withLock { $0.service } }

  func pass(_ message: RoomService.Message) {
    let service = state.withLock { state in
      if state.service == nil, state.waiting.count < Self.waitingLimit { state.waiting.append(message) }
      return state.service
    }
    service?.handleLater(message)
  }

  func open(_ service: RecordingService) {
    let waiting = state.withLock { state in
      defer { (state.service, state.waiting) = (service, []) }
      return state.waiting
    }
    for message in waiting { service.handleLater(message) }
  }
}

/// The system's signals, which end nothing by themselves from here on.
enum Signals {
  /// Of the other stream.
  static let done: Int32 = 0

  /// - Parameter other: is part of the stream.
  static func stream(of numbers: [Int32], and other: AsyncStream<Int32>? = nil) -> AsyncStream<Int32> {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    let sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield(number) }
      source.resume()
      return source
    }
    let kept = Lock(sources)
    let reading = other.map { other in
      Task { for await number in other { continuation.yield(number) } }
    }
    continuation.onTermination = { _ in
      reading?.cancel()
      kept.withLock { $0.forEach { $0.cancel() } }
    }
    return stream
  }
}
