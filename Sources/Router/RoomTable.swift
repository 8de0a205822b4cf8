import KoineBase

/// The rooms of a router, by name and by number, and when each of them is next due.
struct RoomTable {
  private var byName: [String: Room] = [:]
  /// A room's number is never another's, so that a timer does not wake a later room of the same name.
  private var byNumber: [Int: Room] = [:]
  private var timers = TimerHeap()
  private var next = 0

  private var links = RoomLinks()

  /// The room to which a name leads, by any of its names.
  subscript(name: String) -> Room? { byName[self.name(of: name)] }

  /// The name of the room to which a name leads.
  func name(of name: String) -> String { links.target(of: name) }

  /// Has the participants of all names meet in the room of the first.
  /// - Parameter waiting: the rooms that participants wait to enter. They would wait in vain for a moderator of that room.
  /// - Returns: the first name whose own room is open or waited for; nil: the names are linked.
  mutating func link(_ names: [String], waiting: Set<String>) -> String? {
    let changes = links.changes(linking: names)
    if let used = changes.filter({ byName[$0] != nil || waiting.contains($0) }).min() { return used }
    links.link(names)
    return nil
  }

  /// Has each of the names, and what leads to them, mean a room of its own again.
  /// - Parameter waiting: the names by which participants wait to enter rooms.
  /// - Returns: a name by which participants have come or wait, as they would lose their room; nil: the names are unlinked.
  mutating func unlink(_ names: [String], waiting: Set<String>) -> String? {
    let changes = links.changes(unlinking: names)
    // Also the names of hidden participants, whose renewed credentials are for these names.
    var used = waiting
    for room in Set(changes.map(name(of:))).compactMap({ byName[$0] }) { used.formUnion(room.members.map(\.entrance)) }
    if let name = changes.intersection(used).min() { return name }
    for (target, names) in Dictionary(grouping: changes, by: name(of:)) { byName[target]?.forgetEntrances(names) }
    links.unlink(names)
    return nil
  }

  /// The names that `unlink` would change.
  func changes(unlinking names: [String]) -> Set<String> { links.changes(unlinking: names) }

  /// Names that would be linked to others with these.
  func linkCount(linking names: [String]) -> Int { links.count + links.changes(linking: names).count }

  /// Names that are linked to others.
  var linkCount: Int { links.count }

  var count: Int { byName.count }
  var isEmpty: Bool { byName.isEmpty }
  /// In no order.
  var all: some Collection<Room> { byName.values }
  /// In the order of the alphabet.
  var sorted: [Room] { byName.values.sorted { $0.name < $1.name } }
  /// For tests: how many rooms are known by number.
  var numbers: Int { byNumber.count }

  /// For the next room.
  mutating func makeNumber() -> Int {
    defer { next += 1 }
    return next
  }

  mutating func add(_ room: Room) {
    byName[room.name] = room
    byNumber[room.number] = room
  }

  mutating func remove(_ room: Room) {
    byName[room.name] = nil
    byNumber[room.number] = nil
  }

  // MARK: Time

  /// No later than the deadline of any room.
  var deadline: Tick? { timers.soonest }

  /// The room that is due first.
  var soonest: Room? {
    byName.values.filter { $0.deadline != nil }.min { $0.deadline ?? .zero < $1.deadline ?? .zero }
  }

  /// Takes over when a room is due.
  mutating func arm(_ room: Room) { room.alarm.arm(room.deadline, room.number, in: &timers) }

  mutating func popDue(at now: Tick) -> Room? {
    while let entry = timers.popDue(at: now) {
      if let room = byNumber[entry.owner], room.alarm.fired(entry) { return room }
    }
    return nil
  }
}
