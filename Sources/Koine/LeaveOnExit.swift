import Dispatch
import Glibc

/// Goodbyes that are on their way: a program that leaves a room and ends at once waits for them, a moment, or the others
/// would see a lost connection and keep a picture that stands still.
///
/// Only in real time: on a virtual clock nobody says anything any more once the program ends.
enum LeaveOnExit {
  /// Longer than a link waits for the room's answer.
  private static let limit = DispatchTimeInterval.seconds(3)
  private static let group = DispatchGroup()
  /// Asked for with the first goodbye, after whatever libraries have asked for: the latest comes first.
  private static let isAwaited = atexit { _ = LeaveOnExit.group.wait(timeout: .now() + LeaveOnExit.limit) } == 0

  static func begin() {
    _ = isAwaited
    group.enter()
  }

  static func end() { group.leave() }
}
