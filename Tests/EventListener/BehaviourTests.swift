import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing
import VideoSDKRTC
import WebRTC

/// Joining, leaving, and failures.
@Suite struct LifeCycleTests {
  private let environment = TestEnvironment()

  @Test func joinReportsLocalStreamsThenRemoteParticipantsInOrder() async {
    let (ben, _) = environment.meeting("Ben")
    let (cleo, _) = environment.meeting("Cleo", camera: false)
    let (ana, told) = environment.meeting("Ana")
    ben.join()
    await environment.run()
    cleo.join()
    await environment.run()
    ana.join(cameraPosition: .front)
    #expect(told.told.isEmpty)
    await environment.run()
    #expect(
      told.told == [
        "CONNECTING", "CONNECTED", "in", "Ana +audio", "Ana +video", "Ben joined", "Ben +audio", "Ben +video",
        "Cleo joined", "Cleo +audio",
      ])
    #expect(Set(ana.participants.values.map(\.displayName)) == ["Ben", "Cleo"])
    for person in told.people { #expect(ana.participants[person.id] === person, "the same object throughout") }
  }

  @Test func stateIsTheOneThatListenersWereToldLast() async {
    let (ana, told) = environment.meeting("Ana")
    let states = Lock<[MeetingState]>([])
    told.onEvery { [weak ana] line in
      guard let ana, MeetingState(rawValue: line) != nil else { return }
      states.withLock { $0.append(ana.meetingState) }
    }
    #expect(ana.meetingState == .CLOSED)
    ana.join()
    await environment.run()
    ana.leave()
    await environment.run()
    #expect(states.withLock { $0 } == [.CONNECTING, .CONNECTED, .CLOSING, .CLOSED])
    #expect(ana.meetingState == .CLOSED && ana.transcriptionState == .TRANSCRIPTION_STOPPED)
  }

  @Test func leaveReasonReachesTheLocalListenersOnly() async {
    final class Reasons: MeetingEventListener, Sendable {
      let all = Lock<[LeaveReason]>([])
      func onMeetingLeft(reason: LeaveReason) { all.withLock { $0.append(reason) } }
      func onParticipantLeft(_ participant: VideoSDKRTC.Participant, reason: LeaveReason) {
        all.withLock { $0.append(reason) }
      }
    }
    let (ana, _) = environment.meeting("Ana")
    let (ben, _) = environment.meeting("Ben")
    let (own, others) = (Reasons(), Reasons())
    ana.addEventListener(own)
    ben.addEventListener(others)
    ana.leave(reason: .removeAll)  // not joined: nothing happens
    ana.join()
    ben.join()
    await environment.run()
    ana.leave(reason: .websocketDisconnected)
    ana.leave(reason: .roomClose)
    await environment.run()
    #expect(own.all.withLock { $0 } == [.websocketDisconnected])
    #expect(others.all.withLock { $0 } == [.manualLeaveCalled])
  }

  @Test func metaDataReachesAllParticipants() async throws {
    let ana = World.$current.withValue(environment.world) {
      VideoSDK.initMeeting(
        meetingId: "tea", participantId: "ana", mode: .SEND_AND_RECV, preferredProtocol: .TCP_ONLY,
        signalingBaseUrl: "https://example.com", metaData: ["seat": 7, "roles": ["host"]])
    }
    let (ben, _) = environment.meeting("Ben")
    ana.join()
    ben.join()
    await environment.run()
    for data in [ana.localParticipant.metaData, ben.participants["ana"]?.metaData] {
      #expect(data?["seat"] as? Int == 7 && data?["roles"] as? [String] == ["host"])
    }
    #expect(ben.localParticipant.metaData == nil)
    #expect(ben.participants["ana"]?.mode == .SEND_AND_RECV)
    #expect(ana.preferredProtocol == .TCP_ONLY && ana.signalingBaseUrl == "https://example.com")
    // It stays beside what the meeting sets itself.
    ana.changeMode(.RECV_ONLY)
    await environment.run()
    #expect(ben.participants["ana"]?.mode == .RECV_ONLY)
    let (cleo, _) = environment.meeting("Cleo")
    cleo.join()
    await environment.run()
    #expect(cleo.participants["ana"]?.metaData?["seat"] as? Int == 7)
    let (dora, _) = environment.meeting("Dora", room: "coffee")
    dora.join()
    ana.switchTo(meetingId: "coffee", token: "")
    await environment.run()
    #expect(dora.participants["ana"]?.metaData?["seat"] as? Int == 7)
    #expect(dora.participants["ana"]?.mode == .RECV_ONLY)
  }

