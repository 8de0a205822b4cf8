import KoineBase
package import KoineLedger
import KoineMedia

/// The registry of a cluster: in its ledger, where any node reads and changes it.
///
/// Values are read from the ledger. Changes of *watched* keys come to the observers of every node: when a notice says that there are
/// some, after each new connection, and whenever a decision must not be older than the present (`refresh`). All nodes see a change
/// before its writer's command reaches them, because commands carry the version that they follow (`RegistryStore.newestVersion`).
///
/// Requests go out by `send`, from any thread. Answers come in by `handle`, on one thread, in the order of the requests.
package final class LedgerRegistry: RegistryStore {
  /// - Returns: whether an answer will come. There is none from a node that has not begun, or has ended.
  package typealias Send = @Sendable (_ request: RegistryRequest, _ number: UInt64) -> Bool
  package typealias Refreshed = @Sendable (RegistryError?) -> Void

  /// Numbers of the registry's requests begin here, so that others may use the same ledger.
  package static let firstNumber: UInt64 = 1 << 62

  private enum Waiting {
    case request(CheckedContinuation<LedgerAnswer, Never>, RegistryRequest)
    /// A page of changes.
    case changes
  }

  private struct State {
    var lastNumber = LedgerRegistry.firstNumber
    var waiting: [UInt64: Waiting] = [:]
    var observers = RegistryObservers()
    /// The observers know all changes up to this version.
    var version: UInt64 = 0
    /// Own changes above it, which the observers know already.
    var own: Set<UInt64> = []
    /// The newest version that this process has written.
    var newest: UInt64 = 0
    var hasRead = false
    var isReading = false
    /// Wait for the reading that is under way, and for the one after it.
    var refreshing: [Refreshed] = []
    var nextRefreshing: [Refreshed] = []

    /// - Returns: whether a reading has to begin.
    mutating func beginReading() -> Bool {
      defer { isReading = true }
      return !isReading
    }
  }

  private let state = Lock(State())
  private let send: Send

  package init(send: @escaping Send) { self.send = send }

  // MARK: The store

  package func get(_ key: String) async throws(RegistryError) -> RegistryEntry? {
    guard case .value(let item) = try await ask(.get(key)) else { throw Self.unreadable }
    return item.flatMap(RegistryEntry.init)
  }

  @discardableResult
  package func put(
    _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion {
    let put = RegistryPut(
      key, value, ifVersion: version?.number, expiry: expiry?.milliseconds, isWatched: isWatched(key))
    switch try await ask(.put(put)) {
    case .written(let version): return RegistryVersion(number: version)
    case .conflict: throw .conflict
    default: throw Self.unreadable
    }
  }

  package func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError) {
    switch try await ask(.delete(key, ifVersion: version.number, isWatched: isWatched(key))) {
    case .written, .unchanged: return
    case .conflict: throw .conflict
    default: throw Self.unreadable
    }
  }

  package func list(prefix: String, after key: String?, limit: Int) async throws(RegistryError) -> [RegistryEntry] {
    var entries: [RegistryEntry] = []
    while entries.count < limit {
      let last = entries.last?.key ?? key
      let request = RegistryRequest.list(prefix: prefix, after: last, limit: limit - entries.count)
      guard case .page(let items, let isLast) = try await ask(request) else { throw Self.unreadable }
      entries += items.compactMap(RegistryEntry.init)
      if isLast || items.isEmpty { break }
    }
    return entries
  }

  package func count(prefix: String, limit: Int) async throws(RegistryError) -> Int {
    guard case .count(let count) = try await ask(.count(prefix: prefix, limit: limit)) else { throw Self.unreadable }
    return count
  }

  package func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void) {
    state.withLock { $0.observers.add(prefixes, observer) }
  }

  /// Begins to remove expired values. The removals come as changes.
  package func removeExpired() {
    Task {
      while case .removed(RegistryRequest.removalsPage)? = try? await ask(.removeExpired) {}
    }
  }

  package var newestVersion: RegistryVersion {
    state.withLock { RegistryVersion(number: max($0.newest, $0.version)) }
  }

  private func isWatched(_ key: String) -> Bool {
    state.withLock { !$0.observers.of(key).isEmpty }
  }

  private static let unreadable = RegistryError.unavailable("the ledger gives another answer than was asked for")

  private func ask(_ request: RegistryRequest) async throws(RegistryError) -> RegistryAnswer {
    let answer = await withCheckedContinuation { done in transmit(request, add(.request(done, request))) }
    switch answer {
    case .registry(let answer): return answer
    case .failed(.away(let reason)): throw .unavailable(reason)
    case .failed(.tooMany): throw .unavailable("too much waits for the ledger")
    default: throw Self.unreadable
    }
  }

  private func transmit(_ request: RegistryRequest, _ number: UInt64) {
    if !send(request, number) { handle(.failed(.away("there is no connection to the ledger")), to: number) }
  }

  private func add(_ waiting: Waiting) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.waiting[state.lastNumber] = waiting
      return state.lastNumber
    }
  }

  // MARK: Changes

  /// Whether the observers have heard of all values once.
  package var hasRead: Bool { state.withLock { $0.hasRead } }

  /// Calls `done` when the observers know all changes that the ledger had when this was called. Any thread may call it.
  /// - Parameter done: called with the reason if the ledger does not answer; on the thread of `handle`, or on the caller's.
  package func refresh(then done: @escaping Refreshed) {
    let mustRead = state.withLock { state in
      // A reading that has begun may have missed the newest change.
      if state.isReading {
        state.nextRefreshing.append(done)
      } else {
        state.refreshing.append(done)
      }
      return state.beginReading()
    }
    if mustRead { read() }
  }

  package func refresh() async { await withCheckedContinuation { done in refresh { _ in done.resume() } } }

  /// As `refresh(then:)`, unless the observers know the changes up to `version`.
  package func refresh(to version: RegistryVersion, then done: @escaping Refreshed) {
    let isKnown = state.withLock { $0.hasRead && $0.version >= version.number }
    if isKnown { done(nil) } else { refresh(then: done) }
  }

  /// A notice has come, or the ledger is connected.
  package func mayHaveChanged() { refresh { _ in } }

  private func read() {
    let (number, version) = (add(.changes), state.withLock { $0.version })
    transmit(.changes(after: version), number)
  }

  /// Any answer to a request of the registry.
  package func handle(_ answer: LedgerAnswer, to number: UInt64) {
    switch state.withLock({ $0.waiting.removeValue(forKey: number) }) {
    case .request(let done, let request)?:
      report(request, answer)
      done.resume(returning: answer)
    case .changes?: handle(changes: answer)
    case nil: break
    }
  }

  /// Observers hear of a change of this process before its writer goes on.
  private func report(_ request: RegistryRequest, _ answer: LedgerAnswer) {
    guard case .registry(.written(let version)) = answer else { return }
    let change: RegistryChange
    switch request {
    case .put(let put) where put.isWatched:
      change = RegistryChange(key: put.key, value: put.value, version: RegistryVersion(number: version))
    case .delete(let key, _, isWatched: true):
      change = RegistryChange(key: key, value: nil, version: RegistryVersion(number: version))
    default: return
    }
    state.withLock { state in
      state.own.insert(version)
      state.newest = max(state.newest, version)
    }
    report(change)
  }

  private func report(_ change: RegistryChange) {
    for observer in state.withLock({ $0.observers.of(change.key) }) { observer(change) }
  }

  private func handle(changes answer: LedgerAnswer) {
    guard case .registry(.changes(let items, let isLast)) = answer else {
      let reason = if case .failed(.away(let reason)) = answer { reason } else { "the ledger does not answer" }
      return end(.unavailable(reason))
    }
    for item in items {
      let isOwn = state.withLock { state in
        state.version = item.version
        return state.own.remove(item.version) != nil
      }
      if !isOwn {
        report(RegistryChange(key: item.key, value: item.value, version: RegistryVersion(number: item.version)))
      }
    }
    // Own changes that others have replaced since.
    if let last = items.last?.version { state.withLock { $0.own = $0.own.filter { $0 > last } } }
    guard isLast else { return read() }
    end(nil)
  }

  private func end(_ failure: RegistryError?) {
    let (ended, mustRead) = state.withLock { state in
      defer { (state.refreshing, state.nextRefreshing) = (state.nextRefreshing, []) }
      if failure == nil { state.hasRead = true }
      state.isReading = false
      return (state.refreshing, !state.nextRefreshing.isEmpty && state.beginReading())
    }
    for done in ended { done(failure) }
    if mustRead { read() }
  }
}

extension RegistryEntry {
  fileprivate init?(_ item: RegistryItem) {
    guard let value = item.value else { return nil }
    self.init(key: item.key, value: value, version: RegistryVersion(number: item.version))
  }
}
