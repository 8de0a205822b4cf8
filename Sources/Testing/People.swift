import Koine

/// The people that a test has named, each with a label and a tone of its own, in the order in which the test first named them.
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
    /// Sessions of participants that have not left, by participant id, so that a test need not keep a `Person`.
    var stays: [Participant.ID: Stay] = [:]
    var endpoints: [String: Endpoint] = [:]
    /// Ids of persons with an app that a credential admitted, and of persons that the room was entered as.
    var apps: Set<String> = []
    var entered: Set<String> = []
    /// By person's id: the participant ids that back ends have made for the person's apps.
    var backEndIDs: [String: Set<String>] = [:]
    var objectsWithoutContext = 0
  }

  private struct Stay {
    let session: Session
    let streams: [LocalStream]
    var isLeaving = false
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

  /// The name of the person with this label, or the label itself where no person has it.
  func name(ofLabel label: String) -> String {
    state.withLock { $0.entries.first { $0.label == label } }?.name ?? label
  }

  /// Name of the person with this id; nil if no person has it.
  func name(ofID id: String) -> String? { state.withLock { $0.entries.first { $0.id == id } }?.name }

  func setTone(_ tone: Double, of id: String) {
    state.withLock { state in
      if let index = state.entries.firstIndex(where: { $0.id == id }) { state.entries[index].tone = tone }
    }
  }

  /// The worlds of all apps in the room.
  var worlds: [World] { state.withLock { state in state.entries.compactMap { state.worlds[$0.id] } } }

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

  // MARK: Kept sessions

  func isIn(_ participant: Participant.ID) -> Bool {
    state.withLock { $0.stays[participant].map { !$0.isLeaving && !$0.session.state.isEnded } ?? false }
  }

  func leaves(_ participant: Participant.ID) { state.withLock { $0.stays[participant]?.isLeaving = true } }

  /// Until the session has ended.
  func keep(_ session: Session, _ streams: [LocalStream], as participant: Participant.ID) {
    session.observe { [weak self, weak session] event in
      guard case .stateChanged(.ended) = event, let self, let session else { return }
      let gone = state.withLock { state -> Stay? in
        guard state.stays[participant]?.session === session else { return nil }
        return state.stays.removeValue(forKey: participant)
      }
      withExtendedLifetime(gone) {}  // let go of outside the lock
    }
    let former = state.withLock { state in
      defer { state.stays[participant] = Stay(session: session, streams: streams) }
      return state.stays[participant]
    }
    withExtendedLifetime(former) {}
  }

  /// Names of participants that joined by `join`, and of the remote participants of their sessions, by id.
  var inRoom: [Participant.ID: String] {
    let sessions = state.withLock { $0.stays.values.map(\.session) }.filter { $0.state == .connected }
    let all = sessions.flatMap { [$0.localParticipant] + $0.participants }
    return Dictionary(all.map { ($0.id, $0.name) }) { first, _ in first }
  }

  // MARK: Contexts

  /// Names of those of the present participants that are an app's and not a `Person`.
  func appsInRoom(_ present: [Participant.ID: String]) -> [String] {
    state.withLock { state in present.filter { state.stays[$0.key] == nil }.values.sorted() }
  }

  func noteApp(of id: String) { state.withLock { _ = $0.apps.insert(id) } }
  func noteEntry(of id: String) { state.withLock { _ = $0.entered.insert(id) } }
  func note(backEndID id: String, of person: String) {
    state.withLock { _ = $0.backEndIDs[person, default: []].insert(id) }
  }
  func backEndIDs(of person: String) -> [String] { state.withLock { $0.backEndIDs[person, default: []].sorted() } }
  func noteObjectWithoutContext() { state.withLock { $0.objectsWithoutContext += 1 } }

  /// Names of persons with apps that have objects of the process instead of the room's.
  var namesWithObjectsOfProcess: [String] {
    state.withLock { state in
      guard state.objectsWithoutContext > 0 else { return [] }
      return state.entries.filter { state.apps.contains($0.id) && !state.entered.contains($0.id) }.map(\.name)
    }
  }

  func keep(_ endpoint: Endpoint) { state.withLock { $0.endpoints[endpoint.identity] = endpoint } }

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
