import KoineTesting
import Testing

@MainActor @Suite struct StageTests {
  @Test func anaSeesAndHearsBea() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
    let bea = try await room.join("Bea", camera: .stamp, microphone: .tone(440))
    let app = StageApp()  // yours
    try room.enter(as: "Ana") { try app.join(with: room.credential(.stageStrategy, for: "Ana").token) }
    await room.until("Ana sees Bea") { room.screen(app.view).shows("Bea") }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }

    bea.drop()  // her network is gone
    let dropped = room.now
    await room.run(for: .seconds(25))
    #expect(!room.screen(app.view).shows("Bea", newerThan: dropped + .seconds(1)))
    try await bea.comeBack()
    await room.until("Bea is back") { room.screen(app.view).shows("Bea", newerThan: dropped + .seconds(25)) }
  }
}
