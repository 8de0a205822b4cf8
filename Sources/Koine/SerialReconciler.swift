import Dispatch
import Glibc

/// Brings a resource, such as a device, to its wanted state. The steps call foreign code and may take long, as opening a
/// device does. One thread at a time runs the steps, and no lock is held during a step.
///
/// A caller that changes the wanted state calls `run` afterwards. If another thread already runs the steps, that thread also
/// handles the change, and the caller can wait for the outcome. Foreign code that calls back on the thread that runs the
/// steps does not wait.
final class SerialReconciler: Sendable {
  private struct State {
    var worker: pthread_t?
    var isAskedAgain = false
    var waiting: [DispatchSemaphore] = []
  }

  private let state = Lock(State())

  /// - Parameters:
  ///   - waits: until all is done, where another thread does it.
  ///   - step: does one thing; false: there is nothing to do.
  func run(waits: Bool, _ step: () -> Bool) {
    let current = pthread_self()
    let (isMine, done) = state.withLock { state -> (Bool, DispatchSemaphore?) in
      guard let worker = state.worker else {
        state.worker = current
        return (true, nil)
      }
      state.isAskedAgain = true
      guard waits, pthread_equal(worker, current) == 0 else { return (false, nil) }
      let done = DispatchSemaphore(value: 0)
      state.waiting.append(done)
      return (false, done)
    }
    done?.wait()
    guard isMine else { return }
    repeat { while step() {} } while !hasFinished()
  }

  /// - Returns: false if something has been asked for since the last step.
  private func hasFinished() -> Bool {
    let waiting: [DispatchSemaphore]? = state.withLock { state in
      guard !state.isAskedAgain else {
        state.isAskedAgain = false
        return nil
      }
      defer { (state.worker, state.waiting) = (nil, []) }
      return state.waiting
    }
    for done in waiting ?? [] { done.signal() }
    return waiting != nil
  }
}
