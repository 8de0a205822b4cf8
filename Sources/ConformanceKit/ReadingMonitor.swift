/// Compares the properties that an app can read, from one callback to the next. A property changes only in a callback that
/// announces the change.
@MainActor
final class ReadingMonitor {
  private(set) var faults: [String] = []
  private(set) var callbacks = 0
  private var read: (() -> [String: String])?
  private var last: [String: String] = [:]

  /// Begins to compare.
  func start(_ read: @escaping () -> [String: String]) {
    self.read = read
    last = read()
  }

  func compare(in callback: String, changes: [String]) {
    guard let now = read?() else { return }
    callbacks += 1
    for key in Set(now.keys).union(last.keys).sorted() where now[key] != last[key] {
      if changes.contains(where: { key == $0 || key.hasPrefix($0 + " ") }) { continue }
      faults.append("\(key): \(last[key] ?? "none"), then \(now[key] ?? "none") in \(callback)")
    }
    last = now
  }

  /// Compares outside of callbacks, where nothing may have changed.
  func compareBetweenCallbacks() {
    guard let now = read?() else { return }
    for key in Set(now.keys).union(last.keys).sorted() where now[key] != last[key] {
      faults.append("\(key): \(last[key] ?? "none"), then \(now[key] ?? "none") without a callback")
    }
    last = now
  }
}
