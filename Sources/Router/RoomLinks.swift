/// Names of rooms that are linked to others: their participants meet in one room.
package struct RoomLinks: Sendable {
  /// Names that can be linked to others.
  package static let limit = 100_000

  /// By names that are linked to another: the name of the room in which their participants meet.
  private var targets: [String: String] = [:]
  /// By these rooms: the names that lead to them, so that a link costs what it moves and not what is linked already.
  private var names: [String: Set<String>] = [:]

  package init() {}

  /// Names that are linked to others.
  package var count: Int { targets.count }

  /// The name of the room to which a name leads.
  package func target(of name: String) -> String { targets[name] ?? name }

  /// The names of rooms that would lead to the room of the first name from now on, and do not yet.
  package func changes(linking names: [String]) -> Set<String> {
    guard let first = names.first else { return [] }
    return Set(names.dropFirst().map(target(of:))).subtracting([target(of: first)])
  }

  /// Has the participants of all names meet in the room of the first.
  package mutating func link(_ names: [String]) {
    guard let first = names.first else { return }
    let target = target(of: first)
    for other in changes(linking: names) {
      let moved = (self.names.removeValue(forKey: other) ?? []).union([other])
      for name in moved { targets[name] = target }
      self.names[target, default: []].formUnion(moved)
    }
  }

  /// The names that lead to other rooms now and would lead to their own if these names were unlinked. A name to whose room others
  /// lead is unlinked with all of them.
  package func changes(unlinking names: [String]) -> Set<String> {
    var changes: Set<String> = []
    for name in names {
      if targets[name] != nil { changes.insert(name) } else { changes.formUnion(self.names[name] ?? []) }
    }
    return changes
  }

  /// Has each of the names, and what leads to them, mean a room of its own again.
  package mutating func unlink(_ names: [String]) {
    for name in changes(unlinking: names) {
      guard let target = targets.removeValue(forKey: name) else { continue }
      self.names[target]?.remove(name)
      if self.names[target]?.isEmpty == true { self.names[target] = nil }
    }
  }
}
