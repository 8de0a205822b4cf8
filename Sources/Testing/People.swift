import Koine

/// Who is known by name in a room, with what tells them apart: numbers in the order of their first mention.
final class People: Sendable {
  struct Entry: Sendable {
    let id: String
    let name: String
    /// What their camera's stamp says: at most eight bytes.
    let label: String
    /// In Hz, a multiple of 100, so that tones are told apart within 10 ms.
    var tone: Double
  }

  private struct State {
    var entries: [Entry] = []
    var worlds: [String: World] = [:]
  }

  /// None is a multiple of another.
  private static let tones: [Double] = [
    500, 700, 1_100, 1_300, 1_700, 1_900, 2_300, 2_900, 3_100, 3_700, 800, 1_200, 1_800, 2_000, 2_700, 3_200,
  ]
  private let state = Lock(State())

  /// In letters, digits and hyphens, as all styles take it.
  static func id(of name: String) -> String {
    let id = String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(60))
    return id.isEmpty ? "-" : id
  }

  func entry(named name: String) -> Entry { entry(id: Self.id(of: name), name: name) }

  var all: [Entry] { state.withLock { $0.entries } }

  /// A name that nobody here has is its own label.
  func name(ofLabel label: String) -> String {
    state.withLock { $0.entries.first { $0.label == label } }?.name ?? label
  }

  func setTone(_ tone: Double, of id: String) {
    state.withLock { state in
      if let index = state.entries.firstIndex(where: { $0.id == id }) { state.entries[index].tone = tone }
    }
  }

  func world(of id: String, make: (Entry) -> World) -> World {
    let entry = entry(id: id, name: id)
    if let world = state.withLock({ $0.worlds[id] }) { return world }
    let made = make(entry)
    return state.withLock { state in
      let world = state.worlds[id] ?? made
      state.worlds[id] = world
      return world
    }
  }

  private func entry(id: String, name: String) -> Entry {
    state.withLock { state in
      if let known = state.entries.first(where: { $0.id == id }) { return known }
      let number = state.entries.count
      let entry = Entry(
        id: id, name: name, label: name.utf8.count <= 8 && !name.contains(",") ? name : "#\(number + 1)",
        tone: Self.tones[number % Self.tones.count])
      state.entries.append(entry)
      return entry
    }
  }
}
