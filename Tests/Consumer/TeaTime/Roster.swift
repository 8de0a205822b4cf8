import Combine

/// The participants on the stage, for viewers.
@MainActor
final class Roster: ObservableObject {
  @Published private(set) var names: [String] = []

  func add(_ name: String) { names.append(name) }
  func remove(_ name: String) { names.removeAll { $0 == name } }
}
