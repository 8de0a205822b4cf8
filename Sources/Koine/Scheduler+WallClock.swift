import Foundation

extension Scheduler {
  /// Milliseconds since 1970. In virtual time: since the clock's zero, so that a seed repeats its messages exactly.
  var wallClock: Int64 {
    switch kind {
    case .real: Int64(Date().timeIntervalSince1970 * 1_000)
    case .virtual: now.nanoseconds / 1_000_000
    }
  }

  func wallTime(of tick: Tick) -> Int64 { wallClock &- (now - tick).nanoseconds / 1_000_000 }

  /// - Returns: a time within a day of now, whatever a message says.
  func tick(ofWallTime milliseconds: Int64) -> Tick {
    let day: Int64 = 86_400_000
    let (age, isBeyond) = wallClock.subtractingReportingOverflow(milliseconds)
    return now - .milliseconds(isBeyond ? 0 : min(max(age, -day), day))
  }
}

extension String {
  /// The longest beginning of whole characters with at most so many bytes of UTF-8.
  func prefix(bytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var (kept, size) = ("", 0)
    for character in self {
      size += character.utf8.count
      guard size <= limit else { break }
      kept.append(character)
    }
    return kept
  }
}
