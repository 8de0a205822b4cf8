import Foundation
import KoineTesting
import Testing

/// Runs that cannot be compared to their end, and actions that throw.
@MainActor @Suite struct PlayTests {
  private struct JoinRefused: Error {}

  private final class Counter { var value = 0 }

  private func suite(
    new: @escaping @MainActor @Sendable (PortingContext) throws -> any CallLayer = { NativeLayer(in: $0, .init()) },
    facts: @escaping @MainActor @Sendable (any CallLayer) -> CallFacts = { $0.facts },
    join: @escaping @MainActor @Sendable (any CallLayer) throws -> Void = { $0.join() }
  ) -> PortingSuite<any CallLayer> {
    PortingSuite(
      old: { NativeLayer(in: $0, .init()) }, new: new, facts: facts,
      actions: CallActions(join: join, leave: { $0.leave() }))
  }

  private let alone = PortingScenario("alone", "The app is alone.", [.app(.join), .app(.leave)])

  @Test func factsThatNeverSettleFailAlthoughBothLayersShowThem() async {
    let reads = Counter()
    let report = await suite(facts: { layer in
      reads.value += 1
      var facts = layer.facts
      facts.own["reads"] = "\(reads.value)"
      return facts
    }).run([alone], seeds: [1])
    let play = report.differences.filter { $0.comparison == .play }
    #expect(play.map(\.step) == ["the app joins", "the app leaves"])
    #expect(play.map(\.new) == ["not within 40 s", "not within 40 s"])
  }

  @Test func errorOfAnActionIsAFactOfItsStep() async {
    let joins = Counter()
    let report = await suite(join: { layer in
      joins.value += 1
      if joins.value == 1 { layer.join() } else { throw JoinRefused() }
    }).run([alone], seeds: [1])
    let thrown = report.differences.first { $0.fact == "thrown" }
    #expect(thrown?.step == "the app joins")
    #expect(thrown?.comparison == .settled)
    #expect(thrown?.new == "JoinRefused()")
    #expect(!report.differences.contains { $0.fact == "thrown" && $0.step == "the app leaves" })
  }

  @Test func layerThatIsNotMadeFailsTheReport() async {
    let report = await suite(new: { _ in throw JoinRefused() }).run([alone], seeds: [1])
    #expect(report.differences.map(\.fact) == ["the scenario"])
    #expect(report.differences.first?.new.contains("JoinRefused") == true)
    #expect(!report.isEqual)
    #expect("\(report)" == "\(report.pair): runs: 1, differences: 1, rows that no run uses: 0")
    #expect(Mirror(reflecting: report).children.isEmpty)  // what a failed expectation prints
  }

  @Test func scenariosWithoutTheAppsActionsAreListedAndNothingPlayedIsNoProof() async throws {
    let share = try #require(PortingScenario.all.first { $0.id == "share" })
    let report = await suite().run([share], seeds: [1])
    #expect(report.notPlayed == ["share"])
    #expect(report.runs.isEmpty)
    #expect(!report.isEqual)
  }

  /// A suite in which the old layer's screen and the new one's read different texts, and the layers mark different people as speaking.
  private func screenSuite(
    texts: ComparedText? = nil, speaker: SpeakerComparison = .always, marks: [String?] = [nil, nil]
  ) -> PortingSuite<any CallLayer> {
    // Of the two layers of a run, the old one is made first.
    let made = Counter()
    return PortingSuite(
      old: { context in
        made.value = 0
        return NativeLayer(in: context, .init())
      },
      new: { context in
        made.value = 1
        return NativeLayer(in: context, .init())
      },
      facts: { layer in
        var facts = layer.facts
        facts.activeSpeaker = marks[made.value]
        return facts
      },
      view: { _ in
        let label = UILabel(frame: CGRect(x: 0, y: 0, width: 200, height: 20))
        label.text = ["In the call, 0:05", "In the call, 0:07"][made.value]
        return label
      }, actions: Actions.all, texts: texts, speaker: speaker)
  }

  @Test func textsOnTheScreenAreComparedAfterEachStep() async {
    let report = await screenSuite(texts: { $0 }).run([alone], seeds: [1])
    #expect(Set(report.differences.map(\.step)) == ["the app joins", "the app leaves"])
    #expect(
      Set(report.differences.map(\.fact)) == [
        "the screen reads 'In the call, 0:05'", "the screen reads 'In the call, 0:07'",
      ])
    let withoutDuration = await screenSuite(texts: { String($0.prefix { $0 != "," }) }).run([alone], seeds: [1])
    #expect(withoutDuration.isEqual, "\(withoutDuration.text())")
    let withoutTexts = await screenSuite().run([alone], seeds: [1])
    #expect(withoutTexts.isEqual, "\(withoutTexts.text())")
  }

  @Test func textsFollowFromFactsThatDiffer() async {
    let report = await screenSuite(texts: { $0 }, marks: ["Bea", "Cleo"]).run([alone], seeds: [1])
    #expect(Set(report.differences.map(\.fact)) == ["activeSpeaker"])
  }

  @Test func speakerIsComparedWhereOnePersonSpeaks() async throws {
    let speakers = try #require(PortingScenario.all.first { $0.id == "speakers" })
    let report = await screenSuite(speaker: .whenOneSpeaks, marks: ["Bea", "Cleo"]).run([speakers], seeds: [1])
    #expect(report.differences.map(\.fact) == ["activeSpeaker", "activeSpeaker"], "\(report.text())")
    #expect(report.differences.map(\.step) == ["5 s pass", "5 s pass"])
  }
}
