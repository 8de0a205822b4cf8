import KoineTesting
import Testing

/// Rows of expected differences: which are allowed, which fit, and what becomes of a row that no run uses.
@MainActor @Suite struct ExpectedDifferenceTests {
  private func row(
    _ fact: String, at step: String = "the app is removed", _ comparison: PortingComparison = .settled,
    old: String = "removed", new: String = "lost", reason: String = "a test", source: String = "this test"
  ) -> ExpectedDifference {
    ExpectedDifference(
      pair: "koine → koine", fact: fact, step: step, comparison: comparison, old: old, new: new, reason: reason,
      source: source)
  }

  @Test(arguments: [
    "microphone", "camera", "share", "messages", "people", "people.Bea.muted", "people.Bea.video", "people.Bea.shares",
    "Bea hears the app", "the server lists the app", "the screen shows Bea", "the loudspeaker plays Bea",
  ])
  func settledMediaMessagesAndPresenceAreNeverExcused(_ fact: String) {
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row(fact)]) }
  }

  @Test(arguments: ["camera", "microphone", "the server's roster"])
  func remainsOfACallAreNeverExcused(_ fact: String) {
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row(fact, .afterCall)]) }
  }

  @Test(arguments: ["phase", "end", "activeSpeaker", "own.title"]) func otherSettledFactsMayDiffer(_ fact: String)
    throws
  {
    #expect(try ExpectedDifferences([row(fact)]).rows.count == 1)
  }

  @Test func moreThan25RowsAreRefused() throws {
    let rows = (1...26).map { row("end", at: "step \($0)") }
    #expect(try ExpectedDifferences(Array(rows.prefix(25))).rows.count == 25)
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences(rows) }
  }

  @Test func allPortsTogetherKeepTheLimit() {
    #expect(ExpectedRows.all.count <= ExpectedDifferences.limit)
    let pairs = Set(PortedPair.all.map(\.name) + [ReturnedLayerTests.pair])
    #expect(ExpectedRows.all.allSatisfy { !$0.pairs.isEmpty && pairs.isSuperset(of: $0.pairs) })
  }

  @Test func rowWithoutReasonSourceOrDifferenceIsRefusedAndSoIsASecondEqualRow() {
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row("end", reason: "")]) }
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row("end", source: "")]) }
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row("end", new: "removed")]) }
    #expect(throws: InvalidExpectation.self) { try ExpectedDifferences([row("end"), row("end")]) }
  }

  private func report(_ rows: [ExpectedDifference]) async throws -> PortingReport {
    let behaviour = NativeLayer.Behaviour()
    let suite = PortingSuite<any CallLayer>(
      pair: "koine → koine", old: { NativeLayer(in: $0, behaviour) },
      new: { NativeLayer(in: $0, behaviour, mistake: .endReasonWrong) }, facts: { $0.facts }, view: { $0.view },
      actions: Actions.all, expected: try ExpectedDifferences(rows))
    return await suite.run(PortingScenario.all.filter { $0.id == "removed" }, seeds: [1])
  }

  @Test func fittingRowsMakeTheReportEqual() async throws {
    let report = try await report([row("end")])
    #expect(report.isEqual, "\(report.text())")
    #expect(report.usedRows.count == 1)
    #expect(report.runs.flatMap(\.expected).map(\.fact) == ["end"])
  }

  @Test func rowOfAnotherValueStepOrComparisonDoesNotFitAndFailsAsUnused() async throws {
    let others = [row("end", old: "closed"), row("end", at: "the app leaves"), row("end", .between)]
    let report = try await report(others)
    #expect(report.unusedRows == others)
    #expect(report.differences.map(\.fact) == ["end"])
    #expect(!report.isEqual)
    #expect(report.text().contains("no run uses the row for end (settled) at “the app leaves”"))
  }

  @Test func rowThatNoRunUsesFailsAlthoughNothingDiffersOtherwise() async throws {
    let unused = row("phase", old: "inCall", new: "ended")
    let report = try await report([row("end"), unused])
    #expect(report.differences.isEmpty)
    #expect(report.unusedRows == [unused])
    #expect(!report.isEqual)
  }

  @Test func pageShowsBothStoriesTheDifferenceAndTheRows() async throws {
    let unused = row("end", at: "the app leaves", reason: "a < b")
    let page = try await report([unused]).html()
    #expect(page.contains("<th>old</th><th>new</th>"))
    #expect(page.contains("end: <b>removed</b>"))
    #expect(page.contains("<div class=mark><i>settled</i> end: <b>lost</b>"))
    #expect(page.contains("step “the app is removed”: end (settled): old “removed”, new “lost”"))
    #expect(page.contains("a &lt; b"))
    #expect(!page.contains("a < b"))
  }
}
