import Foundation
import KoineTesting
import Testing

/// The reference app of the stage-strategy style against the layer that `koine port --to koine` has written of it (Samples/porting).
@MainActor @Suite struct PortedStageTests {
  private func report(of scenarios: [PortingScenario], seeds: [UInt64]) async throws {
    let report = await ReferenceApp.stageStrategy.portedSuite("ported").run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/stage-strategy-ported.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == (scenarios.count == 1 ? [] : ["share", "messages"]))
  }

  @Test(arguments: ["people", "mute", "removed"]) func portedStageShowsTheSame(_ scenario: String) async throws {
    try await report(of: [try #require(PortingScenario.ofApps.first { $0.id == scenario })], seeds: [1])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports")) func portedStageShowsTheSameInAllScenarios()
    async throws
  { try await report(of: PortingScenario.ofApps, seeds: wholeRunSeeds) }
}
