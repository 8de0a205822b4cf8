import KoineAdmissions
package import KoineMedia
package import KoineRouter
import KoineSignaling
package import KoineTokens

/// The HTTP APIs by which the vendors' server SDKs make rooms and tokens: Amazon Chime SDK Meetings, Amazon IVS RealTime, Azure
/// Communication Services (Identity, Rooms) and VideoSDK; and Koine's own API, which links rooms.
///
/// Sans-IO: requests come in and answers go out as values, with the time from a clock of the owner. The state is in a
/// `RegistryStore`. Rooms change by commands of `RoomControl`, and joins follow `rules`.
package final class VendorAPIs: APIService {
  package struct Configuration: Sendable {
    package var store: any RegistryStore
    package var access: APIAccess
    package var keys: APITokenKeys
    package var settings = APISettings()
    package var clock: @Sendable () -> APITime
    package var random: SeededRandom
    /// Carries out a command in the rooms.
    package var execute: RoomExecution
    /// Gets lines for the server's log.
    package var log: @Sendable (String) -> Void = { _ in }
    /// The places of rooms; nil: all are here.
    package var homes: RoomHomes?
    /// Gets the events for apps' back ends.
    package var events = EventOutput.none

    package init(
      store: any RegistryStore, access: APIAccess, keys: APITokenKeys, clock: @escaping @Sendable () -> APITime,
      random: SeededRandom = .system(), execute: @escaping RoomExecution
    ) {
      (self.store, self.access, self.keys, self.clock) = (store, access, keys, clock)
      (self.random, self.execute) = (random, execute)
    }
  }

  /// What the registry knows about joins, for the router's policy.
  package let rules: AdmissionRules
  private let access: Lock<APIAccess>
  private let context: APIContext
  private let services: [any VendorService]
  private let linkAPI: LinkAPI
  private let isHeld = Lock(false)
  private let keysChanged = Lock<(@Sendable () -> Void)?>(nil)
  private let events: RoomEventQueue
  private let webhooks: VideoSDKWebhooks
  /// When expired entities are removed next.
  private let nextCleaning: Lock<APITime>

  package init(_ configuration: Configuration) {
    rules = AdmissionRules(clock: configuration.clock)
    access = Lock(configuration.access)
    let context = APIContext(configuration, rules: rules)
    nextCleaning = Lock(configuration.clock().adding(seconds: 60))
    self.context = context
    let linkAPI = LinkAPI(context)
    self.linkAPI = linkAPI
    let services: [any VendorService] = [
      ChimeAPI(context), IVSAPI(context), AzureAPI(context), VideoSDKAPI(context), linkAPI,
    ]
    self.services = services
    let webhooks = VideoSDKWebhooks(context)
    self.webhooks = webhooks
    let videoSDK = services.lazy.compactMap { $0 as? VideoSDKAPI }.first
    events = RoomEventQueue { event, time in
      let before = videoSDK?.presence(in: event)
      for service in services { await service.observe(event, at: time) }
      await webhooks.observe(event, before: before, after: videoSDK?.presence(in: event), at: time)
    }
    for service in services { service.accessChanged(configuration.access) }
    let links = linkAPI.links
    rules.observeEnds { name in links.roomEnded(name) }
    // The services hold the store, which must not hold them.
    configuration.store.observe(services.flatMap(\.prefixesOfRules)) { [weak self] change in self?.apply(change) }
  }

  private func apply(_ change: RegistryChange) {
    for service in services { service.apply(change, to: rules) }
    webhooks.apply(change)
  }

  /// Reads what the store has into the rules. Its owner calls it once, before participants can join.
  /// - Throws: `RegistryError` if the store does not answer.
  package func load() async throws(RegistryError) {
    for prefix in services.flatMap(\.prefixesOfRules) {
      var last: String?
      while true {
        let page = try await context.registry.store.list(prefix: prefix, after: last, limit: 1_000)
        for entry in page {
          let change = RegistryChange(key: entry.key, value: entry.value, version: entry.version)
          apply(change)
        }
        guard page.count == 1_000 else { break }
        last = page.last?.key
      }
    }
  }

  /// Other credentials for requests from now on.
  package func setAccess(_ new: APIAccess) {
    access.withLock { $0 = new }
    for service in services { service.accessChanged(new) }
  }

  /// Answers requests with 503 until `release`: the registry and its keys are not known yet.
  package func hold() { isHeld.withLock { $0 = true } }

  package func release() { isHeld.withLock { $0 = false } }

  /// Writes a line to the server's log. It must contain no secret.
  package func log(_ text: String) { context.log(text) }

  /// Signs further tokens by the first private key of a set. Tokens of the set's other keys stay valid, and those of keys that it
  /// does not have any more are refused.
  /// - Throws: `TokenError` if the cryptographic library fails. The former keys then stay in use.
  package func renewKeys(of set: KeySet?) throws(TokenError) {
    try context.renewKeys(of: set)
    keysChanged.withLock { $0 }?()
  }

  /// Links names of rooms, also for later processes with the same registry.
  /// - Parameter request: the command, with its origin.
  /// - Returns: the room in which the participants of all names meet.
  package func link(_ names: [String], _ request: RoomRequest) async -> Result<String, RoomControlError> {
    await linkAPI.link(names, request)
  }

  /// Has names that are linked to others mean rooms of their own again, also for later processes with the same registry.
  /// - Parameter request: the command, with its origin.
  /// - Returns: the names that were linked.
  package func unlink(_ names: [String], _ request: RoomRequest) async -> Result<[String], RoomControlError> {
    await linkAPI.unlink(names, request)
  }

  /// Links the rooms that the registry says. Its owner calls it once after `load`, when commands are carried out and before
  /// participants can join.
  package func restoreLinks() async { await linkAPI.reconcile() }

  /// The rooms have unlinked names, maybe for an operation at another node.
  package func roomsUnlinked(_ names: [String]) { linkAPI.links.unmade(names) }

  /// Has the rooms follow links that another node has made or removed, then calls `body`: at once if there are none, and after 2 s at the
  /// latest.
  package func followLinks(then body: @escaping @Sendable () -> Void) {
    guard linkAPI.isBehind else { return body() }
    let isDone = Lock(false)
    let go: @Sendable () -> Void = {
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      if isFirst { body() }
    }
    Task {
      await linkAPI.reconcile()
      go()
    }
    Task {
      // An operation of a back end may be under way.
      try? await Task.sleep(for: .seconds(2))
      go()
    }
  }

  /// An event in the rooms. Any thread may call it; events are handled one after the other, in the order of the calls.
  package func observe(_ event: RoomEvent) { events.add(event, at: context.clock()) }

  /// What a router asks the APIs, and reports to them.
  package var hooks: RouterHooks {
    RouterHooks(admission: rules.policy, roomEvent: { [self] in observe($0) })
  }

  /// Waits until all events that have been reported so far are in the registry.
  package func settle() async {
    await events.settle()
    await linkAPI.links.settle()
  }

  /// Does what is due, such as ending meetings that have been empty for long. Its owner calls it about every second.
  package func handleTimeout() async {
    let now = context.clock()
    let isDue = nextCleaning.withLock { next in
      guard next <= now else { return false }
      next = now.adding(seconds: 60)
      return true
    }
    if isDue { context.registry.store.removeExpired() }
    for service in services { await service.handleTimeout() }
  }

  /// Checks a join's token by what the registry knows about tokens, after `base` has accepted it. Off the network loop.
  package func authorization(after base: Authorization) -> Authorization {
    let services = services
    return Authorization(
      check: { join in
        // Some tokens name the key that must have signed them by a claim of their own.
        let own = join.credential.flatMap { credential in services.lazy.compactMap { $0.keys(for: credential) }.first }
        let authorization = own.map { Authorization.tokens(trusting: .keys($0)) } ?? base
        var failure: Failure?
        for names in Self.names(of: join, services) {
          var named = join
          named.room = names.inToken
          switch authorization.check(named) {
          case .failure(let refusal): failure = failure ?? refusal
          case .success(var grants):
            named.room = names.room
            for service in services {
              if let failure = service.refusal(of: named, &grants) { return .failure(failure) }
            }
            if names.room != join.room { grants.room = names.room }
            return .success(grants)
          }
        }
        return .failure(failure ?? Failure(.forbidden, "the token is for another room"))
      },
      checkIdentity: { register in
        base.checkIdentity(register).flatMap { known in
          for service in services {
            if let failure = service.refusal(of: register) { return .failure(failure) }
          }
          return .success(known)
        }
      })
  }

  /// The room that a join means, under each name that its token may have for it, the room's own first. The names are those of the
  /// back end that the token names. They count only with a token that is good.
  private static func names(of join: Join, _ services: [any VendorService]) -> [(room: String, inToken: String)] {
    guard let credential = join.credential else { return [(join.room, join.room)] }
    let room = services.lazy.compactMap { $0.roomName(for: join.room, in: credential) }.first ?? join.room
    let others = services.lazy.compactMap { $0.otherName(of: room, in: credential) }.first
    return [(room, room)] + (others.map { [(room, $0)] } ?? [])
  }

  /// Check the tokens that the APIs make, beside the keys of the server.
  package var verificationKeys: [VerificationKey] {
    context.keys.verificationKeys + services.flatMap(\.verificationKeys)
  }

  /// Calls `body` whenever `verificationKeys` has changed.
  package func whenKeysChange(_ body: @escaping @Sendable () -> Void) {
    keysChanged.withLock { $0 = body }
    for service in services { service.whenKeysChange(body) }
  }

  // MARK: Requests

  package func owns(method: String, target: String) -> Bool {
    services.contains { $0.owns(method: method, target: target) }
  }

  package func answersOtherSites(method: String, target: String) -> Bool {
    services.contains { $0.answersOtherSites(method: method, target: target) }
  }

  package func answer(_ request: APIRequest) async -> APIResponse {
    if isHeld.withLock({ $0 }) { return .unavailable("the registry of the cluster is not known yet") }
    if let answer = await webhooks.answer(request) { return answer }
    guard let service = services.first(where: { $0.owns(method: request.method, target: request.target) }) else {
      return APIResponse(status: 404)
    }
    // The state in memory must not be older than the request.
    if context.homes != nil { await context.registry.store.refresh() }
    let outcome = CommandOutcome()
    let response = await CommandOutcome.$current.withValue(outcome) {
      await service.answer(request, access: access.withLock { $0 })
    }
    // The registry has the change. The repetition of the request carries the command out.
    guard outcome.isUnavailable, response.status < 500 else { return response }
    return .unavailable("the node that has the room does not answer")
  }
}

