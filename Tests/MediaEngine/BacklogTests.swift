import KoineBase
import KoineCodecs
import KoineTransport
import Testing

@testable import KoineMediaEngine

/// Audio that is read later than it arrives.
@Suite struct BacklogTests {
  private struct PlayedBlock {
    var figures = AudioReceiveStatistics()
    /// From capture to play-out, per 10 ms; nil: silence, or no request.
    var latency: [Duration?] = []

    func longest(from second: Int = 0) -> Duration { latency.dropFirst(second * 100).compactMap(\.self).max() ?? .zero }
  }

  /// A tone, asked for every 10 ms.
  /// - Parameters:
  ///   - asks: whether the reader requests a block in this turn.
  ///   - mutes: whether the talker is muted in this turn.
  ///   - detour: additional delay of a packet, by its send time since the start.
  private func receive(
    seconds: Int, over trouble: SimulatedWire.Impairment = .init(), sync: StreamSync? = nil,
    asks: (Int) -> Bool = { _ in true },
    mutes: (Int) -> Bool = { _ in false }, detour: @escaping @Sendable (Duration) -> Duration = { _ in .zero }
  ) throws -> PlayedBlock {
    let scheduler = Scheduler.virtual()
    let talker = AudioReceivePipeline(scheduler: scheduler, sync: sync)
    let (lane, begun) = (scheduler.lane("detour"), scheduler.now)
    let send = AudioSendPipeline(
      source: try Devices.microphone("tone"), settings: AudioSendSettings(), scheduler: scheduler,
      output: SimulatedWire(scheduler, trouble) { frame in
        let wait = detour(scheduler.now - begun)
        guard wait > .zero else { return talker.push(frame) }
        lane.post(at: scheduler.now + wait) {
          var late = frame
          late.arrived = scheduler.now
          talker.push(late)
        }
      })
    try send.start()
    var block = AudioBlock(captured: .zero)
    var heard = PlayedBlock()
    for turn in 0..<(seconds * 100) {
      send.setMuted(mutes(turn))
      scheduler.advance(to: scheduler.now + .milliseconds(10))
      let sounds = asks(turn) && talker.pull(into: &block, at: scheduler.now)
      heard.latency.append(sounds ? scheduler.now - block.captured : nil)
    }
    send.stop()
    heard.figures = talker.statistics
    return heard
  }

  /// A slow reader requests only two of three blocks, for a minute.
  @Test func slowReaderSkipsAudioInsteadOfFallingBehind() throws {
    let heard = try receive(seconds: 60, asks: { !$0.isMultiple(of: 3) })
    #expect(heard.longest() < .milliseconds(800))
    #expect(heard.figures.concealedFraction < 0.01)
    #expect(heard.figures.accelerated > 48_000 * 15)
  }

  /// The network delay increases at once, as after a change of address: no backlog, and soon no lateness.
  @Test(arguments: [100, 300, 1_000]) func latencyFollowsIncreaseOfNetworkDelay(byMilliseconds step: Int) throws {
    let heard = try receive(
      seconds: 30, over: .init(jitter: .milliseconds(20)), detour: { $0 > .seconds(15) ? .milliseconds(step) : .zero })
    #expect(heard.figures.concealed < 48 * 200, "for a second it is not known whether it stays so")
    #expect(heard.figures.accelerated < 48 * 200)
    let goal = Duration.milliseconds(step) + .milliseconds(100)
    #expect(heard.latency.dropFirst(1_800).allSatisfy { $0.map { $0 < goal } ?? false })
  }

  /// Delay that rises and falls every few seconds is jitter: the buffer covers it.
  @Test func latencyDoesNotFollowOscillatingNetworkDelay() throws {
    let heard = try receive(
      seconds: 60, over: .init(jitter: .milliseconds(20)),
      detour: { .milliseconds(abs(Int($0.inMilliseconds) % 4_000 - 2_000) / 10) })
    #expect(heard.figures.concealed < 48 * 200)
    #expect(heard.longest(from: 20) < .milliseconds(300))
  }

  /// Nothing arrives for two seconds, and then everything at once.
  @Test func latencyRecoversAfterStallAndBurst() throws {
    let heard = try receive(
      seconds: 20, detour: { $0 > .seconds(5) && $0 < .seconds(7) ? .seconds(7) - $0 : .zero })
    #expect(heard.longest(from: 8) < .milliseconds(800))
    #expect(heard.latency.dropFirst(1_900).allSatisfy { $0.map { $0 < .milliseconds(400) } ?? false })
    #expect(heard.figures.accelerated > 48_000, "of twenty seconds two have come too late")
  }

  /// More audio than is ever kept: no reader for ten seconds.
  @Test func resumedReaderReceivesCurrentAudio() throws {
    let heard = try receive(seconds: 20, asks: { !(500..<1_500).contains($0) })
    let first = try #require(heard.latency[1_500...].first { $0 != nil } ?? nil)
    #expect(first < .milliseconds(800))
    #expect(heard.longest(from: 15) < .milliseconds(800))
    #expect(heard.figures.concealedFraction < 0.01)
  }

  /// A talker that is silent every other second delays no other audio, and none of its own audio is dropped.
  @Test func pausesOfTalkerAreNoBacklog() throws {
    let heard = try receive(seconds: 30, over: .init(jitter: .milliseconds(10)), mutes: { $0 / 100 % 2 == 1 })
    #expect(heard.figures.accelerated < 4_800)
    #expect(heard.latency.count { $0 != nil } > 1_400, "fifteen seconds were said")
    #expect(heard.longest() < .milliseconds(200))
  }

  /// Video is one second late, and audio waits for it, half a second longer than it needs to.
  @Test func audioDelayedForVideoSyncIsNoBacklog() throws {
    let sync = StreamSync()
    let heard = try receive(
      seconds: 60, sync: sync,
      asks: { turn in
        sync.pictureShown(after: .seconds(1), at: Tick(nanoseconds: Int64(turn) * 10_000_000))
        return true
      })
    #expect(heard.latency.last.flatMap(\.self).map { $0 > .milliseconds(500) } == true)
    #expect(heard.figures.concealedFraction < 0.01)
    #expect(heard.figures.accelerated < 4_800)
  }
}
