public import KoineUIKit

/// Proves that a new call layer of an app does the same as the old one.
///
/// Both layers conform to one protocol of the app's. The suite plays the same scenarios with each of them: steps of the app's user, of two
/// native people, and the faults of Docs/adopt.md, on a virtual clock, with media as stamps and with callbacks of undocumented order
/// shuffled. It compares what the app shows, step by step, what the others notice, and what remains after the call.
///
///     let suite = try PortingSuite<any CallLayer>(
///       old: { try AzureCall(in: $0) }, new: { try ChimeCall(in: $0) }, facts: { $0.facts },
///       actions: CallActions(join: { $0.join() }, leave: { $0.leave() }, microphone: { $0.setMuted(!$1) }))
///     let report = await suite.run()
///     #expect(report.isEqual, "\(report.text())")
///
/// `Layer` is a class, or a protocol that only classes conform to: the suite checks that the layer is freed after the call.
@MainActor
public struct PortingSuite<Layer> {
  /// Makes a call layer of the app. It runs inside `room.enter(as:)` of the app's user.
  public typealias MakeLayer = @MainActor (PortingContext) throws -> Layer

  /// The name of the pair of layers, such as `call-agent → koine`. Rows of expected differences name it.
  public let pair: String
  /// The name of the app's user in the rooms of the suite.
  public let user: String
  let old, new: MakeLayer
  let facts: @MainActor (Layer) -> CallFacts
  let view: (@MainActor (Layer) -> UIView?)?
  let actions: CallActions<Layer>
  let texts: ComparedText?
  let speaker: SpeakerComparison
  let expected: ExpectedDifferences

  /// Creates a suite.
  /// - Parameters:
  ///   - pair: the name of the pair of layers.
  ///   - user: the name of the app's user. Not `Bea` or `Cleo`, who are the people of the built-in scenarios.
  ///   - old: makes the old layer, in a room of its own for each run.
  ///   - new: makes the new layer.
  ///   - facts: reads what the app shows. Called after each callback of the SDK.
  ///   - view: the app's call screen; nil: the screen is not compared.
  ///   - actions: what the user can do.
  ///   - texts: returns the part of a text on `view` that is compared, such as the text without a duration; nil for a text that is not
  ///     compared. Texts are compared after each step, unless facts differ then. Without a closure no text is compared.
  ///   - speaker: when the active speaker is compared.
  ///   - expected: the differences that are documented behaviour of the vendors; the suite uses the rows of its pair.
  public init(
    pair: String = "old → new", user: String = "Ana", old: @escaping MakeLayer, new: @escaping MakeLayer,
    facts: @escaping @MainActor (Layer) -> CallFacts, view: (@MainActor (Layer) -> UIView?)? = nil,
    actions: CallActions<Layer>, texts: ComparedText? = nil, speaker: SpeakerComparison = .always,
    expected: ExpectedDifferences = .none
  ) {
    self.pair = pair
    self.user = user
    self.old = old
    self.new = new
    self.facts = facts
    self.view = view
    self.actions = actions
    self.texts = texts
    self.speaker = speaker
    self.expected = expected
  }

  /// Plays scenarios with both layers and compares them. A scenario that needs an action which the app does not have is not played.
  /// - Parameters:
  ///   - scenarios: default: all of `PortingScenario.all`.
  ///   - seeds: one run for each; a seed decides the network, and the order of callbacks for which the vendor documents none.
  public func run(_ scenarios: [PortingScenario] = PortingScenario.all, seeds: [UInt64] = [1, 2, 3]) async
    -> PortingReport
  {
    let playable = scenarios.filter { scenario in scenario.actions.allSatisfy(actions.has) }
    let left = scenarios.filter { scenario in !playable.contains { $0.id == scenario.id } }
    var runs: [PortingReport.Run] = []
    for scenario in playable {
      for seed in seeds {
        let first = await PortingRun.play(scenario, seed: seed, in: self, make: old)
        let second = await PortingRun.play(scenario, seed: seed, in: self, make: new)
        runs.append(PortingReport.Run(title: scenario.title, old: first, new: second))
      }
    }
    return PortingReport(pair: pair, runs: runs, notPlayed: left.map(\.id), expected: expected)
  }

  /// Plays one scenario with the old layer alone.
  public func playOld(_ scenario: PortingScenario, seed: UInt64) async -> PortingStory {
    await PortingRun.play(scenario, seed: seed, in: self, make: old)
  }

  /// Plays one scenario with the new layer alone.
  public func playNew(_ scenario: PortingScenario, seed: UInt64) async -> PortingStory {
    await PortingRun.play(scenario, seed: seed, in: self, make: new)
  }
}

/// Returns the part of a text on the app's screen that ``PortingSuite`` compares; nil: the text is not compared.
public typealias ComparedText = @MainActor (String) -> String?

/// When ``PortingSuite`` compares the participant that the app marks as speaking.
public enum SpeakerComparison: Sendable, Hashable {
  /// After each step, and the order of the speakers during it.
  case always
  /// In the call, after steps at the end of which one native person has been the only one with an open microphone for 5 s. Where several
  /// people speak at once, each vendor marks another person, by its own measure.
  case whenOneSpeaks
}
