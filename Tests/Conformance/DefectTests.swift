@testable import KoineConformanceKit
import KoineConformanceDrivers
import Testing

/// Each defect is detected by the scenario named here.
@MainActor
@Suite(.serialized)
struct DefectTests {
  nonisolated private static let catchers: [(Defect, String)] = [
    (.beforeState, "join.second"), (.twice, "picture.on-again"), (.afterTheEnd, "leave.seen"),
    (.insideCall, "join.second"), (.pictureBeforePerson, "join.second"), (.personBeforePicture, "leave.seen"),
    (.lostAnswer, "join.first"), (.doubleAnswer, "join.first"), (.wrongMute, "mute.seen"), (.staleMute, "mute.seen"),
    (.lostLeave, "leave.seen"), (.lostMessage, "message.order"), (.swappedMessages, "message.order"),
    (.repeatedMessage, "message.heard"), (.namelessPeople, "join.second"), (.stuckPicture, "picture.goes-on"),
    (.strangers, "join.second"), (.endTwice, "end.left"), (.staleReading, "read.between"),
  ]

  @Test(arguments: catchers)
  func scenarioDetectsDefect(_ defect: Defect, by scenario: String) async throws {
    var suite = Suite(styles: ["koine"], environments: [.virtual()])
    suite.scenarios.removeAll { $0.id != scenario }
    #expect(await suite.run().failures.isEmpty, "without it all is well")
    suite.wrapDriver = { DefectiveDriver($0, defect) }
    #expect(await suite.run().failures.count == 1)
  }

  @Test func everyDefectHasADetectingScenario() {
    #expect(Set(Self.catchers.map(\.0)) == Set(Defect.allCases))
  }
}

/// Laws checked in hand-written traces, without a call.
struct LawTests {
  private func entry(_ callback: CallbackKind, at: Int = 0, of whom: String? = nil, _ detail: String? = nil)
    -> TraceEntry
  {
    TraceEntry(at: at, who: "Ana", callback: callback, whom: whom, detail: detail)
  }

  @Test func validTraceViolatesNoLaw() {
    let trace = [
      entry(.asked, "join 1"), entry(.connected), entry(.answered, "join 1"), entry(.joined, of: "ben"),
      entry(.pictureOn, of: "ben"), entry(.pictureOff, of: "ben"), entry(.left, of: "ben"), entry(.ended),
    ]
    #expect(Law.violations(in: trace, isComplete: true).isEmpty)
  }

  @Test func violationsOfEachLawAreFound() {
    func laws(_ entries: [TraceEntry]) -> [Law] { Law.violations(in: entries, isComplete: true).map(\.law) }
    #expect(laws([entry(.joined, at: 5, of: "ben"), entry(.left, at: 4, of: "ben")]) == [.inOrder])
    #expect(laws([entry(.asked, "mute 1")]) == [.once])
    #expect(laws([entry(.asked, "mute 1"), entry(.ended)]) == [.once, .once])
    #expect(laws([entry(.pictureOn, of: "ben")]) == [.announceThenWithdraw])
    #expect(laws([entry(.left, of: "ben")]) == [.announceThenWithdraw])
    #expect(laws([entry(.joined, of: "ben"), entry(.joined, of: "ben")]) == [.announceThenWithdraw])
    #expect(laws([entry(.ended), entry(.message, of: "ben", "late")]) == [.silenceAfterTheEnd])
    #expect(laws([entry(.ended), entry(.asked, "mute 1"), entry(.answered, "mute 1")]).isEmpty)
    #expect(laws([entry(.ended), entry(.ended)]).contains(.once))
  }

  @Test func tracesAreComparedWithoutTheirTimes() {
    let here = Trace(scenario: "x", styles: ["Ana": "koine"], entries: [entry(.connected), entry(.joined, of: "ben")])
    var there = here
    there.entries[1].at = 900
    #expect(here.differences(from: there).isEmpty)
    there.entries.swapAt(0, 1)
    #expect(here.differences(from: there).count == 2)
  }
}
