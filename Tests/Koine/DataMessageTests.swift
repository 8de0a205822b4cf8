import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Delivery guarantees of data messages between sessions. With 500 messages of each publisher: `KOINE_ROUNDS=100 swift
/// test --filter DataMessageTests`.
struct DataMessageTests {
  private static let messages = ProcessInfo.processInfo.environment["KOINE_ROUNDS"] == nil ? 60 : 500

  /// A participant that only sends and receives messages.
  private struct Person {
    let session: Session
    let heard = Lock<[ReceivedMessage]>([])
    let failures = Lock<[Failure.Code]>([])

    init(_ name: String, in world: World) {
      session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
      session.observe { [heard, failures] event in
        if case .messageReceived(let message) = event { heard.withLock { $0.append(message) } }
        if case .failed(let error) = event { failures.withLock { $0.append(error.code) } }
      }
      session.join { _ in }
    }

    func say(_ number: Int, lifetime: Duration? = nil, to recipients: [String]? = nil) throws {
      try session.send(
        DataMessage(topic: "count", payload: Array("\(number)".utf8), to: recipients, lifetime: lifetime))
    }

    func numbers(of sender: String) -> [Int] {
      heard.withLock { $0 }.filter { $0.sender == sender }.compactMap {
        Int(String(decoding: $0.payload, as: UTF8.self))
      }
    }
  }

  private func people(_ names: [String], in world: World) async -> [Person] {
    let people = names.map { Person($0, in: world) }
    await world.run(for: .seconds(1))
    return people
  }

  @Test func lateJoinerReceivesTheNewest1024Of1100Messages() async throws {
    let world = try virtualWorld()
    let ana = await people(["ana"], in: world)[0]
    for number in 0..<1_100 {
      try ana.say(number, lifetime: .seconds(300))
      if number % 100 == 99 { await world.run(for: .seconds(1)) }
    }
    let ben = await people(["ben"], in: world)[0]
    #expect(ben.numbers(of: "ana") == Array(76..<1_100))
    #expect(ben.heard.withLock { $0.allSatisfy { $0.isHistory && $0.age > .zero } })
    try ana.say(1_100, lifetime: .seconds(300))
    await world.run(for: .seconds(1))
    #expect(ben.numbers(of: "ana") == Array(76..<1_101))
    #expect(ben.heard.withLock { $0.last?.isHistory } == false)
  }

  @Test func receiverOfflineFor25SecondsMissesNoMessage() async throws {
    let world = try virtualWorld()
    let publishers = await people((0..<20).map { "p\($0)" }, in: world)
    let readers = await people(["here", "away"], in: world)
    let backend = try #require(world.backend as? EmbeddedBackend)
    let count = Self.messages
    for number in 0..<count {
      if number == count / 10 { backend.cutNetwork(of: "away", for: .seconds(25)) }
      for publisher in publishers { try publisher.say(number, to: ["here", "away"]) }
      await world.run(for: .seconds(30) / count)
    }
    await world.run(for: .seconds(15))
    for reader in readers {
      #expect(reader.session.state == .connected)
      for publisher in publishers {
        #expect(reader.numbers(of: publisher.session.request.name) == Array(0..<count))
      }
      let orders = reader.heard.withLock { $0.map(\.order) }
      #expect(zip(orders, orders.dropFirst()).allSatisfy { $0 < $1 })
    }
    #expect(publishers.allSatisfy { $0.failures.withLock { $0.isEmpty } })
  }

  @Test func receiverRejoiningAfterGracePeriodReceivesStoredMessagesOnce() async throws {
    let world = try virtualWorld()
    let both = await people(["ana", "ben"], in: world)
    let backend = try #require(world.backend as? EmbeddedBackend)
    for number in 0..<10 { try both[0].say(number, lifetime: .seconds(300)) }
    await world.run(for: .seconds(1))
    backend.cutNetwork(of: "ben", for: .seconds(52))  // longer than the room waits
    for number in 10..<60 {
      try both[0].say(number, lifetime: .seconds(300))
      await world.run(for: .seconds(1))
    }
    await world.run(for: .seconds(20))
    #expect(both[1].session.state == .connected && both[1].numbers(of: "ana") == Array(0..<60))
  }

  @Test func messagesAboveTheRateLimitAreRefusedAndNotForwarded() async throws {
    let world = try virtualWorld()
    let both = await people(["ana", "ben"], in: world)
    for number in 0..<500 { try both[0].say(number) }
    await world.run(for: .seconds(2))
    #expect(both[1].numbers(of: "ana").prefix(400) == Array(0..<400)[...])
    let refused = both[0].failures.withLock { $0 }
    #expect(!refused.isEmpty)
    #expect(refused.allSatisfy { $0 == .tooMany })
    #expect(refused.count + both[1].numbers(of: "ana").count == 500)
  }
}
