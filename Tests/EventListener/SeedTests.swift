import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineUIKit
import Testing
import VideoSDKRTC
import WebRTC

/// What the storyboard does for the guide's screen.
@MainActor
private func makeScreen() -> MeetingViewController {
  let screen = MeetingViewController()
  let views = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 360))
  let remote = RTCMTLVideoView(frame: CGRect(x: 0, y: 0, width: 640, height: 360))
  let small = UIView(frame: CGRect(x: 480, y: 260, width: 144, height: 81))
  let local = RTCMTLVideoView(frame: CGRect(x: 0, y: 0, width: 144, height: 81))
  let mic = UIView(frame: CGRect(x: 8, y: 8, width: 24, height: 24))
  for view in [remote, small, local, mic] { view.isHidden = true }
  for view in [remote, small, mic] { views.addSubview(view) }
  small.addSubview(local)
  screen.view.addSubview(views)
  screen.participantViewsContainer = views
  screen.remoteParticipantVideoContainer = remote
  screen.localParticipantViewContainer = small
  screen.localParticipantViewVideoContainer = local
  screen.viewRemoteMicContainer = mic
  return screen
}

/// The guide's code runs on the main queue, in virtual time.
@MainActor
@Suite(.serialized)
struct SeedTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 5), devices: DefaultDevices(camera: "pattern:320x180@15", microphone: "tone"))

  private func run(_ duration: Duration) async {
    // what the guide puts off to the next turn of the main queue comes to the world in the second half
    for _ in 0..<2 {
      await world.run(for: duration / 2)
      await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    }
  }

  @Test func guideScreensShowEachOthersVideo() async throws {
    let (ana, ben) = (makeScreen(), makeScreen())
    World.$current.withValue(world) {
      ana.initializeMeeting()
      ben.initializeMeeting()
    }
    await run(.seconds(3))
    for screen in [ana, ben] {
      #expect(screen.participants.count == 2)
      #expect(screen.remoteParticipantVideoContainer.framesRendered > 15)
      #expect(screen.localParticipantViewVideoContainer.framesRendered > 15)
      #expect(!screen.remoteParticipantVideoContainer.isHidden)
      #expect(!screen.localParticipantViewVideoContainer.isHidden)
      #expect(!screen.localParticipantViewContainer.isHidden)
      #expect(screen.viewRemoteMicContainer.isHidden, "everybody's microphone is on")
      let picture = screen.view.snapshot()
      #expect((0..<640).contains { picture.color(x: $0, y: 100).map { $0 != (0, 0, 0) } == true })
    }
  }

  @Test func guideScreenFollowsRemoteCameraAndMicrophone() async throws {
    let screen = makeScreen()
    let ben = Session(JoinRequest(room: "abcd-xyzw-efgh", name: "Ben"), in: world)
    let camera = try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    let microphone = try ben.publish(microphone: Devices.microphone("tone"))
    World.$current.withValue(world) { screen.initializeMeeting() }
    await run(.seconds(1))
    #expect(screen.participants.count == 1)
    #expect(screen.remoteParticipantVideoContainer.framesRendered > 0, "alone, one sees oneself large")
    ben.join { _ in }
    await run(.seconds(2))
    let shown = try #require(screen.remoteParticipantVideoContainer.lastFrame)
    #expect(StampReader.read(shown)?.name == "Ben")
    #expect(screen.viewRemoteMicContainer.isHidden)

    microphone.setMuted(true)
    await run(.milliseconds(500))
    #expect(!screen.viewRemoteMicContainer.isHidden)
    microphone.setMuted(false)
    await run(.milliseconds(500))
    #expect(screen.viewRemoteMicContainer.isHidden)

    camera.unpublish()
    await run(.milliseconds(500))
    #expect(screen.remoteParticipantVideoContainer.isHidden)
    #expect(!screen.localParticipantViewVideoContainer.isHidden)

    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    await run(.seconds(1))
    #expect(!screen.remoteParticipantVideoContainer.isHidden)
    let again = screen.remoteParticipantVideoContainer.framesRendered
    await run(.seconds(1))
    #expect((14...16).contains(screen.remoteParticipantVideoContainer.framesRendered - again), "each frame once")

    screen.meeting?.disableWebcam()
    await run(.milliseconds(500))
    #expect(screen.localParticipantViewVideoContainer.isHidden)
    let before = screen.localParticipantViewVideoContainer.framesRendered
    await run(.milliseconds(500))
    #expect(screen.localParticipantViewVideoContainer.framesRendered == before)

    screen.meeting?.enableWebcam()
    await run(.seconds(1))
    #expect(!screen.localParticipantViewVideoContainer.isHidden)
    #expect(screen.localParticipantViewVideoContainer.framesRendered > before)
    screen.meeting?.leave()
    await run(.seconds(1))
    #expect(ben.participants.isEmpty)
    #expect(screen.participants.count == 1)
  }
}
