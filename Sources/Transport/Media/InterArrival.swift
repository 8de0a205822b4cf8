import KoineBase

/// Packets sent within 5 ms are one group; the trend line follows the groups.
struct InterArrival {
  private struct Group {
    var firstSent, lastSent: Tick
    var lastArrival: Int64
  }

  private static let burst = Duration.milliseconds(5)
  private var current: Group?
  private var previous: Group?

  /// - Returns: when a group is whole, by how much longer it took than the one before, and when it came, in ms.
  mutating func add(_ at: Tick, arrival: Int64) -> (difference: Double, arrival: Double)? {
    guard var group = current else {
      current = Group(firstSent: at, lastSent: at, lastArrival: arrival)
      return nil
    }
    guard at >= group.firstSent else { return nil }  // late, its group is closed
    if at - group.firstSent < Self.burst {
      group.lastSent = max(group.lastSent, at)
      group.lastArrival = max(group.lastArrival, arrival)
      current = group
      return nil
    }
    defer {
      previous = group
      current = Group(firstSent: at, lastSent: at, lastArrival: arrival)
    }
    guard let previous else { return nil }
    let gap = Double(group.lastArrival &- previous.lastArrival) / 1e6
    return (gap - (group.lastSent - previous.lastSent).inMilliseconds, Double(group.lastArrival) / 1e6)
  }
}
