import KoineTesting
import Testing

/// A call app's own tests, as its team would write them.
@MainActor
@Suite struct CallAppTests {
  private func signedIn(in room: TestRoom) async throws -> CallApp {
    let app = CallApp()
    let token = try room.credential(.callAgent, for: "Ana").token
    try await room.run { try await room.enter(as: "Ana") { try await app.signIn(with: token) } }
    return app
  }

  @Test func incomingCallIsAnswered() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "delay=30ms")
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await bea.ring("Ana", hasVideo: true)
    await room.until("it rings") { app.incoming != nil }
    #expect(app.incoming?.callerInfo.displayName == "Bea")
    try await room.run { try await app.answer() }
    await room.until("Ana sees Bea") { room.screen(app.view).shows("Bea") }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(app.states.last == .connected)
    bea.leave()
    await room.until("the call is over") { app.states.last == .disconnected }
  }

  @Test func outgoingCallIsDeclined() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await room.run { try await app.ring(bea.identity) }
    await room.until("it rings") { bea.isRung }
    try bea.decline()
    await room.until("the call is over") { app.states.last == .disconnected }
    #expect(app.states.contains(.ringing))
    #expect(!app.states.contains(.connected))
  }

  @Test func outgoingCallIsAnsweredAndHungUp() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await room.run { try await app.ring(bea.identity) }
    await room.until("it rings") { bea.isRung }
    try await bea.answer()
    await room.until { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
    try await room.run { try await app.hangUp() }
    #expect(app.states.last == .disconnected)
    await room.until { bea.others.isEmpty }
  }
}
