import Dispatch
import Glibc

/// Brings something to where it should be by steps that call foreign code and may take long, as opening a device does: one
/// thread at a time, and no lock held meanwhile.
///
/// Who changes what is wanted calls `run`. If somebody is at it already, that one takes the change into account, too:
/// another thread can wait for the outcome; the same thread (foreign code that calls back) cannot, and does not.
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
