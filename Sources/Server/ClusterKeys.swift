import KoineBase
import KoineTokens
import KoineVendorAPIs

/// Keys that all nodes of a cluster have, so that each admits what another has signed: the private keys of the configuration, or, where
/// there are none, a set that the first node has put into the registry.
final class ClusterKeys: Sendable {
  private static let place = "koine/cluster-keys"
  /// Between attempts to reach the registry.
  private static let pause = Duration.milliseconds(200)

  private let registry: LedgerRegistry
  private let stored = Lock<KeySet?>(nil)
  private let isStopped = Lock(false)

  init(_ registry: LedgerRegistry) { self.registry = registry }

  /// As `agree`, with what is known.
  func keys(beside configured: KeySet?) -> KeySet? {
    configured?.signingKeys.isEmpty == false ? configured : stored.withLock { $0 }
  }

  func stop() { isStopped.withLock { $0 = true } }

  /// Reads the registry, and puts a set there if it has none. Tries until the ledger answers.
  /// - Parameter configured: the keys of the configuration. They are used if there is a private one.
  /// - Returns: the keys that sign; nil if the server has stopped.
  /// - Throws: if the set in the registry is none.
  func agree(beside configured: KeySet?) async throws -> KeySet? {
    while !isStopped.withLock({ $0 }) {
      do {
        guard await refresh() else { throw RegistryError.unavailable("it is not known") }
        if let keys = keys(beside: configured) { return keys }
        let text = try await sharedText()
        let keys = try KeySet(json: text)
        stored.withLock { $0 = keys }
        return keys
      } catch is RegistryError {
        // A node without its ledger has no rooms either.
        try? await Task.sleep(for: Self.pause)
      }
    }
    return nil
  }

  private func refresh() async -> Bool {
    await withCheckedContinuation { done in registry.refresh { done.resume(returning: $0 == nil) } }
  }

  private func sharedText() async throws -> String {
    if let entry = try await registry.get(Self.place) { return String(decoding: entry.value, as: UTF8.self) }
    let text = try KeySet(newKey: "koine.cluster").json
    do throws(RegistryError) {
      try await registry.put(Self.place, Array(text.utf8), ifVersion: nil, expiry: nil)
      return text
    } catch .conflict {
      // Another node was first.
      return try await sharedText()
    }
  }

  /// Signs the passes of a server's own services.
  static func ownKey(of keys: KeySet) throws(TokenError) -> SigningKey {
    guard let first = keys.signingKeys.first else { throw .invalidKey("all of them are public") }
    return try SigningKey(secret: first.derivedSecret(for: "koine server passes"), id: "koine.server")
  }
}
