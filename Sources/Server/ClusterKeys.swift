import KoineBase
import KoineTokens
import KoineVendorAPIs

/// Keys that all nodes of a cluster have, so that each admits what another has signed: the private keys of the configuration, or, where
/// there are none, a set that the first node has put into the registry.
final class ClusterKeys: Sendable {
  private static let place = "koine/cluster-keys"
  /// Between attempts to reach the registry.
  private static let pause = Duration.milliseconds(200)

  private struct State {
    /// Of the configuration.
    var configured: KeySet?
    /// Of the registry.
    var shared: KeySet?
    var isStopped = false

    /// The private keys of the configuration count; without one, those of the registry.
    var keys: KeySet? { configured?.signingKeys.isEmpty == false ? configured : shared }
  }

  private let registry: LedgerRegistry
  private let state: Lock<State>

  init(_ registry: LedgerRegistry, configured: KeySet?) {
    self.registry = registry
    state = Lock(State(configured: configured))
  }

  /// The configuration has been read again.
  /// - Returns: the keys that sign; nil if they are not known yet.
  func configure(_ keys: KeySet?) -> KeySet? {
    state.withLock { state in
      state.configured = keys
      return state.keys
    }
  }

  func stop() { state.withLock { $0.isStopped = true } }

  /// Reads the registry, and puts a set there if it has none. Tries until the ledger answers.
  /// - Returns: the keys that sign; nil if the server has stopped.
  /// - Throws: if the set in the registry is none.
  func agree() async throws -> KeySet? {
    while !state.withLock({ $0.isStopped }) {
      do {
        guard await refresh() else { throw RegistryError.unavailable("it is not known") }
        if let keys = state.withLock({ $0.keys }) { return keys }
        let shared = try KeySet(json: try await sharedText(or: KeySet(newKey: "koine.cluster")))
        state.withLock { $0.shared = shared }
        return shared
      } catch is RegistryError {
        // A node without its ledger has no rooms either.
        try? await Task.sleep(for: Self.pause)
      }
    }
    return nil
  }

  /// Looks whether the registry still has the set: a ledger may have lost it. Puts it there again, or takes the one that another node
  /// has put there.
  /// - Returns: the keys that sign from now on; nil: the same as before, or unknown.
  func keep() async -> KeySet? {
    let own = state.withLock { $0.configured?.signingKeys.isEmpty == false ? nil : $0.shared }
    guard let own, let text = try? await sharedText(or: own), let shared = try? KeySet(json: text),
      (try? shared.json) != (try? own.json)
    else { return nil }
    state.withLock { $0.shared = shared }
    return shared
  }

  private func refresh() async -> Bool {
    await withCheckedContinuation { done in registry.refresh { done.resume(returning: $0 == nil) } }
  }

  /// The set in the registry.
  /// - Parameter new: put there if there is none.
  private func sharedText(or new: KeySet) async throws -> String {
    if let entry = try await registry.get(Self.place) { return String(decoding: entry.value, as: UTF8.self) }
    let text = try new.json
    do throws(RegistryError) {
      try await registry.put(Self.place, Array(text.utf8), ifVersion: nil, expiry: nil)
      return text
    } catch .conflict {
      // Another node was first.
      return try await sharedText(or: new)
    }
  }

  /// Signs the passes of a server's own services.
  static func ownKey(of keys: KeySet) throws(TokenError) -> SigningKey {
    guard let first = keys.signingKeys.first else { throw .invalidKey("all of them are public") }
    return try SigningKey(secret: first.derivedSecret(for: "koine server passes"), id: "koine.server")
  }
}
