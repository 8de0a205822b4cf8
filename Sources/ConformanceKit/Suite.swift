/// The conformance suite: scenarios, the styles that meet in them, and the environments in which they run.
@MainActor
public struct Suite {
  /// The scenarios to run.
  public var scenarios: [Scenario]
  /// The names of the styles. Each ordered pair of them meets in each scenario.
  public var styles: [String]
  /// The environments in which each scenario runs.
  public var environments: [EnvironmentFactory]
  /// The seed of virtual time: equal seeds give equal runs.
  public var seed: UInt64
  /// The order of callbacks between which the vendor documents no order.
  public var order: Order
  /// Wraps each driver, for tests of the suite itself.
  var wrapDriver: @MainActor (any Driver) -> any Driver = { $0 }

  /// Creates a suite.
  public init(
    scenarios: [Scenario] = Scenario.all, styles: [String], environments: [EnvironmentFactory], seed: UInt64 = 1,
    order: Order = .usual
  ) {
    self.scenarios = scenarios
    self.styles = styles
    self.environments = environments
    self.seed = seed
    self.order = order
  }

  /// One scenario with one ordered pair of styles in one environment.
  public struct Case: Sendable {
    /// The scenario to run.
    public let scenario: Scenario
    /// The style of the first, third, fifth … participant.
    public let first: String
    /// The style of the other participants.
    public let second: String
    /// The factory of the environment.
    public let environment: EnvironmentFactory

    /// The case's name in progress and reports.
    public var name: String { Outcome.name(scenario.id, first, second, environment.name) }
  }

  /// All cases: each scenario in each environment, with every ordered pair of styles, a style with itself included. Scenarios
  /// that depend on one style only occur once for each style.
  public var cases: [Case] {
    environments.flatMap { environment in
      scenarios.flatMap { scenario in
        styles.flatMap { first in
          (scenario.isAlone ? [first] : styles).map { second in
            Case(scenario: scenario, first: first, second: second, environment: environment)
          }
        }
      }
    }
  }

  /// Runs cases one after another.
  /// - Parameters:
  ///   - cases: the cases to run; nil: all.
  ///   - progress: called after each case, on the main actor.
  public func run(_ cases: [Case]? = nil, progress: (Outcome) -> Void = { _ in }) async -> Report {
    var outcomes: [Outcome] = []
    for item in cases ?? self.cases {
      let outcome = await play(item)
      outcomes.append(outcome)
      progress(outcome)
    }
    return Report(outcomes: outcomes, seed: seed)
  }

  /// Runs one case in an environment of its own.
  public func play(_ item: Case) async -> Outcome {
    let scenario = item.scenario
    var outcome = Outcome(
      scenario: scenario.id, title: scenario.title, proves: scenario.proves, first: item.first, second: item.second,
      environment: item.environment.name, verdict: .passed, traces: [])
    if scenario.isLong, !item.environment.isVirtual {
      outcome.verdict = .notHere("takes minutes in real time; see virtual time")
      return outcome
    }
    let environment: any TestEnvironment
    do {
      environment = try item.environment.makeEnvironment(seed, order)
    } catch {
      outcome.verdict = .failed(["the environment could not be created: \(error)"])
      return outcome
    }
    if let reason = obstacle(to: item, at: environment) {
      outcome.verdict = reason
    } else {
      await play(scenario, item, at: environment, into: &outcome)
    }
    await environment.close()
    return outcome
  }

  private func play(
    _ scenario: Scenario, _ item: Case, at environment: any TestEnvironment, into outcome: inout Outcome
  ) async {
    let context = ScenarioContext(
      item.first, item.second, at: environment, patience: item.environment.isVirtual ? 1 : 4, wrapDriver: wrapDriver)
    var failures: [String] = []
    do { try await scenario.play(context) } catch { failures.append("\(error)") }
    await context.close()
    for recorder in context.recorders {
      failures += Law.violations(in: recorder.entries, isComplete: failures.isEmpty).map {
        "law \($0.law.rawValue): \($0.description)"
      }
    }
    outcome.traces = context.recorders.map(\.entries)
    if !failures.isEmpty { outcome.verdict = .failed(failures) }
  }

  /// Why a case cannot be played.
  private func obstacle(to item: Case, at environment: any TestEnvironment) -> Verdict? {
    if item.scenario.hasLargeCameras, !environment.useLargeCameras() { return .notHere("its cameras have one size") }
    for fault in item.scenario.faults { if let reason = environment.obstacle(to: fault) { return .notHere(reason) } }
    for (style, needs) in [(item.first, item.scenario.first), (item.second, item.scenario.second)] where !needs.isEmpty
    {
      do {
        let driver = try environment.makeDriver(style: style, name: "Nobody", room: "nowhere", credential: .valid)
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

/// The result of one case.
public struct Outcome: Codable, Sendable, Hashable {
  /// `Scenario.id`.
  public var scenario: String
  /// `Scenario.title`.
  public var title: String
  /// `Scenario.proves`.
  public var proves: String
  /// The style of the first, third, fifth … participant.
  public var first: String
  /// The style of the other participants.
  public var second: String
  /// The name of the environment.
  public var environment: String
  /// The result, with reasons.
  public var verdict: Verdict
  /// The traces of all participants' apps, in the order in which the scenario created the participants.
  public var traces: [[TraceEntry]]

  /// The name of the case, as in `Suite.Case.name`.
  public var name: String { Self.name(scenario, first, second, environment) }

  static func name(_ scenario: String, _ first: String, _ second: String, _ environment: String) -> String {
    "\(scenario), \(first), \(second), \(environment)"
  }

  /// Whether the case failed.
  public var isFailure: Bool { if case .failed = verdict { true } else { false } }
  /// The pair of styles, for tables.
  public var pair: String { first == second ? first : "\(first) → \(second)" }
}

/// The results of all cases of a run.
public struct Report: Codable, Sendable, Hashable {
  /// The results, in the order of the cases.
  public var outcomes: [Outcome]
  /// The seed of the run.
  public var seed: UInt64

  /// Creates a report.
  public init(outcomes: [Outcome], seed: UInt64) {
    self.outcomes = outcomes
    self.seed = seed
  }

  /// The results of failed cases.
  public var failures: [Outcome] { outcomes.filter(\.isFailure) }
  /// Number of cases that passed.
  public var passes: Int { outcomes.count { $0.verdict == .passed } }
  /// Number of cases that a style or the environment cannot express.
  public var declined: Int { outcomes.count - passes - failures.count }

  /// The numbers of cases in one sentence.
  public var summary: String {
    "\(outcomes.count) played: \(passes) passed, \(failures.count) failed, \(declined) not in the style or not here"
  }

  /// The traces of one scenario, one for each case, in the exchange format (Docs/conformance.md).
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
