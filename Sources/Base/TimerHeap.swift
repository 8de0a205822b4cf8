/// The times at which parts, known by number, are due, the soonest first.
///
/// Moving a deadline away costs nothing: an owner pushes only when it wants to wake sooner than its entry in the heap
/// says, and looks at its real deadline when that entry is due. So a deadline that changes with every packet does not
/// touch the heap with every packet, and no owner has more entries than it had deadlines, each sooner than the one before.
package struct TimerHeap: Sendable {
  package struct Entry: Sendable {
    package let at: Tick
    fileprivate let order: UInt64
    package let owner: Int
  }

  private var entries: [Entry] = []
  private var order: UInt64 = 0

  package init() {}

  package var count: Int { entries.count }
  package var soonest: Tick? { entries.first?.at }
  package var first: Entry? { entries.first }

  package mutating func push(_ owner: Int, at: Tick) {
    order &+= 1
    entries.append(Entry(at: at, order: order, owner: owner))
    var child = entries.count - 1
    while child > 0, precedes(child, (child - 1) / 2) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  package mutating func popDue(at now: Tick) -> Entry? {
    guard let first = entries.first, first.at <= now else { return nil }
    return popFirst()
  }

  package mutating func popFirst() -> Entry? {
    guard let first = entries.first else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count && precedes(child, least) {
        least = child
      }
      guard least != parent else { return first }
      entries.swapAt(parent, least)
      parent = least
    }
  }

  /// Equal times fire in the order in which they were asked for, so that a run repeats.
  private func precedes(_ a: Int, _ b: Int) -> Bool {
    entries[a].at != entries[b].at ? entries[a].at < entries[b].at : entries[a].order < entries[b].order
  }
}

/// An owner's view of its entries in the heap.
package struct HeapAlarm: Sendable {
  /// The soonest last. A far deadline stays here while nearer ones come and go, and is not pushed again.
  private var armed: [Tick] = []

  package init() {}

  /// Asks to be woken at `deadline` or sooner.
  package mutating func arm(_ deadline: Tick?, _ owner: Int, in heap: inout TimerHeap) {
    guard let deadline else { return }
    if let soonest = armed.last, soonest <= deadline { return }
    armed.append(deadline)
    heap.push(owner, at: deadline)
  }

  /// - Returns: whether the entry is this owner's, and not one of a former owner of its number.
  package mutating func fired(_ entry: TimerHeap.Entry) -> Bool {
    guard armed.last == entry.at else { return false }
    armed.removeLast()
    return true
  }
}
