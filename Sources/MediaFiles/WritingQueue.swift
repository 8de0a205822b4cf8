import Dispatch
import Koine

/// Where a recorder writes: on a thread of its own, because a disk may take its time, and the network loop and the engine's
/// lanes must not wait for it. What waits to be written is bounded; what finds no room is left out and counted.
final class WritingQueue: Sendable {
  private struct State {
    /// In bytes.
    var waiting = 0
    var dropped = 0
    var isForgotten = false
  }

  private let queue = DispatchQueue(label: "recorder")
  private let state = Lock(State())
  private let capacity: Int

  /// - Parameter capacity: in bytes.
  init(capacity: Int) { self.capacity = capacity }

  /// How many writes found no room.
  var dropped: Int { state.withLock { $0.dropped } }

  /// - Returns: whether there was room.
  @discardableResult
  func add(_ bytes: Int, _ write: @escaping @Sendable () -> Void) -> Bool {
    let hasRoom = state.withLock { state in
      guard state.waiting == 0 || state.waiting + bytes <= capacity else {
        state.dropped += 1
        return false
      }
      state.waiting += bytes
      return true
    }
    guard hasRoom else { return false }
    queue.async { [self] in
      if !state.withLock({ $0.isForgotten }) { write() }
      state.withLock { $0.waiting -= bytes }
    }
    return true
  }

  /// Once all that waits has been written.
  func finish<Result>(_ work: () -> Result) -> Result { queue.sync(execute: work) }

  /// What waits is not written any more.
  func forget(_ work: () -> Void) {
    state.withLock { $0.isForgotten = true }
    queue.sync(execute: work)
  }
}
