import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

/// A router with several workers.
struct ForkJoinTests {
  /// 24 participants speak at once, so that the workers share incoming packets, due timers and outgoing packets.
  private func outcome(workers: Int?) throws -> [[Int]] {
    let world = try World(seed: 5, workers: workers)
    let clients = try (0..<24).map { number in
      let client = try world.makeClient()
      client.join("room", as: "p\(number)")
      return client
    }
    world.run(.milliseconds(500))
    for client in clients {
      client.publish(.microphone)
      client.sendAudio("microphone", seconds: 1)
    }
    for publisher in clients[..<3] {
      publisher.publish(.camera)
      publisher.sendFrames("camera", seconds: 1)
    }
    for (number, client) in clients.enumerated() {
      for publisher in 0..<3 where publisher != number { client.subscribe(to: "p\(publisher)", "camera", "microphone") }
    }
    world.run(.seconds(2))
    return clients.enumerated().flatMap { number, client in
      (0..<3).filter { $0 != number }.map { client.numbers("p\($0)", "camera") }
    }
  }

  @Test func packetsAreTheSameForAnyNumberOfWorkers() throws {
    let alone = try outcome(workers: nil)
    #expect(alone.allSatisfy { $0.count > 20 && $0 == $0.sorted() })
    #expect(try outcome(workers: 3) == alone)
  }
}
