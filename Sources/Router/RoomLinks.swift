/// Names of rooms that are linked to others: their participants meet in one room.
package struct RoomLinks: Sendable {
  /// Names that can be linked to others.
  package static let limit = 100_000

  /// By names that are linked to another: the name of the room in which their participants meet.
  private var targets: [String: String] = [:]

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
      targets[other] = target
      for (name, place) in targets where place == other { targets[name] = target }
    }
  }
}
