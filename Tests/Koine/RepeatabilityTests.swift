import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Log of the packets on the links: time, sender, and bytes before encryption.
private final class TraceLog: Sendable {
  struct Entry: Hashable, Sendable {
    let time: Tick
    let end: String
    let bytes: [UInt8]
  }

  let entries = Lock<[Entry]>([])
}

@Suite struct RepeatabilityTests {
  private func run(seed: UInt64) async throws -> [TraceLog.Entry] {
    let log = TraceLog()
    let clock = Lock<Scheduler?>(nil)
    let backend = EmbeddedBackend(
      virtual: seed, network: try NetworkSpec("loss=5%,delay=30ms,jitter=20ms,seed=3"),
      trace: { end, bytes in
        let now = clock.withLock { $0 }?.now ?? .zero
        log.entries.withLock { $0.append(.init(time: now, end: end, bytes: Array(bytes))) }
      })
    clock.withLock { $0 = backend.scheduler }
    let world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let (ana, ben) = (
      Session(JoinRequest(room: "r", name: "Ana"), in: world), Session(JoinRequest(room: "r", name: "Ben"), in: world)
    )
    for session in [ana, ben] {
      try session.publish(camera: Devices.camera("stamp:\(session.request.name),160x90@15"))
      try session.publish(microphone: Devices.microphone("tone"))
      session.join { _ in }
    }
    await world.run(for: .seconds(5))
    clock.withLock { $0 = nil }
    return log.entries.withLock { $0 }
  }

  @Test func sameSeedGivesTheSameTrace() async throws {
    let first = try await run(seed: 7)
    let second = try await run(seed: 7)
    #expect(first.count > 500)
    #expect(first.count == second.count)
    let difference = zip(first, second).enumerated().first { $0.element.0 != $0.element.1 }
    #expect(
      difference == nil,
      "entry \(difference?.offset ?? -1): \(String(describing: difference?.element.0.time)) \(difference?.element.0.end ?? "")"
    )
  }
}
