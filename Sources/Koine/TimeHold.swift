import Dispatch
import Foundation

/// Holds virtual time: while a span is open, work that is due now runs, and time does not move. Test kits open a span for as long as
/// code waits for something outside of the world, such as an HTTP request.
///
/// Several spans may be open. Any thread may open and end them.
package final class TimeHold: Sendable {
  /// The time during which virtual time stands still.
  package final class Span: Sendable {
    /// Whose time stands still.
    package let hold: TimeHold
    private let hasEnded = Lock(false)

    fileprivate init(_ hold: TimeHold) { self.hold = hold }

    package var isOpen: Bool { !hasEnded.withLock { $0 } }

    /// Ends the span. A second call has no effect.
    package func end() {
      let isFirst = hasEnded.withLock { hasEnded in
        defer { hasEnded = true }
        return !hasEnded
      }
      if isFirst { hold.spanEnded() }
    }

    deinit { end() }
  }

  private struct State {
    var open = 0
    var waiting: [Waiter] = []
  }

  /// Wakes its continuation exactly once.
  private final class Waiter: Sendable {
    private let continuation: Lock<CheckedContinuation<Void, Never>?>
    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Lock(continuation) }

    func wake() {
      continuation.withLock { continuation in
        defer { continuation = nil }
        return continuation
      }?.resume()
    }
  }

  /// The span in which the current task's code runs. In virtual time that code must not wait for the world's time.
  @TaskLocal package static var current: Span?

  private let state = Lock(State())
  /// Held by the thread that does the work of an instant or moves time. Recursive, because that work may open a span.
  private let turn = NSRecursiveLock()

  package init() {}

  package var isHeld: Bool { state.withLock { $0.open > 0 } }

  /// Whether the current task's code runs in an open span of this hold.
  package var isEntered: Bool { Self.current.map { $0.hold === self && $0.isOpen } ?? false }

  /// Opens a span. When the call returns, time stands still; on the thread that moves time, after its present step.
  package func begin() -> Span {
    turn.withLock { state.withLock { $0.open += 1 } }
    return Span(self)
  }

  private func spanEnded() {
    let waiting = state.withLock { state in
      state.open -= 1
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.wake() }
  }

  /// Returns when a span ends, or after half a millisecond of real time, in which code outside of the world may have given it work.
  func waitForChange() async {
    await withCheckedContinuation { continuation in
      let waiter = Waiter(continuation)
      let mustWait = state.withLock { state in
        guard state.open > 0 else { return false }
        state.waiting.append(waiter)
        return true
      }
      guard mustWait else { return waiter.wake() }
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(500)) { [weak self] in
        self?.state.withLock { state in state.waiting.removeAll { $0 === waiter } }
        waiter.wake()
      }
    }
  }

  /// Runs `body` while no other thread does work of the world.
  func withTurn<Value>(_ body: () -> Value) -> Value { turn.withLock(body) }
}

extension World {
  /// Virtual time only: does the work that is due now, and no more, until `span` ends. Several may run at the same time, also beside
  /// `run(for:hold:)`.
  package func workUntilEnd(of span: TimeHold.Span) async {
    while span.isOpen {
      span.hold.withTurn { finishInstant() }
      if delivery.hasNews { await delivery.fence() }
      await span.hold.waitForChange()
    }
  }
}
