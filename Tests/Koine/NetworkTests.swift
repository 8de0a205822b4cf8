import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Two people with stamped cameras and tones on a network of the given kind, in virtual time.
private struct Meeting {
  let world: World
  let ana, ben: Session
  let anaSees = Watcher(), benSees = Watcher()

  init(network: String, seed: UInt64 = 7) async throws {
    world = try virtualWorld(seed: seed, network: network)
    ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    anaSees.follow(ana)
    benSees.follow(ben)
    for session in [ana, ben] {
      try session.publish(camera: Devices.camera("stamp:\(session.request.name),320x180@30"))
      try session.publish(microphone: Devices.microphone("tone"))
      session.join { _ in }
    }
    _ = await world.run(
      until: { [anaSees, benSees] in anaSees.now.frames > 0 && benSees.now.frames > 0 }, limit: .seconds(15))
  }

  func receiveStatistics(of session: Session) async -> (video: VideoReceiveStatistics, audio: AudioReceiveStatistics)? {
    let all = await world.run { await session.statistics().streams }
    guard let video = all.compactMap(\.video).first, let audio = all.compactMap(\.audio).first else { return nil }
    return (video, audio)
  }
}

@Suite struct NetworkTests {
  /// With several seeds of the network: which packets are lost in the first second makes a difference.
  @Test(arguments: [1, 7, 16, 19, 24]) func fivePercentLossKeepsFrameRateAndAudio(_ seed: Int) async throws {
    let meeting = try await Meeting(network: "loss=5%,delay=40ms,jitter=20ms,seed=\(seed)")
    let before = meeting.benSees.now.stamps.count
    await meeting.world.run(for: .seconds(15))
    #expect(meeting.benSees.now.stamps.count - before >= 450 * 95 / 100)
    for session in [meeting.ana, meeting.ben] {
      let figures = try #require(await meeting.receiveStatistics(of: session))
      #expect(figures.video.longestGap < 500)
      #expect(figures.audio.concealedFraction < 0.03)
    }
  }

  @Test func callSurvivesTwentyPercentLossAndRecovers() async throws {
    let meeting = try await Meeting(network: "loss=20%,delay=80ms,jitter=30ms;10s:loss=0%")
    let start = meeting.world.backend.scheduler.now
    await meeting.world.run(for: Tick(nanoseconds: 11_000_000_000) - start + .milliseconds(2_000))
    let before = meeting.benSees.now.stamps.count
    #expect(before > 60, "the call stands under loss")
    await meeting.world.run(for: .seconds(3))
    #expect(meeting.benSees.now.stamps.count - before >= 88, "full rate two seconds after the loss has ended")
    #expect(meeting.ana.state == .connected)
    #expect(meeting.ben.state == .connected)
  }

  @Test func framesArriveOnceAndInOrderOverReorderingNetwork() async throws {
    let meeting = try await Meeting(network: "loss=2%,delay=20ms,jitter=30ms,reorder=5%")
    await meeting.world.run(for: .seconds(5))
    let numbers = meeting.benSees.now.stamps.map(\.number)
    #expect(numbers == Array(Set(numbers)).sorted())
  }
}
