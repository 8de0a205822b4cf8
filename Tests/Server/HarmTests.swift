import Koine
import KoineServer
import NIOCore
import NIOPosix
import Testing

/// What strangers throw at the ports while people are in a call.
@Suite(.timeLimit(.minutes(1)), .serialized) struct HarmTests {
  private func callInProgress(_ rooms: ServedRooms) async throws -> (sessions: [Session], sight: Sight) {
    let sessions = ["Ana", "Ben"].map { Session(JoinRequest(room: "tea", name: $0), in: rooms.world()) }
    let sight = Sight()
    sight.follow(sessions[1])
    try sessions[0].publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    try sessions[0].publish(microphone: Devices.microphone("tone"))
    for session in sessions { try await session.join() }
    await sight.untilSeenAndHeard()
    return (sessions, sight)
  }

  private func goesOn(_ call: (sessions: [Session], sight: Sight)) async {
    call.sight.forget()
    await call.sight.untilSeenAndHeard()
    #expect(call.sessions.allSatisfy { $0.state == .connected })
    for session in call.sessions { await session.leave() }
  }

  @Test func garbageOnTheMediaPortDisturbsNobody() async throws {
    let rooms = try await ServedRooms()
    let call = try await callInProgress(rooms)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let socket = try await DatagramBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
    let media = try #require(rooms.server.mediaAddresses.first)
    let target = try NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: Int(media.port))
    var random = SystemRandomNumberGenerator()
    for number in 0..<3_000 {
      var bytes = (0..<Int.random(in: 0...1_400)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      // STUN, DTLS, RTP, RTCP, and what is none of them.
      if !bytes.isEmpty { bytes[0] = [0, 1, 22, 23, 128, 144, 192, 255][number % 8] }
      socket.write(AddressedEnvelope(remoteAddress: target, data: ByteBuffer(bytes: bytes)), promise: nil)
      if number % 100 == 0 { try await socket.flushed() }
    }
    try await socket.flushed()
    await goesOn(call)
    try await socket.close()
    try await group.shutdownGracefully()
    await rooms.server.stop()
  }

  @Test func halfOpenConnectionsAndNonsenseKeepNobodyOut() async throws {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 1_200
    let rooms = try await ServedRooms(limits: limits)
    let call = try await callInProgress(rooms)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let nonsense = [
      "", "GET", "\0\u{1}\u{2}", "POST / HTTP/1.1\r\n", "GET /signaling HTTP/1.1\r\nUpgrade: websocket\r\n",
    ]
    var connections: [any Channel] = []
    for number in 0..<500 {
      let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: rooms.server.port).get()
      channel.writeAndFlush(ByteBuffer(string: nonsense[number % nonsense.count]), promise: nil)
      connections.append(channel)
    }
    let late = Session(JoinRequest(room: "tea", name: "Chris"), in: rooms.world())
    try await late.join()
    await late.leave()
    await goesOn(call)
    for channel in connections { channel.close(promise: nil) }
    try await group.shutdownGracefully()
    await rooms.server.stop()
  }
}

extension Channel {
  fileprivate func flushed() async throws {
    try await eventLoop.submit { [self] in flush() }.get()
  }
}
