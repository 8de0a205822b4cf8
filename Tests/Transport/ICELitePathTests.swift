import KoineBase
import Testing

@testable import KoineTransport

/// Which of several good paths a lite agent takes.
@Suite struct ICELitePathTests {
  private let client = address("10.0.0.1")
  private let near = address("10.0.0.2")
  private let far = address("10.0.0.3")

  /// A lite agent that has answered a check of the client on both of its addresses, the near one first.
  private func reachedOnBoth() throws -> ICEAgent {
    var random = SeededRandom(seed: 1)
    let (own, theirs) = (ICECredentials.random(using: &random), ICECredentials.random(using: &random))
    let now = Tick(nanoseconds: 1_000_000_000)
    var agent = ICEAgent(role: .lite, local: own, random: random, now: now)
    agent.setRemote(theirs)
    for (number, local) in [near, far].enumerated() {
      agent.addLocal(local)
      var check = STUNMessage(.request, .init(high: 1, low: UInt64(number)))
      check.username = "\(own.ufrag):\(theirs.ufrag)"
      check.controlling = 1
      let bytes = Bytes(capacity: 500)
      bytes.count = try #require(check.write(into: bytes.writable, key: own.password))
      agent.handle(bytes.readable, from: client, to: local, at: now)
    }
    return agent
  }

  @Test func whatTheOtherEndUsesIsTaken() throws {
    var agent = try reachedOnBoth()
    #expect(try #require(agent.selected) == (near, client))
    agent.used(from: client, to: far)
    #expect(try #require(agent.selected) == (far, client))
  }

  @Test func aPathWithoutAGoodCheckIsNotTaken() throws {
    var agent = try reachedOnBoth()
    agent.used(from: address("10.0.0.9"), to: far)
    agent.used(from: client, to: address("10.0.0.4"))
    #expect(try #require(agent.selected) == (near, client))
    #expect(agent.isProven(client) && !agent.isProven(address("10.0.0.9")))
  }
}
