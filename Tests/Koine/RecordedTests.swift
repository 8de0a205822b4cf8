import Testing

@testable import Koine

/// What has no effect says so, once.
@Suite struct RecordedTests {
  @Test func eachThingIsLoggedOnce() {
    let lines = Lock<[String]>([])
    let before = Recorded.output.withLock { output in
      let before = output
      output = { line in
        if line.hasPrefix("RecordedTests") { lines.withLock { $0.append(line) } } else { before(line) }
      }
      return before
    }
    let (torch, siren) = (
      Recorded("RecordedTests", "torch", why: "none"), Recorded("RecordedTests", "siren", why: "no")
    )
    #expect(!torch.isLogged)
    for _ in 0..<3 { torch.log() }
    siren.log()
    Recorded("RecordedTests", "torch", why: "none").log()
    Recorded.output.withLock { $0 = before }
    #expect(torch.isLogged && siren.isLogged)
    #expect(
      lines.withLock { $0 } == [
        "RecordedTests: torch is kept without effect: none\n", "RecordedTests: siren is kept without effect: no\n",
      ])
  }
}
