import KoineTesting
import Testing

@Suite struct ScreenHandlerTests {
  @Test func handlerWithAppsImportsPublishesTheScreen() async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let token = try room.credential(.stageStrategy, for: "Ana").token
    let broadcast = room.broadcastScreen(of: "Ana") { ScreenHandler(token: token) }
    await room.until("Bea sees Ana's screen") { bea.sees("Ana") }
    #expect(broadcast.error == nil)
    broadcast.finish()
    await room.until("Ana has left") { bea.others.isEmpty }
  }
}
