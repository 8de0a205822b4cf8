import Foundation
import KoineTestSupport
import KoineTesting
import Testing

/// A reference app, and its layer in another vendor's style that `koine port` has written (Samples/porting).
struct PortedPair: Sendable, CustomTestStringConvertible {
  let app: ReferenceApp
  let target: ReferenceApp
  /// The scenarios of each run of the tests. The rest takes too long for them.
  let brief: [String]
  let makeLayer: @MainActor @Sendable (PortingContext) throws -> any CallLayer

  var name: String { "\(app.rawValue) → \(target.rawValue)" }
  var testDescription: String { name }
  /// In Samples/porting.
  var folder: String { "\(app.rawValue)-to-\(target.rawValue)" }
  /// A stage has no messages, and its shared screen takes the camera's place.
  private var isOfStage: Bool { app == .stageStrategy || target == .stageStrategy }
  var notPlayed: [String] { isOfStage ? ["share", "messages"] : [] }

  /// When the call ends, a meeting's attendees stay, and a stage's participants leave: the texts that show them differ.
  private var texts: ComparedText? {
    guard isWhole else { return nil }
    return ReferenceApp.comparedText
  }

  /// The suite that compares the app with its port.
  @MainActor func suite() throws -> PortingSuite<any CallLayer> {
    PortingSuite(
      pair: name, old: { try app.makeLayer(in: $0) }, new: makeLayer,
      facts: { $0.facts }, view: { $0.view }, actions: isOfStage ? Actions.ofStage : Actions.all,
      texts: texts, speaker: .whenOneSpeaks,
      expected: try ExpectedDifferences(ExpectedRows.rows(of: name)))
  }

  static let all = [
    PortedPair(
      app: .callAgent, target: .meetingSession, brief: ["messages", "removed"],
      makeLayer: { try MeetingOfAgentLayer(in: $0) }),
    PortedPair(
      app: .eventListener, target: .meetingSession, brief: ["mute", "share"],
      makeLayer: { try MeetingOfListenerLayer(in: $0) }),
    PortedPair(
      app: .eventListener, target: .stageStrategy, brief: ["people", "mute"],
      makeLayer: { try StageOfListenerLayer(in: $0) }),
    PortedPair(
      app: .eventListener, target: .callAgent, brief: ["people", "messages"],
      makeLayer: { try AzureOfListenerLayer(in: $0) }),
    PortedPair(
      app: .meetingSession, target: .eventListener, brief: ["share", "messages"],
      makeLayer: { try ListenerOfMeetingLayer(in: $0) }),
    PortedPair(
      app: .meetingSession, target: .stageStrategy, brief: ["mute", "removed"],
      makeLayer: { try StageOfMeetingLayer(in: $0) }),
    PortedPair(
      app: .meetingSession, target: .callAgent, brief: ["share", "removed"],
      makeLayer: { try AzureOfMeetingLayer(in: $0) }),
    PortedPair(
      app: .stageStrategy, target: .meetingSession, brief: ["mute", "removed"],
      makeLayer: { try MeetingOfStageLayer(in: $0) }),
    PortedPair(
      app: .stageStrategy, target: .eventListener, brief: ["people", "mute"],
      makeLayer: { try ListenerOfStageLayer(in: $0) }),
    PortedPair(
      app: .callAgent, target: .eventListener, brief: ["messages", "share"],
      makeLayer: { try ListenerOfAgentLayer(in: $0) }),
    PortedPair(
      app: .callAgent, target: .stageStrategy, brief: ["people", "mute"],
      makeLayer: { try StageOfAgentLayer(in: $0) }),
    PortedPair(
      app: .stageStrategy, target: .callAgent, brief: ["people", "removed"],
      makeLayer: { try AzureOfStageLayer(in: $0) }),
  ]
  /// Whether `ExpectedRows` has all differences of all scenarios. A stage does not report participants who are gone as a meeting does:
  /// its rows would be four more than there may be.
  var isWhole: Bool { name != "meeting-session → stage-strategy" }
  static let whole = playable.filter(\.isWhole)
  /// Those that can be played: an app in the call agent style awaits on queues that a room has to follow.
  /// With `KOINE_PORTED_PAIR=meeting-session-to-` in the environment, only those whose folders begin so.
  static let playable = all.filter { pair in
    (roomsFollowQueues || pair.app != .callAgent && pair.target != .callAgent)
      && (ProcessInfo.processInfo.environment["KOINE_PORTED_PAIR"].map(pair.folder.hasPrefix) ?? true)
  }
}

@MainActor @Suite struct PortedPairTests {
  @Test(arguments: PortedPair.playable.flatMap { pair in pair.brief.map { (pair, $0) } })
  func portShowsTheSame(_ pair: PortedPair, _ scenario: String) async throws {
    let scenario = try #require(PortingScenario.ofApps.first { $0.id == scenario })
    let report = await (try pair.suite()).run([scenario], seeds: [1])
    #expect(!report.runs.isEmpty)
    #expect(report.differences.isEmpty, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"), arguments: PortedPair.whole)
  func portShowsTheSameInAllScenarios(_ pair: PortedPair) async throws {
    let report = await (try pair.suite()).run(PortingScenario.ofApps, seeds: wholeRunSeeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/\(pair.folder).html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == pair.notPlayed)
  }
}
