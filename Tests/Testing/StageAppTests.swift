import KoineTesting
import Testing

/// A stage app's own tests, as its team would write them.
@MainActor
@Suite struct StageAppTests {
  @Test func anaSeesAndHearsBea() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
    let bea = try await room.join("Bea", camera: .stamp, microphone: .tone(440))
    let app = StageApp()
    try room.enter(as: "Ana") { try app.join(with: room.credential(.stageStrategy, for: "Ana").token) }
    await room.until("Ana sees Bea and herself") { Set(room.screen(app.view).names) == ["Ana", "Bea"] }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(app.states == [.connecting, .connected])
    #expect(app.people == ["bea"])
    #expect(room.screen(app.view).size(of: "Bea")?.height == 180)

    bea.mute()
    bea.turnCameraOff()
    let muted = room.now
    await room.run(for: .seconds(2))
    #expect(room.speaker.isSilent)
    #expect(!room.screen(app.view).shows("Bea", newerThan: muted + .milliseconds(500)))

    bea.turnCameraOn()
    await room.until("Bea is back") { room.screen(app.view).shows("Bea", newerThan: muted + .seconds(2)) }
    bea.leave()
    await room.until("Bea has gone") { app.people.isEmpty && room.screen(app.view).names == ["Ana"] }
    app.leave()
    #expect(app.states.last == .disconnected)
  }

  @Test(.room(as: "Ana", media: .stamps)) func roomTraitProvidesARoom() async throws {
    let room = TestRoom.current
    let app = StageApp()
    try app.join(with: room.credential(.stageStrategy, for: "Ana").token)
    let bea = try await room.join("Bea")
    await room.until { room.screen(app.view).shows("Bea") && bea.sees("Ana") && room.speaker.hears("Bea") }
    app.leave()
  }
}
