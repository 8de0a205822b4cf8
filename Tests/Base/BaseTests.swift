import Dispatch
import Glibc
import Testing

@testable import KoineMedia
@testable import KoineBase

@Suite struct BytesPoolTests {
  @Test func poolReusesBlockOnlyWhenItIsNotReferenced() {
    var pool = BytesPool(capacity: 16)
    let kept = pool.take()
    pool.give(kept)
    #expect(pool.allocations == 1)
    let other = pool.take()
    #expect(other !== kept)
    #expect(pool.allocations == 2)
  }
}

@Suite struct TickTests {
  @Test func durationsBetweenTimesAreExact() {
    for nanoseconds: Int64 in [0, 1, -1, 999_999_999, 9_223_372_036, 9_223_372_037, -9_223_372_037, .max, .min] {
      let duration = Tick(nanoseconds: nanoseconds) - Tick.zero
      #expect(duration == .nanoseconds(nanoseconds))
      #expect(duration.nanoseconds == nanoseconds)
    }
  }

  @Test func nanosecondsOfADurationAreCutOffAndSaturate() {
    #expect(Duration(attoseconds: 1_999_999_999).nanoseconds == 1)
    #expect(Duration(attoseconds: -1_999_999_999).nanoseconds == -1)
    #expect(Duration.seconds(100).nanoseconds == 100_000_000_000)
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min).nanoseconds == .min)
  }

  @Test func sharedTurnsAreMultiplesOf50Milliseconds() {
    for (time, shared) in [(0, 0), (1, 50), (49, 50), (50, 50), (51, 100), (-1, 0), (-50, -50), (-51, -50)] {
      let tick = Tick(nanoseconds: Int64(time) * 1_000_000)
      #expect(tick.roundedUp(to: .sharedTurn) == Tick(nanoseconds: Int64(shared) * 1_000_000))
    }
  }
}

@Suite struct VirtualSchedulerTests {
  @Test func jobsRunInOrderOfTimeThenPosting() {
    let scheduler = Scheduler.virtual()
    let lane = scheduler.lane("a")
    let seen = Lock<[Int]>([])
    let start = scheduler.now
    lane.post(at: start + .seconds(2)) { seen.withLock { $0.append(3) } }
    lane.post(at: start + .seconds(1)) {
      seen.withLock { $0.append(1) }
      lane.post { seen.withLock { $0.append(2) } }
    }
    lane.post(at: start + .seconds(9)) { seen.withLock { $0.append(9) } }
    scheduler.advance(to: start + .seconds(3))
    #expect(seen.withLock { $0 } == [1, 2, 3])
    #expect(scheduler.now == start + .seconds(3))
  }

  @Test func cancelledJobDoesNotRun() {
    let scheduler = Scheduler.virtual()
    let ran = Lock(false)
    let alarm = scheduler.lane("a").post(at: scheduler.now + .seconds(1)) { ran.withLock { $0 = true } }
    alarm.cancel()
    scheduler.advance(to: scheduler.now + .seconds(2))
    #expect(!ran.withLock { $0 })
  }
}

@Suite struct RealSchedulerTests {
  @Test func laneRunsJobsInPostingOrder() async {
    let lane = Scheduler.real.lane("test")
    let seen = Lock<[Int]>([])
    await withCheckedContinuation { done in
      for n in 0..<1000 { lane.post { seen.withLock { $0.append(n) } } }
      lane.post { done.resume() }
    }
    #expect(seen.withLock { $0 } == Array(0..<1000))
  }

  /// An app's media effect may block its lane.
  @Test func blockedLanesDoNotDelayOtherLanes() async {
    let held = DispatchSemaphore(value: 0)
    let count = WorkerPool.cores + 3
    for number in 0..<count { Scheduler.real.lane("held up \(number)").post { held.wait() } }
    // One job after another, each at its time: the thread that does them stays for the next one.
    let free = Scheduler.real.lane("free")
    var threads: Set<pthread_t> = []
    for _ in 0..<30 {
      let due = Scheduler.real.now + .milliseconds(5)
      threads.insert(
        await withCheckedContinuation { done in free.post(at: due) { done.resume(returning: pthread_self()) } })
    }
    // Other tests' lanes are held up, too, and threads come and go for them.
    #expect(threads.count <= 15, "not a new one for each job: \(threads.count)")
    for _ in 0..<count { held.signal() }
  }

  /// The first jobs of a process may come before the thread that watches the workers waits for them.
  @Test(arguments: 0..<20) func lanesBlockedByTheFirstJobsOfAProcessDoNotDelayOthers(_: Int) async {
    await #expect(processExitsWith: .success) {
      alarm(30)  // seconds, then the process is killed: the test fails instead of waiting for ever
      for number in 0..<WorkerPool.cores { Scheduler.real.lane("held up \(number)").post { pause() } }
      await withCheckedContinuation { done in Scheduler.real.lane("free").post { done.resume() } }
      exit(EXIT_SUCCESS)
    }
  }
}

