import Foundation
import Koine
import Testing

/// Calls into a room in virtual time that come while time moves, from threads that neither move it nor serve the main queue:
/// an app's own queues, actors and detached tasks. The room cannot wait for those, and says so once.
final class StrayCalls: Sendable {
  private struct State {
    var runs = 0
    var count = 0
    var isReported = false
  }

  private let state = Lock(State())
  /// While a sleep of `TestRoom.clock` begins. Swift's `Clock.sleep` leaves the caller's actor for the thread pool before it reaches the
  /// room's clock, so code on the main actor that uses the clock as the documents say comes from there.
  @TaskLocal static var isExpected = false

  func runBegan() { state.withLock { $0.runs += 1 } }

  func countCall() {
    guard !Self.isExpected else { return }
    state.withLock { $0.count += $0.runs > 0 ? 1 : 0 }
  }

  /// Reports a warning after the first run in which there were such calls.
  func runEnded() {
    let isNew = state.withLock { state in
      state.runs -= 1
      guard state.count > 0, !state.isReported else { return false }
      state.isReported = true
      return true
    }
    guard isNew else { return }
    let message = """
      Code on threads, actors or detached tasks of its own called into the room while its time moved. Virtual time does \
      not wait for such code: the same seed may give another order of events. Call from the main queue, the main actor or \
      inside room.run { … }.
      """
    if Test.current == nil {
      FileHandle.standardError.write(Data("warning: \(message)\n".utf8))
    } else {
      Issue.record(Comment(rawValue: message), severity: .warning)
    }
  }

  var isReported: Bool { state.withLock { $0.isReported } }
}
