import Dispatch
import Koine
import KoineEmbeddedBackend
import Testing

/// The order of callbacks on the delivery queue in virtual time.
@Suite struct DeliveryTests {
  /// The world's work runs on a thread of the pool, its deliveries on the main thread, which may be quicker.
  @Test func closuresDispatchedByCallbackRunAfterAllCallbacksOfThatInstant() async {
    for _ in 0..<200 {
      let world = World(backend: EmbeddedBackend(virtual: 1))
      let order = Lock<[Int]>([])
      world.backend.scheduler.lane("work").post {
        for number in 0..<20 {
          world.delivery.deliver {
            order.withLock { $0.append(number) }
            DispatchQueue.main.async { order.withLock { $0.append(100 + number) } }
          }
        }
      }
      await world.run(for: .milliseconds(1))
      #expect(order.withLock { $0 } == Array(0..<20) + Array(100..<120))
    }
  }

  /// Deliveries queued before virtual time advances run before the world's work of that instant, not concurrently with
  /// it.
  @MainActor @Test func deliveriesQueuedBeforeRunPrecedeTheWorkOfThatRun() async {
    for _ in 0..<200 {
      let world = World(backend: EmbeddedBackend(virtual: 1))
      let order = Lock<[Int]>([])
      let lane = world.backend.scheduler.lane("work")
      for number in 0..<20 {
        world.delivery.deliver { order.withLock { $0.append(number) } }
        lane.post { order.withLock { $0.append(100 + number) } }
      }
      await world.run(for: .milliseconds(1))
      #expect(order.withLock { $0 } == Array(0..<20) + Array(100..<120))
    }
  }
}
