import Dispatch
import Koine

/// Reads the app's facts after each closure that the room delivers, and keeps the changes of the present step.
///
/// A value that is replaced within the same instant of the room's clock is not kept: no screen draws it.
@MainActor
final class FactRecorder {
  private let room: TestRoom
  private let user: World
  private let read: () -> CallFacts?
  private var last: CallFacts?
  private(set) var values: [String: String] = [:]
  private(set) var changes: [PortingStory.Change] = []
  private(set) var lastChange: Tick
  private var stepStart: Tick
  /// The time of each of `changes`.
  private var times: [Tick] = []
  /// The values at the beginning of the step.
  private var before: [String: String] = [:]
  /// Closures that were delivered to the app's user: the callbacks of the SDK.
  private(set) var callbacks = 0
  private var isOpen = true

  init(room: TestRoom, user: World, read: @escaping () -> CallFacts?) {
    (self.room, self.user, self.read) = (room, user, read)
    (stepStart, lastChange) = (room.now, room.now)
    room.delivery.observeDeliveries { [weak self] world in
      MainActor.assumeIsolated { self?.delivered(to: world) }
    }
    sample()
  }

  /// Samples at once, and again after the closures that the delivered one has put on the main queue.
  private func delivered(to world: World?) {
    guard isOpen else { return }
    if world === user { callbacks += 1 }
    sample()
    DispatchQueue.main.async { [weak self] in MainActor.assumeIsolated { self?.sample() } }
  }

  func beginStep() {
    sample()
    (stepStart, lastChange) = (room.now, room.now)
    (changes, times) = ([], [])
    values["thrown"] = nil
    before = values
  }

  /// Records a fact that no layer shows, such as an error that an action has thrown.
  func note(_ fact: String, _ value: String) { change(fact, value) }

  func sample() {
    guard isOpen, let facts = World.$current.withValue(user, operation: read), facts != last else { return }
    last = facts
    let new = facts.byName
    for fact in Set(new.keys).union(values.keys).sorted() where fact != "thrown" && new[fact] != values[fact] {
      change(fact, new[fact] ?? CallFacts.none)
    }
  }

  private func change(_ fact: String, _ value: String) {
    values[fact] = value == CallFacts.none && fact.hasPrefix("people.") ? nil : value
    lastChange = room.now
    if let index = changes.lastIndex(where: { $0.fact == fact }), times[index] == room.now {
      changes.remove(at: index)
      times.remove(at: index)
    }
    let former = changes.last { $0.fact == fact }?.value ?? before[fact] ?? CallFacts.none
    guard value != former else { return }
    let passed = Int((room.now - stepStart).inMilliseconds)
    changes.append(PortingStory.Change(fact: fact, value: value, milliseconds: passed))
    times.append(room.now)
  }

  /// Reads nothing any more.
  func close() {
    isOpen = false
    room.delivery.observeDeliveries(nil)
  }
}
