import KoineBase
import KoineMedia

/// A registry in the memory of the process.
package final class MemoryRegistry: RegistryStore {
  private struct Stored {
    var value: [UInt8]
    var version: RegistryVersion
    var expiry: APITime?
  }

  private struct State {
    var values: [String: Stored] = [:]
    /// All keys in order: lists begin anywhere.
    var keys = SortedKeys()
    var version: UInt64 = 0
    var observers = RegistryObservers()

    mutating func makeVersion() -> RegistryVersion {
      version += 1
      return RegistryVersion(number: version)
    }
  }

  private let state = Lock(State())
  /// Held while a change is made and reported, so that observers hear of changes in their order. The value has no meaning: one
  /// without a size would lie, for the thread sanitizer, in the header of the lock.
  private let order = Lock(false)
  private let clock: @Sendable () -> APITime

  package init(clock: @escaping @Sendable () -> APITime) { self.clock = clock }

  package func get(_ key: String) async throws(RegistryError) -> RegistryEntry? { entry(key) }

  private func entry(_ key: String) -> RegistryEntry? {
    let now = clock()
    return state.withLock { state in
      guard let stored = state.values[key], stored.expiry.map({ $0 > now }) ?? true else { return nil }
      return RegistryEntry(key: key, value: stored.value, version: stored.version)
    }
  }

  @discardableResult
  package func put(
    _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion {
    let now = clock()
    let written: RegistryVersion? = order.withLock { _ in
      let written = state.withLock { state -> RegistryVersion? in
        let current = state.values[key].flatMap { $0.expiry.map { $0 > now } ?? true ? $0.version : nil }
        guard current == version else { return nil }
        let new = state.makeVersion()
        state.values[key] = Stored(value: value, version: new, expiry: expiry)
        state.keys.insert(key)
        return new
      }
      if let written { report(RegistryChange(key: key, value: value, version: written)) }
      return written
    }
    guard let written else { throw .conflict }
    return written
  }

  package func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError) {
    let isDone = order.withLock { _ in
      let deleted = state.withLock { state -> RegistryVersion?? in
        guard let stored = state.values[key] else { return .some(nil) }
        guard stored.version == version else { return nil }
        state.values[key] = nil
        state.keys.remove(key)
        return state.makeVersion()
      }
      if case .some(.some(let version)) = deleted { report(RegistryChange(key: key, value: nil, version: version)) }
      return deleted != nil
    }
    guard isDone else { throw .conflict }
  }

  package func list(
    prefix: String, after key: String?, limit: Int
  ) async throws(RegistryError) -> [RegistryEntry] {
    let now = clock()
    return state.withLock { state in
      state.keys.keys(prefix: prefix, after: key, limit: limit) { key in
        state.values[key].map { $0.expiry.map { $0 > now } ?? true } ?? false
      }
      .compactMap { key in
        state.values[key].map { RegistryEntry(key: key, value: $0.value, version: $0.version) }
      }
    }
  }

  package func count(prefix: String, limit: Int) async throws(RegistryError) -> Int {
    state.withLock { $0.keys.count(prefix: prefix, limit: limit) }
  }

  package func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void) {
    state.withLock { $0.observers.add(prefixes, observer) }
  }

  private func report(_ change: RegistryChange) {
    for observer in state.withLock({ $0.observers.of(change.key) }) { observer(change) }
  }

  package func removeExpired() {
    let now = clock()
    let expired = state.withLock { $0.values.filter { $0.value.expiry.map { $0 <= now } ?? false }.map(\.key) }
    for key in expired {
      order.withLock { _ in
        let version = state.withLock { state -> RegistryVersion? in
          guard let stored = state.values[key], let expiry = stored.expiry, expiry <= now else { return nil }
          state.values[key] = nil
          state.keys.remove(key)
          return state.makeVersion()
        }
        if let version { report(RegistryChange(key: key, value: nil, version: version)) }
      }
    }
  }
}

/// Texts in the order of their UTF-8 bytes, in blocks, so that an insertion moves few of them.
struct SortedKeys {
  private static let blockSize = 512
  /// None is empty.
  private var blocks: [[String]] = []

  mutating func insert(_ key: String) {
    guard !blocks.isEmpty else { return blocks = [[key]] }
    let block = self.block(of: key)
    let place = Self.place(of: key, in: blocks[block])
    guard place == blocks[block].count || blocks[block][place] != key else { return }
    blocks[block].insert(key, at: place)
    guard blocks[block].count > Self.blockSize else { return }
    // Keys that grow with time fill the last block: then it stays full, and the new one begins empty.
    let cut = place == Self.blockSize ? Self.blockSize : Self.blockSize / 2
    blocks.insert(Array(blocks[block][cut...]), at: block + 1)
    blocks[block].removeSubrange(cut...)
  }

  mutating func remove(_ key: String) {
    guard !blocks.isEmpty else { return }
    let block = self.block(of: key)
    let place = Self.place(of: key, in: blocks[block])
    guard place < blocks[block].count, blocks[block][place] == key else { return }
    blocks[block].remove(at: place)
    if blocks[block].isEmpty { blocks.remove(at: block) }
  }

  func keys(prefix: String, after: String?, limit: Int, where isWanted: (String) -> Bool) -> [String] {
    guard !blocks.isEmpty, limit > 0 else { return [] }
    let start = max(prefix, after ?? prefix)
    var found: [String] = []
    var block = self.block(of: start)
    var place = Self.place(of: start, in: blocks[block])
    while block < blocks.count {
      while place < blocks[block].count {
        let key = blocks[block][place]
        guard key.utf8.starts(with: prefix.utf8) else { return found }
        if key != after, isWanted(key) { found.append(key) }
        if found.count == limit { return found }
        place += 1
      }
      (block, place) = (block + 1, 0)
    }
    return found
  }

  /// How many keys begin with `prefix`, counted up to `limit`. Reads only the ends of their range.
  func count(prefix: String, limit: Int) -> Int {
    guard !blocks.isEmpty else { return 0 }
    // Keys are ASCII: none is behind the prefix with this end and has the prefix.
    let end = prefix + "\u{7F}"
    let (first, last) = (block(of: prefix), block(of: end))
    let start = Self.place(of: prefix, in: blocks[first])
    var count = -start
    for block in first..<last {
      count += blocks[block].count
      if count >= limit { return limit }
    }
    return min(count + Self.place(of: end, in: blocks[last]), limit)
  }

  /// The last block that begins at or before `key`.
  private func block(of key: String) -> Int {
    var (low, high) = (0, blocks.count)
    while low < high {
      let middle = (low + high) / 2
      if blocks[middle][0] <= key { low = middle + 1 } else { high = middle }
    }
    return max(low - 1, 0)
  }

  /// The place of the first element that is not before `key`.
  private static func place(of key: String, in block: [String]) -> Int {
    var (low, high) = (0, block.count)
    while low < high {
      let middle = (low + high) / 2
      if block[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
