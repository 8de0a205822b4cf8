import KoineMedia
import KoineRouter

/// A name of rooms that is linked, in the registry.
struct RoomLink: Codable, Sendable, Equatable {
  /// The name to whose room it leads, perhaps by a link of that name.
  var target: String
  /// The last join by the name, to a day, or the time of the link.
  var used: APITime

  static let prefix = "koine/link/"
  static func key(_ name: String) -> String { prefix + PercentEncoding.encode(name) }
}

/// The links in the registry, and those in the rooms, which follow them.
final class Links: Sendable {
  /// What the registry has to change before names are unlinked, in this order. If it is interrupted, fewer names are unlinked, and
  /// no other name leads elsewhere.
  struct Removal {
    /// Names that lead to their room by one that is unlinked: they lead there at once.
    var redirected: [(name: String, target: String)] = []
    var removed: [String] = []
    /// `removed` in groups that can be removed at the same time: no name of a group leads to another one of it.
    var batches: [[String]] = []

    /// Names that are removed at the same time at most.
    static let batchSize = 200
  }

  private struct State {
    /// In the registry, by name.
    var stored: [String: RoomLink] = [:]
    /// By targets: the names whose links name them.
    var sources: [String: Set<String>] = [:]
    /// As the rooms resolve names.
    var made = RoomLinks()
    /// Names for which rooms and registry may differ, and when to try again; nil: at once.
    var waiting: [String: APITime?] = [:]
    /// Linked names of rooms that have ended, and when to try again.
    var ended: [String: APITime?] = [:]
    /// Ends when the last operation has ended.
    var last: Task<Void, Never>?
    /// Operations that have begun and not ended.
    var operations = 0
    /// Linked names with a last use that is being written.
    var renewing: Set<String> = []

    /// A linked name as the registry has it: the key of its entity has these bytes, while equal texts may have others.
    func spelling(of name: String) -> String? { stored.index(forKey: name).map { stored[$0].key } }

    /// Follows links in the registry. Two writers may have linked two names to each other: the first in the alphabet counts.
    func root(of name: String) -> String {
      guard var root = stored[name]?.target else { return name }
      var passed: Set<String> = [name]
      while let next = stored[root]?.target {
        guard passed.insert(root).inserted else { return min(root, next) }
        root = next
      }
      return root
    }

    func isUseNews(_ name: String, at now: APITime) -> Bool {
      stored[name].map { $0.used.adding(seconds: 24 * 60 * 60) <= now } ?? false
    }

    /// Divides names that are in the order of their removal.
    func batches(of names: [String]) -> [[String]] {
      var batches: [[String]] = []
      var targets: Set<String> = []
      for name in names {
        if batches.isEmpty || batches[batches.count - 1].count == Removal.batchSize || targets.contains(name) {
          batches.append([])
          targets = []
        }
        batches[batches.count - 1].append(name)
        if let target = stored[name]?.target { targets.insert(target) }
      }
      return batches
    }

    mutating func set(_ link: RoomLink?, name: String) {
      // Equal texts of other bytes are one name.
      let name = spelling(of: name) ?? name
      let before = stored[name]?.target
      stored[name] = link
      guard link?.target != before else { return }
      waiting[name] = .some(nil)
      if let before {
        sources[before]?.remove(name)
        if sources[before]?.isEmpty == true { sources[before] = nil }
      }
      if let link { sources[link.target, default: []].insert(name) }
      // They lead elsewhere now, too.
      for source in sources[name] ?? [] { waiting[source] = .some(nil) }
    }
  }

  private let state = Lock(State())

