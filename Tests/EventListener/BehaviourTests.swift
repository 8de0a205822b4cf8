import Dispatch
import Koine
import KoineEmbeddedBackend
import Testing
import VideoSDKRTC
import WebRTC

/// Joining, leaving, and what goes wrong.
@Suite struct LifeCycleTests {
  private let place = Place()

  @Test func joiningTellsOwnStreamsThenTheOthersInTheirOrder() async {
    let (ben, _) = place.meeting("Ben")
    let (cleo, _) = place.meeting("Cleo", camera: false)
    let (ana, told) = place.meeting("Ana")
    ben.join()
    await place.run()
    cleo.join()
    await place.run()
    ana.join(cameraPosition: .front)
    #expect(told.told.isEmpty)
    await place.run()
    #expect(
      told.told == [
        "CONNECTING", "CONNECTED", "in", "Ana +audio", "Ana +video", "Ben joined", "Ben +audio", "Ben +video",
        "Cleo joined", "Cleo +audio",
      ])
    #expect(Set(ana.participants.values.map(\.displayName)) == ["Ben", "Cleo"])
    for person in told.people { #expect(ana.participants[person.id] === person, "the same object throughout") }
  }

  @Test func nothingIsToldFromInsideJoinAndLateListenersHearAll() async {
    for room in ["tea", ""] {
      let (meeting, _) = place.meeting("Ana", room: room)
      let late = Recorder()
      place.world.delivery.queue.sync {
        meeting.join()
        meeting.addEventListener(late)
      }
      await place.run()
      #expect(late.told.first == (room.isEmpty ? "error INVALID_MEETING_ID" : "CONNECTING"))
      meeting.leave()
    }
  }

  @Test func leavingIsToldOnceAndThenThereIsSilence() async {
    let (ana, told) = place.meeting("Ana")
    let (ben, others) = place.meeting("Ben")
    ana.join()
    ben.join()
    await place.run()
    told.forget()
    others.forget()
    ana.leave()
    ana.leave()
    await place.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"])
    #expect(others.told == ["Ana -audio", "Ana -video", "Ana left"])
    #expect(ben.participants.isEmpty && ana.participants.isEmpty)
    #expect(ana.localParticipant.isLocal && ana.localParticipant.streams.isEmpty)
    #expect(told.streams.allSatisfy { $0.track.readyState == .ended })
    ana.muteMic()
    ana.unmuteMic()
    ana.disableWebcam()
    ana.enableWebcam()
    ana.join()
    ana.leave()
    ben.leave()
    await place.run()
    #expect(told.told.count == 3)
  }

  @Test func aListenerRemovedByAnotherOneIsNotCalledAnyMore() async {
    let (ana, told) = place.meeting("Ana")
    let second = Recorder()
    ana.addEventListener(second)
    told.onEvery { [weak ana, weak second] line in
      if line == "CONNECTED", let ana, let second { ana.removeEventListener(second) }
    }
    ana.join()
    await place.run()
    #expect(second.told == ["CONNECTING"] && told.told.contains("in"))
    ana.leave()
    await place.run()
    #expect(second.told == ["CONNECTING"])
  }

  /// Apps remove their listeners in any of the three.
  @Test(arguments: ["CLOSING", "CLOSED", "out"])
  func allListenersOfAMeetingAreToldItsEndThoughOneRemovesThem(atLine: String) async {
    let (ana, told) = place.meeting("Ana")
    let second = Recorder()
    ana.addEventListener(second)
    ana.join()
    await place.run()
    told.onEvery { [weak ana, weak told, weak second] line in
      guard line == atLine, let ana, let told, let second else { return }
      ana.localParticipant.removeEventListener(told)
      ana.removeEventListener(told)
      ana.removeEventListener(second)
    }
    told.forget()
    second.forget()
    ana.leave()
    await place.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"] && second.told == told.told)
  }

  @Test func aMeetingReleasedAfterLeavingTellsItsEnd() async {
    let (others, watching) = place.meeting("Ben")
    others.join()
    let told = Recorder()
    weak var meeting: Meeting?
    do {
      let ana = place.meeting("Ana").0
      ana.addEventListener(told)
      meeting = ana
      ana.join()
      await place.run()
      told.forget()
      watching.forget()
      ana.leave()
    }
    await place.run()
    #expect(told.told == ["CLOSING", "CLOSED", "out"])
    #expect(meeting == nil && watching.told.last == "Ana left")
  }

  @Test func aMeetingReleasedWithoutLeavingIsLeftAndTellsNothing() async {
    let (others, watching) = place.meeting("Ben")
    others.join()
    let told = Recorder()
    do {
      let ana = place.meeting("Ana").0
      ana.addEventListener(told)
      ana.join()
      await place.run()
      told.forget()
      watching.forget()
    }
    await place.run()
    #expect(told.told.isEmpty && watching.told.last == "Ana left")
  }

  @Test func joiningTwiceIsJoiningOnce() async {
    let (ana, told) = place.meeting("Ana")
    let (ben, others) = place.meeting("Ben")
    ben.join()
    ana.join()
    ana.join(cameraPosition: .back)
    await place.run()
    #expect(told.told.filter { $0 == "in" }.count == 1)
    #expect(others.told.filter { $0 == "Ana joined" }.count == 1)
    #expect(ben.participants.count == 1)
  }

  @Test func aFullRoomIsNotEntered() async throws {
    let (ben, _) = place.meeting("Ben")
    let (ana, told) = place.meeting("Ana")
    ben.join()
    await place.run()
    try #require(place.world.backend as? EmbeddedBackend).limitParticipants(to: 1)
    ana.join()
    await place.run()
    #expect(told.told == ["CONNECTING", "error MAX_PARTCIPANT_REACHED", "CLOSED"] && ben.participants.isEmpty)
  }

