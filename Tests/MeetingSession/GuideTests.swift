import AmazonChimeSDK
import Koine
import KoineEmbeddedBackend
import Testing

/// On the main queue, as apps are, in virtual time.
@MainActor
@Suite(.serialized)
struct GuideTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 9), devices: DefaultDevices(camera: "pattern:160x90@15", microphone: "tone"))

  private func app(_ name: String) -> GuideApp {
    let placement = MediaPlacement(audioFallbackUrl: "a", audioHostUrl: "a", signalingUrl: "a", turnControlUrl: "a")
    let meeting = Meeting(externalMeetingId: nil, mediaPlacement: placement, mediaRegion: "here", meetingId: "guide")
    let app = World.$current.withValue(world) {
      let app = GuideApp(
        meeting: CreateMeetingResponse(meeting: meeting),
        attendee: CreateAttendeeResponse(
          attendee: Attendee(attendeeId: name, externalUserId: name, joinToken: "")))
      app.configure()
      return app
    }
    return app
  }

  @Test func guideAppRunsAllFourteenSections() async throws {
    let (ana, ben) = (app("ana"), app("ben"))
    try ana.start()
    try ben.start()
    await world.run(for: .seconds(3))
    #expect(ana.log.prefix(3) == ["record true", "camera true", "connecting"])
    #expect(ana.attendees == ["ana": "ana", "ben": "ben"])
    #expect(ana.tiles.count == 2)
    #expect(ana.tiles.values.allSatisfy { $0.framesRendered > 15 })
    for word in ["started", "speaking", "scores", "metrics"] { #expect(ana.log.contains(word)) }
    try ana.use(Painter("Slides", in: world))
    await world.run(for: .seconds(3))
    for word in ["back camera", "pause", "resume", "share"] { #expect(ana.log.contains(word)) }
    #expect(ben.log.contains("message"))
    #expect(ben.log.contains("content"))
    #expect(ben.attendees["ana#content"] == "ana")
    ana.stop()
    await world.run(for: .seconds(1))
    #expect(Array(ana.log.suffix(2)) == ["share ok", "stopped ok"])
    #expect(ana.tiles.isEmpty)
    #expect(ben.attendees == ["ben": "ben"])
    #expect(ben.tiles.count == 1)
  }
}
