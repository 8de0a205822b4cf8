import Foundation
import KoineTestSupport
import KoineTesting
import Testing

/// The reference app of the call-agent style against the layer that `koine port --to meeting-session` has written of it
/// (Samples/porting).
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "the thread sanitizer interposes the same functions"))
struct MeetingOfAgentTests {
  private func compare(_ scenarios: [PortingScenario], seeds: [UInt64], _ rows: [ExpectedDifference]) async throws {
    let suite = PortingSuite<any CallLayer>(
      pair: ExpectedRows.meetingOfAgentPair, old: { try CallAgentLayer(in: $0) },
      new: { try MeetingOfAgentLayer(in: $0) },
      facts: { layer in
        var facts = layer.facts
        facts.activeSpeaker = nil  // each vendor marks another one of several that speak at once, by its own measure
        return facts
      }, view: { $0.view }, actions: Actions.all, expected: try ExpectedDifferences(rows))
    let report = await suite.run(scenarios, seeds: seeds)
    if let folder = ProcessInfo.processInfo.environment["KOINE_PORTING_REPORTS"] {
      try Data(report.html().utf8).write(to: URL(fileURLWithPath: "\(folder)/call-agent-meeting-session.html"))
    }
    #expect(report.isEqual, "\(report.text())")
    #expect(report.notPlayed == [])
  }

  @Test(arguments: ["people", "mute", "share", "messages", "removed"])
  func meetingOfAgentShowsTheSame(_ scenario: String) async throws {
    try await compare([try #require(PortingScenario.all.first { $0.id == scenario })], seeds: [1], [])
  }

  @Test(.enabled(if: hasTimeForWholeRuns, "Scripts/check-ports"))
  func meetingOfAgentShowsTheSameInAllScenarios() async throws {
    try await compare(PortingScenario.all, seeds: [1, 2, 3], ExpectedRows.meetingOfAgent)
  }
}
