import Foundation
import KoineTestSupport
import KoineTesting
import Testing

/// The reference app of the call-agent style against the layer that `koine port --to koine` has written of it (Samples/porting).
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "the thread sanitizer interposes the same functions"))
struct PortedAgentTests {
  private func report(of scenarios: [PortingScenario], seeds: [UInt64]) async throws {
    let report = await ReferenceApp.callAgent.portedSuite("ported").run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/call-agent-ported.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(arguments: ["people", "mute", "share", "messages", "removed"]) func portedAgentShowsTheSame(
    _ scenario: String
  ) async throws {
    let scenario = try #require(PortingScenario.ofApps.first { $0.id == scenario })
    try await report(of: [scenario], seeds: [1])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports")) func portedAgentShowsTheSameInAllScenarios()
    async throws
  { try await report(of: PortingScenario.ofApps, seeds: wholeRunSeeds) }
}
