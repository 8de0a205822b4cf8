import KoineBase
import Testing

@testable import KoineServer

@Suite struct IdleMemoryTests {
  private static let start = Tick(nanoseconds: 1_000_000_000)

  @Test func memoryIsReleasedOnceAfterTheLastRoom() {
    var memory = IdleMemory()
    memory.handle(hasRooms: false, at: Self.start)
    #expect(memory.deadline == nil)
    memory.handle(hasRooms: true, at: Self.start)
    memory.handle(hasRooms: false, at: Self.start)
    let due = Self.start + IdleMemory.delay
    #expect(memory.deadline == due)
    let isDue = [Self.start, due, due].map { memory.isDue(at: $0) }
    #expect(isDue == [false, true, false])
    memory.handle(hasRooms: false, at: due)
    #expect(memory.deadline == nil)
  }

  @Test func newRoomCancelsTheReleaseOfMemory() {
    var memory = IdleMemory()
    memory.handle(hasRooms: true, at: Self.start)
    memory.handle(hasRooms: false, at: Self.start)
    memory.handle(hasRooms: true, at: Self.start)
    #expect(memory.deadline == nil)
  }
}
