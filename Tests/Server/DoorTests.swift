import KoineSignaling
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import KoineServer

@Suite struct DoorKeeperTests {
  private let start = NIODeadline.now()
  private var limits: ServerLimits {
    var limits = ServerLimits()
    (limits.connectionsPerAddress, limits.addressBurst, limits.addressMessagesPerSecond) = (2, 10, 1)
    return limits
  }

  @Test func reconnectingForgivesNothing() throws {
    let keeper = DoorKeeper(limits: limits)
    let first = try #require(keeper.enter(from: "192.0.2.1", at: start))
    for _ in 0..<10 { #expect(first.takeMessage(at: start)) }
    first.giveBack()
    let second = try #require(keeper.enter(from: "192.0.2.1", at: start))
    #expect(!second.takeMessage(at: start))
    second.giveBack()
    // Remembered until nothing counts any more.
    #expect(keeper.enter(from: "192.0.2.2", at: start + .seconds(9)) != nil && keeper.remembered == 2)
    let last = keeper.enter(from: "192.0.2.2", at: start + .seconds(30))
    #expect(last != nil && keeper.remembered == 1)
  }

  @Test func aNetworkOfIPv6IsOneVisitor() throws {
    let keeper = DoorKeeper(limits: limits)
    let passes = ["2001:db8::1", "2001:db8::ffff:2"].map { keeper.enter(from: $0, at: start) }
    #expect(!passes.contains { $0 == nil })
    #expect(keeper.enter(from: "2001:db8::3", at: start) == nil)
    let others = ["2001:db8:0:1::1", "::ffff:192.0.2.1", "::ffff:192.0.2.1"].map { keeper.enter(from: $0, at: start) }
    #expect(!others.contains { $0 == nil })
    #expect(keeper.enter(from: "192.0.2.1", at: start) == nil, "the same address, on a socket of both families")
  }
}

/// Holds every write back until it is let go, as a socket whose other end does not read.
private final class DeafSocket: ChannelOutboundHandler {
  typealias OutboundIn = WebSocketFrame
  var held: [(frame: WebSocketFrame, promise: EventLoopPromise<Void>?)] = []

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    held.append((unwrapOutboundIn(data), promise))
  }

  func letGo() {
    for (_, promise) in held { promise?.succeed() }
    held = []
  }
}

@Suite struct ChannelOutletTests {
  private let channel = EmbeddedChannel()
  private let socket = DeafSocket()

  init() throws {
    try channel.pipeline.syncOperations.addHandler(socket)
    try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
  }

  @Test func whoReadsTooSlowlyIsToldAndThenClosed() throws {
    let outlet = ChannelOutlet(channel: channel, limit: 4_096)
    let pong = ByteBuffer(repeating: 1, count: 125)
    for _ in 0..<10_000 { outlet.write(pong, as: .pong) }
    let bytes = socket.held.reduce(0) { $0 + $1.frame.data.readableBytes }
    #expect(bytes < 4_096, "pongs count")
    #expect(outlet.isClosing && channel.isActive)
    var goodbye = try #require(socket.held.last?.frame)
    #expect(goodbye.opcode == .connectionClose && goodbye.data.readWebSocketErrorCode() == .policyViolation)
    channel.embeddedEventLoop.advanceTime(by: .seconds(3))
    #expect(!channel.isActive)
    socket.letGo()
  }

  @Test func whoReadsNothingForLongIsClosed() {
    let outlet = ChannelOutlet(channel: channel, limit: 1 << 20)
    outlet.write(ByteBuffer(string: "x"), as: .text)
    outlet.closeIfStalled(at: outlet.now + .seconds(20))
    #expect(!outlet.isClosing)
    outlet.closeIfStalled(at: outlet.now + .seconds(40))
    #expect(outlet.isClosing)
    socket.letGo()
  }

  @Test func aRoomThatDoesNotFitIntoAMessageIsRefused() throws {
    let outlet = ChannelOutlet(channel: channel, limit: 2_048)
    let participants = (0..<50).map { Participant(id: "\($0)", name: String(repeating: "x", count: 60)) }
    let joined = Joined(
      local: Participant(id: "a", name: ""),
      description: .init(ufrag: "", password: "", fingerprint: .init(value: ""), lite: true, setup: .passive),
      participants: participants)
    outlet.send(SharedMessage(.joined(joined)))
    channel.embeddedEventLoop.run()
    let told = try #require(socket.held.first?.frame.data)
    let answer = try told.withUnsafeReadableBytes { try ServerMessage(json: $0) }
    guard case .refused(let failure) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(failure.code == .tooLarge && socket.held.last?.frame.opcode == .connectionClose)
    socket.letGo()
  }
}
