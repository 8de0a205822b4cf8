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
/// The seeds of whole runs of ported layers: three, or `KOINE_SEEDS`.
let wholeRunSeeds: [UInt64] = Array(
  1...max(1, ProcessInfo.processInfo.environment["KOINE_SEEDS"].flatMap(UInt64.init) ?? 3))

/// A layer against itself: every run must be equal, whatever the seed.
@MainActor @Suite(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports")) struct OldAgainstOldTests {
  /// One run of the suite for each app and seed. `KOINE_ROUNDS=25` makes 100 runs; `KOINE_ROUNDS=10-25` and `KOINE_APP=stage-strategy` a
  /// part of them.
  nonisolated static var seeds: [UInt64] {
    guard let text = environment["KOINE_ROUNDS"] else { return [1, 2] }
    let words = text.split(separator: "-").map { UInt64($0) ?? 0 }
    guard (1...2).contains(words.count), words[0] > 0, words[words.count - 1] >= words[0] else {
      fatalError("KOINE_ROUNDS is a number, or the first and the last as in 10-25, not '\(text)'")
    }
    return words.count == 1 ? Array(1...words[0]) : Array(words[0]...words[1])
  }

  nonisolated static var apps: [ReferenceApp] {
    guard let name = environment["KOINE_APP"] else { return ReferenceApp.allCases }
    guard let app = ReferenceApp(rawValue: name) else { fatalError("KOINE_APP is no reference app: '\(name)'") }
    return [app]
  }

  nonisolated private static var environment: [String: String] { ProcessInfo.processInfo.environment }

  @Test(arguments: apps, seeds) func layerAgainstItselfHasNoDifference(
    _ app: ReferenceApp, _ seed: UInt64
  ) async throws {
    let suite = PortingSuite<any CallLayer>(
      pair: "\(app.rawValue) → \(app.rawValue)", old: { try app.makeLayer(in: $0) }, new: { try app.makeLayer(in: $0) },
      facts: { $0.facts },
      view: { $0.view }, actions: app.actions, texts: { $0 })
    let report = await suite.run(PortingScenario.ofApps, seeds: [seed])
    #expect(report.isEqual, "\(report.text())")
  }
}
