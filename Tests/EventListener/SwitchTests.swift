import Foundation
import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing
import VideoSDKRTC
import WebRTC

/// `Meeting.switchTo`, and pausing all received streams.
@Suite struct SwitchTests {
  private let environment = TestEnvironment()

  /// Counts frames of the last remote video that the recorder was told of.
  private func screen(of told: Recorder) -> Screen {
    let screen = Screen()
    (told.streams.last { $0.track is RTCVideoTrack }?.track as? RTCVideoTrack)?.add(screen)
    return screen
  }

  @Test func switchReportsDeparturesThenTheNewMeeting() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    let (ben, others) = environment.meeting("Ben", id: "ben")
    let (cleo, there) = environment.meeting("Cleo", id: "cleo", room: "cake", camera: false)
    for meeting in [ana, ben, cleo] {
      meeting.join()
      await environment.run()
    }
    for recorder in [told, others, there] { recorder.forget() }
    others.reasons.withLock { $0 = true }
    told.reasons.withLock { $0 = true }
    environment.world.delivery.queue.suspend()
    ana.switchTo(meetingId: "cake", token: "")
    #expect(told.told.isEmpty, "no callback from inside the call")
    environment.world.delivery.queue.resume()
    await environment.run(.seconds(2))
    #expect(
      told.told
        == [
          "Ben -video", "Ben -audio", "Ben left", "Ben left switchRoom", "Ana -video", "Ana -audio", "CONNECTING",
          "CONNECTED", "in", "in cake", "Ana +audio", "Ana +video", "Cleo joined", "Cleo +audio",
        ].sorted(like: told.told))
    #expect(told.told.firstIndex(of: "Ben left").map { $0 < told.told.firstIndex(of: "CONNECTED") ?? 0 } == true)
    #expect(others.told.suffix(2) == ["Ana left", "Ana left switchRoom"])
    #expect(there.told.first == "Ana joined")
    #expect(ana.id == "cake")
    #expect(ana.participants.keys.sorted() == ["cleo"])
    #expect(ben.participants.isEmpty)
    let seen = screen(of: there)
    await environment.run()
    #expect(seen.frames > 20, "the camera is on in the other meeting")
    ana.leave()
    await environment.run()
    #expect(told.told.suffix(4) == ["CLOSING", "CLOSED", "out", "out manualLeaveCalled"])
    withExtendedLifetime((ben, cleo)) {}
  }

  @Test func switchKeepsDevicesOffAndSetsMode() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana", mic: false, camera: false)
    let (cleo, there) = environment.meeting("Cleo", id: "cleo", room: "cake", camera: false)
    ana.join()
    cleo.join()
    await environment.run()
    ana.switchTo(meetingId: "cake", token: "", mode: .RECV_ONLY)
    await environment.run()
    #expect(ana.meetingMode == .RECV_ONLY)
    #expect(cleo.participants["ana"]?.mode == .RECV_ONLY)
    #expect(told.told.contains("ana RECV_ONLY"))
    #expect(!there.told.contains { $0.hasPrefix("Ana +") })
    ana.unmuteMic()
    await environment.run()
    #expect(ana.localParticipant.streams.isEmpty)
  }

  @Test func switchWithRefusedTokenEndsTheMeeting() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    ana.join()
    await environment.run()
    told.forget()
    told.reasons.withLock { $0 = true }
    ana.switchTo(meetingId: "", token: "")
    await environment.run()
    #expect(told.told == ["error INVALID_MEETING_ID"])
    let now = NumericDate.ofSystemClock()
    let expired = VideoSDKToken(
      apiKey: "key", permissions: [.join], issued: now + (-600), expires: now + (-300))
    ana.switchTo(meetingId: "cake", token: try expired.signed(with: SigningKey(generating: .p256)))
    await environment.run(.seconds(2))
    #expect(told.told.suffix(4) == ["error INVALID_TOKEN", "CLOSED", "out", "out switchRoomFailed"])
    told.forget()
    ana.switchTo(meetingId: "tea", token: "")
    await environment.run()
    #expect(told.told.isEmpty, "over is over")
  }

  @Test func leaveDuringSwitchEndsTheMeetingOnce() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    let (cleo, there) = environment.meeting("Cleo", id: "cleo", room: "cake")
    ana.join()
    cleo.join()
    await environment.run()
    told.onEvery { [weak ana] line in if line == "Ana -audio" { ana?.leave() } }
    ana.switchTo(meetingId: "cake", token: "")
    ana.switchTo(meetingId: "bread", token: "")
    await environment.run(.seconds(2))
    told.onEvery { _ in }
    #expect(told.told.contains("error UNKNOWN_ERROR"), "one switch at a time")
    #expect(told.told.filter { $0 == "CLOSED" }.count == 1)
    #expect(told.told.filter { $0 == "out" }.count == 1)
    #expect(!there.told.contains("Ana joined"))
    withExtendedLifetime(cleo) {}
  }

  @Test func valuesAndMessagesBelongToOneMeeting() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana", camera: false)
    ana.join()
    await environment.run()
    await environment.world.run { try? await ana.realtimeStore.set(key: "k", value: "tea") }
    ana.pubsub.publish(topic: "CHAT", message: "Hello")
    await environment.run()
    ana.switchTo(meetingId: "cake", token: "")
    await environment.run()
    let value = await environment.world.run { try? await ana.realtimeStore.get(key: "k") }
    #expect(value == .some(nil), "each meeting has values of its own")
    #expect(ana.pubsub.getMessagesForTopic("CHAT").isEmpty)
    ana.switchTo(meetingId: "tea", token: "")
    await environment.run()
    #expect(told.told.filter { $0 == "in" }.count == 3)
  }

  @Test func pausedKindIsNotReceivedUntilResumed() async throws {
    let (ana, _) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let screen = screen(of: told)
    await environment.run()
    told.forget()
    environment.world.delivery.queue.suspend()
    ben.pauseAllStreams("video")
    #expect(told.told.isEmpty)
    environment.world.delivery.queue.resume()
    await environment.run(.milliseconds(300))
    #expect(told.told == ["paused video"])
    let before = screen.frames
    await environment.run()
    #expect(screen.frames == before)
    let (cleo, _) = environment.meeting("Cleo")
    cleo.join()
    await environment.run()
    let late = self.screen(of: told)
    await environment.run()
    #expect(late.frames == 0, "also streams that begin later")
    ben.resumeAllStreams()
    await environment.run(.seconds(2))
    #expect(told.told.last == "resumed all")
    #expect(screen.frames > before + 30)
    #expect(late.frames > 30)
    ben.pauseAllStreams("smell")
    await environment.run()
    #expect(told.told.last == "error UNKNOWN_ERROR")
    withExtendedLifetime((ana, cleo)) {}
  }

  @Test func resumeAllResumesStreamPausedByItself() async throws {
    let (ana, _) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", camera: false)
    ben.pauseAllStreams()
    ana.join()
    ben.join()
    await environment.run()
    #expect(!told.told.contains { $0.hasPrefix("paused") }, "nothing before joining")
    let stream = try #require(told.streams.last { $0.track is RTCVideoTrack })
    let screen = screen(of: told)
    stream.pause()
    #expect(stream.isPaused)
    await environment.run()
    let before = screen.frames
    ben.resumeAllStreams("video")
    await environment.run(.seconds(2))
    #expect(!stream.isPaused)
    ben.pauseAllStreams("video")
    await environment.run()
    #expect(told.streams.filter(\.isPaused).map(\.kind) == [.state(value: .video)])
    let own = try #require(ben.localParticipant.streams.values.first)
    own.pause()
    #expect(!own.isPaused, "the local participant's streams are not received")
    #expect(screen.frames > before + 30)
    withExtendedLifetime(ana) {}
  }
}

extension [String] {
  /// The same lines; those of one participant's streams in the order of the other list, which may be either.
  fileprivate func sorted(like other: [String]) -> [String] {
    func isStream(_ line: String) -> Bool { line.contains(" +") || line.contains(" -") }
    var lines = self
    for index in indices.dropLast() where isStream(lines[index]) && isStream(lines[index + 1]) {
      if other.indices.contains(index), other[index] == lines[index + 1] { lines.swapAt(index, index + 1) }
    }
    return lines
  }
}
