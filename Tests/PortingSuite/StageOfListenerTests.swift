import Foundation
import KoineTesting
import Testing

/// The reference app of the event-listener style against the layer that `koine port --to stage-strategy` has written of it
/// (Samples/porting).
@MainActor @Suite struct StageOfListenerTests {
  static func suite(_ expected: ExpectedDifferences) -> PortingSuite<any CallLayer> {
    PortingSuite(
      pair: ExpectedRows.stageOfListenerPair, old: { try ListenerLayer(in: $0) },
      new: { try StageOfListenerLayer(in: $0) },
      facts: { layer in
        var facts = layer.facts
        facts.activeSpeaker = nil  // each vendor marks another one of several that speak at once, by its own measure
        return facts
      }, view: { $0.view }, actions: Actions.ofStage, expected: expected)
  }

  private func compare(_ scenarios: [PortingScenario], seeds: [UInt64], _ rows: [ExpectedDifference]) async throws {
    let suite = Self.suite(try ExpectedDifferences(rows))
    let report = await suite.run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/event-listener-stage-strategy.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == (scenarios.count == 1 ? [] : ["share", "messages"]))
  }

  @Test(arguments: ["people", "mute", "removed", "camera"])
  func stageOfListenerShowsTheSame(_ scenario: String) async throws {
    let rows = ExpectedRows.stageOfListener.filter { scenario != "removed" && $0.step == "the app leaves" }
    try await compare([try #require(PortingScenario.all.first { $0.id == scenario })], seeds: [1], rows)
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"))
  func stageOfListenerShowsTheSameInAllScenarios() async throws {
    try await compare(PortingScenario.all, seeds: [1, 2, 3], ExpectedRows.stageOfListener)
  }
}
