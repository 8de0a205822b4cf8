import Dispatch
import KoineBase
import KoineSignaling
import KoineSignalingHost
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import KoineServer

@Suite struct ConnectionLimiterTests {
  fileprivate let start = NIODeadline.now()
  fileprivate var limits: ServerLimits {
    var limits = ServerLimits()
    (limits.connectionsPerAddress, limits.addressBurst, limits.addressMessagesPerSecond) = (2, 10, 1)
    return limits
  }

  @Test func reconnectionDoesNotResetTheLimits() throws {
    let limiter = ConnectionLimiter(limits: limits)
    let first = try #require(limiter.enter(from: "192.0.2.1", at: start))
    for _ in 0..<10 { #expect(first.takeMessage(at: start)) }
    first.giveBack()
    let second = try #require(limiter.enter(from: "192.0.2.1", at: start))
    #expect(!second.takeMessage(at: start))
    second.giveBack()
    // Remembered until nothing counts any more.
    #expect(limiter.enter(from: "192.0.2.2", at: start + .seconds(9)) != nil)
    #expect(limiter.remembered == 2)
    let last = limiter.enter(from: "192.0.2.2", at: start + .seconds(30))
    #expect(last != nil)
    #expect(limiter.remembered == 1)
  }

  @Test func answersToJoinsOfOneAddressAreLimitedInBytes() throws {
    let limiter = ConnectionLimiter(limits: limits)
    let first = try #require(limiter.enter(from: "192.0.2.1", at: start))
    for _ in 0..<16 { #expect(first.takeAnswer(bytes: 2 << 20, at: start) == .zero) }
    #expect(first.takeAnswer(bytes: 4 << 20, at: start) == .seconds(1))
    first.giveBack()
    let second = try #require(limiter.enter(from: "192.0.2.1", at: start))
    #expect(second.takeAnswer(bytes: 4 << 20, at: start) == .seconds(2), "reconnecting forgives nothing")
    let other = try #require(limiter.enter(from: "192.0.2.2", at: start))
    #expect(other.takeAnswer(bytes: 4 << 20, at: start) == .zero)
    #expect(second.takeAnswer(bytes: 0, at: start + .seconds(2)) == .zero)
  }

  @Test func credentialsCountAsRefusedUntilTheyAreAccepted() throws {
    var limits = ServerLimits()
    (limits.addressJoinBurst, limits.addressJoinsPerSecond) = (40, 10)
    let limiter = ConnectionLimiter(limits: limits)
    let first = try #require(limiter.enter(from: "192.0.2.1", at: start))
    let now = start.tick
    for _ in 0..<20 { #expect(first.takeCredential(at: now)) }
    #expect(!first.takeCredential(at: now))
    first.credentialAccepted()
    first.giveBack()
    let second = try #require(limiter.enter(from: "192.0.2.1", at: start))
    #expect(second.takeCredential(at: now))
    #expect(!second.takeCredential(at: now), "reconnecting forgives nothing")
    #expect(second.takeCredential(at: now + .milliseconds(201)), "half as many per second as joins")
  }

  @Test func refusedCredentialsCountForTheWholeIPv6Network() throws {
    var limits = ServerLimits()
    (limits.addressJoinBurst, limits.addressJoinsPerSecond) = (4, 1)
    let limiter = ConnectionLimiter(limits: limits)
    let passes = (0..<8).compactMap { limiter.enter(from: "2001:db8:7:\($0)::1", at: start) }
    let taken = passes.flatMap { pass in (0..<3).map { _ in pass.takeCredential(at: start.tick) } }
    #expect(taken.count { $0 } == 8, "two of each /64, and those of four of a /48")
  }

  @Test func ipv6NetworkCountsAsOneAddress() throws {
    let limiter = ConnectionLimiter(limits: limits)
    let passes = ["2001:db8::1", "2001:db8::ffff:2"].map { limiter.enter(from: $0, at: start) }
    #expect(!passes.contains { $0 == nil })
    #expect(limiter.enter(from: "2001:db8::3", at: start) == nil)
    let others = ["2001:db8:0:1::1", "::ffff:192.0.2.1", "::ffff:192.0.2.1"].map { limiter.enter(from: $0, at: start) }
    #expect(!others.contains { $0 == nil })
    #expect(limiter.enter(from: "192.0.2.1", at: start) == nil, "the same address, on a socket of both families")
  }
}

extension ConnectionLimiterTests {
  @Test func ipv6NetworkOf48BitsHasFourTimesTheLimits() throws {
    var limits = limits
    (limits.addressJoinBurst, limits.roomsPerAddress, limits.lostPerAddress) = (3, 1, 1)
    let limiter = ConnectionLimiter(limits: limits)
    func address(_ number: Int) -> String { "2001:db8:7:\(String(number, radix: 16))::1" }
    let passes = (0..<12).map { limiter.enter(from: address($0), at: start) }
    #expect(passes.count { $0 != nil } == 8)
    #expect(limiter.enter(from: "2001:db8:8::1", at: start) != nil)
    let open = passes.compactMap(\.self)
    #expect(open.count { $0.takeJoin(at: start) } == 8)
    #expect(open.count { $0.takeJoin(at: start) } == 4)
    #expect(open.count { $0.takeMessage(at: start) } == 8)
    let rooms = open.map { $0.openRoom() }
    #expect(rooms.count { $0 != nil } == 4)
    let given = Lock(0)
    for pass in open { pass.lose { given.withLock { $0 += 1 } } }
    #expect(given.withLock { $0 } == 4)
    #expect(limiter.connections == 0)
    #expect((0..<12).map { limiter.lost(of: address($0)) } == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0])
  }

  @Test func refusalsAreCountedPerMinute() throws {
    let pass = try #require(ConnectionLimiter(limits: limits).enter(from: "192.0.2.1", at: start))
    #expect((0..<100).compactMap { _ in pass.countRefusal(at: start) } == [1, 10, 100])
    #expect((0..<9).compactMap { _ in pass.countRefusal(at: start + .seconds(61)) } == [1])
  }

  /// The event loops of a server share one limiter.
  @Test func limitsAreExactUnderConcurrentThreads() throws {
    var limits = ServerLimits()
    (limits.connectionsPerAddress, limits.roomsPerAddress, limits.lostPerAddress) = (100, 30, 20)
    (limits.addressBurst, limits.addressJoinBurst) = (1_000, 70)
    let limiter = ConnectionLimiter(limits: limits)
    let passes = inParallel(400) { limiter.enter(from: "192.0.2.1", at: start) }.compactMap(\.self)
    #expect(passes.count == 100)
    #expect(limiter.connections == 100)
    #expect(limiter.refused == 300)
    #expect(inParallel(3_000) { passes[0].takeMessage(at: start) }.count { $0 } == 1_000)
    #expect(inParallel(400) { passes[1].takeJoin(at: start) }.count { $0 } == 70)
    let rooms = inParallel(200) { passes[2].openRoom() }.compactMap(\.self)
    #expect(rooms.count == 30)
    let given = Lock<[Int]>([])
    _ = inParallel(100) { index in passes[index].lose { given.withLock { $0.append(index) } } }
    let lost = Set(passes.indices).subtracting(given.withLock { $0 })
    #expect(lost.count == 20)
    #expect(limiter.lost(of: "192.0.2.1") == 20)
    #expect(limiter.connections == 0)
    _ = inParallel(100) { passes[$0].giveBack() }
    #expect(limiter.lost(of: "192.0.2.1") == 0)
    #expect(limiter.connections == 0)
    let again = inParallel(400) { limiter.enter(from: "192.0.2.1", at: start) }.compactMap(\.self)
    #expect(again.count == 100)
  }

  @Test func bytesOfConcurrentThreadsAreCountedExactly() throws {
    var limits = ServerLimits()
    (limits.addressByteBurst, limits.addressBytesPerSecond) = (1_000, 100)
    let limiter = ConnectionLimiter(limits: limits)
    let passes = (0..<4).compactMap { _ in limiter.enter(from: "192.0.2.1", at: start) }
    _ = inParallel(400) { passes[$0 % 4].takeBytes(5, at: start) }
    #expect(passes[0].takeBytes(0, at: start) == .seconds(10))
    // Each waits for its turn after the one before.
    let waits = inParallel(3) { passes[$0].reserveBytes(100, at: start) }
    #expect(waits.sorted() == [.seconds(11), .seconds(12), .seconds(13)])
    #expect(passes[0].reserveBytes(100, at: start + .seconds(13)) == .zero)
  }

  private func inParallel<Value: Sendable>(_ count: Int, _ work: @escaping @Sendable () -> Value) -> [Value] {
    inParallel(count) { _ in work() }
  }

  private func inParallel<Value: Sendable>(_ count: Int, _ work: @escaping @Sendable (Int) -> Value) -> [Value] {
    let results = Lock<[Value]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for index in stride(from: thread, to: count, by: 4) {
        let result = work(index)
        results.withLock { $0.append(result) }
      }
    }
    return results.withLock { $0 }
  }
}

/// Counts the reads that reach the socket.
private final class Reads: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  var count = 0

  func read(context: ChannelHandlerContext) { count += 1 }
}

@Suite struct ByteThrottleTests {
  private func connection(_ limits: ServerLimits, _ limiter: ConnectionLimiter) throws -> (EmbeddedChannel, Reads) {
    let (channel, reads) = (EmbeddedChannel(), Reads())
    let now = channel.eventLoop.now
    let pass = try #require(limiter.enter(from: "192.0.2.1", at: now))
    try channel.pipeline.syncOperations.addHandlers([
      reads, ByteThrottle(pass: pass, limits: limits, now: now),
    ])
    return (channel, reads)
  }

