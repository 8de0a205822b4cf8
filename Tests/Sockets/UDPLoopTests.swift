import Glibc
import KoineBase
import Testing

@testable import KoineSockets

/// Records the loop's callbacks, and runs the test's action on the loop's thread.
private final class Listener: UDPLoopClient {
  enum Entry: Equatable {
    case datagram([UInt8], from: SocketAddress, to: SocketAddress)
    case timeout(Tick)
    case endOfTurn
  }

  private struct State {
    var entries: [Entry] = []
    var waiting: [(until: ([Entry]) -> Bool, goOn: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Lock(State())
  let whenHeard: @Sendable () -> Void

  init(whenHeard: @escaping @Sendable () -> Void = {}) { self.whenHeard = whenHeard }

  var heard: [Entry] { state.withLock { $0.entries } }
  var datagrams: [[UInt8]] { Self.datagrams(heard) }
  var timeouts: [Tick] { heard.compactMap { if case .timeout(let tick) = $0 { tick } else { nil } } }

  static func datagrams(_ entries: [Entry]) -> [[UInt8]] {
    entries.compactMap { if case .datagram(let bytes, _, _) = $0 { bytes } else { nil } }
  }

  /// Returns once the recorded callbacks meet the condition.
  func hears(_ condition: @escaping @Sendable ([Entry]) -> Bool) async {
    await withCheckedContinuation { goOn in
      let isSo = state.withLock { state in
        if condition(state.entries) { return true }
        state.waiting.append((condition, goOn))
        return false
      }
      if isSo { goOn.resume() }
    }
  }

  private func add(_ entry: Entry) {
    let ready = state.withLock { state in
      state.entries.append(entry)
      let entries = state.entries
      defer { state.waiting.removeAll { $0.until(entries) } }
      return state.waiting.filter { $0.until(entries) }.map(\.goOn)
    }
    for goOn in ready { goOn.resume() }
  }

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    add(.datagram(datagram.array, from: source, to: destination))
    whenHeard()
  }

  var deadlineReason: String { "test" }
  func handleTimeout(at now: Tick) { add(.timeout(now)) }
  func endTurn(at now: Tick) { add(.endOfTurn) }
}

/// Asks to be woken in the past, again and again.
private final class Spinner: UDPLoopClient, @unchecked Sendable {  // touched on the loop, after `place` is set
  let reports: AsyncStream<String>
  private let report: AsyncStream<String>.Continuation
  var place: (loop: UDPLoop, id: UDPLoop.ClientID)?

