import KoineTesting
import Testing

/// The ported layers in which Scripts/check-mutants makes mistakes.
struct PortedLayer: Sendable, CustomTestStringConvertible {
  /// In Samples/porting.
  let folder: String
  /// The suite that compares the app with the layer.
  let suite: @MainActor @Sendable (_ purpose: String) throws -> PortingSuite<any CallLayer>
  /// The differences that are documented behaviour of the target.
  let rows: [ExpectedDifference]
  /// The scenarios that both layers can play.
  let scenarios: [PortingScenario]
  /// Whether the rows are all differences that there are in these scenarios.
  var isEqual = true

  var testDescription: String { folder }

  static let all =
    ReferenceApp.allCases.map { app in
      PortedLayer(
        folder: app.rawValue, suite: { app.portedSuite($0) }, rows: [], scenarios: PortingScenario.ofApps)
    }
    + PortedPair.all.map { pair in
      PortedLayer(
        folder: pair.folder, suite: { _ in try pair.suite() }, rows: ExpectedRows.rows(of: pair.name),
        scenarios: PortingScenario.ofApps.filter { !pair.notPlayed.contains($0.id) },
        isEqual: pair.isWhole)
    }
}
