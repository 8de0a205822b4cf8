import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Attendees and active speakers; ends by the room; microphones.
@Suite struct RosterTests {
  @Test func attendeeJoiningElsewhereEndsTheFirstSession() async throws {
    let environment = TestEnvironment()
    let (first, second) = (environment.app("Ana"), environment.app("Ana"))
    try first.audioVideo.start()
    try first.audioVideo.startLocalVideo()
    await environment.run()
    first.forget()
    try second.audioVideo.start()
    await environment.run()
    #expect(first.lines == ["tile -ana", "audio stopped audioJoinedFromAnotherDevice"])
    first.audioVideo.stop()
    await environment.run()
    #expect(first.lines.last == "video stopped ok")
    #expect(first.lines(of: "audio stopped").count == 1)
    #expect(second.lines.contains("audio started"))
  }

  @Test func closedRoomStopsTheMeeting() async throws {
    let environment = TestEnvironment()
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    try ana.audioVideo.start()
    await environment.run()
    ben.closeRoom()
    await environment.run()
    #expect(ana.lines.last == "audio stopped audioServerHungup")
  }

  @Test func speakingAttendeeIsTheActiveSpeaker() async throws {
    let environment = TestEnvironment()
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    let cleo = try environment.native("Cleo", sound: "silence")
    try ana.audioVideo.start()
    #expect(ana.audioVideo.realtimeLocalMute())
    await environment.run(.seconds(8))
    #expect(ana.told.withLock { $0.active.last } == ["ben"], "who talks steadily goes on talking")
    #expect(ana.told.withLock { $0.scores } >= 14, "every half second")
    #expect(cleo.participants.count == 2)
    ben.leave {}
    await environment.run()
    #expect(ana.told.withLock { $0.active.last } == [])
    ana.audioVideo.removeActiveSpeakerObserver(observer: ana)
    let before = ana.told.withLock { ($0.active.count, $0.scores) }
    #expect(ana.audioVideo.realtimeLocalUnmute())
    await environment.run(.seconds(2))
    #expect(ana.told.withLock { ($0.active.count, $0.scores) } == before)
  }

  @Test func activeSpeakerPolicyMatchesTheVendorsScores() {
    let policy = DefaultActiveSpeakerPolicy()
    let (ana, ben) = (
      AttendeeInfo(attendeeId: "ana", externalUserId: "Ana"), AttendeeInfo(attendeeId: "ben", externalUserId: "Ben")
    )
    let rising = (0..<6).map { _ in policy.calculateScore(attendeeInfo: ana, volume: .low) }
    for (score, expected) in zip(rising, [0.1, 0.19, 0.271, 0.3439, 0.40951, 0.468559]) {
      #expect(abs(score - expected) < 1e-12)
    }
    let single = DefaultActiveSpeakerPolicy()
    #expect(single.calculateScore(attendeeInfo: ana, volume: .high) > 0)
    let falling = (1...22).map { _ in single.calculateScore(attendeeInfo: ana, volume: .notSpeaking) }
    #expect(falling.firstIndex(of: 0) == 21)
    #expect(policy.calculateScore(attendeeInfo: ben, volume: .medium) > 0)
    #expect(policy.calculateScore(attendeeInfo: ana, volume: .muted) < 0.27, "taken over")
    let strict = DefaultActiveSpeakerPolicy(speakerWeight: 0.9, cutoffThreshold: 0.1, takeoverRate: 0.2)
    #expect(strict.calculateScore(attendeeInfo: ana, volume: .high) == 0)
  }

  @Test func microphonePlugAndUnplugChangeTheActiveDevice() async throws {
    let environment = TestEnvironment()
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben", sound: "silence")
    let ears = MediaWatcher()
    ben.observe { [weak ben] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal, stream.kind.isAudio {
        ben?.attach(ears as any AudioSink, to: stream.id)
      }
    }
    let machine = environment.world.machine
    machine.plugIn(
      Machine.Device(id: "headset", kind: .microphone, name: "Headset", attachment: .wired, source: "silence"))
    await environment.run(.milliseconds(10))
    #expect(ana.told.withLock { $0.devices } == [["Built-in Microphone", "Built-in Speaker", "Headset"]])
    let device = try #require(ana.audioVideo.listAudioDevices().first { $0.label == "Headset" })
    #expect(device.type == .audioWiredHeadset)
    ana.audioVideo.chooseAudioDevice(mediaDevice: try #require(ana.audioVideo.listAudioDevices().first))
    ana.audioVideo.chooseAudioDevice(mediaDevice: device)
    try ana.audioVideo.start()
    await environment.run(.seconds(2))
    #expect(ears.loudest < 100)
    #expect(ana.audioVideo.getActiveAudioDevice() == device)
    machine.unplug("headset")
    machine.beginInterruption()
    await environment.run(.seconds(2))
    #expect(ears.loudest < 100)
    #expect(ana.audioVideo.getActiveAudioDevice()?.type == .audioHandset)
    machine.endInterruption()
    await environment.run(.seconds(2))
    #expect(ears.loudest > 4_000)
    #expect(ana.told.withLock { $0.devices.last } == ["Built-in Microphone", "Built-in Speaker"])
    #expect(ana.told.withLock { $0.devices.count } == 2, "choosing is no change of devices")
    ana.audioVideo.chooseAudioDevice(mediaDevice: try #require(ana.audioVideo.listAudioDevices().last))
    #expect(ana.audioVideo.getActiveAudioDevice()?.type == .audioBuiltInSpeaker)
    ana.audioVideo.removeDeviceChangeObserver(observer: ana)
    machine.plugIn(Machine.Device(id: "usb", kind: .microphone, name: "USB", attachment: .usb, source: "silence"))
    await environment.run(.milliseconds(10))
    #expect(ana.audioVideo.listAudioDevices().contains { $0.label == "USB" })
    #expect(ana.told.withLock { $0.devices.count } == 2, "the observer is removed")
  }

  @Test func observerAddedTwiceIsCalledOnceUntilRemoved() async throws {
    let environment = TestEnvironment()
    let ana = environment.app("Ana")
    ana.audioVideo.addAudioVideoObserver(observer: ana)
    try ana.audioVideo.start()
    await environment.run()
    #expect(ana.lines(of: "audio started").count == 1)
    await environment.run(.seconds(2))
    let metrics = ana.told.withLock { $0.metrics.count }
    #expect(metrics >= 1)
    ana.audioVideo.removeMetricsObserver(observer: ana)
    await environment.run(.seconds(3))
    #expect(ana.told.withLock { $0.metrics.count } == metrics)
    ana.audioVideo.removeAudioVideoObserver(observer: ana)
    ana.audioVideo.stop()
    await environment.run()
    #expect(ana.lines(of: "audio stopped").isEmpty)
  }
}
