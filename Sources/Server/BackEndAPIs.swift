import KoineBase
public import KoineTokens
import KoineVendorAPIs
import Logging
import NIOCore

/// How the vendors' HTTP APIs are served, by which apps' back ends make rooms and tokens.
public struct BackEndAPIs: Sendable {
  /// Which requests are believed.
  public enum Access: Sendable {
    /// Requests that one of these credentials has signed: a JSON file of the form that `koine credentials` writes.
    case credentials(json: [UInt8])
    /// Every request with a well-formed signature.
    case open
    /// None.
    case closed
  }

  /// Which requests are believed.
  public var access: Access
  /// Keys from which the keys of the APIs' tokens follow, so that tokens stay valid over a restart; nil: keys made at the start.
  public var keys: KeySet?
  /// The file of the registry; nil: the registry is lost with the process.
  public var registry: String?
  /// `HOST:PORT` under which apps reach the server; nil: what each request names.
  public var publicAuthority: String?
  /// Names or numeric addresses of the hosts to which events may be sent. With `Access.open`, also the loopback addresses.
  public var webhookHosts: [String] = []
  /// Whether events may also be sent to loopback addresses when requests need credentials.
  public var allowsLoopback = false
  /// Receivers of all events: `URL`, `aws=URL` (Amazon Chime and Amazon IVS) or `videosdk=URL`. Their hosts must be allowed.
  public var events: [String] = []

  /// Creates a configuration of the APIs.
  public init(access: Access, keys: KeySet? = nil, registry: String? = nil, publicAuthority: String? = nil) {
    (self.access, self.keys, self.registry, self.publicAuthority) = (access, keys, registry, publicAuthority)
  }
}

extension BackEndAPIs {
  /// Whether there is a private key.
  var signs: Bool { keys?.signingKeys.isEmpty == false }

  /// A file of credentials with fresh secrets, one credential for each vendor.
  public static func makeCredentials() -> String { String(decoding: APICredentials.make().json, as: UTF8.self) }

  /// The variables of a back end's environment for the first credential of each vendor, as the vendors' SDKs and samples name them.
  /// - Throws: `ServerError` if the file cannot be read.
  public static func environment(credentials json: [UInt8]) throws(ServerError) -> [(name: String, value: String)] {
    let credentials: APICredentials
    do throws(APICredentialsError) { credentials = try APICredentials(json: json) } catch {
      throw ServerError(description: error.description)
    }
    var variables: [(name: String, value: String)] = []
    if let key = credentials.aws.first {
      variables += [("AWS_ACCESS_KEY_ID", key.accessKeyId), ("AWS_SECRET_ACCESS_KEY", key.secretAccessKey)]
    }
    if let key = credentials.azure.first?.accessKeys.first { variables.append(("AZURE_COMMUNICATION_KEY", key)) }
    if let key = credentials.videosdk.first {
      variables += [("VIDEOSDK_API_KEY", key.apiKey), ("VIDEOSDK_SECRET_KEY", key.secret)]
    }
    if let key = credentials.koine.first {
      variables += [("KOINE_ACCESS_KEY_ID", key.accessKeyId), ("KOINE_SECRET_ACCESS_KEY", key.secretAccessKey)]
    }
    return variables
  }
}

/// The APIs of a running server.
final class ServedAPIs: Sendable {
  let apis: VendorAPIs
  let events: EventDelivery
  private let file: FileRegistry?
  private let cluster: ClusterKeys?
  private let ownKey = Lock<(@Sendable (SigningKey) -> Void)?>(nil)
  private let seconds = Lock(0)
  private let timer = Lock<RepeatedTask?>(nil)

  /// - Parameters:
  ///   - shared: the registry of the cluster; it is read when the ledger is connected.
  ///   - homes: where the rooms of the cluster are.
  /// - Throws: `ServerError` if credentials or the registry cannot be read.
  init(
    _ configuration: BackEndAPIs, shared: LedgerRegistry?, homes: RoomHomes?, logger: Logger,
    execute: @escaping RoomExecution
  ) async throws {
    let clock: @Sendable () -> APITime = {
      APITime(milliseconds: Int64(NumericDate.ofSystemClock().seconds * 1_000))
    }
    if shared != nil, configuration.registry != nil {
      throw ServerError(description: "the registry of a cluster is in its ledger, not in a file")
    }
    do throws(RegistryFileError) {
      file = try configuration.registry.map { path throws(RegistryFileError) in
        try FileRegistry(path: path, clock: clock)
      }
    } catch { throw ServerError(description: "no registry: \(error)") }
    let store: any RegistryStore
    if let shared {
      store = shared
    } else if let file {
      store = file
    } else {
      store = MemoryRegistry(clock: clock)
    }
    cluster = shared.map { ClusterKeys($0, configured: configuration.keys) }
    var apiConfiguration = VendorAPIs.Configuration(
      store: store, access: try Self.access(configuration.access),
      keys: try APITokenKeys(of: configuration.keys),
      clock: clock, execute: execute)
    apiConfiguration.settings.publicAuthority = configuration.publicAuthority
    apiConfiguration.log = { logger.notice("\($0)") }
    events = try Self.events(configuration, logger)
    (apiConfiguration.events, apiConfiguration.homes) = (events.output, homes)
    apis = VendorAPIs(apiConfiguration)
    if shared != nil {
      apis.hold()
      return
    }
    do throws(RegistryError) { try await apis.load() } catch { throw ServerError(description: "no registry: \(error)") }
  }

