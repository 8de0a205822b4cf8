/// Scenarios, pairs of styles, and the grounds on which they meet.
@MainActor
public struct Suite {
  public var scenarios: [Scenario]
  public var styles: [String]
  public var grounds: [Ground]
  public var seed: UInt64
  public var order: Order
  /// Stands between a driver and the suite: for the suite's own tests.
  var meddle: @MainActor (any Driver) -> any Driver = { $0 }

  public init(
    scenarios: [Scenario] = Scenario.all, styles: [String], grounds: [Ground], seed: UInt64 = 1, order: Order = .usual
  ) {
    self.scenarios = scenarios
    self.styles = styles
    self.grounds = grounds
    self.seed = seed
    self.order = order
  }

  /// One cell of the matrix.
  public struct Case: Sendable {
    public let scenario: Scenario
    public let first, second: String
    public let ground: Ground

    public var name: String { Outcome.name(scenario.id, first, second, ground.name) }
  }

  /// Each scenario on each ground: alone for every style, else for every ordered pair, a style with itself included.
  public var cases: [Case] {
    grounds.flatMap { ground in
      scenarios.flatMap { scenario in
        styles.flatMap { first in
          (scenario.isAlone ? [first] : styles).map { second in
            Case(scenario: scenario, first: first, second: second, ground: ground)
          }
        }
      }
    }
  }

  /// - Parameter progress: after each case.
  public func run(_ cases: [Case]? = nil, progress: (Outcome) -> Void = { _ in }) async -> Report {
    var outcomes: [Outcome] = []
    for item in cases ?? self.cases {
      let outcome = await play(item)
      outcomes.append(outcome)
      progress(outcome)
    }
    return Report(outcomes: outcomes, seed: seed)
  }

  /// Plays one case on ground of its own.
  public func play(_ item: Case) async -> Outcome {
    let scenario = item.scenario
    var outcome = Outcome(
      scenario: scenario.id, title: scenario.title, proves: scenario.proves, first: item.first, second: item.second,
      ground: item.ground.name, verdict: .passed, traces: [])
    if scenario.isLong, !item.ground.isVirtual {
      outcome.verdict = .notHere("takes minutes in real time; see virtual time")
      return outcome
    }
    let place: any Place
    do {
      place = try item.ground.makePlace(seed, order)
    } catch {
      outcome.verdict = .failed(["the place could not be made: \(error)"])
      return outcome
    }
    if let reason = obstacle(to: item, at: place) {
      outcome.verdict = reason
    } else {
      await play(scenario, item, at: place, into: &outcome)
    }
    await place.close()
    return outcome
  }

  private func play(_ scenario: Scenario, _ item: Case, at place: any Place, into outcome: inout Outcome) async {
    let story = Story(
      item.first, item.second, at: place, patience: item.ground.isVirtual ? 1 : 4, meddle: meddle)
    var failures: [String] = []
    do { try await scenario.play(story) } catch { failures.append("\(error)") }
    await story.close()
    for recorder in story.recorders {
      failures += Law.violations(in: recorder.entries, isComplete: failures.isEmpty).map {
        "law \($0.law.rawValue): \($0.description)"
      }
    }
    outcome.traces = story.recorders.map(\.entries)
    if !failures.isEmpty { outcome.verdict = .failed(failures) }
  }

  /// Why a case cannot be played.
  private func obstacle(to item: Case, at place: any Place) -> Verdict? {
    if item.scenario.hasLargeCameras, !place.useLargeCameras() { return .notHere("its cameras have one size") }
    for trouble in item.scenario.troubles { if let reason = place.obstacle(to: trouble) { return .notHere(reason) } }
    for (style, needs) in [(item.first, item.scenario.first), (item.second, item.scenario.second)] where !needs.isEmpty
    {
      do {
        let driver = try place.makeDriver(style: style, name: "Nobody", room: "nowhere", papers: .valid)
        for need in needs.sorted(by: { $0.rawValue < $1.rawValue }) {
          if let reason = driver.inexpressible[need] { return .notInStyle("\(style): \(reason)") }
        }
        driver.forget()
      } catch {
        return .failed(["the \(style) driver could not be made: \(error)"])
      }
    }
    return nil
  }
}

/// What became of one case.
public struct Outcome: Codable, Sendable, Hashable {
  public var scenario, title, proves: String
  public var first, second, ground: String
  public var verdict: Verdict
  /// Of each person, in the order of coming.
  public var traces: [[TraceEntry]]

  /// The case it belongs to, as `Suite.Case.name`.
  public var name: String { Self.name(scenario, first, second, ground) }

  static func name(_ scenario: String, _ first: String, _ second: String, _ ground: String) -> String {
    "\(scenario), \(first), \(second), \(ground)"
  }

  public var isFailure: Bool { if case .failed = verdict { true } else { false } }
  public var pair: String { first == second ? first : "\(first) → \(second)" }
}

/// What became of all.
public struct Report: Codable, Sendable, Hashable {
  public var outcomes: [Outcome]
  public var seed: UInt64

  public init(outcomes: [Outcome], seed: UInt64) {
    self.outcomes = outcomes
    self.seed = seed
  }

  public var failures: [Outcome] { outcomes.filter(\.isFailure) }
  public var passes: Int { outcomes.count { $0.verdict == .passed } }
  /// Not in this style, or not here.
  public var declined: Int { outcomes.count - passes - failures.count }

  /// In a sentence.
  public var summary: String {
    "\(outcomes.count) played: \(passes) passed, \(failures.count) failed, \(declined) not in the style or not here"
  }

  /// One scenario's traces as they travel.
  public func traces(of scenario: String) -> [Trace] {
    outcomes.filter { $0.scenario == scenario }.map { outcome in
      let entries = outcome.traces.flatMap { $0 }.sorted { $0.at < $1.at }
      var styles: [String: String] = [:]
      for (index, own) in outcome.traces.enumerated() {
        if let who = own.first?.who { styles[who] = index.isMultiple(of: 2) ? outcome.first : outcome.second }
      }
      return Trace(scenario: scenario, styles: styles, entries: entries)
    }
  }
}
