import KoineBase
import KoineRouter
import Logging

/// The loggers of those who are in a room, by the line on which they are, and for a while of those whose line has broken: who
/// comes back on another is the same in the log.
struct Stays {
  private struct Stay {
    let logger: Logger
    /// The router has admitted it, or has it wait to be admitted.
    var isExpected = false
    /// By which the conversation can be taken up on another line.
    var key: String?
    /// When the line broke.
    var lostAt: Tick?
  }

  /// For longer no conversation waits.
  private static let memory = Duration.seconds(120)
  private var stays: [ConnectionID: Stay] = [:]
  private var lines: [String: ConnectionID] = [:]
  /// In the order in which they broke.
  private var lost: [(line: ConnectionID, at: Tick)] = []

  subscript(line: ConnectionID) -> Logger? { stays[line]?.logger }

  mutating func begin(_ logger: Logger, on line: ConnectionID) {
    end(on: line)
    stays[line] = Stay(logger: logger)
  }

  @discardableResult mutating func end(on line: ConnectionID) -> Logger? {
    guard let stay = stays.removeValue(forKey: line) else { return nil }
    if let key = stay.key { lines[key] = nil }
    return stay.logger
  }

  /// The router has admitted it, or has it wait to be admitted: what it asks for besides may be refused without an end.
  mutating func expect(_ line: ConnectionID) { stays[line]?.isExpected = true }

  func isExpected(_ line: ConnectionID) -> Bool { stays[line]?.isExpected ?? false }

  mutating func setKey(_ key: String, on line: ConnectionID) {
    guard stays[line] != nil else { return }
    if let old = stays[line]?.key { lines[old] = nil }
    stays[line]?.key = key
    lines[key] = line
  }

  /// The line broke.
  /// - Parameter mayReturn: whether the conversation waits to be taken up on another line.
  mutating func lose(_ line: ConnectionID, mayReturn: Bool, at now: Tick) -> Logger? {
    while let first = lost.first, now - first.at > Self.memory {
      if stays[first.line]?.lostAt == first.at { end(on: first.line) }
      lost.removeFirst()
    }
    guard mayReturn, stays[line] != nil else { return end(on: line) }
    stays[line]?.lostAt = now
    lost.append((line, now))
    return stays[line]?.logger
  }

  /// Somebody wants to go on with this conversation; whether it is let, is seen later.
  mutating func move(_ key: String, to line: ConnectionID) {
    guard let old = lines[key], old != line, var stay = stays.removeValue(forKey: old) else { return }
    stay.lostAt = nil
    stays[line] = stay
    lines[key] = line
  }
}