  /// Carries out one operation after the other: the order in which links are made decides where participants meet.
  func serially<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
    await begin(body).value
  }

  /// As `serially`, without waiting for it.
  @discardableResult
  func begin<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    state.withLock { state in
      let before = state.last
      state.operations += 1
      let task = Task {
        await before?.value
        let value = await body()
        self.state.withLock { $0.operations -= 1 }
        return value
      }
      state.last = Task { _ = await task.value }
      return task
    }
  }

  /// Whether an operation is under way or waits.
  var isBusy: Bool { state.withLock { $0.operations > 0 } }

  /// Waits until all operations that have begun so far have ended.
  func settle() async { await state.withLock { $0.last }?.value }

  // MARK: The registry

  /// Follows a change of the registry.
  /// - Parameters:
  ///   - link: nil: the name is not linked any more.
  ///   - hasEnded: whether the name's room has ended.
  func set(_ link: RoomLink?, name: String, hasEnded: Bool) {
    state.withLock { state in
      state.set(link, name: name)
      if hasEnded, link != nil { state.ended[name] = .some(nil) }
    }
  }

  func roomEnded(_ name: String) {
    state.withLock { state in
      if state.stored[name] != nil { state.ended[name] = .some(nil) }
    }
  }

  /// What the registry lacks so that all names lead to the room of the first: each name, and where it leads.
  /// - Returns: the new links, and the number of linked names with them.
  func additions(linking names: [String]) -> (links: [(name: String, target: String)], count: Int) {
    state.withLock { state in
      guard let target = names.first.map(state.root(of:)) else { return ([], state.stored.count) }
      var roots: Set<String> = [target]
      let links = names.dropFirst().map(state.root(of:)).filter { roots.insert($0).inserted }.map { ($0, target) }
      return (links, state.stored.count + links.count)
    }
  }

  func removal(of names: [String]) -> Removal {
    state.withLock { state in
      var removal = Removal()
      var removed: Set<String> = []
      for name in names where state.stored[name] == nil {
        // A room in which others meet: those that lead to others' links first.
        var found = [name]
        var next = 0
        while next < found.count {
          found += (state.sources[found[next]] ?? []).sorted().filter { removed.insert($0).inserted }
          next += 1
        }
        removal.removed += found.dropFirst().reversed()
      }
      for name in names.compactMap(state.spelling(of:)) where removed.insert(name).inserted {
        removal.removed.append(name)
      }
      for name in removal.removed {
        let root = state.root(of: name)
        for source in (state.sources[name] ?? []).sorted() where !removed.contains(source) && source != root {
          removal.redirected.append((source, root))
        }
      }
      removal.batches = state.batches(of: removal.removed)
      return removal
    }
  }

  /// Whether the last time that a linked name was used should be written, `now` being another day.
  func isUseNews(_ name: String, at now: APITime) -> Bool { state.withLock { $0.isUseNews(name, at: now) } }

  /// As `isUseNews`, for one caller at a time, which writes it and calls `endRenewal`.
  func beginRenewal(_ name: String, at now: APITime) -> Bool {
    state.withLock { state in state.isUseNews(name, at: now) && state.renewing.insert(name).inserted }
  }

  func endRenewal(_ name: String) { state.withLock { _ = $0.renewing.remove(name) } }

  /// A linked name as the registry has it, and the room to which it leads; nil: it is not linked.
  func stored(_ name: String) -> (name: String, root: String)? {
    state.withLock { state in state.spelling(of: name).map { ($0, state.root(of: $0)) } }
  }

  // MARK: The rooms

  /// - Returns: the room to which the names lead once they are linked, and the rooms that would be moved there.
  func outlook(linking names: [String]) -> (target: String, changes: Set<String>) {
    state.withLock { state in (names.first.map(state.made.target(of:)) ?? "", state.made.changes(linking: names)) }
  }

  func changes(unlinking names: [String]) -> Set<String> { state.withLock { $0.made.changes(unlinking: names) } }

  /// The rooms have linked names. `steps` finds out whether they are as the registry says: the rooms may have led one of the names
  /// elsewhere until now.
  func made(_ names: [String]) { state.withLock { $0.made.link(names) } }

  /// The rooms have unlinked names, which differ from the registry until it has them, too.
  func unmade(_ names: [String]) {
    state.withLock { state in
      for name in state.made.changes(unlinking: names) { state.waiting[name] = .some(nil) }
      state.made.unlink(names)
    }
  }

  /// What the rooms have to do to follow the registry.
  enum Step: Equatable {
    case link([String])
    case unlink([String])
  }

  /// Names are unlinked before others are linked. At most `RoomCommand.Limits.links` names are in one step.
  func steps(at now: APITime) -> [Step] {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return [] }
      let due = state.waiting.filter { $0.value.map { $0 <= now } ?? true }.keys.sorted()
      var unlinked: [Step] = []
      var linked: [String: [String]] = [:]
      for name in due {
        let (before, after) = (state.made.target(of: name), state.root(of: name))
        guard before != (after == name ? name : state.made.target(of: after)) else {
          state.waiting[name] = nil
          continue
        }
        if before != name { unlinked.append(.unlink([name])) }
        if after != name { linked[after, default: []].append(name) }
      }
      let links = linked.sorted { $0.key < $1.key }.flatMap { target, names in
        stride(from: 0, to: names.count, by: RoomCommand.Limits.links - 1).map { start in
          Step.link([target] + names[start...].prefix(RoomCommand.Limits.links - 1))
        }
      }
      return unlinked + links
    }
  }

  func postpone(_ names: [String], until time: APITime) {
    state.withLock { state in
      for name in names where state.waiting[name] != nil { state.waiting[name] = .some(time) }
    }
  }

  /// Linked names of rooms that have ended.
  func ended(at now: APITime) -> [String] {
    state.withLock { state in
      guard !state.ended.isEmpty else { return [] }
      state.ended = state.ended.filter { state.stored[$0.key] != nil }
      return state.ended.filter { $0.value.map { $0 <= now } ?? true }.keys.sorted()
    }
  }

  func postponeEnd(_ name: String, until time: APITime) {
    state.withLock { if $0.ended[name] != nil { $0.ended[name] = .some(time) } }
  }
}
