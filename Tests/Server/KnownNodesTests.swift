import KoineBase
import Testing

@testable import KoineServer

@Suite struct KnownNodesTests {
  private let start = Tick(nanoseconds: 1_000_000_000)

  @Test func pagesOfDeadNodeMayConnectForADay() {
    var nodes = KnownNodes()
    nodes.update(living: ["ws://N1.example.com:8080", "wss://n2.example.com/"], at: start)
    #expect(nodes.origins == ["http://n1.example.com:8080", "https://n2.example.com"])
    nodes.update(living: ["wss://n2.example.com/"], at: start + .seconds(3600))
    #expect(nodes.origins == ["http://n1.example.com:8080", "https://n2.example.com"])
    #expect(nodes.addresses == ["ws://N1.example.com:8080", "wss://n2.example.com/"])
    nodes.update(living: ["wss://n2.example.com/"], at: start + KnownNodes.memory)
    #expect(nodes.origins == ["https://n2.example.com"])
    #expect(nodes.addresses == ["wss://n2.example.com/"])
  }

  @Test(arguments: [
    ("wss://n1.example.com:443", "https://n1.example.com"), ("wss://n1.example.com/calls/", "https://n1.example.com"),
    ("ws://n1.example.com:80", "http://n1.example.com"), ("ws://n1.example.com:8080", "http://n1.example.com:8080"),
    ("wss://[::1]:443/", "https://[::1]"), ("ws://[::443]", "http://[::443]"),
  ])
  func originIsAsBrowsersWriteIt(address: String, origin: String) {
    var nodes = KnownNodes()
    nodes.update(living: [address], at: start)
    #expect(nodes.origins == [origin])
  }

  @Test func oldestDeadNodesAreForgottenAboveTheLimitAndNoLivingOnes() {
    var nodes = KnownNodes()
    for number in 0..<KnownNodes.limit { nodes.update(living: ["ws://old\(number)"], at: start + .seconds(number)) }
    let living = (0..<300).map { "ws://new\($0)" } + ["ws://old5"]
    let later = start + .seconds(1_000)
    nodes.update(living: ["ws://last"], at: later - .seconds(1))
    nodes.update(living: living, at: later)
    #expect(nodes.addresses.count { living.contains($0) } == living.count)
    #expect(nodes.addresses.count == living.count + KnownNodes.limit)
    #expect(nodes.addresses.contains("ws://last"))
    nodes.update(living: living + ["ws://another"], at: later)
    nodes.update(living: living, at: later + .seconds(1))
    #expect(nodes.addresses.count == living.count + KnownNodes.limit)
    #expect(nodes.addresses.contains("ws://another"))
    #expect(!nodes.addresses.contains("ws://old0"))
  }
}