  @Test func theOlderOfTwoWithOneIdHasToGo() async {
    let (older, first) = place.meeting("Ana", id: "ana")
    let (newer, second) = place.meeting("Ana again", id: "ana")
    let (ben, watching) = place.meeting("Ben")
    ben.join()
    older.join()
    await place.run()
    first.forget()
    watching.forget()
    newer.join()
    await place.run()
    #expect(first.told == ["error DUPLICATE_PARTICIPANT", "CLOSED", "out"])
    #expect(second.told.contains("in") && !second.told.contains("Ana joined"))
    #expect(
      watching.told == [
        "Ana -audio", "Ana -video", "Ana left", "Ana again joined", "Ana again +audio", "Ana again +video",
      ])
    #expect(ben.participants["ana"]?.displayName == "Ana again")
  }

  @Test func whatCannotBeJoinedSaysSoAndCloses() async {
    let (nowhere, first) = place.meeting("Ana", room: "")
    let (nobody, second) = place.meeting("Ana", id: "a n a")
    for meeting in [nowhere, nobody] {
      meeting.join()
      meeting.join()
      meeting.muteMic()
      meeting.leave()
    }
    await place.run()
    #expect(first.told == ["error INVALID_MEETING_ID", "CLOSED"])
    #expect(second.told == ["error INVALID_PARTICIPANT_ID", "CLOSED"])
  }

  @Test func leavingBeforeJoiningChangesNothingAndLeavingEarlyCloses() async {
    let (ana, told) = place.meeting("Ana")
    ana.leave()
    #expect(ana.localParticipant.displayName == "Ana" && ana.localParticipant.streams.isEmpty)
    await place.run()
    #expect(told.told.isEmpty)
    ana.join()
    ana.leave()
    await place.run(.seconds(5))
    #expect(told.told.contains("CLOSED"))
    #expect(told.told.contains("out") == told.told.contains("in"), "left only if it was joined")
    let (ben, others) = place.meeting("Ben")
    ben.join()
    await place.run()
    #expect(others.told.contains("in") && !others.told.contains("Ana joined"), "nobody stays behind")
  }

  @Test func droppingTheLastReferenceLeaves() async {
    let (ben, told) = place.meeting("Ben")
    ben.join()
    var ana: Meeting? = place.meeting("Ana").0
    ana?.join()
    await place.run()
    #expect(told.told.contains("Ana +video"))
    weak let remains = ana
    ana = nil
    #expect(remains == nil)
    await place.run()
    #expect(told.told.last == "Ana left")
  }

  @Test func aDeviceThatIsNoneIsAnErrorAndTheCallGoesOn() async {
    let world = World(
      backend: place.world.backend, delivery: place.world.delivery,
      devices: DefaultDevices(camera: "no such camera", microphone: "tone"))
    let meeting = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana") }
    let told = Recorder()
    told.meeting = meeting
    meeting.addEventListener(told)
    meeting.join()
    await place.run()
    #expect(told.told == ["error ERROR_GET_VIDEO_MEDIA", "CONNECTING", "CONNECTED", "in", "Ana +audio"])
  }

  @Test func aMicrophoneThatDoesNotStartIsTriedAgain() async {
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
      backend: place.world.backend, delivery: place.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "loose-contact"))
    let meeting = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana", webcamEnabled: false)
    }
    let told = Recorder()
    told.meeting = meeting
    meeting.addEventListener(told)
    meeting.join()
    await place.run()
    #expect(told.told.filter { $0 != "CONNECTING" } == ["error ERROR_GET_AUDIO_MEDIA", "CONNECTED", "in"])
    Loose.isBroken.withLock { $0 = false }
    meeting.unmuteMic()
    await place.run()
    #expect(told.told.last == "Ana +audio")
  }

  @Test func microphonesComeGoAndAreChosen() async {
    let (ana, told) = place.meeting("Ana", camera: false)
    ana.join()
    await place.run()
    told.forget()
    place.world.machine.plugIn(
      Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence"))
    #expect(ana.getMics().map(\.deviceName) == ["Built-in Microphone", "Headset"])
    #expect(ana.getMics().map(\.deviceType) == ["MicrophoneBuiltIn", "MicrophoneWired"])
    ana.changeMic(selectedDevice: "Built-in Microphone")
    ana.changeMic(selectedDevice: "nothing")
    ana.changeMic(selectedDevice: "Headset")
    place.world.machine.unplug("h")
    await place.run()
    #expect(told.told == ["mic Headset", "mic Built-in Microphone", "mic Headset", "mic Built-in Microphone"])
  }

  @Test func whatTheOwnerDeniesIsAnErrorAndTheCallGoesOn() async {
    let machine = place.world.machine
    machine.setPermission(.denied, .camera)
    machine.setPermission(.undetermined, .microphone)
    machine.willAnswer(.denied, .microphone)
    World.$current.withValue(place.world) {
      #expect(VideoSDK.getVideoPermissionStatus() == .denied && VideoSDK.getAudioPermissionStatus() == .notDetermined)
      VideoSDK.getAudioPermission()
      #expect(VideoSDK.getAudioPermissionStatus() == .denied)
      #expect(VideoSDK.getCameras() == ["Front camera", "Back camera"])
      #expect(VideoSDK.getAudioDevices() == ["Built-in Microphone"])
    }
    let (ana, told) = place.meeting("Ana")
    ana.join()
    await place.run()
    #expect(
      told.told == [
        "error ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED", "error ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED", "CONNECTING",
        "CONNECTED", "in",
      ])
  }
}