/// The places of a cluster's rooms. A request that needs a room's participants is answered by the room's home.
package struct RoomHomes: Sendable {
  package enum Place: Sendable {
    case here
    /// Another living node is the home.
    case elsewhere
    case nowhere
    /// The room is changing its home, or the ledger does not answer.
    case unknown
  }

  package var place: @Sendable (_ room: String) async -> Place
  /// Has the home answer a request; nil: the room is here, or nowhere.
  package var answer: @Sendable (_ request: APIRequest, _ room: String) async -> APIResponse?
  /// Carries out a command at this node, wherever its room is.
  package var executeHere: RoomExecution

  package init(
    place: @escaping @Sendable (_ room: String) async -> Place,
    answer: @escaping @Sendable (_ request: APIRequest, _ room: String) async -> APIResponse?,
    executeHere: @escaping RoomExecution
  ) {
    (self.place, self.answer, self.executeHere) = (place, answer, executeHere)
  }

  /// Whether a session that is not on here may be on at another node.
  func isElsewhere(_ room: String) async -> Bool {
    switch await place(room) {
    case .elsewhere, .unknown: true
    case .here, .nowhere: false
    }
  }
}

/// The API of one vendor.
protocol VendorService: Sendable {
  func owns(method: String, target: String) -> Bool
  /// Whether pages of other sites may call it.
  func answersOtherSites(method: String, target: String) -> Bool
  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse
  /// An event in the rooms, its time given.
  func observe(_ event: RoomEvent, at now: APITime) async
  func handleTimeout() async
  /// The beginnings of the keys whose entities give rules.
  var prefixesOfRules: [String] { get }
  /// Changes the rules as an entity says that has been written, also by another writer. Ignores entities of other vendors.
  func apply(_ change: RegistryChange, to rules: AdmissionRules)
  /// Why a join with an accepted token is refused. May narrow the grants.
  func refusal(of join: Join, _ grants: inout Grants) -> Failure?
  func refusal(of register: Register) -> Failure?
  /// Check tokens that back ends sign themselves.
  var verificationKeys: [VerificationKey] { get }
  func whenKeysChange(_ body: @escaping @Sendable () -> Void)
  /// The keys that must have signed a token, by what it says of itself; nil: the server's keys.
  func keys(for credential: String) -> [VerificationKey]?
  /// The room that the back end means by a name of its own, which has signed the credential by its own account; nil: not known.
  func roomName(for name: String, in credential: String) -> String?
  /// The back end's own name of a room; nil: it has none.
  func otherName(of room: String, in credential: String) -> String?
  func accessChanged(_ access: APIAccess)
}

