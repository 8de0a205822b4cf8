import AmazonChimeSDK
import KoineTesting
import KoineUIKit
import Testing

/// The examples of Docs/porting.md work, in a room with Bea.
@MainActor @Suite struct ExampleTests {
  /// State and actions of each example.
  private struct App {
    let view: UIView
    var people, texts: () -> [String]
    var muted: () -> Set<String>
    var speaker: () -> String?
    var setMuted: (Bool) async throws -> Void
    var setCameraOn: (Bool) async throws -> Void
    var say: ((String) throws -> Void)?
    var goAway: () async throws -> Void
  }

  @Test func commonLayerExampleRunsACall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = KoineExample(in: try #require(room.enter(as: "Ana") { World.current }))
    try await room.run { try await app.enter(room.id, as: "Ana", with: nil) }
    try await meet(
      App(
        view: app.view, people: { app.people }, texts: { app.texts }, muted: { app.muted }, speaker: { app.speaker },
        setMuted: { app.setMuted($0) }, setCameraOn: { try app.setCameraOn($0) }, say: { try app.say($0) },
        goAway: { await app.goAway() }), in: room)
  }

  @Test func callAgentExampleRunsACall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let pass = try room.credential(.callAgent, for: "Ana")
    let app = room.enter(as: "Ana") { CallAgentExample() }
    try await room.run { try await app.enter(pass.roomID, as: "Ana", with: pass.token) }
    app.followSpeakers()
    try await meet(
      App(
        view: app.view, people: { app.people }, texts: { app.texts }, muted: { app.muted }, speaker: { app.speaker },
        setMuted: { try await app.setMuted($0) }, setCameraOn: { try await app.setCameraOn($0) },
        goAway: { try await app.goAway() }), in: room)
  }

  @Test func eventListenerExampleRunsACall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let pass = try room.credential(.eventListener, for: "Ana")
    let app = EventListenerExample()
    room.enter(as: "Ana") { app.enter(pass.meetingID, as: "Ana", id: pass.participantID, with: pass.token) }
    try await meet(
      App(
        view: app.view, people: { app.people }, texts: { app.texts }, muted: { app.muted }, speaker: { app.speaker },
        setMuted: { app.setMuted($0) }, setCameraOn: { app.setCameraOn($0) }, say: { app.say($0) },
        goAway: { app.goAway() }), in: room)
  }

  @Test func meetingSessionExampleRunsACall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let pass = try room.credential(.meetingSession, for: "Ana").pass
    let placement = MediaPlacement(
      audioFallbackUrl: pass.meeting.mediaPlacement.audioHostURL,
      audioHostUrl: pass.meeting.mediaPlacement.audioHostURL,
      signalingUrl: pass.meeting.mediaPlacement.signalingURL, turnControlUrl: ""
    )
    let meeting = CreateMeetingResponse(
      meeting: Meeting(
        externalMeetingId: nil, mediaPlacement: placement, mediaRegion: "here", meetingId: pass.meeting.meetingID))
    let attendee = CreateAttendeeResponse(
      attendee: Attendee(
        attendeeId: pass.attendee.attendeeID, externalUserId: "Ana", joinToken: pass.attendee.joinToken))
    let app = MeetingSessionExample()
    try room.enter(as: "Ana") { try app.enter(meeting, as: attendee) }
    app.followSpeakers()
    app.openChat()
    try await meet(
      App(
        view: app.view, people: { app.people }, texts: { app.texts }, muted: { app.muted }, speaker: { app.speaker },
        setMuted: { app.setMuted($0) }, setCameraOn: { try app.setCameraOn($0) }, say: { try app.say($0) },
        goAway: { app.goAway() }), in: room)
  }

  @Test func stageStrategyExampleRunsACall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = StageStrategyExample()
    try room.enter(as: "Ana") { try app.enter(with: room.credential(.stageStrategy, for: "Ana").token) }
    try await meet(
      App(
        view: app.view, people: { app.people }, texts: { [] }, muted: { app.muted }, speaker: { app.speaker },
        setMuted: { app.setMuted($0) }, setCameraOn: { app.setCameraOn($0) }, goAway: { app.goAway() }), in: room)
  }

  /// The same call for all: Bea joins, is seen and heard, mutes, writes and leaves; Ana mutes, turns on her camera and
  /// leaves.
  private func meet(_ app: App, in room: TestRoom) async throws {
    let bea = try await room.join("Bea", microphone: .tone(440))
    try await room.run { try await app.setMuted(true) }
    await room.until("Ana knows of Bea") { app.people() == ["Bea"] && !app.muted().contains("Bea") }
    await room.until("Ana hears that Bea speaks") { app.speaker() == "Bea" }
    await room.until("Ana sees Bea") { room.screen(app.view).shows("Bea") }
    bea.mute()
    await room.until("Ana knows that Bea is muted") { app.muted().contains("Bea") }
    if let say = app.say {
      try say("hello")
      try bea.send("hello, Ana")
      await room.until("they read each other") { bea.texts == ["hello"] && app.texts() == ["hello, Ana"] }
    }
    try await room.run { try await app.setMuted(false) }
    try await room.run { try await app.setCameraOn(true) }
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    try await room.run { try await app.setMuted(true) }
    try await room.run { try await app.setCameraOn(false) }
    await room.until("Bea neither sees nor hears Ana") { !bea.sees("Ana") && !bea.hears("Ana") }
    bea.turnCameraOff()
    bea.leave()
    await room.until("Bea has gone") { app.people().isEmpty }
    try await room.run { try await app.goAway() }
    await room.run(for: .seconds(1))
  }
}
