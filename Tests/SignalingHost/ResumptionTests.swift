import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineSignalingHost

/// Clients that come back on another connection, step by step.
struct ResumptionTests {
  private let host: SignalingHost
  private let now = Tick(nanoseconds: 1_000_000_000)
  private let old = ConnectionID(1)
  private let new = ConnectionID(2)
  private let third = ConnectionID(3)

  init() throws { host = try Self.makeHost() }

  private static func makeHost(
    pacesPages: Bool = false, _ configure: (inout RouterConfiguration) -> Void = { _ in }
  ) throws -> SignalingHost {
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)])
    configure(&configuration)
    configuration.pacesPages = pacesPages
    let router = Router(
      configuration: configuration, random: SeededRandom(seed: 1), now: Tick(nanoseconds: 1_000_000_000))
    return SignalingHost(router: router, configuration: .init(resumeGrace: .seconds(30), pacesPages: pacesPages))
  }

  private typealias Received = (connection: ConnectionID, message: ServerMessage, pageBytes: Int?)

  private func drain(_ host: SignalingHost) -> [Received] {
    var messages: [Received] = []
    while let outgoing = host.pollMessage(at: now) {
      if let message = outgoing.message.message { messages.append((outgoing.connection, message, outgoing.pageBytes)) }
    }
    return messages
  }

  private func events(_ host: SignalingHost) -> [SignalingHost.Event] {
    var events: [SignalingHost.Event] = []
    while let event = host.pollEvent() { events.append(event) }
    return events
  }

  private func ring(_ id: String, _ identity: String, on connection: ConnectionID) {
    host.receive(
      .ring(RingRequest(id: id, room: "tea", to: [identity], hasVideo: false, timeoutSeconds: 10)), on: connection,
      at: now)
  }

  /// - Returns: the key.
  private func register(_ identity: String, on connection: ConnectionID) throws -> String {
    host.open(connection, at: now)
    host.receive(.register(Register(identity: identity, name: identity)), on: connection, at: now)
    let messages = drain(host)
    #expect(messages.map(\.message.kind) == ["resumable", "registered"])
    host.receive(.heard(messages.count { $0.message.isCounted }), on: connection, at: now)
    return try #require(messages.compactMap(\.message.key).first)
  }

  private func resume(_ key: String, received: Int, on connection: ConnectionID, opening: Bool = true) {
    if opening { host.open(connection, at: now) }
    host.receive(.resumeConversation(key: key, heard: received), on: connection, at: now)
  }

  @Test func clientRegisteredOnTheNewConnectionIsClosedByAResumption() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    resume(key, received: 2, on: new, opening: false)
    #expect(drain(host).contains { $0.connection == new && $0.message == .resumed(heard: 1) })
    // No device is registered as Ben any more.
    ring("r", "ben", on: new)
    #expect(drain(host).map(\.message) == [.ringProgress(RingProgress(id: "r", identity: "ben", state: .unreachable))])
  }

  @Test func refusedResumptionChangesNothing() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    // On its way to Ana when another connection asks for her channel with an impossible count.
    ring("r", "ana", on: new)
    resume(key, received: 99, on: third)
    let messages = drain(host)
    #expect(messages.contains { $0.connection == third && $0.message.code == .unknownConversation })
    #expect(messages.contains { $0.connection == old && $0.message.kind == "incomingRing" })
  }

  @Test func oldConnectionIsClosedWhenItsClientResumes() throws {
    let key = try register("ana", on: old)
    resume(key, received: 2, on: new)
    #expect(events(host) == [.clientClosed(ClientID(2)), .closeConnection(old), .clientResumed(ClientID(1))])
    #expect(host.connectionLost(old, at: now) == nil)
    #expect(host.connection(of: ClientID(1)) == new)
  }

  @Test func messagesOfTheOldConnectionAreIgnoredAfterTheResumption() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    resume(key, received: 2, on: third)
    _ = drain(host)
    ring("late", "ben", on: old)
    #expect(drain(host).isEmpty)
  }

  @Test func unsentMessagesFollowUnacknowledgedOnes() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    ring("1", "ana", on: new)
    _ = drain(host)
    ring("2", "ana", on: new)
    resume(key, received: 2, on: third)
    let rings = drain(host).compactMap { received in
      if received.connection == third, case .incomingRing(let ring) = received.message { ring.id } else { nil }
    }
    #expect(rings == ["1", "2"])
  }

  @Test func clientThatNeverAcknowledgedIsClosedWithItsConnection() throws {
    host.open(old, at: now)
    host.receive(.register(Register(identity: "ana", name: "ana")), on: old, at: now)
    _ = drain(host)
    #expect(host.connectionLost(old, at: now) == nil)
    #expect(events(host) == [.clientClosed(ClientID(1))])
    #expect(host.holdings.values.allSatisfy { $0 == 0 })
    #expect(host.router.holdings["clients"] == 0)
  }

  @Test func lostClientIsClosedAfterTheGracePeriod() throws {
    let key = try register("ana", on: old)
    #expect(host.connectionLost(old, at: now) == ClientID(1))
    #expect(host.deadline == now + .seconds(30))
    host.handleTimeout(at: now + .seconds(29))
    #expect(events(host) == [])
    host.handleTimeout(at: now + .seconds(30))
    #expect(events(host) == [.clientClosed(ClientID(1))])
    #expect(host.deadline == nil)
    resume(key, received: 2, on: new)
    #expect(drain(host).map(\.message.code) == [.unknownConversation])
  }

  @Test func lostClientIsClosedByGiveUp() throws {
    _ = try register("ana", on: old)
    host.giveUp(ClientID(1), at: now)
    #expect(host.client(on: old) == ClientID(1), "it is connected")
    host.connectionLost(old, at: now)
    host.giveUp(ClientID(1), at: now)
    #expect(host.holdings.values.allSatisfy { $0 == 0 })
  }

  // MARK: Pages

  private func join(_ host: SignalingHost, on connection: ConnectionID) throws -> (key: String, count: Int) {
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "them", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
      fingerprint: .init(value: "AB:CD"),
      isLite: false, setup: .active)
    host.open(connection, at: now)
    host.receive(.join(Join(room: "tea", name: "", description: description)), on: connection, at: now)
    let messages = drain(host).filter { $0.connection == connection }.map(\.message)
    let count = messages.count(where: \.isCounted)
    host.receive(.heard(count), on: connection, at: now)
    return (try #require(messages.compactMap(\.key).first), count)
  }

  private func sendData(_ id: String, _ host: SignalingHost, bytes: Int = 60_000) {
    host.receive(
      .data(SendData(DataMessage(topic: "t", payload: [UInt8](repeating: 7, count: bytes)), id: id)), on: new, at: now)
  }

  /// The cost of a resumption at one time does not depend on the number of missed messages.
  @Test func missedMessagesComeInPagesAndInOrder() throws {
    let host = try Self.makeHost(pacesPages: true)
    let key = try join(host, on: old)
    _ = try join(host, on: new)
    let announced = 1  // the second participant
    for number in 0..<20 { sendData("\(number)", host) }
    _ = drain(host)
    host.open(third, at: now)
    host.receive(.resumeConversation(key: key.key, heard: key.count + announced), on: third, at: now)
    var texts: [String] = []
    var pages = 0
    var page = drain(host).filter { $0.connection == third }
    #expect(page.first?.message == .resumed(heard: 1))
    while !page.isEmpty {
      texts += page.compactMap { if case .data(let data) = $0.message { data.id } else { nil } }
      guard let bytes = page.last?.pageBytes else { break }
      #expect(bytes <= SignalingLimits.historyPage)
      pages += 1
      if pages == 2 {
        sendData("late", host)
        #expect(!drain(host).contains { $0.connection == third }, "it comes with the pages")
      }
      host.pageWritten(on: third)
      page = drain(host).filter { $0.connection == third }
    }
    #expect(pages > 4)
    #expect(texts == (0..<20).map { "\($0)" } + ["late"])
    sendData("later", host)
    #expect(drain(host).filter { $0.connection == third }.map(\.pageBytes) == [nil], "all has been sent again")
  }

  /// Messages beyond the limit could only be sent with a gap.
  @Test func clientIsClosedWhenItsMissedMessagesExceedTheLimit() throws {
    let host = try Self.makeHost(pacesPages: true) { $0.limits.dataByteBurst = 100_000_000 }
    let key = try join(host, on: old)
    _ = try join(host, on: new)
    for number in 0..<10 { sendData("\(number)", host) }
    _ = drain(host)
    host.open(third, at: now)
    host.receive(.resumeConversation(key: key.key, heard: key.count + 1), on: third, at: now)
    #expect(drain(host).contains { $0.connection == third && $0.pageBytes != nil })
    for number in 0..<200 { sendData("\(number)", host) }
    _ = drain(host)
    #expect(events(host).contains(.closeConnection(old)))
    host.pageWritten(on: third)
    #expect(!drain(host).contains { $0.connection == third })
    #expect(events(host) == [.closeConnection(third)])
    host.connectionLost(third, at: now)
    let fourth = ConnectionID(4)
    host.open(fourth, at: now)
    host.receive(.resumeConversation(key: key.key, heard: key.count + 1), on: fourth, at: now)
    #expect(drain(host).map(\.message.code) == [.unknownConversation])
  }

  @Test func receiversOfOneMessageShareItsEncoding() throws {
    _ = try join(host, on: old)
    _ = try join(host, on: new)
    _ = try join(host, on: third)
    sendData("1", host, bytes: 10)
    var messages: [EncodedMessage] = []
    while let outgoing = host.pollMessage(at: now) {
      if case .data = outgoing.message.message { messages.append(outgoing.message) }
    }
    #expect(messages.count == 2)
    #expect(messages[0] === messages[1])
  }
}

extension ServerMessage {
  fileprivate var key: String? { if case .resumable(let key, _) = self { key } else { nil } }

  fileprivate var code: Failure.Code? {
    switch self {
    case .refused(let failure, _), .failed(_, let failure): failure.code
    default: nil
    }
  }

  /// The name of the case.
  fileprivate var kind: String { "\(self)".prefix { $0 != "(" }.description }
}
