import KoineBase
import KoineCodecs
import KoineTransport
import Testing

@testable import KoineMediaEngine

/// The minimum delay of a participant's audio and video.
@Suite struct MinimumDelayTests {
  /// From capture to play-out, by the time of playing.
  private struct Played {
    var audio: [Duration] = []
    var video: [Duration] = []
    var concealed = 0
    var frames = 0
  }

  private final class Latencies: VideoSink, Sendable {
    private let scheduler: Scheduler
    private let values = Lock<[Duration]>([])
    init(_ scheduler: Scheduler) { self.scheduler = scheduler }
    func render(_ frame: VideoFrame) {
      let latency = scheduler.now - frame.captured
      values.withLock { $0.append(latency) }
    }
    func take() -> [Duration] {
      values.withLock { values in
        defer { values = [] }
        return values
      }
    }
  }

  /// Plays a tone and a stamped camera for each of the stages in turn, and returns what the last second of each was like.
  /// - Parameter stages: the minimum delay, and the number of seconds for which it holds.
  private func play(
    _ stages: [(minimum: Duration, seconds: Int)], over trouble: SimulatedWire.Impairment = .init(),
    mutes: (Int) -> Bool = { _ in false }
  ) throws -> [Played] {
    let scheduler = Scheduler.virtual()
    let sync = StreamSync()
    let talker = AudioReceivePipeline(scheduler: scheduler, sync: sync)
    let camera = VideoReceivePipeline(scheduler: scheduler, sync: sync) {}
    let latencies = Latencies(scheduler)
    camera.addSink(latencies)
    var inOrder = trouble
    inOrder.keepsOrder = true
    let sound = AudioSendPipeline(
      source: try Devices.microphone("tone"), settings: AudioSendSettings(), scheduler: scheduler,
      output: SimulatedWire(scheduler, trouble) { talker.push($0) })
    let pictures = VideoSendPipeline(
      source: try Devices.camera("stamp:cam,160x90@30"), settings: VideoSendSettings(), scheduler: scheduler,
      output: SimulatedWire(scheduler, inOrder) { camera.push($0) })
    try sound.start()
    try pictures.start()
    var block = AudioBlock(captured: .zero)
    var all: [Played] = []
    var turns = 0
    for stage in stages {
      sync.minimumDelay = stage.minimum
      var played = Played()
      for turn in 0..<(stage.seconds * 100) {
        sound.setMuted(mutes(turns))
        turns += 1
        scheduler.advance(to: scheduler.now + .milliseconds(10))
        let isLast = turn >= (stage.seconds - 1) * 100
        if !isLast { _ = latencies.take() }
        if talker.pull(into: &block, at: scheduler.now), isLast { played.audio.append(scheduler.now - block.captured) }
      }
      played.video = latencies.take()
      (played.concealed, played.frames) = (talker.statistics.concealed, camera.statistics.rendered)
      all.append(played)
    }
    sound.stop()
    pictures.stop()
    camera.stop()
    return all
  }

  @Test(arguments: [200, 1_000, 10_000]) func audioAndVideoWaitTheMinimumDelay(milliseconds: Int) throws {
    let minimum = Duration.milliseconds(milliseconds)
    let played = try play([(minimum, milliseconds / 1_000 + 4)])[0]
    let range = minimum...minimum + .milliseconds(100)
    #expect(played.audio.count >= 99)
    #expect(played.audio.allSatisfy { range.contains($0) })
    #expect(played.video.count >= 28)
    #expect(played.video.allSatisfy { range.contains($0) })
    #expect(played.concealed == 0)
  }

  @Test func withoutMinimumDelayMediaArePlayedAtOnce() throws {
    let played = try play([(.zero, 5)])[0]
    #expect(played.audio.allSatisfy { $0 < .milliseconds(100) })
    #expect(played.video.allSatisfy { $0 < .milliseconds(100) })
  }

  /// Jitter of 300 ms with a minimum delay of 500 ms changes no delay.
  @Test func minimumDelayAbsorbsJitter() throws {
    let played = try play([(.milliseconds(500), 15)], over: .init(jitter: .milliseconds(300)))[0]
    let range = Duration.milliseconds(450)...Duration.milliseconds(640)
    #expect(played.audio.allSatisfy { range.contains($0) })
    #expect(played.video.allSatisfy { range.contains($0) })
    #expect(played.concealed < 48 * 200)
  }

  @Test func changedMinimumDelayTakesEffectWhilePlaying() throws {
    let played = try play([(.zero, 3), (.seconds(1), 6), (.milliseconds(200), 8), (.zero, 8)])
    for (stage, range) in [(1, 1_000...1_100), (2, 200...400), (3, 0...150)] {
      let allowed = Duration.milliseconds(range.lowerBound)...Duration.milliseconds(range.upperBound)
      #expect(played[stage].audio.count >= 99)
      #expect(played[stage].audio.allSatisfy { allowed.contains($0) }, "stage \(stage): \(played[stage].audio.max()!)")
      #expect(played[stage].video.count >= 28)
      #expect(played[stage].video.allSatisfy { allowed.contains($0) }, "stage \(stage): \(played[stage].video.max()!)")
    }
  }

  /// A talker that is silent every other second: audio after a pause waits the minimum delay, too.
  @Test func audioAfterAPauseWaitsTheMinimumDelay() throws {
    let played = try play([(.seconds(2), 20)], mutes: { $0 / 50 % 2 == 1 })[0]
    #expect(played.audio.count > 30)
    #expect(played.audio.allSatisfy { (.milliseconds(1_950)...Duration.milliseconds(2_150)).contains($0) })
  }

  @Test func minimumDelayIsClamped() {
    let sync = StreamSync()
    for (value, expected) in [
      (Duration.seconds(-1), Duration.zero), (.seconds(11), .seconds(10)), (.seconds(3), .seconds(3)),
    ] {
      sync.minimumDelay = value
      #expect(sync.minimumDelay == expected)
    }
  }
}
