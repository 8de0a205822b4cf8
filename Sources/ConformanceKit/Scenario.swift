/// A scenario: what some participants do in a room, and what their apps must be notified of.
public struct Scenario: Sendable, Identifiable {
  /// The name on the command line and in reports, such as `mute.late-joiner`.
  public let id: String
  /// One sentence that says what the scenario checks.
  public let title: String
  /// The laws that the scenario checks, or the vendor documentation that it follows.
  public let proves: String
  /// Abilities that Ana's style must have.
  public let first: Set<Ability>
  /// Abilities that Ben's style must have.
  public let second: Set<Ability>
  /// Only Ana's part depends on a style, so the suite does not vary Ben's style.
  public let isAlone: Bool
  /// The scenario is too long for real time. The suite plays it only in virtual time.
  public let isLong: Bool
  /// The cameras give 640×360, because the layers of smaller cameras cannot be distinguished.
  public let hasLargeCameras: Bool
  /// Faults that the environment must be able to inject.
  public let faults: [Fault]
  let play: @MainActor @Sendable (ScenarioContext) async throws -> Void

  /// Creates a scenario.
  /// - Parameters:
  ///   - needs: abilities that both styles must have.
  ///   - first: further abilities that Ana's style must have.
  ///   - second: further abilities that Ben's style must have.
  public init(
    _ id: String, _ title: String, proves: String, needs: Set<Ability> = [], first: Set<Ability> = [],
    second: Set<Ability> = [], isAlone: Bool = false, isLong: Bool = false, hasLargeCameras: Bool = false,
    faults: [Fault] = [],
    play: @escaping @MainActor @Sendable (ScenarioContext) async throws -> Void
  ) {
    self.id = id
    self.title = title
    self.proves = proves
    self.first = needs.union(first)
    self.second = needs.union(second)
    self.isAlone = isAlone
    self.isLong = isLong
    self.hasLargeCameras = hasLargeCameras
    self.faults = faults
    self.play = play
  }

  /// All scenarios of the kit, in the order of a call: from joining to leaving.
  public static let all =
    joining + pictures + layers + muting + speaking + interests + messages + shares + ringing + network
    + leaving + ending + misuse + reentrance
}

/// The result of one scenario with two styles in one environment.
public enum Verdict: Codable, Sendable, Hashable {
  /// All checks of the scenario and all laws held.
  case passed
  /// A check or a law failed, with the reasons.
  case failed([String])
  /// A style lacks an ability that the scenario needs, with the reason that its driver gives.
  case notInStyle(String)
  /// The environment cannot run the scenario, with the reason.
  case notHere(String)
}
