/// What one call layer did in one scenario with one seed: the facts step by step, and the state after the call.
public struct PortingStory: Codable, Sendable, Hashable {
  /// One value of a fact, and when it began.
  public struct Change: Codable, Sendable, Hashable {
    /// The fact's name, such as `people.Bea.muted`, or `Bea hears the app` for what others notice.
    public let fact: String
    /// The new value.
    public let value: String
    /// Milliseconds of the room's time since the step began.
    public let milliseconds: Int
  }

  /// One step, from its action until the facts have settled.
  public struct Step: Codable, Sendable, Hashable {
    /// The step's name.
    public let name: String
    /// The app's facts before the step.
    public let before: [String: String]
    /// The app's facts once settled.
    public var settled: [String: String] = [:]
    /// What can be read on the app's screen once settled, text by text.
    public var texts: [String: String] = [:]
    /// Each change of the app's facts, in order, without values that were replaced within the same instant of the room's clock.
    public var changes: [Change] = []
    /// What native people, the server, the app's screen and its loudspeaker show before the step.
    public let outsideBefore: [String: String]
    /// What native people, the server, the app's screen and its loudspeaker show once settled.
    public var outside: [String: String] = [:]
    /// Each change of what others notice, in order. The suite looks every 250 ms, at the app's screen every 500 ms.
    public var outsideChanges: [Change] = []
    /// Whether the facts have settled within 40 s of the room's time.
    public var hasSettled = true
  }

  /// The name of the scenario.
  public let scenario: String
  /// The seed of the run.
  public let seed: UInt64
  /// The steps in order.
  public var steps: [Step] = []
  /// The state after the call, by name, such as `camera`: `released`.
  public var afterCall: [String: String] = [:]
  /// Why the scenario could not be played to its end; nil if it was.
  public var problem: String?
}