  @Test func connectionIsReadNoFasterThanItsByteLimit() throws {
    let limits = ServerLimits()
    let (channel, reads) = try connection(limits, ConnectionLimiter(limits: limits))
    func receive(_ count: Int) throws { try channel.writeInbound(ByteBuffer(repeating: 0, count: count)) }
    try receive(4 << 20)
    channel.read()
    let before = reads.count
    #expect(before > 0, "four MiB at once")
    try receive(1 << 20)
    for _ in 0..<3 { channel.read() }
    #expect(reads.count == before)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(990))
    #expect(reads.count == before)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(10))
    #expect(reads.count == before + 1, "one MiB per second")
    try receive(64 << 10)
    channel.read()
    #expect(reads.count == before + 1)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(63))
    #expect(reads.count == before + 2)
  }

  @Test func connectionsOfOneAddressShareTheByteLimitInTurns() throws {
    var limits = ServerLimits()
    (limits.addressByteBurst, limits.addressBytesPerSecond) = (32_768, 32_768)
    let limiter = ConnectionLimiter(limits: limits)
    let connections = try (0..<3).map { _ in try connection(limits, limiter) }
    try connections[0].0.writeInbound(ByteBuffer(repeating: 0, count: 65_536))
    for (channel, _) in connections { channel.read() }
    #expect(connections.map(\.1.count) == [0, 0, 0])
    for second in 1...4 {
      for (channel, _) in connections { channel.embeddedEventLoop.advanceTime(by: .seconds(1)) }
      #expect(connections.map(\.1.count) == [second >= 2 ? 1 : 0, second >= 3 ? 1 : 0, second >= 4 ? 1 : 0])
    }
  }
}

/// Holds every write until it is released, as a socket does whose peer does not read.
private final class DeafSocket: ChannelOutboundHandler {
  typealias OutboundIn = WebSocketFrame
  var held: [(frame: WebSocketFrame, promise: EventLoopPromise<Void>?)] = []

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    held.append((unwrapOutboundIn(data), promise))
  }

