import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

struct DataTests {
  private func data(_ client: Client) -> [ReceivedMessage] {
    client.messages.compactMap { if case .data(let data) = $0 { data } else { nil } }
  }

  @Test func messagesReachRemoteParticipantsInOrder() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    for number in 0..<20 {
      clients[number % 2].send(.data(SendData(DataMessage(topic: "chat", payload: [UInt8(number)]), id: "\(number)")))
    }
    #expect(data(clients[2]).map(\.payload) == (0..<20).map { [UInt8($0)] })
    #expect(data(clients[2]).map(\.order) == Array(1...20))
    #expect(data(clients[0]).map(\.payload) == stride(from: 1, to: 20, by: 2).map { [UInt8($0)] })
    #expect(clients[0].messages.contains(.dataReceipt(DataReceipt(id: "0", order: 1))))
  }

  @Test func directedMessagesReachOnlyTheirAddressees() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    clients[0].send(
      .data(SendData(DataMessage(topic: "t", payload: [1], to: ["cyd", "nobody"], lifetime: .seconds(10)), id: "1")))
    #expect(data(clients[1]).isEmpty)
    #expect(data(clients[2]).map(\.isDirected) == [true])
    clients[0].send(.data(SendData(DataMessage(topic: "t", payload: [1], to: ["nobody"]), id: "2")))
    #expect(clients[0].messages.last?.code == .unknownParticipant)
    clients[0].send(.data(SendData(DataMessage(topic: "t", payload: [2]), id: "3", echo: true)))
    #expect(data(clients[0]).map(\.id) == ["3"])
    let dan = try world.joined("dan")[0]
    guard case .joined(let joined) = dan.messages.first else { return }
    #expect(joined.history.isEmpty)
  }

  @Test func lateJoinerGetsMessagesThatHaveNotExpired() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [1], lifetime: .seconds(1)), id: "short")))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [2], lifetime: .seconds(60)), id: "long")))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [3]), id: "none")))
    world.run(.seconds(1))
    world.router.send(.init([4], as: "koine.recording", in: "room"), at: world.now)
    world.run(.seconds(4))
    let ben = try world.joined("ben")[0]
    guard case .joined(let joined) = ben.messages.first else {
      Issue.record("not joined")
      return
    }
    #expect(joined.history.map(\.sender) == ["ana", "koine.recording"])
    #expect(joined.history.first?.id == "long")
    #expect(joined.history.map(\.age) == [.seconds(5), .seconds(4)])
  }

  @Test func tooManyMessagesAreRefused() throws {
    let world = try World { $0.limits.dataBurst = 5 }
    let ana = try world.joined("ana")[0]
    for number in 0..<6 { ana.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "\(number)"))) }
    #expect(ana.messages.last?.code == .tooMany)
    world.run(.seconds(1))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "again")))
    #expect(ana.messages.last?.code == nil)
  }

  @Test func tooManyBytesAreRefused() throws {
    let world = try World { ($0.limits.dataByteBurst, $0.limits.dataBytesPerSecond) = (1_000, 500) }
    let ana = try world.joined("ana")[0]
    for number in 0..<2 {
      ana.send(.data(SendData(DataMessage(topic: "t", payload: .init(repeating: 1, count: 600)), id: "\(number)")))
    }
    #expect(ana.messages.last?.code == .tooMany)
    world.run(.seconds(1))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: .init(repeating: 1, count: 600)), id: "again")))
    #expect(ana.messages.last?.code == nil)
  }

  @Test func persistentAndDirectedMessagesAreKeptForTheirAddressees() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [1], isPersistent: true), id: "rule")))
    for number in 0..<10 {
      ana.send(.data(SendData(DataMessage(topic: "t", payload: [2], lifetime: .seconds(5)), id: "chatter \(number)")))
    }
    ana.send(
      .data(SendData(DataMessage(topic: "t", payload: [3], to: ["cyd"], lifetime: .seconds(7_200)), id: "for cyd")))
    #expect(ana.messages.last?.code == nil, "who is not there yet can be written to if it is kept")
    world.run(.seconds(3_500))
    func history(of name: String) throws -> [String] {
      guard case .joined(let joined) = try world.joined(name)[0].messages.first else { return [] }
      return joined.history.map(\.id)
    }
    #expect(try history(of: "ben") == ["rule"])
    #expect(try history(of: "cyd") == ["rule", "for cyd"])
    world.run(.seconds(200))
    #expect(try history(of: "dan") == ["rule"])
  }

  /// 20 participants send messages to the whole room. Each receives the messages of the others once and in the order of each
  /// sender, and all receive them in one common order.
  @Test func messagesOfManySendersArriveOnceAndInOneOrder() throws {
    let world = try World()
    let names = (0..<20).map { "p\($0)" }
    var clients: [Client] = []
    for name in names { clients += try world.joined(name) }
    for number in 0..<100 {
      for client in clients { client.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "\(number)"))) }
      world.run(.milliseconds(10))
    }
    for client in clients {
      let heard = data(client)
      #expect(heard.count == 19 * 100)
      #expect(zip(heard, heard.dropFirst()).allSatisfy { $0.order < $1.order })
      let bySender = Dictionary(grouping: heard, by: \.sender)
      #expect(bySender.count == 19)
      #expect(bySender.values.allSatisfy { $0.map(\.id) == (0..<100).map(String.init) })
    }
  }

  @Test func attributesReachRemoteParticipantsAndLateJoiners() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].send(.attributes(["hand": "up"]))
    #expect(clients[1].messages.last == .attributes(participant: "ana", ["hand": "up"]))
    let cyd = try world.joined("cyd")[0]
    guard case .joined(let joined) = cyd.messages.first else { return }
    #expect(joined.participants[0].attributes == ["hand": "up"])
  }

  @Test func pingIsAnsweredAtAnyTime() throws {
    let world = try World()
    let client = try world.makeClient()
    client.send(.ping(4))
    #expect(client.messages == [.pong(4)])
  }
}

struct SpeakingTests {
  @Test func audioLevelsAndTheDominantSpeakerAreSent() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for client in clients { client.publish(.microphone) }
    clients[0].sendAudio("microphone", seconds: 3, level: -20)
    clients[1].sendAudio("microphone", seconds: 3, level: -80)
    world.run(.seconds(4))
    let speakers = clients[1].messages.compactMap { if case .speakers(let speakers) = $0 { speakers } else { nil } }
    #expect(speakers.contains { $0.dominant == "ana" })
    #expect(speakers.first?.levels["ana"] == -20)
    #expect(speakers.last?.levels == ["ana": -127, "ben": -127])
    #expect(speakers.count <= 5)
    let cyd = try world.joined("cyd")[0]
    #expect(cyd.messages.contains(.speakers(Speakers(levels: [:], dominant: "ana"))))
  }

  @Test func onlyTheLoudestMicrophonesAreForwarded() throws {
    let world = try World { $0.limits.forwardedVoices = 2 }
    let clients = try world.joined("a", "b", "c", "listener")
    for client in clients[..<3] { client.publish(.microphone) }
    for name in ["a", "b", "c"] { clients[3].subscribe(to: name, "microphone") }
    clients[0].sendAudio("microphone", seconds: 4, level: -20)
    clients[1].sendAudio("microphone", seconds: 4, level: -60)
    clients[2].sendAudio("microphone", seconds: 4, level: -30)
    world.run(.seconds(5))
    #expect(clients[3].frames("a", "microphone").count == 200)
    #expect(clients[3].frames("b", "microphone").count < 20)
    #expect(clients[3].frames("c", "microphone").count > 190)
  }
}
