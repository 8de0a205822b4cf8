import Foundation
import Koine
import Testing
import VideoSDKRTC
import WebRTC

/// Streams, their listeners, their renderers.
@Suite struct StreamTests {
  private let environment = TestEnvironment()

  @Test func deviceToggleReportsNewStreamEachTime() async {
    let (ana, own) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", mic: false, camera: false)
    ana.join()
    ben.join()
    await environment.run()
    #expect(!told.told.contains { $0.hasPrefix("Ben +") }, "nothing of one's own before it is turned on")
    own.forget()
    told.forget()
    for step in [ana.muteMic, ana.unmuteMic, ana.disableWebcam, ana.disableWebcam, { ana.enableWebcam() }] {
      step()
      await environment.run(.milliseconds(500))
    }
    let expected = ["Ana -audio", "Ana +audio", "Ana -video", "Ana +video"]
    #expect(own.told == expected)
    #expect(told.told == expected)
    for streams in [own.streams, told.streams] {
      #expect(Set(streams.map(\.id)).count == streams.count, "each time a new one")
    }
    #expect(told.people.first?.streams.count == 2)
    ben.unmuteMic()
    ben.enableWebcam()
    await environment.run()
    #expect(Set(own.told.suffix(2)) == ["Ben +audio", "Ben +video"])
  }

  @Test func deviceStateSetBeforeJoinIsApplied() async {
    let (ana, told) = environment.meeting("Ana", mic: false, camera: true)
    ana.unmuteMic()
    ana.disableWebcam()
    ana.join()
    await environment.run()
    #expect(told.told == ["CONNECTING", "CONNECTED", "in", "Ana +audio"])
  }

  @Test func listenerAddedTwiceIsCalledOnceAndLateListenerHasNoReplay() async {
    let (ana, told) = environment.meeting("Ana")
    ana.addEventListener(told)
    told.onEvery { [weak ana, weak told] line in
      if line == "in", let ana, let told { ana.localParticipant.addEventListener(told) }
    }
    ana.join()
    await environment.run()
    #expect(told.told == ["CONNECTING", "CONNECTED", "in", "Ana +audio", "Ana +video"])
    let late = Recorder()
    ana.localParticipant.addEventListener(late)
    await environment.run()
    #expect(late.told.isEmpty)
    ana.muteMic()
    await environment.run()
    #expect(late.told == ["Ana -audio"])
    ana.localParticipant.removeEventListener(late)
    ana.unmuteMic()
    await environment.run()
    #expect(late.told.count == 1)
  }

  @Test func classListenersAreHeldWeakly() {
    let (ana, _) = environment.meeting("Ana")
    var listener: Recorder? = Recorder()
    weak let remains = listener
    if let listener {
      ana.addEventListener(listener)
      ana.localParticipant.addEventListener(listener)
    }
    listener = nil
    #expect(remains == nil)
  }

  private struct Tally: ParticipantEventListener {
    let count = Lock(0)
    func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
      count.withLock { $0 += 1 }
    }
  }

  @Test func valueTypeListenersReceiveCallbacks() async {
    let (ana, _) = environment.meeting("Ana")
    let tally = Tally()
    ana.localParticipant.addEventListener(tally)
    ana.join()
    await environment.run()
    #expect(tally.count.withLock { $0 } == 2)
    ana.localParticipant.removeEventListener(tally)  // a value cannot be told from another: it stays
    ana.muteMic()
    ana.unmuteMic()
    await environment.run()
    #expect(tally.count.withLock { $0 } == 3)
  }

  private func videoTrack(_ streams: [MediaStream]) -> RTCVideoTrack? {
    streams.compactMap { $0.track as? RTCVideoTrack }.last
  }

  @Test func rendererAddedTwiceReceivesEachFrameOnceUntilRemoved() async throws {
    let (ana, _) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let track = try #require(videoTrack(told.streams))
    let (screen, other) = (Screen(), Screen())
    track.remove(screen)
    for _ in 0..<3 { track.add(screen) }
    track.add(other)
    await environment.run()
    #expect((25...31).contains(screen.frames), "thirty frames a second, each once")
    #expect(other.frames == screen.frames)
    #expect(screen.sizes == [CGSize(width: 160, height: 90)])
    track.remove(screen)
    track.remove(screen)
    let before = screen.frames
    await environment.run()
    #expect(screen.frames == before)
    #expect(other.frames > before)
    track.isEnabled = false
    let dark = other.frames
    await environment.run()
    #expect(other.frames == dark)
    track.isEnabled = true
    track.add(screen)
    await environment.run()
    #expect(screen.frames > before)
    #expect(other.frames > dark)
  }

  @Test func pausedStreamShowsFramesAfterResume() async throws {
    let (ana, _) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let track = try #require(videoTrack(told.streams))
    let stream = try #require(told.streams.first { $0.track === track })
    let screen = Screen()
    track.add(screen)
    await environment.run()
    told.forget()
    stream.pause()
    await environment.run(.milliseconds(200))
    let before = screen.frames
    await environment.run()
    #expect(screen.frames == before)
    stream.resume()
    await environment.run(.seconds(2))
    #expect(screen.frames > before + 30)
    #expect(told.told.isEmpty, "no event of it")
  }

  @Test func endedTrackShowsNothingAfterCameraIsUnmuted() async throws {
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: environment.world)
    let camera = try ana.publish(camera: Devices.camera("pattern:160x90@30"))
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join { _ in }
    ben.join()
    await environment.run()
    let old = try #require(videoTrack(told.streams))
    let screen = Screen()
    old.add(screen)
    await environment.run()
    camera.setMuted(true)
    await environment.run()
    #expect(old.readyState == .ended)
    camera.setMuted(false)
    await environment.run()
    let before = screen.frames
    let new = try #require(videoTrack(told.streams))
    #expect(new !== old)
    old.add(screen)
    await environment.run()
    #expect(screen.frames == before)
    new.add(screen)
    old.remove(screen)
    await environment.run()
    #expect((25...31).contains(screen.frames - before))
  }
}
