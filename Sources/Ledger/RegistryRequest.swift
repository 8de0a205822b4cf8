/// A request to the registry in the ledger: values by key, each with a version, for the vendors' HTTP APIs of all nodes.
///
/// Versions are numbers of one count for all keys, and at least the ledger's clock in microseconds since 1970: a ledger that has
/// forgotten the newest changes does not give their versions again. Keys are ASCII. Times are in milliseconds since 1970; a value
/// that has expired by the ledger's clock counts as none.
package enum RegistryRequest: Hashable, Sendable {
  /// → `value`
  case get(String)
  case put(RegistryPut)
  /// Deletes the value of this version. → `written`, `unchanged` if there is none, `conflict` if it has another version.
  case delete(String, ifVersion: UInt64, isWatched: Bool)
  /// Values whose keys begin with `prefix`, in the order of their keys, behind `after`. A page has at most `limit` values and 1 MiB,
  /// but at least one value. → `page`
  case list(prefix: String, after: String?, limit: Int)
  /// How many keys begin with `prefix`, counted up to `limit`. Expired values count until they are removed. → `count`
  case count(prefix: String, limit: Int)
  /// The newest change of each watched key whose version is above `after`, in the order of versions: a page of at most 64 changes and
  /// 1 MiB. → `changes`
  case changes(after: UInt64)
  /// Removes values that have expired, at most 500, and forgets that keys were deleted a week ago. → `removed`
  case removeExpired

  /// Of a page of `changes`.
  package static let changesPage = 64
  /// Of `removeExpired`.
  package static let removalsPage = 500
  /// In bytes of values.
  package static let pageSize = 1 << 20
  /// How long it is remembered that a watched key was deleted.
  package static let memory = Duration.seconds(7 * 86_400)
}

/// Writes a value if the key has the version that the writer knows. → `written`, or `conflict`
package struct RegistryPut: Hashable, Sendable {
  package var key: String
  package var value: [UInt8]
  /// nil: the key must have no value.
  package var version: UInt64?
  /// nil: never.
  package var expiry: Int64?
  /// All nodes hear of the change: `RegistryRequest.changes` has it, and a `RegistryNotice` says so.
  package var isWatched: Bool

  package init(_ key: String, _ value: [UInt8], ifVersion version: UInt64?, expiry: Int64?, isWatched: Bool) {
    (self.key, self.value, self.version) = (key, value, version)
    (self.expiry, self.isWatched) = (expiry, isWatched)
  }
}

package enum RegistryAnswer: Hashable, Sendable {
  case value(RegistryItem?)
  /// The version of the change.
  case written(UInt64)
  case unchanged
  case conflict
  case page([RegistryItem], isLast: Bool)
  case count(Int)
  case changes([RegistryItem], isLast: Bool)
  case removed(Int)
}

package struct RegistryItem: Hashable, Sendable {
  package var key: String
  /// nil: it was deleted, or has expired. Only in `RegistryAnswer.changes`.
  package var value: [UInt8]?
  package var version: UInt64

  package init(_ key: String, _ value: [UInt8]?, version: UInt64) {
    (self.key, self.value, self.version) = (key, value, version)
  }
}

/// Tells all nodes that a watched value has changed. May be lost: nodes ask, too.
package enum RegistryNotice {
  package static let bytes = Array(#"{"registry":"changed"}"#.utf8)

  /// Whether the ledger publishes the notice on `LedgerChannel.all`, with the change.
  package static func follows(_ request: LedgerRequest, _ answer: LedgerAnswer) -> Bool {
    switch (request, answer) {
    case (.registry(.put(let put)), .registry(.written)): put.isWatched
    case (.registry(.delete(_, _, let isWatched)), .registry(.written)): isWatched
    case (.registry(.removeExpired), .registry(.removed(let count))): count > 0
    default: false
    }
  }
}
