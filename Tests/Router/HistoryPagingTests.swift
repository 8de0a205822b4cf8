import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

/// A new participant gets the kept messages in pages, in order and once, and no faster than it reads.
struct HistoryPagingTests {
  private static let count = 200

  /// A room with 200 kept messages from Ana, 2 MB of JSON.
  private func fullRoom(paced: Bool) throws -> (World, Client) {
    let world = try World { configuration in
      (configuration.limits.dataBurst, configuration.limits.dataByteBurst) = (10_000, 100_000_000)
      configuration.pacesPages = paced
    }
    let ana = try world.joined("ana")[0]
    for number in 0..<Self.count { sendData("\(number)", from: ana, bytes: 8_000) }
    return (world, ana)
  }

  private func sendData(_ id: String, from client: Client, bytes: Int = 10, isKept: Bool = true) {
    client.send(
      .data(
        SendData(DataMessage(topic: "t", payload: [UInt8](repeating: 7, count: bytes), isPersistent: isKept), id: id)))
  }

  /// The ids of all data messages that a client got, as history and live, in order.
  private func receivedIDs(_ messages: [ServerMessage]) -> [String] {
    messages.flatMap { message -> [String] in
      switch message {
      case .joined(let joined): joined.history.map(\.id)
      case .history(let page): page.messages.map(\.id)
      case .data(let data): [data.id]
      default: []
      }
    }
  }

  private func bytes(_ client: Client) throws -> Int { try client.messages.reduce(0) { try $0 + $1.json().count } }

  private var all: [String] { (0..<Self.count).map { "\($0)" } }

  @Test(arguments: [false, true]) func longHistoryComesInPagesBeforeLaterMessages(_ isPaced: Bool) throws {
    let (world, ana) = try fullRoom(paced: isPaced)
    let ben = try world.makeClient()
    ben.join("room", as: "ben")
    sendData("live", from: ana, isKept: false)
    sendData("kept", from: ana)
    if isPaced { #expect(receivedIDs(ben.messages).count < Self.count) }
    for _ in 0..<20 where isPaced {
      world.host.pageWritten(on: ben.connection)
      world.drain()
    }
    #expect(receivedIDs(ben.messages) == all + ["live", "kept"])
    let answers = ben.messages.filter { if case .data = $0 { false } else { true } }
    let sizes = try answers.map { try $0.json().count }
    #expect(sizes.allSatisfy { $0 <= SignalingLimits.historyPage + 4_096 })
    #expect(answers.count { $0.hasMoreHistory } == answers.count { if case .history = $0 { true } else { false } })
    sendData("later", from: ana)
    #expect(receivedIDs(ben.messages).last == "later")
  }

  @Test func twentyJoinsCostOnePageOfHistoryEach() throws {
    let (world, _) = try fullRoom(paced: true)
    let clients = try (0..<20).map { number in
      let client = try world.makeClient()
      client.join("room", as: "c\(number)")
      return client
    }
    let sizes = try clients.map { try bytes($0) }
    #expect(sizes.reduce(0, +) < 20 * (SignalingLimits.historyPage + 64 * 1024))
    #expect(clients.allSatisfy { receivedIDs($0.messages).first == "0" })
  }

  @Test func messagesThatWaitForAHistoryAreBounded() throws {
    let (world, ana) = try fullRoom(paced: true)
    let ben = try world.makeClient()
    ben.join("room", as: "ben")
    for number in 0..<80 { sendData("live \(number)", from: ana, bytes: 60_000, isKept: false) }
    #expect(receivedIDs(ben.messages) == all + (0..<80).map { "live \($0)" }, "sent though nothing was read")
  }

  @Test(.timeLimit(.minutes(1))) func messagesThatWaitForAParticipantThatHasLeftAreDropped() throws {
    let (world, ana) = try fullRoom(paced: true)
    let ben = try world.makeClient()
    ben.join("room", as: "ben")
    let (router, host, now) = (world.router, world.host, world.now)
    let payload = [UInt8](repeating: 7, count: 60_000)
    // Ben leaves before the router sends the messages that are queued for him.
    for number in 0..<80 {
      host.receive(
        .data(SendData(DataMessage(topic: "t", payload: payload), id: "\(number)")), on: ana.connection, at: now)
    }
    host.receive(.leave(reason: nil), on: ben.connection, at: now)
    world.drain()
    #expect(ben.messages.last == .ended(.left))
    #expect(router.clients[ben.id]?.heldBytes == 0)
  }

  @Test func participantThatLeavesDuringItsHistoryGetsItFromTheStartWhenItRejoins() throws {
    let (world, ana) = try fullRoom(paced: true)
    let ben = try world.makeClient()
    ben.join("room", as: "ben")
    sendData("live", from: ana, isKept: false)
    ben.send(.leave(reason: nil))
    #expect(ben.messages.last == .ended(.left))
    world.host.pageWritten(on: ben.connection)
    world.drain()
    #expect(ben.messages.last == .ended(.left))
    ben.forgetMessages()
    ben.join("room", as: "ben")
    for _ in 0..<20 {
      world.host.pageWritten(on: ben.connection)
      world.drain()
    }
    #expect(receivedIDs(ben.messages) == all)
    #expect(world.router.clients[ben.id]?.heldBytes == 0)
  }

  @Test func historyContinuesAfterAResumption() throws {
    let (world, ana) = try fullRoom(paced: true)
    let (host, first, second) = (world.host, ConnectionID(100), ConnectionID(101))
    var (seen, key) = ([ServerMessage](), "")
    func poll() {
      while let outgoing = host.pollMessage(at: world.now), let message = outgoing.message.message {
        let line = outgoing.connection
        guard line == first || line == second else { continue }
        if case .resumable(let new, _) = message { key = new }
        if message.isCounted { seen.append(message) }
      }
    }
    host.open(first, at: world.now)
    let peer = try world.makeClient().peer
    host.receive(
      .join(Join(room: "room", participantID: "ben", name: "", description: peer.localDescription)),
      on: first, at: world.now)
    poll()
    host.receive(.heard(seen.count), on: first, at: world.now)
    host.pageWritten(on: first)
    poll()
    // The last page that was sent is lost with the connection.
    host.connectionLost(first, at: world.now)
    seen.removeLast()
    host.receive(
      .data(SendData(DataMessage(topic: "t", payload: [1]), id: "live")), on: ana.connection, at: world.now)
    poll()
    host.open(second, at: world.now)
    host.receive(.resumeConversation(key: key, heard: seen.count), on: second, at: world.now)
    for _ in 0..<20 {
      poll()
      host.pageWritten(on: second)
    }
    #expect(receivedIDs(seen) == all + ["live"])
  }
}
