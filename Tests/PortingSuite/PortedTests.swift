import Foundation
import KoineTesting
import Testing

extension ReferenceApp {
  /// The apps of `PortedTests`: their ported layers (Samples/porting) play its scenarios.
  static let ported: [ReferenceApp] = [.eventListener, .meetingSession]

  @MainActor func makePortedLayer(in context: PortingContext) throws -> any CallLayer {
    switch self {
    case .callAgent: try PortedAgentLayer(in: context)
    case .stageStrategy: try PortedStageLayer(in: context)
    case .meetingSession: try PortedMeetingLayer(in: context)
    case .eventListener: try PortedListenerLayer(in: context)
    }
  }

  /// A text on an app's screen without the mark of the active speaker, which is a fact of its own. Sentences say why something has ended
  /// or failed: the facts have the case, and each vendor's guide other words and moments.
  @Sendable static func comparedText(_ text: String) -> String? {
    if text.hasSuffix(" speaks") || text.hasSuffix(".") || text.contains(" has failed") { return nil }
    return text.replacing(", speaking", with: "").replacing("speaking, ", with: "").replacing(" (speaking)", with: "")
  }

  /// The suite that compares the app with the layer that `koine port --to koine` has written of it.
  @MainActor func portedSuite(_ purpose: String) -> PortingSuite<any CallLayer> {
    PortingSuite(
      pair: "\(rawValue) → koine (\(purpose))", old: { try makeLayer(in: $0) }, new: { try makePortedLayer(in: $0) },
      facts: { $0.facts }, view: { $0.view }, actions: actions, texts: Self.comparedText,
      speaker: self == .eventListener || self == .callAgent ? .always : .whenOneSpeaks)
  }
}

/// The reference apps against the layers that `koine port --to koine` has written of them.
@MainActor @Suite struct PortedTests {
  private func compare(_ app: ReferenceApp, in scenarios: [PortingScenario], seeds: [UInt64]) async throws {
    let report = await app.portedSuite("ported").run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(app.rawValue)-ported.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(arguments: ReferenceApp.ported, ["people", "mute", "share", "messages", "removed"])
  func portedAppShowsTheSame(_ app: ReferenceApp, _ scenario: String) async throws {
    try await compare(app, in: [try #require(PortingScenario.ofApps.first { $0.id == scenario })], seeds: [1])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"), arguments: ReferenceApp.ported)
  func portedAppShowsTheSameInAllScenarios(_ app: ReferenceApp) async throws {
    try await compare(app, in: PortingScenario.ofApps, seeds: wholeRunSeeds)
  }
}
