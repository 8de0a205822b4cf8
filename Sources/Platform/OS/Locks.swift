import Foundation

/// A lock with the state that it protects, of any thread.
///
/// [Apple's page](https://developer.apple.com/documentation/os/osallocatedunfairlock)
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  private final class Storage {
    let lock = NSLock()
    var state: State
    init(_ state: State) { self.state = state }
  }

  private let storage: Storage

  public init(uncheckedState initialState: State) { storage = Storage(initialState) }
  public init(initialState: State) where State: Sendable { storage = Storage(initialState) }
  public init() where State == Void { storage = Storage(()) }

  public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }

  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    storage.lock.lock()
    defer { storage.lock.unlock() }
    return try body(&storage.state)
  }

  public func lock() where State == Void { storage.lock.lock() }
  public func unlock() where State == Void { storage.lock.unlock() }
  /// - Returns: whether the lock is now this thread's.
  public func lockIfAvailable() -> Bool where State == Void { storage.lock.try() }
}

/// A lock at a fixed place in memory.
///
/// [Apple's page](https://developer.apple.com/documentation/os/os_unfair_lock)
public struct os_unfair_lock {
  fileprivate var mutex = pthread_mutex_t()
  public init() {}
}

public typealias os_unfair_lock_s = os_unfair_lock
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock>

public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) { pthread_mutex_lock(&lock.pointee.mutex) }
public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) { pthread_mutex_unlock(&lock.pointee.mutex) }
/// - Returns: whether the lock is now this thread's.
public func os_unfair_lock_trylock(_ lock: os_unfair_lock_t) -> Bool { pthread_mutex_trylock(&lock.pointee.mutex) == 0 }
