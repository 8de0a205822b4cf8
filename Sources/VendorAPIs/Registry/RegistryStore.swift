/// The storage of the registry: values by key, each with a version.
///
/// A store may be in another process: every call may take long, may fail, and may have been executed although its answer was lost.
/// Others may write to the same store at any time.
package protocol RegistryStore: Sendable {
  /// - Returns: nil for a key without a value, and for a value that has expired.
  func get(_ key: String) async throws(RegistryError) -> RegistryEntry?

  /// Writes a value, if the key still has the version that the writer knows.
  /// - Parameters:
  ///   - version: nil if the key must have no value.
  ///   - expiry: when the store may forget the value; nil: never.
  /// - Returns: the version of the new value.
  /// - Throws: `RegistryError.conflict` if the key has another version.
  @discardableResult
  func put(
    _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion

  /// Deletes a value, if the key still has this version. A key without a value is a success.
  /// - Throws: `RegistryError.conflict` if the key has another version.
  func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError)

  /// The entries whose keys begin with `prefix`, in the order of their keys (bytes), without expired ones.
  /// - Parameters:
  ///   - key: the list begins behind this key; nil: at the first.
  ///   - limit: at most so many.
  func list(prefix: String, after key: String?, limit: Int) async throws(RegistryError) -> [RegistryEntry]

  /// How many keys begin with `prefix`, counted up to `limit`. Expired values count until they are removed.
  func count(prefix: String, limit: Int) async throws(RegistryError) -> Int

  /// Calls `observer` for each later change of keys that begin with one of `prefixes`, by any writer, in the order of versions of one
  /// key. A change by a writer of this process is reported before its `put` or `delete` returns.
  func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void)

  /// Waits until the observers know all changes by other processes until now, or that these cannot be read.
  func refresh() async

  /// At least the version of the newest change that a writer of this process has made.
  var newestVersion: RegistryVersion { get }

  /// Forgets expired values and reports them as deleted, where the store does not do it by itself.
  func removeExpired()
}

extension RegistryStore {
  package func removeExpired() {}

  package func refresh() async {}

  package var newestVersion: RegistryVersion { RegistryVersion(number: 0) }

  package func count(prefix: String, limit: Int) async throws(RegistryError) -> Int {
    try await list(prefix: prefix, after: nil, limit: limit).count
  }
}

/// Keys are ASCII: parts with other characters are percent-encoded.
enum RegistryKey {
  /// The two parts of a key behind a prefix.
  static func pair(_ key: String, after prefix: String) -> (first: String, second: String)? {
    let parts = key.dropFirst(prefix.count).split(separator: "/")
    guard parts.count == 2, let first = PercentEncoding.decode(parts[0]), let second = PercentEncoding.decode(parts[1])
    else { return nil }
    return (first, second)
  }
}

/// Versions of one key grow with each write.
package struct RegistryVersion: Hashable, Comparable, Sendable, Codable {
  package var number: UInt64
  package init(number: UInt64) { self.number = number }
  package static func < (one: RegistryVersion, other: RegistryVersion) -> Bool { one.number < other.number }
}

package struct RegistryEntry: Sendable {
  package var key: String
  package var value: [UInt8]
  package var version: RegistryVersion
  package init(key: String, value: [UInt8], version: RegistryVersion) {
    (self.key, self.value, self.version) = (key, value, version)
  }
}

package struct RegistryChange: Sendable {
  package var key: String
  /// nil: deleted or expired.
  package var value: [UInt8]?
  package var version: RegistryVersion
  package init(key: String, value: [UInt8]?, version: RegistryVersion) {
    (self.key, self.value, self.version) = (key, value, version)
  }
}

package enum RegistryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Another writer has changed the value in the meantime.
  case conflict
  /// The store does not answer, or cannot write. The call may have been executed.
  case unavailable(String)

  /// As callers of the APIs read it.
  package var description: String {
    switch self {
    case .conflict: "another writer has changed the value"
    case .unavailable(let reason): reason
    }
  }
}

/// The observers of changes in a store.
struct RegistryObservers: Sendable {
  typealias Observer = @Sendable (RegistryChange) -> Void

  private var all: [(prefixes: [String], observer: Observer)] = []

  mutating func add(_ prefixes: [String], _ observer: @escaping Observer) { all.append((prefixes, observer)) }

  func of(_ key: String) -> [Observer] {
    all.filter { $0.prefixes.contains(where: key.hasPrefix) }.map(\.observer)
  }
}
