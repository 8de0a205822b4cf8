import KoineBase
import KoineLedger
import Testing

@testable import KoineServer

@Suite struct ReadinessTests {
  private let start = Tick(nanoseconds: 1_000_000_000)

  /// Of a node that knows all that it needs but for its registration.
  private var prepared: Readiness {
    var readiness = Readiness()
    readiness.knowsRegistry = true
    return readiness
  }

  /// The node has been registered for a second, and has read the list.
  private func register(_ readiness: inout Readiness) {
    readiness.answered(.registered(clock: 1), at: start - .seconds(1))
    readiness.answered(.nodes([]), at: start)
    readiness.answered(.done, at: start)
  }

  @Test func nodeIsReadyForTwoSecondsAfterAnAnswer() {
    var readiness = prepared
    #expect(readiness.obstacle(at: start) == "the ledger has not answered yet")
    register(&readiness)
    #expect(readiness.obstacle(at: start + .seconds(2)) == nil)
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
    readiness.isDraining = true
    #expect(readiness.obstacle(at: start) == "draining")
  }

  @Test func listOfNodesDoesNotKeepANodeReady() {
    var readiness = prepared
    register(&readiness)
    readiness.answered(.nodes([]), at: start + .seconds(3))
    readiness.answered(.failed(.away("full")), at: start + .seconds(3))
    #expect(readiness.obstacle(at: start + .seconds(3)) != nil)
  }

  @Test func nodeIsReadyWhileItIsInTheListOfNodes() {
    var readiness = prepared
    readiness.answered(.nameTaken(by: NodeID("n1#a")!), at: start)
    #expect(readiness.obstacle(at: start)?.contains("another living node has the name") == true)
    register(&readiness)
    #expect(readiness.obstacle(at: start) == nil)
    readiness.answered(.evicted, at: start)
    #expect(readiness.obstacle(at: start) == "the node is not in the list of nodes yet")
  }

  @Test func nodeIsReadyWithAListThatHasTheNodesThatStartedWithIt() {
    var readiness = prepared
    readiness.answered(.registered(clock: 1), at: start)
    let second = start + .seconds(1)
    readiness.answered(.nodes([]), at: start)
    #expect(readiness.obstacle(at: second)?.contains("may not be known yet") == true)
    readiness.answered(.nodes([]), at: second)
    #expect(readiness.obstacle(at: second) == nil)
  }
}
