import Foundation
import KoineTesting
import Testing

extension ReferenceApp {
  /// The apps whose call layers `koine port --to koine` has written (Samples/porting).
  static let ported: [(app: ReferenceApp, makeLayer: @MainActor (PortingContext) throws -> any CallLayer)] = [
    (.eventListener, { try PortedListenerLayer(in: $0) }), (.meetingSession, { try PortedMeetingLayer(in: $0) }),
  ]
}

/// The reference apps against the layers that `koine port --to koine` has written of them.
@MainActor @Suite struct PortedTests {
  private func compare(_ app: ReferenceApp, in scenarios: [PortingScenario], seeds: [UInt64]) async throws {
    let ported = try #require(ReferenceApp.ported.first { $0.app == app })
    let suite = PortingSuite<any CallLayer>(
      pair: "\(app.rawValue) → koine (ported)", old: { try app.makeLayer(in: $0) }, new: { try ported.makeLayer($0) },
      facts: { app.facts(of: $0) }, view: { $0.view }, actions: app.actions)
    let report = await suite.run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(app.rawValue)-ported.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(arguments: ReferenceApp.ported.map(\.app), ["people", "mute", "share", "messages", "removed"])
  func portedAppShowsTheSame(_ app: ReferenceApp, _ scenario: String) async throws {
    try await compare(app, in: [try #require(PortingScenario.all.first { $0.id == scenario })], seeds: [1])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"), arguments: ReferenceApp.ported.map(\.app))
  func portedAppShowsTheSameInAllScenarios(_ app: ReferenceApp) async throws {
    try await compare(app, in: PortingScenario.all, seeds: [1, 2, 3])
  }
}
