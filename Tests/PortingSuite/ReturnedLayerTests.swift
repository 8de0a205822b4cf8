import Foundation
import KoineTesting
import Testing

/// A layer that was ported to another style, and from there back to the style of the app.
@MainActor @Suite struct ReturnedLayerTests {
  nonisolated static let pair = "event-listener → stage-strategy → event-listener"

  private func suite() throws -> PortingSuite<any CallLayer> {
    PortingSuite(
      pair: Self.pair, old: { try ListenerLayer(in: $0) }, new: { try BackFromStageLayer(in: $0) },
      facts: { $0.facts }, view: { $0.view }, actions: Actions.ofStage, texts: ReferenceApp.comparedText,
      speaker: .whenOneSpeaks, expected: try ExpectedDifferences(ExpectedRows.rows(of: Self.pair)))
  }

  @Test(arguments: ["people", "mute"]) func returnedLayerShowsTheSame(_ scenario: String) async throws {
    let scenario = try #require(PortingScenario.ofApps.first { $0.id == scenario })
    let report = await (try suite()).run([scenario], seeds: [1])
    #expect(!report.runs.isEmpty)
    #expect(report.differences.isEmpty, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"))
  func returnedLayerShowsTheSameInAllScenarios() async throws {
    let report = await (try suite()).run(PortingScenario.ofApps, seeds: wholeRunSeeds)
    #expect(report.isEqual, "\(report.text())")
    // A stage has no messages, and its shared screen takes the camera's place.
    #expect(report.notPlayed == ["share", "messages"])
  }
}