@Suite struct SocketAddressTests {
  @Test(arguments: ["127.0.0.1", "10.77.0.1", "::1", "2001:db8::5"]) func socketAddressSurvivesConversionToText(
    _ host: String
  ) throws {
    #expect(try #require(SocketAddress(host, port: 9)).host == host)
  }
}

@Suite struct TransportAddressTests {
  @Test func equalAddressesHaveEqualHashesAndOthersDiffer() throws {
    let hosts = ["127.0.0.1", "10.77.0.1", "::1", "2001:db8::5", "::127.0.0.1", "2001:db9::5"]
    let addresses = try hosts.flatMap { host in
      try [1, 2].map { TransportAddress(udp: try #require(SocketAddress(host, port: $0))) }
    }
    #expect(Set(addresses).count == addresses.count)
    #expect(Set(addresses.map(\.hashValue)).count == addresses.count)
    for address in addresses { #expect(TransportAddress(.udp, address.socketAddress).hashValue == address.hashValue) }
  }

  /// Routers store several per peer and copy two per datagram.
  @Test func transportAddressIsNoLargerThanSocketAddress() {
    #expect(MemoryLayout<TransportAddress>.stride == MemoryLayout<SocketAddress>.stride)
    #expect(MemoryLayout<TransportAddress>.stride <= 64)
  }

  @Test func descriptionNamesTheProtocol() { #expect("\(TransportAddress.loopback(port: 5))" == "udp 127.0.0.1:5") }
}

@Suite struct RandomnessTests {
  @Test func seededGeneratorRepeatsAndSystemGeneratorDoesNot() {
    var seeded = SeededRandom(seed: 7), system = SeededRandom.system()
    var (sameSeed, sameSystem) = (seeded, system)
    #expect((0..<8).allSatisfy { _ in seeded.next() == sameSeed.next() })
    #expect((0..<8).allSatisfy { _ in system.next() != sameSystem.next() })
    #expect(seeded.makeID() == sameSeed.makeID())
  }

  /// A client that knows all of a router's former random names must not be able to predict the next one.
  @Test func forkOfSystemGeneratorIsUnpredictable() {
    var system = SeededRandom.system()
    var (fork, copy) = (system.fork(), system)
    var other = copy.fork()
    #expect(fork.next() != other.next())
  }

  @Test func generatedIDDiffersFromGeneratorOutput() {
    var (random, same) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
    let id = random.makeID()
    #expect((0..<8).allSatisfy { _ in String(same.next(), radix: 36) != id })
  }
}

@Suite struct ForkJoinPoolTests {
  @Test(arguments: [1, 2, 5]) func everyIterationRunsOnce(workers: Int) {
    let pool = ForkJoinPool(workers: workers)
    for count in [0, 1, 3, 4, 100, 1_000] {
      let done = Lock([Int](repeating: 0, count: count))
      let seen = Lock<Set<Int>>([])
      pool.concurrentPerform(count) { index, worker in
        done.withLock { $0[index] += 1 }
        _ = seen.withLock { $0.insert(worker) }
      }
      #expect(done.withLock { $0.allSatisfy { $0 == 1 } })
      #expect(seen.withLock { $0.isSubset(of: 0..<workers) })
    }
  }

  /// Iterations see the caller's earlier writes, and the caller sees theirs, without a lock.
  @Test func memoryWritesAreVisibleAcrossCallsWithoutALock() {
    let pool = ForkJoinPool(workers: 4)
    let cells = UnsafeMutableBufferPointer<Int>.allocate(capacity: 64)
    cells.initialize(repeating: 0)
    defer { cells.deallocate() }
    for round in 1...500 {
      for index in cells.indices { cells[index] += 1 }
      nonisolated(unsafe) let shared = cells
      pool.concurrentPerform(shared.count) { index, _ in shared[index] += 1 }
      #expect(cells.allSatisfy { $0 == 2 * round })
    }
  }

  /// The calling thread runs all iterations if no worker is free.
  @Test func blockedWorkerDelaysOnlyItsOwnIteration() {
    let pool = ForkJoinPool(workers: 2)
    let others = DispatchSemaphore(value: 0)
    let left = Lock(99)
    pool.concurrentPerform(100) { _, worker in
      if worker == 1 {
        others.wait()  // until all the other pieces are done
      } else if left.withLock({
        $0 -= 1
        return $0
      }) == 0 {
        others.signal()
      }
    }
    // Where the helper came too late for any piece, the caller did all.
    #expect(left.withLock { $0 } <= 0)
  }
}
