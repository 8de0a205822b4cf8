import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

/// The quickstart's code runs on the main queue, in virtual time; Ben is another user, without a screen.
@MainActor
@Suite(.serialized)
struct SeedTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 5), devices: DefaultDevices(camera: "stamp:Cam,320x180@15", microphone: "tone"))

  private func screen() async throws -> ContentView {
    let screen = ContentView()
    World.$current.withValue(world) { screen.begin(token: accessToken(for: "seed")) }
    let isReady = await world.run(until: { screen.callAgent != nil && screen.deviceManager != nil }, limit: .seconds(2))
    try #require(isReady)
    return screen
  }

  private func ben() async throws -> (agent: CallAgent, recorder: Recorder) {
    try await Telephone(in: world).agent("ben")
  }

  @Test func placeholderTokenOfQuickstartIsRefused() async {
    let screen = ContentView()
    World.$current.withValue(world) { screen.begin(token: "<USER ACCESS TOKEN>") }
    await world.run(for: .seconds(1))
    #expect(screen.callAgent == nil)
  }

  @Test func quickstartScreenCallsWithVideoAndHangsUp() async throws {
    let screen = try await screen()
    let (ben, benHears) = try await ben()
    World.$current.withValue(world) { screen.toggleLocalVideo() }
    await world.run(for: .milliseconds(500))
    #expect(screen.sendingVideo)
    #expect(screen.previewView?.isRendering() == true)
    screen.callee = "8:acs:ben"
    screen.startCall()
    await world.run(for: .milliseconds(300))
    #expect(screen.call?.state == .ringing)
    #expect(benHears.incoming?.isVideoEnabled == true)
    let options = AcceptCallOptions()
    let camera = try await Telephone(in: world).camera()
    options.videoOptions = VideoOptions(localVideoStreams: [camera])
    benHears.incoming?.accept(options: options) { benHears.take($0, $1) }
    await world.run(for: .seconds(2))
    #expect(screen.call?.state == .connected)
    #expect(screen.remoteParticipant?.identifier.rawId == "8:acs:ben")
    #expect(screen.remoteViews.count == 1)
    #expect(screen.remoteViews.first?.isRendering() == true)
    #expect(screen.remoteVideoSize == "320 X 180")
    #expect(benHears.call?.remoteParticipants.first?.videoStreams.count == 1)

    screen.toggleLocalVideo()  // off during the call
    await world.run(for: .milliseconds(500))
    #expect(!screen.sendingVideo)
    #expect(screen.previewView == nil)
    #expect(benHears.call?.remoteParticipants.first?.videoStreams.isEmpty == true)
    screen.toggleLocalVideo()  // and on again: the array has grown, the first stream goes out
    await world.run(for: .milliseconds(500))
    #expect(screen.sendingVideo)
    #expect(screen.localVideoStream?.count == 2)
    #expect(benHears.call?.remoteParticipants.first?.videoStreams.count == 1)

    benHears.call?.stopVideo(stream: camera) { _ in }
    await world.run(for: .milliseconds(500))
    #expect(screen.remoteViews.isEmpty)
    screen.endCall()
    await world.run(for: .seconds(1))
    #expect(screen.call == nil)
    #expect(benHears.states.last == "disconnected")
    ben.dispose()
    screen.callAgent?.dispose()
    await world.run(for: .milliseconds(300))
  }

  @Test func quickstartScreenAnswersAndDeclinesCalls() async throws {
    let screen = try await screen()
    let (ben, benHears) = try await ben()
    ben.startCall(participants: [identity("seed")], options: nil) { benHears.take($0, $1) }
    await world.run(for: .milliseconds(300))
    #expect(screen.isIncomingCall)
    screen.declineIncomingCall()
    await world.run(for: .milliseconds(500))
    #expect(!screen.isIncomingCall)
    #expect(benHears.call?.callEndReason.code == 603)

    World.$current.withValue(world) { screen.toggleLocalVideo() }
    ben.startCall(participants: [identity("seed")], options: nil) { benHears.take($0, $1) }
    await world.run(for: .milliseconds(300))
    screen.answerIncomingCall()
    await world.run(for: .seconds(1))
    #expect(screen.call?.state == .connected)
    #expect(benHears.call?.state == .connected)
    #expect(benHears.call?.remoteParticipants.first?.videoStreams.count == 1)
    benHears.call?.hangUp(options: nil) { _ in }
    await world.run(for: .seconds(1))
    #expect(screen.call == nil, "the page clears its call when it is removed")
    ben.dispose()
    screen.callAgent?.dispose()
    await world.run(for: .milliseconds(300))
  }
}

extension Telephone {
  init(in world: World) { self.world = world }
}
