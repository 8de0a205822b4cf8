import Foundation
import KoineTesting
import Testing

/// Each reference app against a layer written by hand over the common layer. All differences are documented behaviour of the vendors.
@MainActor @Suite(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports")) struct PortTests {
  @Test(arguments: ReferenceApp.allCases) func handWrittenLayerDiffersInDocumentedBehaviourOnly(
    _ app: ReferenceApp
  ) async throws {
    let suite = PortingSuite<any CallLayer>(
      pair: app.pair, old: { try app.makeLayer(in: $0) }, new: { NativeLayer(in: $0, app.behaviour) },
      facts: { app.facts(of: $0) }, view: { $0.view }, actions: app.actions, expected: try ExpectedRows.all())
    let report = await suite.run(app.portedScenarios)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(app.rawValue).html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == (app == .stageStrategy ? ["share", "messages"] : []))
  }
}
