import Glibc

/// Guards one small value. Nothing foreign is called while it is held.
///
/// Over `pthread_mutex`, because `Synchronization.Mutex` gives the thread sanitizer false races on Linux when contended.
/// `@unchecked Sendable`: the value is touched only between lock and unlock. For the same reason the run-time check of exclusive access is
/// left out: a second access would have to take the lock, and wait for ever.
public final class Lock<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @exclusivity(unchecked) private var value: Value

  /// Creates a lock around a value.
  public init(_ value: Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` with exclusive access to the value. `body` must not take the same lock.
  /// - Throws: the error of `body`.
  public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
