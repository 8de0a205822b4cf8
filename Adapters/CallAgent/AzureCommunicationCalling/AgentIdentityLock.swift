import Koine

/// An identity has one agent in a process and a world at a time.
final class AgentIdentityLock: Sendable {
  private struct Key: Hashable {
    let world: ObjectIdentifier
    let identity: String
  }

  private static let taken = Lock<Set<Key>>([])
  private let key: Key
  private let holds = Lock(false)

  init(world: ObjectIdentifier, identity: String) { key = Key(world: world, identity: identity) }

  func acquire() -> Bool {
    let isFree = Self.taken.withLock { $0.insert(key).inserted }
    holds.withLock { $0 = isFree }
    return isFree
  }

  func release() {
    let held = holds.withLock { holds in
      defer { holds = false }
      return holds
    }
    if held { _ = Self.taken.withLock { $0.remove(key) } }
  }
}
