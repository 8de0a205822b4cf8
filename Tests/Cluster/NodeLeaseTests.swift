import KoineBase
import KoineCluster
import KoineLedger
import Testing

@Suite struct NodeLeaseTests {
  private let record = NodeRecord(id: NodeID("n1#a")!)
  private let other = NodeID("n1#b")!
  private let start = Tick(nanoseconds: 77_000_000_000)
  private var lease: NodeLease

  init() { lease = NodeLease(record: record) }

  private func at(_ milliseconds: Int) -> Tick { start + .milliseconds(milliseconds) }

  /// Drains, and checks the law of deadlines.
  private mutating func outputs(at milliseconds: Int) -> [NodeLease.Output] {
    lease.handleTimeout(at: at(milliseconds))
    var outputs: [NodeLease.Output] = []
    while let output = lease.poll() { outputs.append(output) }
    #expect(DeadlineLaw.check("NodeLease", deadline: lease.deadline, at: at(milliseconds), because: "") == nil)
    return outputs
  }

  private mutating func register() {
    lease.start(at: at(0))
    lease.connected(at: at(0))
    #expect(outputs(at: 0) == [.request(.register(record))])
    lease.handle(.registered(clock: 1), to: .register(record), at: at(1))
    #expect(outputs(at: 1) == [.uncertain(false), .registered(isAgain: false)])
  }

  @Test mutating func nothingIsSentWithoutAConnection() {
    lease.start(at: at(0))
    #expect(outputs(at: 0) == [])
    #expect(lease.deadline == nil)
  }

  @Test mutating func registeredNodeSendsAHeartbeatEach500Milliseconds() {
    register()
    for time in stride(from: 500, through: 2000, by: 500) {
      #expect(lease.deadline == at(time))
      #expect(outputs(at: time - 1) == [])
      #expect(outputs(at: time) == [.request(.heartbeat(record))])
      lease.handle(.done, to: .heartbeat(record), at: at(time + 3))
    }
  }

  @Test mutating func oneHeartbeatIsOnItsWayAtATime() {
    register()
    #expect(outputs(at: 500) == [.request(.heartbeat(record))])
    #expect(outputs(at: 1500) == [])
    lease.handle(.done, to: .heartbeat(record), at: at(1600))
    #expect(outputs(at: 1600) == [])
    #expect(outputs(at: 1850) == [.request(.heartbeat(record))])
  }

  @Test mutating func leaseIsUncertainAfterFourSecondsWithoutAnAnswer() {
    register()
    #expect(outputs(at: 500) == [.request(.heartbeat(record))])
    lease.handle(.done, to: .heartbeat(record), at: at(700))
    #expect(outputs(at: 1000) == [.request(.heartbeat(record))])
    // Counted from when the last answered request was sent.
    #expect(lease.deadline == at(4500))
    #expect(outputs(at: 4499) == [])
    #expect(!lease.isUncertain)
    #expect(outputs(at: 4500) == [.uncertain(true)])
    lease.handle(.done, to: .heartbeat(record), at: at(4600))
    // The answer confirms the lease as of 1,000.
    #expect(outputs(at: 4600) == [.uncertain(false)])
    #expect(outputs(at: 4850) == [.request(.heartbeat(record))])
    #expect(outputs(at: 5000) == [.uncertain(true)])
  }

  @Test mutating func evictedNodeRegistersAgain() {
    register()
    #expect(outputs(at: 500) == [.request(.heartbeat(record))])
    lease.handle(.evicted, to: .heartbeat(record), at: at(510))
    #expect(outputs(at: 510) == [.request(.register(record))])
    lease.handle(.registered(clock: 2), to: .register(record), at: at(520))
    #expect(outputs(at: 520) == [.registered(isAgain: true)])
  }

  @Test mutating func unlistedNodeRegistersAgain() {
    register()
    // A list that goes on lacking the node does not make it register at the speed of the ledger.
    for time in stride(from: 100, through: 1_100, by: 500) {
      lease.registerAgain(at: at(time))
      #expect(outputs(at: time + 499) == [])
      #expect(outputs(at: time + 500) == [.request(.register(record))])
      lease.handle(.registered(clock: 2), to: .register(record), at: at(time + 500))
      #expect(outputs(at: time + 500) == [.registered(isAgain: true)])
      #expect(lease.isHeld)
    }
  }

  @Test mutating func startedAgainNodeEvictsItsFormerSelf() {
    lease.start(at: at(0))
    lease.connected(at: at(0))
    _ = outputs(at: 0)
    lease.handle(.nameTaken(by: other), to: .register(record), at: at(1))
    #expect(outputs(at: 1) == [.request(.evict(other))])
    lease.handle(.alive, to: .evict(other), at: at(2))
    #expect(outputs(at: 501) == [])
    #expect(outputs(at: 502) == [.request(.register(record))])
    lease.handle(.nameTaken(by: other), to: .register(record), at: at(503))
    #expect(outputs(at: 503) == [.request(.evict(other))])
    lease.handle(.done, to: .evict(other), at: at(504))
    #expect(outputs(at: 504) == [.request(.register(record))])
  }

  @Test mutating func nodeOfALivingNodesNameEnds() {
    lease.start(at: at(0))
    lease.connected(at: at(0))
    _ = outputs(at: 0)
    lease.handle(.nameTaken(by: other), to: .register(record), at: at(1))
    _ = outputs(at: 1)
    lease.handle(.alive, to: .evict(other), at: at(2))
    _ = outputs(at: 10_002)
    lease.handle(.nameTaken(by: other), to: .register(record), at: at(10_003))
    #expect(outputs(at: 10_003) == [.refused(by: other)])
    #expect(lease.deadline == nil)
  }

  @Test mutating func drainingIsPublishedAtOnce() {
    register()
    lease.update({ $0.state = .draining }, at: at(100))
    var draining = record
    draining.state = .draining
    #expect(outputs(at: 100) == [.request(.heartbeat(draining))])
  }

  @Test mutating func leavingNodeEndsItsLease() {
    register()
    lease.release(at: at(100))
    #expect(outputs(at: 100) == [.request(.unregister(record.id))])
    lease.handle(.failed(.away("")), to: .unregister(record.id), at: at(110))
    #expect(outputs(at: 310) == [.request(.unregister(record.id))])
    lease.handle(.done, to: .unregister(record.id), at: at(320))
    #expect(outputs(at: 320) == [.released])
    #expect(lease.deadline == at(4000))  // of the uncertainty
  }
}
