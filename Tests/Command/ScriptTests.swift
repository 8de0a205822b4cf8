import Koine
import KoineSampleSupport
import Testing

@Suite struct ScriptTests {
  @Test func stepsAreSortedByTimeAndKeepTheirOrder() throws {
    let script = try Script("# a call\n\nat 5s mute\n  at 0.5s   camera\nat 5s people\nat 1e1s leave")
    #expect(script.steps.map(\.command) == [.camera, .mute, .people, .leave])
    #expect(script.steps.map(\.time) == [.milliseconds(500), .seconds(5), .seconds(5), .seconds(10)])
    #expect(try Script("").steps.isEmpty)
    #expect(try Script("at 1s mute\r\nat 2s leave\r\n").steps.count == 2, "lines may end as on Windows")
  }

  @Test(arguments: [
    "mute", "at mute", "at 5 mute", "at 5s", "at 5s jump", "at -1s mute", "at nans mute", "at infs mute", "at s mute",
    "at 1e9s mute", "at 5s mute now", "AT 5s mute", "at 5s Mute",
  ])
  func invalidStepIsReportedWithItsLine(line: String) {
    let error = #expect(throws: SampleExit.self) { _ = try Script("at 1s mute\n" + line) }
    #expect(error?.code == 64)
    #expect(error?.description.contains("line 2") == true)
  }

  @Test func missingScriptExitsWith66() {
    let error = #expect(throws: SampleExit.self) { _ = try Script(contentsOf: "/no/such/script") }
    #expect(error?.code == 66)
  }

  @Test func commonCommandsHaveKeys() {
    #expect(Command.common.map(\.key) == ["m", "v", "p", "f", "q"])
  }

  @Test func sampleCommandsExtendTheCommonOnes() throws {
    let share = Command("share", key: "s")
    #expect(try Script("at 1s share", commands: Command.common + [share]).steps.map(\.command) == [share])
    let error = #expect(throws: SampleExit.self) { _ = try Script("at 1s share") }
    #expect(error?.description.contains("mute, camera, people, figures, leave") == true)
  }

  @Test func deviceErrorHasItsExitCode() {
    #expect(SampleExit(.unreadable("clip.webm", reason: "gone")).code == 66)
    #expect(SampleExit(.unknown("lens", known: ["pattern"])).code == 64)
    #expect(SampleExit(.invalid("pattern:x", reason: "no size")).description == "'pattern:x': no size")
  }
}
