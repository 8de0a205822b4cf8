import Foundation
import KoineTesting
import Testing

/// The reference app of the stage-strategy style against the layer that `koine port --to event-listener` has written of it
/// (Samples/porting).
@MainActor @Suite struct ListenerOfStageTests {
  private func compare(_ scenarios: [PortingScenario], seeds: [UInt64], _ rows: [ExpectedDifference]) async throws {
    let suite = PortingSuite<any CallLayer>(
      pair: ExpectedRows.listenerOfStagePair, old: { try StageLayer(in: $0) },
      new: { try ListenerOfStageLayer(in: $0) },
      facts: { layer in
        var facts = layer.facts
        facts.activeSpeaker = nil  // each vendor marks another one of several that speak at once, by its own measure
        return facts
      }, view: { $0.view }, actions: Actions.ofStage, expected: try ExpectedDifferences(rows))
    let report = await suite.run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/stage-strategy-event-listener.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == (scenarios.count == 1 ? [] : ["share", "messages"]))
  }

  @Test(arguments: [
    ("people", ["Bea"]), ("mute", ["Bea", "Cleo"]), ("removed", ["Bea", "Cleo"]), ("camera", ["Bea", "Cleo"]),
  ])
  func listenerOfStageShowsTheSame(_ scenario: String, of people: [String]) async throws {
    let facts = people.flatMap { ["people.\($0).muted", "people.\($0).video"] }
    try await compare(
      [try #require(PortingScenario.all.first { $0.id == scenario })], seeds: [1],
      ExpectedRows.listenerOfStage.filter { facts.contains($0.fact) })
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"))
  func listenerOfStageShowsTheSameInAllScenarios() async throws {
    try await compare(PortingScenario.all, seeds: [1, 2, 3], ExpectedRows.listenerOfStage)
  }
}
