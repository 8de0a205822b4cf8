import Dispatch
import Glibc

/// Delays the exit of the process until pending leave messages are sent, 3 s at most. Without this, a program that leaves a
/// room and exits at once would appear as a lost connection, and remote participants would keep its last video frame.
///
/// Only in real time: on a virtual clock no message is sent once the program ends.
enum LeaveOnExit {
  /// Longer than a link waits for the room's answer.
  private static let limit = DispatchTimeInterval.seconds(3)
  private static let group = DispatchGroup()
  /// Registers the exit handler at the first leave, and thus after the handlers of libraries. The last handler runs first.
  private static let isAwaited = atexit { _ = LeaveOnExit.group.wait(timeout: .now() + LeaveOnExit.limit) } == 0

  static func leaveStarted() {
    _ = isAwaited
    group.enter()
  }

  static func leaveFinished() { group.leave() }
}
