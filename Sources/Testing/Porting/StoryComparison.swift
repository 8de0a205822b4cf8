/// Compares the stories of two call layers of one scenario with one seed.
struct StoryComparison {
  let old, new: PortingStory
  private(set) var differences: [PortingDifference] = []

  /// The largest distance of two equal changes of what others notice, in milliseconds.
  private static let tolerance = 1_000

  init(_ old: PortingStory, _ new: PortingStory) {
    (self.old, self.new) = (old, new)
    compareSteps()
    compareEnd()
  }

  private mutating func add(
    _ fact: String, at step: String, _ comparison: PortingComparison, _ old: String, _ new: String
  ) {
    differences.append(
      PortingDifference(
        scenario: self.old.scenario, seed: self.old.seed, step: step, fact: fact, comparison: comparison, old: old,
        new: new))
  }

  private mutating func compareSteps() {
    if let first = old.steps.first, let second = new.steps.first {
      compareSettled(first.before, second.before, at: Self.beforeCall)
    }
    for (old, new) in zip(old.steps, new.steps) {
      compareSettled(old.settled, new.settled, at: old.name)
      // Other facts have other texts.
      if old.settled == new.settled { compareSettled(old.texts, new.texts, at: old.name) }
      compareSettled(old.outside, new.outside, at: old.name)
      compareSequences(old, new)
      compareTimes(old, new)
      if old.hasSettled != new.hasSettled || !new.hasSettled {
        let (old, first) = (old.hasSettled ? "settled" : "not within 40 s", old.name)
        add("the facts", at: first, .play, old, new.hasSettled ? "settled" : "not within 40 s")
      }
    }
  }

  private mutating func compareSettled(_ old: [String: String], _ new: [String: String], at step: String) {
    for fact in Set(old.keys).union(new.keys).sorted() where old[fact] != new[fact] {
      add(fact, at: step, .settled, old[fact] ?? CallFacts.none, new[fact] ?? CallFacts.none)
    }
  }

  /// Each fact takes the same values in the same order between its settled value before the step and the one after the step. The
  /// settled values themselves are compared apart.
  private mutating func compareSequences(_ old: PortingStory.Step, _ new: PortingStory.Step) {
    for fact in Set((old.changes + new.changes).map(\.fact)).sorted() {
      let (first, second) = (Self.values(of: fact, in: old), Self.values(of: fact, in: new))
      guard first.dropFirst().dropLast() != second.dropFirst().dropLast(),
        !(fact == "messages" && Self.onlyGrows(first) && Self.onlyGrows(second))
      else { continue }
      add(fact, at: old.name, .between, first.joined(separator: " → "), second.joined(separator: " → "))
    }
  }

  private static func values(of fact: String, in step: PortingStory.Step) -> [String] {
    var values = [step.before[fact] ?? CallFacts.none]
    for change in step.changes where change.fact == fact && change.value != values.last {
      values.append(change.value)
    }
    return values
  }

  /// Whether each list of messages begins with the one before it. Then equal last lists mean that each message came once and in order,
  /// although one layer may show two messages at once.
  private static func onlyGrows(_ lists: [String]) -> Bool {
    zip(lists, lists.dropFirst()).allSatisfy { $1.hasPrefix($0) }
  }

  // MARK: What others notice

  private mutating func compareTimes(_ old: PortingStory.Step, _ new: PortingStory.Step) {
    for fact in Set((old.outsideChanges + new.outsideChanges).map(\.fact)).sorted() {
      let (first, second) = (Course(of: fact, in: old), Course(of: fact, in: new))
      for change in first.changes where !second.has(change.value, near: change.milliseconds, within: Self.tolerance) {
        add(fact, at: old.name, .timing, "\(change.value) after \(change.milliseconds) ms", second.text)
      }
      for change in second.changes where !first.has(change.value, near: change.milliseconds, within: Self.tolerance) {
        add(fact, at: old.name, .timing, first.text, "\(change.value) after \(change.milliseconds) ms")
      }
    }
  }

  /// The values of one fact over the time of a step.
  private struct Course {
    let before: String
    let changes: [PortingStory.Change]

    init(of fact: String, in step: PortingStory.Step) {
      before = step.outsideBefore[fact] ?? CallFacts.none
      changes = step.outsideChanges.filter { $0.fact == fact }
    }

    /// Whether the fact has the value at any time between `time - tolerance` and `time + tolerance`.
    func has(_ value: String, near time: Int, within tolerance: Int) -> Bool {
      var (present, since) = (before, Int.min)
      for change in changes {
        if present == value, since <= time + tolerance, change.milliseconds >= time - tolerance { return true }
        (present, since) = (change.value, change.milliseconds)
      }
      return present == value && since <= time + tolerance
    }

    var text: String {
      guard !changes.isEmpty else { return "stays \(before)" }
      return changes.map { "\($0.value) after \($0.milliseconds) ms" }.joined(separator: ", ")
    }
  }

  // MARK: The end

  static let beforeCall = "before the call"
  static let afterCall = "after the call"

  /// The state after the call that a layer must leave. Objects must be freed; counts must be 0.
  private static func isClean(_ fact: String, _ value: String) -> Bool {
    switch fact {
    case "camera", "microphone": value == "released"
    case "the server's roster": value == "without the app"
    case "tasks that sleep", "callbacks": value == "0"
    case "changes of facts": value.isEmpty
    default: value == "freed"
    }
  }

  /// The new layer must leave a clean state, whatever the old layer leaves.
  private mutating func compareEnd() {
    if old.problem != nil || new.problem != nil {
      add("the scenario", at: Self.afterCall, .play, old.problem ?? "played", new.problem ?? "played")
    }
    for fact in new.afterCall.keys.sorted() {
      guard let value = new.afterCall[fact], !Self.isClean(fact, value) else { continue }
      add(fact, at: Self.afterCall, .afterCall, old.afterCall[fact] ?? CallFacts.none, value)
    }
  }
}
