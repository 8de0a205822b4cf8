import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineTesting
import Testing

/// A suite of a thousand tests keeps none of their rooms, although each test ends in the middle of a call.
@Suite struct RoomEndTests {
  @Test(arguments: [false, true]) func roomIsReleasedAfterItsTest(isCutOff: Bool) async throws {
    let isThere = try await useRoom(isCutOff)
    // What the app was told of may hold something for as long as it is being told.
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    #expect(!isThere())
  }

  private func useRoom(_ isCutOff: Bool) async throws -> @Sendable () -> Bool {
    let room = try await TestRoom(clock: .virtual(seed: 2), media: .stamps)
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    await room.until { ana.sees("Bea") && bea.hears("Ana") }
    if isCutOff {
      bea.drop()
      await room.run(for: .seconds(20))
    }
    withExtendedLifetime((ana, bea)) {}
    weak let (heldRoom, backend, person) = (room, room.backend, ana)
    return { heldRoom != nil || backend != nil || person != nil }
  }
}