  @Test func metaDataThatNoRoomTakesIsLeftOut() async {
    for data in [["date": Date()], ["long": String(repeating: "a", count: 5_000)]] as [[String: Any]] {
      let ana = World.$current.withValue(environment.world) {
        VideoSDK.initMeeting(meetingId: "tea", participantId: "ana", metaData: data)
      }
      ana.join()
      await environment.run()
      #expect(ana.meetingState == .CONNECTED && ana.localParticipant.metaData == nil)
      ana.leave()
      await environment.run()
    }
  }

  @Test func joinCallsNoListenerSynchronouslyAndLaterListenersReceiveAll() async {
    for room in ["tea", ""] {
      let (meeting, _) = environment.meeting("Ana", room: room)
      let late = Recorder()
      environment.world.delivery.queue.sync {
        meeting.join()
        meeting.addEventListener(late)
      }
      await environment.run()
      #expect(late.told.first == (room.isEmpty ? "error INVALID_MEETING_ID" : "CONNECTING"))
      meeting.leave()
    }
  }

  @Test func leaveIsReportedOnceAndFollowedByNoCallbacks() async {
    let (ana, told) = environment.meeting("Ana")
    let (ben, others) = environment.meeting("Ben")
    ana.join()
    ben.join()
    await environment.run()
    told.forget()
    others.forget()
    ana.leave()
    ana.leave()
    await environment.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"])
    #expect(others.told == ["Ana -audio", "Ana -video", "Ana left"])
    #expect(ben.participants.isEmpty)
    #expect(ana.participants.isEmpty)
    #expect(ana.localParticipant.isLocal)
    #expect(ana.localParticipant.streams.isEmpty)
    #expect(told.streams.allSatisfy { $0.track.readyState == .ended })
    ana.muteMic()
    ana.unmuteMic()
    ana.disableWebcam()
    ana.enableWebcam()
    ana.join()
    ana.leave()
    ben.leave()
    await environment.run()
    #expect(told.told.count == 3)
  }

  @Test func listenerRemovedByAnotherListenerIsNotCalled() async {
    let (ana, told) = environment.meeting("Ana")
    let second = Recorder()
    ana.addEventListener(second)
    told.onEvery { [weak ana, weak second] line in
      if line == "CONNECTED", let ana, let second { ana.removeEventListener(second) }
    }
    ana.join()
    await environment.run()
    #expect(second.told == ["CONNECTING"])
    #expect(told.told.contains("in"))

    let third = Recorder()
    ana.localParticipant.addEventListener(third)
    ana.disableWebcam()
    await environment.run()
    #expect(third.told == ["Ana -video"])
    ana.localParticipant.removeEventListener(third)
    ana.enableWebcam()
    await environment.run()
    #expect(told.told.last == "Ana +video")
    #expect(third.told == ["Ana -video"])
    ana.leave()
    await environment.run()
    #expect(second.told == ["CONNECTING"])
  }

  /// Apps remove their listeners in any of the three final callbacks.
  @Test(arguments: ["CLOSING", "CLOSED", "out"])
  func endIsReportedToListenersRemovedDuringIt(atLine: String) async {
    let (ana, told) = environment.meeting("Ana")
    let second = Recorder()
    ana.addEventListener(second)
    ana.join()
    await environment.run()
    told.onEvery { [weak ana, weak told, weak second] line in
      guard line == atLine, let ana, let told, let second else { return }
      ana.localParticipant.removeEventListener(told)
      ana.removeEventListener(told)
      ana.removeEventListener(second)
    }
    told.forget()
    second.forget()
    ana.leave()
    await environment.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"])
    #expect(second.told == told.told)
  }

