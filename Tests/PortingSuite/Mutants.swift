import Foundation

/// The switches of a ported layer in which each written statement can be turned off (Scripts/check-mutants). The committed layers have none.
enum Mutants {
  private struct State {
    var off: Int?
    var reached: Set<Int> = []
  }

  private static let lock = NSLock()
  nonisolated(unsafe) private static var state = State()  // guarded by `lock`

  /// Whether the statement with this number runs.
  static func isOn(_ number: Int) -> Bool {
    lock.withLock {
      state.reached.insert(number)
      return state.off != number
    }
  }

  /// Whether the mistake with this number is made.
  static func isOff(_ number: Int) -> Bool { !isOn(number) }

  static func turnOff(_ number: Int?) { lock.withLock { state.off = number } }

  /// The statements that have been reached since the last call.
  static func takeReached() -> Set<Int> {
    lock.withLock {
      defer { state.reached = [] }
      return state.reached
    }
  }
}
