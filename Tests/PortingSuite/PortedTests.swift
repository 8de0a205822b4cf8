import Foundation
import KoineTesting
import Testing

/// The reference apps whose call layers `koine port --to koine` has written (Samples/porting).
enum PortedApp: String, CaseIterable {
  case eventListener = "event-listener"
  case meetingSession = "meeting-session"

  @MainActor var suite: PortingSuite<any CallLayer> {
    PortingSuite(
      pair: "\(rawValue) → koine (ported)", old: { try self.old(in: $0) }, new: { try self.new(in: $0) },
      facts: { $0.facts }, view: { $0.view }, actions: Actions.all)
  }

  @MainActor private func old(in context: PortingContext) throws -> any CallLayer {
    switch self {
    case .eventListener: try ListenerLayer(in: context)
    case .meetingSession: try MeetingLayer(in: context)
    }
  }

  @MainActor private func new(in context: PortingContext) throws -> any CallLayer {
    switch self {
    case .eventListener: try PortedListenerLayer(in: context)
    case .meetingSession: try PortedMeetingLayer(in: context)
    }
  }
}

/// The reference apps against the layers that `koine port --to koine` has written of them (Samples/porting).
@MainActor @Suite struct PortedTests {
  private func report(of app: PortedApp, _ scenarios: [PortingScenario], seeds: [UInt64]) async throws {
    let report = await app.suite.run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(app.rawValue)-ported.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(arguments: PortedApp.allCases, ["people", "mute", "share", "messages", "removed"]) func portedAppShowsTheSame(
    _ app: PortedApp, _ scenario: String
  ) async throws {
    let scenario = try #require(PortingScenario.all.first { $0.id == scenario })
    try await report(of: app, [scenario], seeds: [1])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"), arguments: PortedApp.allCases)
  func portedAppShowsTheSameInAllScenarios(_ app: PortedApp) async throws {
    try await report(of: app, PortingScenario.all, seeds: [1, 2, 3])
  }
}
