import Foundation
import Koine
import KoineBackends
import KoineServerBackend
import KoineSignaling
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Testing

/// The client of a cluster over real sockets, against servers that say what the test wants.
@Suite(.serialized) struct SeveralServersTests {
  /// A WebSocket server that records messages and answers them.
  private final class Scripted: Sendable {
    let messages = Lock<[ClientMessage]>([])
    private let answers = Lock<@Sendable (ClientMessage) -> [ServerMessage]>({ _ in [] })
    private let channel: any Channel
    var place: String { "ws://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// - Parameter pings: the time between pings of the server; nil: none.
    init(pings: TimeAmount? = nil) async throws {
      let (messages, answers) = (messages, answers)
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
            upgradePipelineHandler: { channel, _ in
              channel.eventLoop.makeCompletedFuture {
                if let pings {
                  channel.eventLoop.scheduleRepeatedTask(initialDelay: pings, delay: pings) { _ in
                    channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()), promise: nil)
                  }
                }
                try channel.pipeline.syncOperations.addHandler(
                  Reader { message in
                    messages.withLock { $0.append(message) }
                    return answers.withLock { $0 }(message)
                  })
              }
            })
          return channel.pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
        }
        .bind(host: "127.0.0.1", port: 0).get()
    }

    func answer(_ body: @escaping @Sendable (ClientMessage) -> [ServerMessage]) { answers.withLock { $0 = body } }
    func close() async throws { try await channel.close() }
    var joins: [Join] { messages.withLock { $0 }.compactMap { if case .join(let join) = $0 { join } else { nil } } }
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    private let answer: (ClientMessage) -> [ServerMessage]
    init(_ answer: @escaping (ClientMessage) -> [ServerMessage]) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      guard frame.opcode == .text else { return }
      let message = try? Array(buffer: frame.unmaskedData).withUnsafeBytes { try ClientMessage(json: $0) }
      for json in message.map(answer)?.compactMap({ try? $0.json() }) ?? [] {
        context.channel.writeAndFlush(
          WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: json)), promise: nil)
      }
    }
  }

  private final class Recorder: LinkReceiver, Sendable {
    let events = Lock<[String]>([])
    func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}
    func linkDidChange(_ event: LinkEvent) {
      let text: String? =
        switch event {
        case .joined: "joined"
        case .rejoined: "rejoined"
        case .reconnecting: "reconnecting"
        case .ended(let reason): "ended \(reason)"
        default: nil
        }
      if let text { events.withLock { $0.append(text) } }
    }
  }

  private static func welcome(_ places: [String], epoch: String, silence: Int = 2) -> [ServerMessage] {
    var joined = Joined(
      local: Participant(id: "ana", name: "Ana"),
      description: PeerDescription(
        ice: ICECredentials(ufrag: "abcd", password: "0123456789012345678901"), candidates: [],
        fingerprint: Fingerprint(value: "AA:BB"), isLite: true, setup: .passive), epoch: epoch)
    (joined.places, joined.pingSeconds, joined.silenceSeconds) = (places, 1, silence)
    return [.resumable(key: "k", graceSeconds: 30), .joined(joined)]
  }

  private func admit(_ server: Scripted, naming places: [String], as epoch: String, silence: Int = 2) {
    server.answer { message in
      switch message {
      case .join: Self.welcome(places, epoch: epoch, silence: silence)
      case .resumeConversation: [.refused(Failure(.unknownConversation, ""))]
      default: []
      }
    }
  }

  private func connect(to address: String) throws -> (link: any Link, recorder: Recorder) {
    let recorder = Recorder()
    let request = JoinRequest(room: "tea", participantID: "ana", name: "Ana")
    return (try Backends.backend(at: address).connect(request, receiver: recorder), recorder)
  }

  private func until(_ limit: Duration, _ condition: () -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
      if condition() { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return condition()
  }

  @Test func closedPortMakesWayForTheNextAddress() async throws {
    let (closed, open) = (try await Scripted(), try await Scripted())
    let place = closed.place
    try await closed.close()
    admit(open, naming: [], as: "e1")
    let (link, recorder) = try connect(to: "\(place), \(open.place)")
    let hasJoined = try await until(.seconds(60)) { recorder.events.withLock { $0 } == ["joined"] }
    #expect(hasJoined, "\(recorder.events.withLock { $0 })")
    link.leave()
    try await open.close()
  }

  @Test func silenceOfTheNamedTimeLeadsToAnotherServer() async throws {
    let (first, second) = (try await Scripted(), try await Scripted())
    let places = [first.place, second.place]
    admit(first, naming: places, as: "e1")
    admit(second, naming: places.reversed(), as: "e2")
    let start = ContinuousClock.now
    let (link, recorder) = try connect(to: first.place)
    let hasReturned = try await until(.seconds(14)) { recorder.events.withLock { $0 }.last == "rejoined" }
    #expect(hasReturned, "before the 15 s of servers that name no time")
    #expect(ContinuousClock.now - start >= .seconds(2))
    // On a busy machine the second one may be silent for too long, too.
    #expect(second.joins.first?.unreachable == first.place)
    #expect(recorder.events.withLock { $0.prefix(3) } == ["joined", "reconnecting", "rejoined"])
    link.leave()
    try await first.close()
    try await second.close()
  }

  @Test func pingsKeepAConnectionAlive() async throws {
    let server = try await Scripted(pings: .milliseconds(250))
    // So long that no busy machine holds all pings back, and the client's own time without a server's is 15 s.
    admit(server, naming: [server.place], as: "e1", silence: 4)
    let (link, recorder) = try connect(to: server.place)
    let isLost = try await until(.seconds(10)) { recorder.events.withLock { $0 }.contains("reconnecting") }
    #expect(!isLost)
    #expect(server.joins.count == 1)
    link.leave()
    try await server.close()
  }

  @Test func movedClientConnectsToTheOtherServer() async throws {
    let (first, second) = (try await Scripted(), try await Scripted(pings: .milliseconds(250)))
    let place = second.place
    first.answer { message in
      if case .join = message { Self.welcome([], epoch: "e1") + [.moved(places: [place])] } else { [] }
    }
    admit(second, naming: [place], as: "e2")
    let (link, recorder) = try connect(to: first.place)
    let hasMoved = try await until(.seconds(60)) { recorder.events.withLock { $0 }.last == "rejoined" }
    #expect(hasMoved)
    #expect(recorder.events.withLock { $0 } == ["joined", "rejoined"])
    #expect(second.joins.map(\.isMoved) == [true])
    link.leave()
    try await first.close()
    try await second.close()
  }

  /// The client closes the connection on which it was sent away. Counted as lost, it would be made anew at once.
  @Test func clientWaitsBeforeItFollowsTheFourthRedirectInARow() async throws {
    let server = try await Scripted()
    let (place, joins) = (server.place, Lock<[ContinuousClock.Instant]>([]))
    server.answer { message in
      guard case .join = message else { return [] }
      joins.withLock { $0.append(.now) }
      return [.refused(Failure(.moved, "the room is at another node"), places: [place])]
    }
    let (link, recorder) = try connect(to: place)
    let hasFollowed = try await until(.seconds(60)) { joins.withLock { $0.count } >= 5 }
    #expect(hasFollowed, "\(recorder.events.withLock { $0 })")
    let times = joins.withLock { $0 }
    if times.count >= 5 { #expect(times[4] - times[3] >= .milliseconds(250)) }
    link.leave()
    try await server.close()
  }

  @Test func returningClientThatIsRefusedAsOneTooManyWaits() async throws {
    let server = try await Scripted()
    let (place, joins) = (server.place, Lock<[ContinuousClock.Instant]>([]))
    server.answer { message in
      guard case .join = message else { return [] }
      let count = joins.withLock { joins in
        joins.append(.now)
        return joins.count
      }
      return switch count {
      case 1: Self.welcome([place, "ws://127.0.0.1:1"], epoch: "e1") + [.moved(places: [place])]
      case 4: Self.welcome([place], epoch: "e2", silence: 60)
      default: [.refused(Failure(.tooMany, "too many joins from one address"))]
      }
    }
    let (link, recorder) = try connect(to: place)
    let hasReturned = try await until(.seconds(60)) { recorder.events.withLock { $0 }.last == "rejoined" }
    #expect(hasReturned, "\(recorder.events.withLock { $0 })")
    let times = joins.withLock { $0 }
    if times.count == 4 { #expect(times[3] - times[2] >= .milliseconds(250)) } else { #expect(times.count == 4) }
    link.leave()
    try await server.close()
  }

  @Test(arguments: ["ws://a,", ",ws://a", "ws://a,embedded", "ws://a,http://b", "ws://a,,ws://b"])
  func listWithAnAddressThatIsNoneIsRefused(_ text: String) {
    #expect(throws: BackendAddressError.self) { try Backends.backend(at: text) }
  }

  @Test func listOfAddressesMakesOneBackend() throws {
    let backend = try #require(try Backends.backend(at: "ws://a:1, wss://b") as? ServerBackend)
    #expect(backend.addresses.map(\.description) == ["ws://a:1/signaling", "wss://b:443/signaling"])
    #expect(backend.address.description == "ws://a:1/signaling")
  }
}
