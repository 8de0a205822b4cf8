import KoineBase
import KoineCluster
import KoineLedger
import Testing

@Suite struct TakeoverTests {
  private let home = NodeID("n1#a")!
  private let start = Tick(nanoseconds: 5_000_000_000)

  private func outputs(_ takeover: inout Takeover, at milliseconds: Int) -> [Takeover.Output] {
    let now = start + .milliseconds(milliseconds)
    takeover.handleTimeout(at: now)
    var outputs: [Takeover.Output] = []
    while let output = takeover.poll() { outputs.append(output) }
    #expect(DeadlineLaw.check("Takeover", deadline: takeover.deadline, at: now, because: "") == nil)
    return outputs
  }

  @Test func deadHomeIsEvictedWhenItHasMissedTwoHeartbeats() {
    var takeover = Takeover(of: home, isConnected: true, at: start)
    #expect(outputs(&takeover, at: 0) == [.request(.evict(home))])
    takeover.handle(.alive, at: start + .milliseconds(1))
    #expect(outputs(&takeover, at: 200) == [])
    #expect(outputs(&takeover, at: 201) == [.request(.evict(home))])
    takeover.handle(.done, at: start + .milliseconds(202))
    #expect(outputs(&takeover, at: 202) == [.homeIsGone])
    #expect(takeover.deadline == nil)
  }

  @Test func wrongSuspicionEndsAfterTwoSeconds() {
    var takeover = Takeover(of: home, isConnected: true, at: start)
    var time = 0
    while time < 5000 {
      let made = outputs(&takeover, at: time)
      if made == [.homeIsAlive] { break }
      if made == [.request(.evict(home))] { takeover.handle(.alive, at: start + .milliseconds(time)) }
      time += 50
    }
    #expect(time >= 2000)
    #expect(time <= 2300)
  }

  @Test(arguments: [(Takeover.Rank.none, 0), (.mirror(0), 0), (.mirror(3), 150), (.behindMirrors, 400)])
  func mirrorsComeFirst(_ rank: Takeover.Rank, _ delay: Int) {
    var takeover = Takeover(of: home, rank: rank, isConnected: true, at: start)
    if delay > 0 { #expect(outputs(&takeover, at: delay - 1) == []) }
    #expect(outputs(&takeover, at: delay) == [.request(.evict(home))])
  }

  @Test func takeoverWaitsForTheLedger() {
    var takeover = Takeover(of: home, isConnected: false, at: start)
    #expect(outputs(&takeover, at: 100) == [])
    takeover.connected(at: start + .milliseconds(100))
    #expect(outputs(&takeover, at: 100) == [.request(.evict(home))])
    takeover.handle(.failed(.away("")), at: start + .milliseconds(200))
    takeover.disconnected()
    takeover.connected(at: start + .milliseconds(250))
    #expect(outputs(&takeover, at: 250) == [.request(.evict(home))])
  }
}
