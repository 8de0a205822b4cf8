import KoineBase

/// The registry of a `LedgerState`: the reference for the scripts of `RedisLedger`.
struct RegistryState: Sendable {
  private struct Stored {
    var value: [UInt8]
    var version: UInt64
    var expiry: Int64?
  }

  private var values: [String: Stored] = [:]
  /// The versions of the newest changes of watched keys, deleted ones too.
  private var changes: [String: UInt64] = [:]
  /// When watched keys were deleted, in milliseconds.
  private var deletions: [String: Int64] = [:]
  private var version: UInt64 = 0

  /// - Parameter clock: in microseconds since 1970.
  mutating func execute(_ request: RegistryRequest, clock: UInt64) -> RegistryAnswer {
    let now = Int64(clock / 1000)
    switch request {
    case .get(let key): return .value(item(key, at: now))
    case .put(let put): return self.put(put, clock)
    case .delete(let key, let version, let isWatched):
      guard let stored = living(key, at: now) else { return .unchanged }
      guard stored.version == version else { return .conflict }
      return .written(remove(key, isWatched: isWatched, clock))
    case .list(let prefix, let after, let limit): return list(prefix, after: after, limit: limit, at: now)
    case .count(let prefix, let limit):
      return .count(min(values.keys.count { $0.utf8.starts(with: prefix.utf8) }, limit))
    case .changes(let after):
      version = max(version, after)  // a copy gives no version again that a node knows
      return changes(after: after, at: now)
    case .removeExpired: return removeExpired(clock)
    }
  }

  private func living(_ key: String, at now: Int64) -> Stored? {
    values[key].flatMap { stored in stored.expiry.map { $0 <= now } ?? false ? nil : stored }
  }

  private func item(_ key: String, at now: Int64) -> RegistryItem? {
    living(key, at: now).map { RegistryItem(key, $0.value, version: $0.version) }
  }

  private mutating func makeVersion(_ clock: UInt64) -> UInt64 {
    version = max(clock, version + 1)
    return version
  }

  private mutating func put(_ put: RegistryPut, _ clock: UInt64) -> RegistryAnswer {
    guard living(put.key, at: Int64(clock / 1000))?.version == put.version else { return .conflict }
    let version = makeVersion(clock)
    values[put.key] = Stored(value: put.value, version: version, expiry: put.expiry)
    if put.isWatched { (changes[put.key], deletions[put.key]) = (version, nil) }
    return .written(version)
  }

  private mutating func remove(_ key: String, isWatched: Bool, _ clock: UInt64) -> UInt64 {
    let version = makeVersion(clock)
    values[key] = nil
    if isWatched { (changes[key], deletions[key]) = (version, Int64(clock / 1000)) }
    return version
  }

  private func list(_ prefix: String, after: String?, limit: Int, at now: Int64) -> RegistryAnswer {
    var items: [RegistryItem] = []
    var size = 0
    for key in values.keys.sorted() where key.utf8.starts(with: prefix.utf8) && after.map({ key > $0 }) ?? true {
      guard let item = item(key, at: now) else { continue }
      size += item.value?.count ?? 0
      guard items.isEmpty || items.count < limit && size <= RegistryRequest.pageSize else {
        return .page(items, isLast: false)
      }
      items.append(item)
    }
    return .page(items, isLast: true)
  }

  private func changes(after: UInt64, at now: Int64) -> RegistryAnswer {
    var items: [RegistryItem] = []
    var size = 0
    for (key, version) in changes.filter({ $0.value > after }).sorted(by: { $0.value < $1.value }) {
      let value = item(key, at: now)?.value
      size += value?.count ?? 0
      guard items.isEmpty || items.count < RegistryRequest.changesPage && size <= RegistryRequest.pageSize else {
        return .changes(items, isLast: false)
      }
      items.append(RegistryItem(key, value, version: version))
    }
    return .changes(items, isLast: true)
  }

  private mutating func removeExpired(_ clock: UInt64) -> RegistryAnswer {
    let now = Int64(clock / 1000)
    let expired = values.compactMap { key, stored in stored.expiry.map { (expiry: $0, key: key) } }
      .filter { $0.expiry <= now }.sorted { ($0.expiry, $0.key) < ($1.expiry, $1.key) }
      .prefix(RegistryRequest.removalsPage)
    for (_, key) in expired { _ = remove(key, isWatched: changes[key] != nil, clock) }
    for (key, time) in deletions where time <= now - Int64(RegistryRequest.memory.microseconds / 1000) {
      (changes[key], deletions[key]) = (nil, nil)
    }
    return .removed(expired.count)
  }
}
