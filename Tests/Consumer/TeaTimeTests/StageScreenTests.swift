import KoineTesting
import Testing

@testable import TeaTime

@MainActor
@Suite struct StageScreenTests {
  @Test(.room(as: "Ana", network: "loss=2%", media: .stamps)) func anaMeetsBea() async throws {
    let room = TestRoom.current
    let screen = StageScreen()
    screen.loadViewIfNeeded()
    try screen.join(with: room.credential(.stage, for: "Ana").token)
    let bea = try await room.join("Bea")
    await room.until("they see each other") { room.screen(screen.view).shows("Bea") && bea.sees("Ana") }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(screen.caption.text == "bea")
    bea.leave()
    await room.until("Bea has gone") { screen.roster.names.isEmpty && room.screen(screen.view).names == ["Ana"] }
    screen.leave()
  }
}
