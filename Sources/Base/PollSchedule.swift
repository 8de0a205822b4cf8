/// Tracks which of many numbered parts must be polled: the parts touched since the last turn, and the parts with an expired
/// deadline. The cost of a turn is proportional to the number of these parts, not to the number of all parts.
///
///     touch, or takeDue ─→ takeTouched: poll each ─→ setDeadline ─→ wake at `deadline()`
package struct PollSchedule: Sendable {
  private struct Part {
    var deadline: Tick?
    var alarm = HeapAlarm()
  }

  private var touched: Set<Int> = []
  private var parts: [Int: Part] = [:]
  private var heap = TimerHeap()

  package init() {}

  /// Something has happened to a part.
  package mutating func touch(_ number: Int) { touched.insert(number) }

  /// Parts that something has happened to since they were last taken, in the order of their numbers.
  package var touchedNumbers: [Int] { touched.sorted() }

  package mutating func takeTouched() -> [Int] {
    defer { touched.removeAll(keepingCapacity: true) }
    return touched.sorted()
  }

  package mutating func setDeadline(_ deadline: Tick?, of number: Int) {
    if deadline == nil, parts[number] == nil { return }
    parts[number, default: Part()].deadline = deadline
    parts[number]?.alarm.arm(deadline, number, in: &heap)
  }

  package mutating func remove(_ number: Int) {
    touched.remove(number)
    parts[number] = nil
  }

  /// Returns the parts with an expired deadline, in the order of their numbers, and marks them as touched.
  package mutating func takeDue(at now: Tick) -> [Int] {
    var due: Set<Int> = []
    while let entry = heap.popDue(at: now) {
      guard parts[entry.owner]?.alarm.fired(entry) == true, let deadline = parts[entry.owner]?.deadline else {
        continue
      }
      if deadline <= now {
        due.insert(entry.owner)
      } else {
        parts[entry.owner]?.alarm.arm(deadline, entry.owner, in: &heap)
      }
    }
    touched.formUnion(due)
    return due.sorted()
  }

  /// The soonest deadline of a part, and the part.
  package mutating func soonest() -> (deadline: Tick, number: Int)? {
    while let entry = heap.first {
      guard parts[entry.owner]?.deadline != entry.at else { return (entry.at, entry.owner) }
      // The part has a later deadline by now, or none, or is gone.
      _ = heap.popFirst()
      guard parts[entry.owner]?.alarm.fired(entry) == true, let deadline = parts[entry.owner]?.deadline else {
        continue
      }
      parts[entry.owner]?.alarm.arm(deadline, entry.owner, in: &heap)
    }
    return nil
  }

  /// For tests: parts that have had a deadline and have not been removed, and touched parts.
  package var counts: (parts: Int, touched: Int) { (parts.count, touched.count) }
}
