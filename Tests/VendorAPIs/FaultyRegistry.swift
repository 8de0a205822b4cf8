import KoineMedia

@testable import KoineVendorAPIs

/// A registry that is far away: calls take several turns, fail before they are executed, and are executed although they fail.
final class FaultyRegistry: RegistryStore {
  private let inner: any RegistryStore
  private let random: Lock<SeededRandom>
  /// Of a hundred calls.
  private let failures: Int

  /// When a write fails.
  enum WriteFault: Sendable, CaseIterable {
    /// It is not executed.
    case before
    /// It is executed, and its answer is lost.
    case after
  }

  /// Which write fails once: the next one to a key with this beginning.
  private let next = Lock<(prefix: String, fault: WriteFault)?>(nil)

  func failNextWrite(_ fault: WriteFault, to prefix: String = "") { next.withLock { $0 = (prefix, fault) } }

  private func write<Value>(
    _ key: String, _ body: () async throws(RegistryError) -> Value
  ) async throws(RegistryError) -> Value {
    let fault: WriteFault? = next.withLock { next in
      guard let chosen = next, key.hasPrefix(chosen.prefix) else { return nil }
      next = nil
      return chosen.fault
    }
    if fault == .before { throw .unavailable("the write fails") }
    let value = try await body()
    if fault == .after { throw .unavailable("the answer is lost") }
    return value
  }

  init(_ inner: any RegistryStore, seed: UInt64, failures: Int = 15) {
    self.inner = inner
    random = Lock(SeededRandom(seed: seed))
    self.failures = failures
  }

  private func number(below limit: Int) -> Int { random.withLock { Int.random(in: 0..<limit, using: &$0) } }

  private func fail() throws(RegistryError) {
    if number(below: 100) < failures { throw .unavailable("the answer is lost") }
  }

  private func call<Value>(_ body: () async throws(RegistryError) -> Value) async throws(RegistryError) -> Value {
    for _ in 0..<number(below: 4) { await Task.yield() }
    try fail()
    let value = try await body()
    try fail()
    return value
  }

  func get(_ key: String) async throws(RegistryError) -> RegistryEntry? {
    try await call { () throws(RegistryError) in try await inner.get(key) }
  }

  func put(
    _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion {
    try await call { () throws(RegistryError) in
      try await write(key) { () throws(RegistryError) in
        try await inner.put(key, value, ifVersion: version, expiry: expiry)
      }
    }
  }

  func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError) {
    try await call { () throws(RegistryError) in
      try await write(key) { () throws(RegistryError) in try await inner.delete(key, ifVersion: version) }
    }
  }

  func list(prefix: String, after key: String?, limit: Int) async throws(RegistryError) -> [RegistryEntry] {
    try await call { () throws(RegistryError) in try await inner.list(prefix: prefix, after: key, limit: limit) }
  }

  func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void) {
    inner.observe(prefixes, observer)
  }
}
