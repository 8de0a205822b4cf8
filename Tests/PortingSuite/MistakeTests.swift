import KoineTesting
import Testing

/// Each seeded mistake of a new layer is found, and the first difference names its fact and its step.
@MainActor @Suite struct MistakeTests {
  struct Finding: Sendable, CustomTestStringConvertible {
    let mistake: Mistake
    let scenario, step, fact: String
    let comparison: PortingComparison
    var testDescription: String { mistake.rawValue }

    init(
      _ mistake: Mistake, in scenario: String, at step: String, _ fact: String,
      _ comparison: PortingComparison = .settled
    ) {
      (self.mistake, self.scenario, self.step, self.fact) = (mistake, scenario, step, fact)
      self.comparison = comparison
    }
  }

  nonisolated static let findings = [
    Finding(.muteInverted, in: "mute", at: "the app mutes", "Bea hears the app"),
    Finding(.muteOnlyShown, in: "mute", at: "the app mutes", "Bea hears the app"),
    Finding(.muteNotShown, in: "mute", at: "the app mutes", "microphone"),
    Finding(.wrongPerson, in: "mute", at: "the app joins", "people.Cleo.muted"),
    Finding(.stalePerson, in: "people", at: "Bea leaves", "people"),
    Finding(.shareNotStopped, in: "share", at: "the app stops sharing", "Bea is told of the app's screen"),
    Finding(.videoNotShown, in: "people", at: "the app joins", "the screen shows Bea"),
    Finding(.messageTwice, in: "messages", at: "Bea sends 2 messages", "messages"),
    Finding(.messagesReversed, in: "messages", at: "Bea sends 2 messages", "messages"),
    Finding(.messageSentTwice, in: "messages", at: "the app sends a message", "Bea receives message 2"),
    Finding(.leaveNotAwaited, in: "people", at: "the app leaves", "phase", .between),
    Finding(.leaveForgotten, in: "people", at: "the app leaves", "end"),
    Finding(.errorSwallowed, in: "refused credential", at: "the app joins", "end"),
    Finding(.endReasonWrong, in: "removed", at: "the app is removed", "end"),
    Finding(.reconnectingNotShown, in: "cut", at: "20 s pass", "phase"),
    Finding(.cameraNotReleased, in: "camera", at: "after the call", "camera", .afterCall),
    Finding(.layerKept, in: "people", at: "after the call", "layer", .afterCall),
    Finding(.timerLeft, in: "people", at: "after the call", "tasks that sleep", .afterCall),
    Finding(.lateChange, in: "people", at: "after the call", "changes of facts", .afterCall),
  ]

  @Test func everyMistakeHasAFinding() {
    #expect(Set(Self.findings.map(\.mistake)) == Set(Mistake.allCases))
  }

  @Test(arguments: findings) func mistakeIsFoundAndNamedByFactAndStep(_ finding: Finding) async throws {
    let scenario = try #require(PortingScenario.all.first { $0.id == finding.scenario })
    let report = await suite(with: finding.mistake).run([scenario], seeds: [1])
    let first = try #require(report.differences.first, "no difference")
    #expect(first.fact == finding.fact)
    #expect(first.step == finding.step)
    #expect(first.comparison == finding.comparison)
    #expect(report.text(limit: 1).contains("step “\(finding.step)”: \(finding.fact)"))
    #expect(!report.isEqual)
  }

  /// The scenarios of `findings` find nothing in a layer without mistakes, by the seed that finds each mistake.
  @Test func layerWithoutMistakesHasNoDifference() async throws {
    let names = Set(Self.findings.map(\.scenario))
    let report = await suite(with: nil).run(
      PortingScenario.all.filter { names.contains($0.id) }, seeds: [1])
    #expect(report.isEqual, "\(report.text())")
    #expect(report.runs.count == names.count)
  }

  private func suite(with mistake: Mistake?) -> PortingSuite<any CallLayer> {
    let behaviour = NativeLayer.Behaviour(showsLeaving: true, noticesReturn: true)
    return PortingSuite(
      pair: "koine → koine", old: { NativeLayer(in: $0, behaviour) },
      new: { NativeLayer(in: $0, behaviour, mistake: mistake) }, facts: { $0.facts }, view: { $0.view },
      actions: Actions.all)
  }
}