  @Test func meetingReleasedAfterLeaveReportsItsEnd() async {
    let (others, watching) = environment.meeting("Ben")
    others.join()
    let told = Recorder()
    weak var meeting: Meeting?
    do {
      let ana = environment.meeting("Ana").0
      ana.addEventListener(told)
      meeting = ana
      ana.join()
      await environment.run()
      told.forget()
      watching.forget()
      ana.leave()
    }
    await environment.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"])
    #expect(meeting == nil)
    #expect(watching.told.last == "Ana left")
  }

  @Test func meetingReleasedWithoutLeaveIsLeftWithoutCallbacks() async {
    let (others, watching) = environment.meeting("Ben")
    others.join()
    let told = Recorder()
    do {
      let ana = environment.meeting("Ana").0
      ana.addEventListener(told)
      ana.join()
      await environment.run()
      told.forget()
      watching.forget()
    }
    await environment.run()
    #expect(told.told.isEmpty)
    #expect(watching.told.last == "Ana left")
  }

  @Test func secondJoinHasNoEffect() async {
    let (ana, told) = environment.meeting("Ana")
    let (ben, others) = environment.meeting("Ben")
    ben.join()
    ana.join()
    ana.join(cameraPosition: .back)
    await environment.run()
    #expect(told.told.filter { $0 == "in" }.count == 1)
    #expect(others.told.filter { $0 == "Ana joined" }.count == 1)
    #expect(ben.participants.count == 1)
  }

  @Test func fullRoomRefusesParticipant() async throws {
    let (ben, _) = environment.meeting("Ben")
    let (ana, told) = environment.meeting("Ana")
    ben.join()
    await environment.run()
    try #require(environment.world.backend as? EmbeddedBackend).limitParticipants(to: 1)
    ana.join()
    await environment.run()
    #expect(told.told == ["CONNECTING", "error MAX_PARTCIPANT_REACHED", "CLOSED"])
    #expect(ben.participants.isEmpty)
  }