  func release() {
    for (_, promise) in held { promise?.succeed() }
    held = []
  }
}

@Suite struct WebSocketWriterTests {
  private let channel = EmbeddedChannel()
  private let socket = DeafSocket()

  init() throws {
    try channel.pipeline.syncOperations.addHandler(socket)
    try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
  }

  @Test func slowlyReadingConnectionGetsACloseFrameAndIsClosed() throws {
    let outlet = WebSocketWriter(channel: channel, limit: 4_096)
    let pong = ByteBuffer(repeating: 1, count: 125)
    for _ in 0..<10_000 { outlet.write(pong, as: .pong) }
    let bytes = socket.held.reduce(0) { $0 + $1.frame.data.readableBytes }
    #expect(bytes < 4_096, "pongs count")
    #expect(outlet.isClosing)
    #expect(channel.isActive)
    var goodbye = try #require(socket.held.last?.frame)
    #expect(goodbye.opcode == .connectionClose)
    #expect(goodbye.data.readWebSocketErrorCode() == .policyViolation)
    channel.embeddedEventLoop.advanceTime(by: .seconds(3))
    #expect(!channel.isActive)
    socket.release()
  }

  @Test func connectionThatReadsNothingForLongIsClosed() {
    let outlet = WebSocketWriter(channel: channel, limit: 1 << 20)
    outlet.write(ByteBuffer(string: "x"), as: .text)
    outlet.closeIfStalled(at: outlet.now + .seconds(20))
    #expect(!outlet.isClosing)
    outlet.closeIfStalled(at: outlet.now + .seconds(40))
    #expect(outlet.isClosing)
    socket.release()
  }

  @Test func pageOfRepeatedMessagesIsChargedAndDelaysTheNextPage() {
    let (charged, followed) = (Lock<[Int]>([]), Lock(0))
    let outlet = WebSocketWriter(channel: channel, limit: 1 << 20) { bytes in
      charged.withLock { $0.append(bytes) }
      return .seconds(2)
    }
    let page = MessagePage(bytes: 1_000) { followed.withLock { $0 += 1 } }
    outlet.send(EncodedMessage(.pong(1)), endOf: nil)
    outlet.send(EncodedMessage(.pong(2)), endOf: page)
    outlet.send(EncodedMessage(weight: 1) { [] }, endOf: page)
    channel.embeddedEventLoop.run()
    #expect(charged.withLock { $0 } == [1_000, 1_000])
    socket.release()
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(followed.withLock { $0 } == 0)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(followed.withLock { $0 } == 2)
  }

  @Test func rosterThatDoesNotFitAMessageIsRefused() throws {
    let outlet = WebSocketWriter(channel: channel, limit: 2_048)
    let participants = (0..<50).map { Participant(id: "\($0)", name: String(repeating: "x", count: 60)) }
    let joined = Joined(
      local: Participant(id: "a", name: ""),
      description: .init(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: true, setup: .passive),
      participants: participants)
    outlet.send(EncodedMessage(.joined(joined)), endOf: nil)
    channel.embeddedEventLoop.run()
    let told = try #require(socket.held.first?.frame.data)
    let answer = try told.withUnsafeReadableBytes { try ServerMessage(json: $0) }
    guard case .refused(let failure, _) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(failure.code == .tooLarge)
    #expect(socket.held.last?.frame.opcode == .connectionClose)
    socket.release()
  }
}
