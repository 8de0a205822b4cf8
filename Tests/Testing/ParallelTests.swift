import KoineTesting
import Testing

/// Many rooms at once: each with its own people, network and clock.
@Suite struct ParallelTests {
  /// By seed, of the first room that had it.
  private static let traces = Lock<[UInt64: [TraceEntry]]>([:])

  @Test(arguments: 0..<20) func concurrentRoomsAreIndependent(number: Int) async throws {
    let seed = UInt64(number % 4)
    let room = try await TestRoom(
      clock: .virtual(seed: seed), network: "loss=3%,jitter=10ms,seed=\(seed)", media: .stamps, recordsTrace: true)
    let ana = try await room.join("Ana")
    let bea = try await room.join("Bea")
    #expect(ana.others.isEmpty || ana.others == ["Bea"])
    await room.until { ana.sees("Bea") && bea.sees("Ana") && ana.hears("Bea") }
    try ana.send("\(number)")
    await room.until { !bea.messages.isEmpty }
    bea.mute()
    await room.run(for: .seconds(3))
    #expect(bea.texts == ["\(number)"], "nobody else's messages")
    #expect(ana.others == ["Bea"] && bea.others == ["Ana"], "nobody else's people")
    #expect(!ana.hears("Bea"))
    let trace = room.trace
    let first = Self.traces.withLock { traces in
      if traces[seed] == nil { traces[seed] = trace }
      return traces[seed]
    }
    #expect(trace.count > 200 && trace == first, "the same seed gives the same packets at the same times")
  }

  @Test func roomsHaveClocksOfTheirOwn() async throws {
    let (quick, slow) = (try await TestRoom(), try await TestRoom())
    await quick.run(for: .seconds(100))
    await slow.run(for: .seconds(1))
    #expect(quick.now - quick.start == .seconds(100))
    #expect(slow.now - slow.start == .seconds(1))
  }

  @Test func appCodeSleepsOnTheRoomsClock() async throws {
    let room = try await TestRoom()
    let start = room.now
    let clock = room.clock
    let woken = try await room.run {
      try await clock.sleep(for: .seconds(5))
      return room.now
    }
    #expect(woken - start == .seconds(5))
    let task = Task { try await clock.sleep(for: .seconds(1_000)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// Polling code never lets the main queue idle; the room's time advances all the same.
  @Test func roomTimeAdvancesForPollingCode() async throws {
    let room = try await TestRoom()
    let clock = room.clock
    let isOver = Lock(false)
    let sleeper = Task {
      try await clock.sleep(for: .milliseconds(20))
      isOver.withLock { $0 = true }
    }
    try await room.run { while !isOver.withLock({ $0 }) { await Task.yield() } }
    #expect(room.now - room.start >= .milliseconds(20))
    try await sleeper.value
  }

  @Test func roomRunsInRealTime() async throws {
    let room = try await TestRoom(clock: .real, media: .stamps)
    let ana = try await room.join("Ana")
    let bea = try await room.join("Bea")
    await room.until { ana.sees("Bea") && bea.hears("Ana") }
    ana.leave()
    await room.until { bea.others.isEmpty }
    bea.leave()
    await room.until { bea.isOut }
  }
}
