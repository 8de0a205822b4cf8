import KoineBase
import Testing

@testable import KoineRouter

struct HungerTests {
  /// - Returns: in tenths of a second, when a picture that takes 10 Mbit/s would begin to rest.
  private func rest(_ room: (Int) -> Double) -> Int? {
    let hunger = Lock(Hunger())
    return (0..<600).first { step in
      hunger.withLock { hunger in
        let (room, now) = (room(step), Tick(nanoseconds: Int64(step) * 100_000_000))
        return hunger.note(room, hasRoom: hunger.need(10_000_000) <= room, at: now)
      }
    }
  }

  /// The estimate of a new path begins low whatever the path carries.
  @Test func nothingRestsWhileThePathIsStillFoundToBeWider() {
    #expect(rest { min(1_500_000 + Double($0) * 100_000, 20_000_000) } == nil)
  }

  @Test func whatThePathDoesNotCarryRestsOnceThatIsKnown() {
    #expect(rest { _ in 1_500_000 } == 40)
    #expect(rest { min(1_500_000 + Double($0) * 100_000, 4_000_000) }.map { 50...70 ~= $0 } == true)
    #expect(rest { 3_000_000 + 1_000_000 * Double($0 % 7) / 7 }.map { 40...50 ~= $0 } == true, "it wavers")
  }
}
