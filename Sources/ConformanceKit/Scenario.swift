/// A short story of people in a room, and what must be so in it.
public struct Scenario: Sendable, Identifiable {
  /// As it is called on the command line and in reports, such as `mute.late-joiner`.
  public let id: String
  /// In a sentence.
  public let title: String
  /// The law that it proves, or the catalogues' words.
  public let proves: String
  /// Abilities that Ana's style must have.
  public let first: Set<Ability>
  /// Abilities that Ben's style must have.
  public let second: Set<Ability>
  /// Only Ana's part depends on a style, so the suite does not vary Ben's style.
  public let isAlone: Bool
  /// The scenario is too long for real time. The suite plays it only in virtual time.
  public let isLong: Bool
  /// Cameras give 640×360: layers are too small to tell otherwise.
  public let hasLargeCameras: Bool
  public let troubles: [Trouble]
  let play: @MainActor @Sendable (Story) async throws -> Void

  /// - Parameters:
  ///   - needs: of both styles.
  ///   - first: of Ana's, besides.
  ///   - second: of Ben's, besides.
  public init(
    _ id: String, _ title: String, proves: String, needs: Set<Ability> = [], first: Set<Ability> = [],
    second: Set<Ability> = [], isAlone: Bool = false, isLong: Bool = false, hasLargeCameras: Bool = false,
    troubles: [Trouble] = [],
    play: @escaping @MainActor @Sendable (Story) async throws -> Void
  ) {
    self.id = id
    self.title = title
    self.proves = proves
    self.first = needs.union(first)
    self.second = needs.union(second)
    self.isAlone = isAlone
    self.isLong = isLong
    self.hasLargeCameras = hasLargeCameras
    self.troubles = troubles
    self.play = play
  }

  /// All that the kit has, in the order of a call's life.
  public static let all =
    joining + pictures + layers + muting + speaking + interests + messages + shares + ringing + network
    + leaving + ending + misuse + reentrance
}

/// What became of one scenario, between two styles, at one place.
public enum Verdict: Codable, Sendable, Hashable {
  case passed
  case failed([String])
  /// With the reason that the driver gives.
  case notInStyle(String)
  case notHere(String)
}