  init() { (reports, report) = AsyncStream.makeStream(of: String.self) }

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {}
  func endTurn(at now: Tick) {}
  func handleTimeout(at now: Tick) { if let (loop, id) = place { loop.wake(id, at: .zero) } }
  var deadlineReason: String { "a deadline in the past" }
  func loopSpins(_ description: String) { report.yield(description) }
}

/// Runs `body` on the loop's thread and returns its result.
private func on<Result: Sendable>(_ loop: UDPLoop, _ body: @escaping @Sendable () throws -> Result) async throws
  -> Result
{
  try await withCheckedThrowingContinuation { continuation in
    loop.post { continuation.resume(with: Swift.Result { try body() }) }
  }
}

private func link(_ path: String) -> String? {
  var text = [CChar](repeating: 0, count: 256)
  let count = readlink(path, &text, text.count)
  return count < 0 ? nil : String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// The thread and the descriptors of a loop.
private struct Holdings: Sendable {
  /// Yields once when the thread ends, after the loop has left it.
  let endOfThread: AsyncStream<Void>
  let descriptors: [String: String]

  /// A thread-local value, which the thread releases when it ends.
  private final class Farewell: Sendable {
    let end: AsyncStream<Void>.Continuation
    init(_ end: AsyncStream<Void>.Continuation) { self.end = end }
    deinit { end.finish() }
  }

  /// To be made on the loop's thread.
  init(_ loop: UDPLoop, sockets: [Int32]) {
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    endOfThread = stream
    var key = pthread_key_t()
    pthread_key_create(&key) { value in
      if let value { Unmanaged<Farewell>.fromOpaque(value).release() }
    }
    pthread_setspecific(key, Unmanaged.passRetained(Farewell(end)).toOpaque())
    var descriptors: [String: String] = [:]
    for number in [loop.epoll, loop.event] + sockets {
      let path = "/proc/self/fd/\(number)"
      descriptors[path] = link(path)
    }
    self.descriptors = descriptors
  }

  var areClosed: Bool { !descriptors.contains { link($0.key) == $0.value } }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct UDPLoopTests {
  /// Of their own, so that other tests' rooms neither keep our loop running nor end it.
  private let keeper = UDPLoop.Keeper()

  /// A client whose deadline stays in the past is reported once, and the loop continues.
  @Test func spinningLoopIsReportedOnceWithItsReason() async throws {
    let spinner = Spinner()
    let (loop, id) = UDPLoop.join(spinner, in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    spinner.place = (loop, id)
    loop.post { loop.wake(id, at: .zero) }
    for await report in spinner.reports {
      #expect(report.contains("a deadline in the past"))
      break
    }
    let turns = try await on(loop) { loop.turns }
    #expect(turns > UDPLoop.spinLimit)
    loop.post { loop.wake(id, at: nil) }
  }

  @Test func loopThatWaitsForDeadlinesIsNotReported() {
    var detector = SpinDetector()
    for second in 0..<3 {
      for turn in 0..<1_000 {
        let now = Tick.zero + .seconds(second) + .milliseconds(turn)
        #expect(detector.turnedForDeadline(at: now) == nil)
      }
    }
  }

  @Test(arguments: loopbacks) func clientReceivesDatagramsWithTheirAddresses(_ address: SocketAddress) async throws {
    let listener = Listener()
    let (loop, id) = UDPLoop.join(listener, in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    let local = try await on(loop) { try loop.open(address, for: id) }
    let other = try UDPSocket(bindingTo: address)
    other.send([[1, 2, 3]], to: local)
    await listener.hears { $0.last == .endOfTurn }
    #expect(listener.heard.first == .datagram([1, 2, 3], from: other.localAddress, to: local))
  }

  @Test func datagramsLeaveAtTheFlush() async throws {
    let (loop, id) = UDPLoop.join(Listener(), in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    let other = try UDPSocket(bindingTo: .loopback())
    let destination = other.localAddress
    let local = try await on(loop) {
      let local = try loop.open(.loopback(), for: id)
      for number in 0..<5 {
        numbered(number, count: 30).withUnsafeBytes { loop.send($0, from: local, to: destination) }
      }
      loop.flush()
      return local
    }
    let received = other.receive(5)
    #expect(received.map(\.bytes) == (0..<5).map { numbered($0, count: 30) })
    #expect(received.allSatisfy { $0.source == local })
  }

  /// A flood of jobs holds up datagrams for a turn, not for the flood. Each job here takes as long as a turn runs jobs at most.
  @Test func datagramsAreReadBetweenPostedJobs() async throws {
    let order = Lock<[Int]>([])
    let listener = Listener { order.withLock { $0.append(-1) } }
    let (loop, id) = UDPLoop.join(listener, in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    try await on(loop) {
      let local = try loop.open(.loopback(), for: id)
      let other = try UDPSocket(bindingTo: .loopback())
      for number in 0..<40 {
        loop.post {
          let begun = Scheduler.real.now
          while Scheduler.real.now - begun < UDPLoop.jobTime {}
          order.withLock { $0.append(number) }
        }
      }
      other.send([[1, 2, 3]], to: local)
    }
    try await on(loop) {}
    let jobs = order.withLock { $0 }
    #expect(jobs.filter { $0 >= 0 } == Array(0..<40), "in order")
    let place = try #require(jobs.firstIndex(of: -1))
    #expect(place < 20, "before most jobs")
  }

  @Test func turnEndsOnceForAllDatagramsThatHaveArrived() async throws {
    let listener = Listener()
    let (loop, id) = UDPLoop.join(listener, in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    // Sent on the loop's own thread, so that all are at hand when it next looks.
    try await on(loop) {
      let local = try loop.open(.loopback(), for: id)
      let other = try UDPSocket(bindingTo: .loopback())
      other.send((0..<100).map { numbered($0, count: 30) }, to: local)
    }
    await listener.hears { Listener.datagrams($0).count == 100 && $0.last == .endOfTurn }
    #expect(listener.datagrams == (0..<100).map { numbered($0, count: 30) })
    // One turn, unless the kernel delivered late.
    #expect(listener.heard.count { $0 == .endOfTurn } <= 3)
  }

  @Test func eachClientReceivesOnlyItsOwnDatagrams() async throws {
    let listeners = (0..<3).map { _ in Listener() }
    let other = try UDPSocket(bindingTo: .loopback())
    var ids: [UDPLoop.ClientID] = []
    for (number, listener) in listeners.enumerated() {
      let (loop, id) = UDPLoop.join(listener, in: keeper)
      ids.append(id)
      let local = try await on(loop) { try loop.open(.loopback(), for: id) }
      other.send([[UInt8(number)]], to: local)
    }
    for listener in listeners { await listener.hears { $0.last == .endOfTurn } }
    #expect(listeners.map(\.datagrams) == [[[0]], [[1]], [[2]]])
    for id in ids { UDPLoop.leave(id, in: keeper) }
  }

  @Test func openingAPortInUseThrows() async throws {
    let socket = try UDPSocket(bindingTo: .loopback())
    let (loop, id) = UDPLoop.join(Listener(), in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    let address = socket.localAddress
    await #expect(throws: SocketError.self) { try await on(loop) { try loop.open(address, for: id) } }
  }

  @Test func closedAddressReceivesNoDatagrams() async throws {
    let listener = Listener()
    let (loop, id) = UDPLoop.join(listener, in: keeper)
    defer { UDPLoop.leave(id, in: keeper) }
    let other = try UDPSocket(bindingTo: .loopback())
    let (first, second) = try await on(loop) {
      (try loop.open(.loopback(), for: id), try loop.open(.loopback(), for: id))
    }
    try await on(loop) { loop.close(first) }
    other.send([[1]], to: first)
    other.send([[2]], to: second)
    await listener.hears { $0.last == .endOfTurn }
    #expect(listener.datagrams == [[2]])
    #expect(throws: Never.self) { try UDPSocket(bindingTo: first) }
  }

  // MARK: Time

  @Test func clientIsNotifiedOfItsDeadlineOnceAndNotEarly() async throws {
    let (early, late) = (Listener(), Listener())
    let (loop, first) = UDPLoop.join(early, in: keeper)
    let (_, second) = UDPLoop.join(late, in: keeper)
    defer { for id in [first, second] { UDPLoop.leave(id, in: keeper) } }
    let due = Scheduler.real.now + .milliseconds(20)
    try await on(loop) {
      loop.wake(second, at: due + .milliseconds(20))
      loop.wake(first, at: due)
    }
    await early.hears { !$0.isEmpty }
    await late.hears { !$0.isEmpty }
    #expect(early.timeouts.count == 1 && late.timeouts.count == 1, "the early one is not told again")
    let (one, other) = (try #require(early.timeouts.first), try #require(late.timeouts.first))
    #expect(one >= due)
    #expect(other >= due + .milliseconds(20))
  }

  /// The loop neither wakes for a deadline that has moved away nor forgets the new one.
  @Test func deadlineThatMovesIsKeptAtItsLastPlace() async throws {
    let clients = (0..<20).map { _ in Listener() }
    let places = clients.map { UDPLoop.join($0, in: keeper) }
    let loop = places[0].0
    defer { for (_, id) in places { UDPLoop.leave(id, in: keeper) } }
    let start = Scheduler.real.now + .milliseconds(20)
    let due = (0..<20).map { start + .milliseconds(($0 * 7) % 20) }
    let before = try await on(loop) {
      for (index, (_, id)) in places.enumerated() {
        for step in 1...20 { loop.wake(id, at: due[index] - .milliseconds(20 - step)) }
        loop.wake(id, at: due[index] + .seconds(60))
        loop.wake(id, at: due[index])
      }
      return loop.turns
    }
    for client in clients { await client.hears { !$0.isEmpty } }
    for (client, due) in zip(clients, due) {
      #expect(client.timeouts.count == 1)
      #expect(try #require(client.timeouts.first) >= due)
    }
    let turns = try await on(loop) { loop.turns } - before
    #expect(turns <= 25, "one for each of 20 deadlines, and those for the test's own jobs")
  }

  @Test func cancelledDeadlineDoesNotFire() async throws {
    let (cancelled, kept) = (Listener(), Listener())
    let (loop, first) = UDPLoop.join(cancelled, in: keeper)
    let (_, second) = UDPLoop.join(kept, in: keeper)
    defer { for id in [first, second] { UDPLoop.leave(id, in: keeper) } }
    try await on(loop) {
      let now = Scheduler.real.now
      loop.wake(first, at: now + .milliseconds(5))
      loop.wake(second, at: now + .milliseconds(20))
      loop.wake(first, at: nil)
    }
    await kept.hears { !$0.isEmpty }
    #expect(cancelled.timeouts.isEmpty)
  }

  // MARK: The end

  /// Another test's descriptor may have got a number of ours in between: a leak would show in each round.
  private func isReleasedAfter(_ leaving: (UDPLoop, UDPLoop.ClientID) async throws -> Void) async throws -> Bool {
    for _ in 0..<5 {
      let (loop, id) = UDPLoop.join(Listener(), in: keeper)
      let holdings = try await on(loop) {
        _ = try loop.open(.loopback(), for: id)
        return Holdings(loop, sockets: loop.openDescriptors)
      }
      #expect(holdings.descriptors.count == 3)
      #expect(!holdings.areClosed)
      try await leaving(loop, id)
      for await _ in holdings.endOfThread {}
      if holdings.areClosed { return true }
    }
    return false
  }

  @Test func lastLeaveReleasesThreadAndDescriptors() async throws {
    let keeper = keeper
    #expect(try await isReleasedAfter { _, id in UDPLoop.leave(id, in: keeper) })
  }

  @Test func lastLeaveOnTheLoopsOwnThreadReleasesThreadAndDescriptors() async throws {
    let keeper = keeper
    #expect(try await isReleasedAfter { loop, id in loop.post { UDPLoop.leave(id, in: keeper) } })
  }

  @Test func clientLeavesFromItsOwnHandler() async throws {
    let keeper = keeper
    let leaving = Lock<UDPLoop.ClientID?>(nil)
    let listener = Listener(whenHeard: { if let id = leaving.withLock({ $0 }) { UDPLoop.leave(id, in: keeper) } })
    let (loop, id) = UDPLoop.join(listener, in: keeper)
    leaving.withLock { $0 = id }
    let other = try UDPSocket(bindingTo: .loopback())
    let (local, holdings) = try await on(loop) {
      let local = try loop.open(.loopback(), for: id)
      return (local, Holdings(loop, sockets: loop.openDescriptors))
    }
    other.send([[1]], to: local)
    for await _ in holdings.endOfThread {}
    #expect(listener.datagrams == [[1]])
  }

  @Test func loopRunsUntilItsLastClientLeaves() async throws {
    let (leaver, stayer) = (Listener(), Listener())
    let (loop, first) = UDPLoop.join(leaver, in: keeper)
    let (same, second) = UDPLoop.join(stayer, in: keeper)
    #expect(loop === same)
    let (gone, here) = try await on(loop) {
      (try loop.open(.loopback(), for: first), try loop.open(.loopback(), for: second))
    }
    UDPLoop.leave(first, in: keeper)
    let other = try UDPSocket(bindingTo: .loopback())
    try await on(loop) {}  // after the leaving
    other.send([[1]], to: gone)
    other.send([[2]], to: here)
    await stayer.hears { $0.last == .endOfTurn }
    #expect(stayer.datagrams == [[2]])
    #expect(leaver.heard.isEmpty)
    UDPLoop.leave(second, in: keeper)
  }

  /// The end is announced right after the last job, often before the thread has seen it.
  @Test func loopEndsWhenItsClientLeavesRightAfterJoining() {
    var loops: [ObjectIdentifier: UDPLoop] = [:]
    for _ in 0..<300 {
      let (loop, id) = UDPLoop.join(Listener(), in: keeper)
      UDPLoop.leave(id, in: keeper)
      loops[ObjectIdentifier(loop)] = loop
    }
    #expect(loops.count == 300, "each time a loop of its own")
  }

  @Test func clientsJoinAndLeaveConcurrently() async {
    let keeper = keeper
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            let (loop, id) = UDPLoop.join(Listener(), in: keeper)
            let isOpen = try? await on(loop) { try loop.open(.loopback(), for: id) }
            UDPLoop.leave(id, in: keeper)
            if isOpen == nil { return false }
          }
          return true
        }
      }
      for await isDone in group { #expect(isDone) }
    }
  }

  @Test func jobPostedBeforeTheLeaveIsExecuted() async {
    let keeper = keeper
    let count = Lock(0)
    for _ in 0..<50 {
      let (loop, id) = UDPLoop.join(Listener(), in: keeper)
      for _ in 0..<5 { loop.post { count.withLock { $0 += 1 } } }
      UDPLoop.leave(id, in: keeper)
    }
    #expect(count.withLock { $0 } == 250)
  }

  @Test func jobPostedAfterTheEndIsNotExecutedAndWritesToNoDescriptor() throws {
    let (loop, id) = UDPLoop.join(Listener(), in: keeper)
    UDPLoop.leave(id, in: keeper)
    // The descriptor number of the loop's event may belong to another file now, which must not be written to.
    let pairs = (0..<4).map { _ in
      var pair: [Int32] = [-1, -1]
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
      return pair
    }
    defer { for file in pairs.joined() { close(file) } }
    loop.post { Issue.record("the loop has ended") }
    for file in pairs.joined() {
      var state = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      #expect(poll(&state, 1, 0) == 0)
    }
  }
}
