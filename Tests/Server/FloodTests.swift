import Foundation
import FoundationNetworking
import Koine
import KoineBase
import NIOCore
import NIOPosix
import Testing

@testable import KoineServer

/// Connections of one address, 127.0.0.2, that send as much as they can, without a join: large messages of many small values.
private final class Flood: Sendable {
  private struct State {
    var isOver = false
    var bytes = 0
  }

  private let port: Int
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let state = Lock(State())
  private let frame: ByteBuffer

  init(to port: Int) {
    self.port = port
    let count = 60_000
    let text = "[" + String(repeating: "0,", count: count / 2 - 1) + "0]"
    frame = ByteBuffer(bytes: EmbeddedConnection.header(text.utf8.count) + Array(text.utf8))
  }

  var bytes: Int { state.withLock { $0.bytes } }

  func start(_ connections: Int) {
    for _ in 0..<connections { connect() }
  }

  /// Connects again each time the server closes the connection.
  private func connect() {
    guard !state.withLock({ $0.isOver }) else { return }
    guard let own = try? NIOCore.SocketAddress(ipAddress: "127.0.0.2", port: 0),
      let server = try? NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: port)
    else { return }
    ClientBootstrap(group: group).bind(to: own).connect(to: server).whenComplete { [self] result in
      guard case .success(let channel) = result else { return connect() }
      let upgrade = """
        GET /signaling HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """
      channel.closeFuture.whenComplete { [self] _ in connect() }
      channel.writeAndFlush(ByteBuffer(string: upgrade), promise: nil)
      send(on: channel)
    }
  }

  private func send(on channel: any Channel) {
    channel.writeAndFlush(frame).whenSuccess { [self] in
      let isOver = state.withLock { state in
        state.bytes += frame.readableBytes
        return state.isOver
      }
      if isOver { channel.close(promise: nil) } else { send(on: channel) }
    }
  }

  func stop() async throws {
    state.withLock { $0.isOver = true }
    try await group.shutdownGracefully()
  }
}

@Suite(.timeLimit(.minutes(10))) struct FloodTests {
  @Test func healthRequestIsAnsweredDuringASignalingFlood() async throws {
    let rooms = try await ServedRooms()
    let flood = Flood(to: rooms.server.port)
    flood.start(8)
    let url = try #require(URL(string: "http://127.0.0.1:\(rooms.server.port)/healthz"))
    var answers = 0
    while flood.bytes < 1 << 20 || answers < 20 {
      let (data, _) = try await URLSession.shared.data(for: URLRequest(url: url, timeoutInterval: 20))
      #expect(String(decoding: data, as: UTF8.self) == "ok\n")
      answers += 1
    }
    #expect(answers >= 20)
    try await flood.stop()
    await rooms.server.stop()
  }

  /// Connections are spread over several event loops; each stays on its own.
  @Test func messagesOfEachParticipantStayInOrder() async throws {
    let rooms = try await ServedRooms()
    let receiver = Session(JoinRequest(room: "tea", name: "Receiver"), in: rooms.world())
    let events = receiver.events()
    try await receiver.join()
    let senders = (0..<5).map { Session(JoinRequest(room: "tea", name: "S\($0)"), in: rooms.world()) }
    for sender in senders { try await sender.join() }
    let count = 60
    await withTaskGroup(of: Void.self) { group in
      for sender in senders {
        group.addTask {
          for number in 0..<count {
            let text = "\(sender.request.name) \(number)"
            try? sender.send(DataMessage(topic: "chat", payload: Array(text.utf8)))
          }
        }
      }
    }
    var next: [Substring: Int] = [:]
    for await event in events {
      guard case .messageReceived(let message) = event else { continue }
      let words = String(decoding: message.payload, as: UTF8.self).split(separator: " ")
      #expect(next[words[0], default: 0] == Int(words[1]))
      next[words[0], default: 0] += 1
      if next.values.reduce(0, +) == count * senders.count { break }
    }
    #expect(next.count == senders.count)
    for session in senders + [receiver] { await session.leave() }
    await rooms.server.stop()
  }
}
