import Foundation
import KoineTesting
import Testing

/// The reference apps of the four styles.
enum ReferenceApp: String, CaseIterable, Sendable {
  case callAgent = "call-agent"
  case stageStrategy = "stage-strategy"
  case meetingSession = "meeting-session"
  case eventListener = "event-listener"

  @MainActor
  func makeLayer(in context: PortingContext) throws -> any CallLayer {
    switch self {
    case .callAgent: try CallAgentLayer(in: context)
    case .stageStrategy: try StageLayer(in: context)
    case .meetingSession: try MeetingLayer(in: context)
    case .eventListener: try ListenerLayer(in: context)
    }
  }

  @MainActor var actions: CallActions<any CallLayer> { self == .stageStrategy ? Actions.ofStage : Actions.all }
}

/// Whole runs take some 20 minutes of CPU: Scripts/check-ports has them run.
let hasTimeForWholeRuns = ProcessInfo.processInfo.environment["KOINE_PORTS"] == "1"

/// A layer against itself: every run must be equal, whatever the seed.
@MainActor @Suite(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports")) struct OldAgainstOldTests {
  /// One run of the suite for each app and seed. More seeds: `KOINE_ROUNDS=25`, which makes 100 runs of the suite.
  nonisolated static var seeds: [UInt64] {
    let rounds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { UInt64($0) } ?? 2
    return Array(1...max(rounds, 1))
  }

  @Test(arguments: ReferenceApp.allCases, seeds) func layerAgainstItselfHasNoDifference(
    _ app: ReferenceApp, _ seed: UInt64
  ) async throws {
    let suite = PortingSuite<any CallLayer>(
      pair: "\(app.rawValue) → \(app.rawValue)", old: { try app.makeLayer(in: $0) }, new: { try app.makeLayer(in: $0) },
      facts: { $0.facts },
      view: { $0.view }, actions: app.actions)
    let report = await suite.run(seeds: [seed])
    #expect(report.isEqual, "\(report.text())")
  }
}