  private static func events(_ configuration: BackEndAPIs, _ logger: Logger) throws(ServerError) -> EventDelivery {
    var isOpen = configuration.allowsLoopback
    if case .open = configuration.access { isOpen = true }
    let hosts: EventHosts
    do throws(EventHosts.InvalidHost) {
      hosts = try EventHosts(configuration.webhookHosts, allowsLoopback: isOpen)
    } catch { throw ServerError(description: "'\(error.name)' is not a host for events") }
    var subscriptions: [EventSubscription] = []
    for text in configuration.events {
      guard let subscription = EventSubscription(text) else {
        throw ServerError(description: "a receiver of events is not URL, aws=URL or videosdk=URL")
      }
      guard hosts.allows(subscription.url) else {
        throw ServerError(
          description: "events are not sent to \(subscription.url.origin): name its host with --webhook-hosts")
      }
      subscriptions.append(subscription)
    }
    return EventDelivery(hosts: hosts, subscriptions: subscriptions, logger: logger)
  }

  private static func access(_ access: BackEndAPIs.Access) throws(ServerError) -> APIAccess {
    switch access {
    case .open: return .open
    case .closed: return .closed
    case .credentials(let json):
      do throws(APICredentialsError) { return .credentials(try APICredentials(json: json)) } catch {
        throw ServerError(description: error.description)
      }
    }
  }

  /// Other credentials for requests, and other keys for tokens, from now on.
  func renew(_ configuration: BackEndAPIs) throws {
    let access = try Self.access(configuration.access)
    if let cluster {
      if let keys = cluster.configure(configuration.keys) { try use(keys) } else { agree(in: cluster) }
    } else {
      try apis.renewKeys(of: configuration.keys)
    }
    apis.setAccess(access)
  }

  /// In a cluster, signs by keys that all nodes have, and answers requests from then on. Returns at once.
  /// - Parameter ownKey: gets the key of the passes of the server's own services, now and after each change.
  func agreeOnKeys(ownKey: @escaping @Sendable (SigningKey) -> Void) {
    guard let cluster else { return }
    self.ownKey.withLock { $0 = ownKey }
    agree(in: cluster)
  }

  private func agree(in cluster: ClusterKeys) {
    Task {
      do {
        guard let keys = try await cluster.agree() else { return }
        try use(keys)
        apis.release()
      } catch {
        apis.log("the keys of the cluster cannot be used: \(error)")
      }
    }
  }

  private func use(_ keys: KeySet) throws {
    try apis.renewKeys(of: keys)
    ownKey.withLock { $0 }?(try ClusterKeys.ownKey(of: keys))
  }

  /// Between two looks at the keys of the cluster, in seconds.
  private static let keysInterval = 30

  private func handleTimeout() async {
    await apis.handleTimeout()
    let isDue = seconds.withLock { seconds in
      seconds += 1
      return seconds % Self.keysInterval == 0
    }
    guard isDue, let keys = await cluster?.keep() else { return }
    do { try use(keys) } catch { apis.log("the keys of the cluster cannot be used: \(error)") }
  }

  /// Has the APIs do what is due, every second until `stop`.
  func start(on group: any EventLoopGroup) {
    let loop = group.any()
    let task = loop.scheduleRepeatedAsyncTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] _ in
      let served = self
      return loop.makeFutureWithTask { await served?.handleTimeout() }
    }
    timer.withLock { $0 = task }
    events.start(on: group.any())
  }

  /// Called when no request is answered any more.
  func stop() async {
    timer.withLock { $0 }?.cancel()
    cluster?.stop()
    await apis.settle()
    await events.stop()
    await file?.close()
  }
}
