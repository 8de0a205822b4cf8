import KoineBase
import KoineLedger
import Testing

@testable import KoineServer

@Suite struct ReadinessTests {
  private let start = Tick(nanoseconds: 1_000_000_000)

  @Test func nodeIsReadyForTwoSecondsAfterAnAnswer() {
    var readiness = Readiness()
    readiness.knowsRegistry = true
    #expect(readiness.obstacle(at: start) == "the ledger has not answered yet")
    readiness.answered(.done, at: start)
    #expect(readiness.obstacle(at: start + .seconds(2)) == nil)
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
    readiness.isDraining = true
    #expect(readiness.obstacle(at: start) == "draining")
  }

  @Test func listOfNodesDoesNotKeepANodeReady() {
    var readiness = Readiness()
    readiness.knowsRegistry = true
    readiness.answered(.done, at: start)
    readiness.answered(.nodes([]), at: start + .seconds(3))
    readiness.answered(.failed(.away("full")), at: start + .seconds(3))
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
  }
}