  @Test func olderParticipantWithSameIDIsDisconnected() async {
    let (older, first) = environment.meeting("Ana", id: "ana")
    let (newer, second) = environment.meeting("Ana again", id: "ana")
    let (ben, watching) = environment.meeting("Ben")
    ben.join()
    older.join()
    await environment.run()
    first.forget()
    watching.forget()
    newer.join()
    await environment.run()
    #expect(first.told == ["error DUPLICATE_PARTICIPANT", "CLOSED", "out"])
    #expect(second.told.contains("in"))
    #expect(!second.told.contains("Ana joined"))
    #expect(
      watching.told == [
        "Ana -audio", "Ana -video", "Ana left", "Ana again joined", "Ana again +audio", "Ana again +video",
      ])
    #expect(ben.participants["ana"]?.displayName == "Ana again")
  }

  @Test func invalidMeetingOrParticipantIDIsAnErrorAndCloses() async {
    let (nowhere, first) = environment.meeting("Ana", room: "")
    let (nobody, second) = environment.meeting("Ana", id: "a n a")
    for meeting in [nowhere, nobody] {
      meeting.join()
      meeting.join()
      meeting.muteMic()
      meeting.leave()
    }
    await environment.run()
    #expect(first.told == ["error INVALID_MEETING_ID", "CLOSED"])
    #expect(second.told == ["error INVALID_PARTICIPANT_ID", "CLOSED"])
  }

  @Test func leaveBeforeJoinHasNoEffectAndLeaveDuringJoinCloses() async {
    let (ana, told) = environment.meeting("Ana")
    ana.leave()
    #expect(ana.localParticipant.displayName == "Ana")
    #expect(ana.localParticipant.streams.isEmpty)
    await environment.run()
    #expect(told.told.isEmpty)
    ana.join()
    ana.leave()
    await environment.run(.seconds(5))
    #expect(told.told.contains("CLOSED"))
    #expect(told.told.contains("out") == told.told.contains("in"), "left only if it was joined")
    let (ben, others) = environment.meeting("Ben")
    ben.join()
    await environment.run()
    #expect(others.told.contains("in") && !others.told.contains("Ana joined"), "nobody stays behind")
  }

  @Test func releasingTheLastReferenceLeavesTheMeeting() async {
    let (ben, told) = environment.meeting("Ben")
    ben.join()
    var ana: Meeting? = environment.meeting("Ana").0
    ana?.join()
    await environment.run()
    #expect(told.told.contains("Ana +video"))
    weak let remains = ana
    ana = nil
    #expect(remains == nil)
    await environment.run()
    #expect(told.told.last == "Ana left")
  }

  @Test func unknownCameraIsReportedAndMeetingContinues() async {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "no such camera", microphone: "tone"))
    let meeting = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana") }
    let told = Recorder()
    told.meeting = meeting
    meeting.addEventListener(told)
    meeting.join()
    await environment.run()
    #expect(told.told == ["error ERROR_GET_VIDEO_MEDIA", "CONNECTING", "CONNECTED", "in", "Ana +audio"])
  }

  @Test func microphoneThatFailedToStartIsRetriedOnUnmute() async {
    struct Broken: Error {}
    final class Loose: AudioSource, Sendable {
      static let isBroken = Lock(true)
      let tone = try? Devices.microphone("tone")
      let channels = 1
      func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
        if Self.isBroken.withLock({ $0 }) { throw Broken() }
        try tone?.start(on: lane, deliver: deliver)
      }
      func stop() { tone?.stop() }
    }
    Devices.register(microphone: "loose-contact") { _ in Loose() }
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "loose-contact"))
    let meeting = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana", webcamEnabled: false)
    }
    let told = Recorder()
    told.meeting = meeting
    meeting.addEventListener(told)
    meeting.join()
    await environment.run()
    #expect(told.told.filter { $0 != "CONNECTING" } == ["error ERROR_GET_AUDIO_MEDIA", "CONNECTED", "in"])
    Loose.isBroken.withLock { $0 = false }
    meeting.unmuteMic()
    await environment.run()
    #expect(told.told.last == "Ana +audio")
  }

  @Test func microphonesArePluggedUnpluggedAndSelected() async {
    let (ana, told) = environment.meeting("Ana", camera: false)
    ana.join()
    await environment.run()
    told.forget()
    environment.world.machine.plugIn(
      Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence"))
    #expect(ana.getMics().map(\.deviceName) == ["Built-in Microphone", "Headset"])
    #expect(ana.getMics().map(\.deviceType) == ["MicrophoneBuiltIn", "MicrophoneWired"])
    ana.changeMic(selectedDevice: "Built-in Microphone")
    ana.changeMic(selectedDevice: "nothing")
    ana.changeMic(selectedDevice: "Headset")
    environment.world.machine.unplug("h")
    await environment.run()
    #expect(told.told == ["mic Headset", "mic Built-in Microphone", "mic Headset", "mic Built-in Microphone"])
  }

  @Test func deniedDevicePermissionIsReportedAndMeetingContinues() async {
    let machine = environment.world.machine
    for kind in [Machine.Kind.camera, .microphone] {
      machine.setPermission(.undetermined, kind)
      machine.willAnswer(.denied, kind)
    }
    World.$current.withValue(environment.world) {
      #expect(VideoSDK.getVideoPermissionStatus() == authorisationStatus.notDetermined)
      #expect(VideoSDK.getAudioPermissionStatus() == .notDetermined)
      VideoSDK.getAudioPermission()
      #expect(VideoSDK.getAudioPermissionStatus() == .denied)
      #expect(VideoSDK.getVideoPermissionStatus() == .notDetermined)
      VideoSDK.getVideoPermission()
      #expect(VideoSDK.getVideoPermissionStatus() == .denied)
      #expect(VideoSDK.getCameras() == ["Front camera", "Back camera"])
      #expect(VideoSDK.getAudioDevices() == ["Built-in Microphone"])
    }
    let (ana, told) = environment.meeting("Ana")
    ana.join()
    await environment.run()
    #expect(
      told.told == [
        "error ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED", "error ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED", "CONNECTING",
        "CONNECTED", "in",
      ])
  }
}
