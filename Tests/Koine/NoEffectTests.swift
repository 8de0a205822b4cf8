import Testing

@testable import Koine

/// A call without effect is logged once.
@Suite struct NoEffectTests {
  @Test func eachNoEffectCallIsLoggedOnce() {
    let lines = Lock<[String]>([])
    let before = NoEffect.output.withLock { output in
      let before = output
      output = { line in
        if line.hasPrefix("NoEffectTests") { lines.withLock { $0.append(line) } } else { before(line) }
      }
      return before
    }
    let (torch, siren) = (
      NoEffect("NoEffectTests", "torch", why: "none"), NoEffect("NoEffectTests", "siren", why: "no")
    )
    #expect(!torch.isLogged)
    for _ in 0..<3 { torch.log() }
    siren.log()
    NoEffect("NoEffectTests", "torch", why: "none").log()
    NoEffect.output.withLock { $0 = before }
    #expect(torch.isLogged)
    #expect(siren.isLogged)
    #expect(
      lines.withLock { $0 } == [
        "NoEffectTests: torch is kept without effect: none\n", "NoEffectTests: siren is kept without effect: no\n",
      ])
  }
}
