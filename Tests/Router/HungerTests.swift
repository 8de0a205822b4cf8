import KoineBase
import KoineSignaling
import KoineSimulatedNetwork
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

  /// It needs a fifth more than its 18 Mbit/s: more than the 20 that any path was once said to carry at most.
  @Test(arguments: [true, false]) func aPictureOfManyMegabitsGoesOnOnceItsPathIsWide(besideSound: Bool) throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[1].wayDown = LinkConditioner(
      spec: try NetworkSpec("rate=2M,delay=20ms;15s:rate=60M"), seed: 3, start: world.now)
    var rests: [Bool] {
      clients[1].messages.compactMap { if case .starved(_, let isStarved) = $0 { isStarved } else { nil } }
    }
    // Without it nothing at all comes while the picture rests.
    if besideSound {
      clients[0].publish(.microphone)
      clients[0].sendSound("microphone", seconds: 42)
      clients[1].subscribe(to: "ana", "microphone")
    }
    clients[0].publish(.camera, bitrates: [18_000_000])
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendPicture("camera", number: 0, isKey: true)
    world.run(.seconds(15))
    #expect(rests == [true])
    world.run(.seconds(25))
    #expect(rests == [true, false])
    clients[0].sendPictures("camera", seconds: 1)
    world.run(.seconds(1.2))
    #expect(clients[1].frames("ana", "camera").count > 25)
  }
}