extension VendorService {
  func refusal(of join: Join, _ grants: inout Grants) -> Failure? { nil }
  func refusal(of register: Register) -> Failure? { nil }
  var verificationKeys: [VerificationKey] { [] }
  func whenKeysChange(_ body: @escaping @Sendable () -> Void) {}
  func keys(for credential: String) -> [VerificationKey]? { nil }
  func roomName(for name: String, in credential: String) -> String? { nil }
  func otherName(of room: String, in credential: String) -> String? { nil }
  func accessChanged(_ access: APIAccess) {}
  func answersOtherSites(method: String, target: String) -> Bool { false }
}

/// Handles room events one after the other, although handling one may wait for the store.
final class RoomEventQueue: Sendable {
  private struct State {
    var waiting: [(event: RoomEvent, time: APITime)] = []
    var isRunning = false
    var settling: [CheckedContinuation<Void, Never>] = []
  }

  /// Events that wait at most; the oldest ones are dropped beyond, because the history is not worth the memory of the server.
  private static let limit = 100_000

  private let state = Lock(State())
  private let handle: @Sendable (RoomEvent, APITime) async -> Void

  init(handle: @escaping @Sendable (RoomEvent, APITime) async -> Void) { self.handle = handle }

  func add(_ event: RoomEvent, at time: APITime) {
    let mustStart = state.withLock { state in
      if state.waiting.count == Self.limit { state.waiting.removeFirst() }
      state.waiting.append((event, time))
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { Task { await run() } }
  }

  private func run() async {
    while true {
      let batch = state.withLock { state in
        defer { state.waiting = [] }
        if state.waiting.isEmpty { state.isRunning = false }
        return state.waiting
      }
      guard !batch.isEmpty else { break }
      for (event, time) in batch { await handle(event, time) }
    }
    for settled in state.withLock({ state in
      guard !state.isRunning else { return [] as [CheckedContinuation<Void, Never>] }
      defer { state.settling = [] }
      return state.settling
    }) {
      settled.resume()
    }
  }

  func settle() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if state.isRunning { state.settling.append(continuation) }
        return !state.isRunning
      }
      if isSettled { continuation.resume() }
    }
  }
}
