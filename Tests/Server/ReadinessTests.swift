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
    readiness.answered(.registered(clock: 1), at: start)
    #expect(readiness.obstacle(at: start + .seconds(2)) == nil)
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
    readiness.isDraining = true
    #expect(readiness.obstacle(at: start) == "draining")
  }

  @Test func listOfNodesDoesNotKeepANodeReady() {
    var readiness = Readiness()
    readiness.knowsRegistry = true
    readiness.answered(.registered(clock: 1), at: start)
    readiness.answered(.nodes([]), at: start + .seconds(3))
    readiness.answered(.failed(.away("full")), at: start + .seconds(3))
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
  }

  @Test func nodeIsReadyWhileItIsInTheListOfNodes() {
    var readiness = Readiness()
    readiness.knowsRegistry = true
    readiness.answered(.nameTaken(by: NodeID("n1#a")!), at: start)
    #expect(readiness.obstacle(at: start)?.contains("another living node has the name") == true)
    readiness.answered(.registered(clock: 1), at: start)
    #expect(readiness.obstacle(at: start) == nil)
    readiness.answered(.evicted, at: start)
    #expect(readiness.obstacle(at: start) == "the node is not in the list of nodes yet")
  }
}
