import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

@testable import VideoSDKRTC

/// Messages by topic, and their receivers.
@Suite struct PubSubTests {
  private let environment = TestEnvironment()

  private final class Reader: PubSubMessageListener, Sendable {
    private let lines = Lock<[String]>([])
    var told: [String] { lines.withLock { $0 } }
    func onMessageReceived(_ message: PubSubMessage) {
      lines.withLock { $0.append("\(message.senderName): \(message.message)") }
    }
  }

  @Test func everySubscriberIncludingTheSenderReceivesMessage() async {
    let (ana, told) = environment.meeting("Ana", camera: false)
    let (ben, _) = environment.meeting("Ben", camera: false)
    let (mine, others, none) = (Reader(), Reader(), Reader())
    ana.pubsub.publish(topic: "CHAT", message: "too early")
    ana.startLivestream(outputs: [])
    await environment.run()
    #expect(told.told == ["error UNKNOWN_ERROR", "error INVALID_LIVESTREAM_CONFIG"])
    ana.join()
    ben.join()
    await environment.run()
    ana.pubsub.subscribe(topic: "CHAT", forListener: mine)
    ana.pubsub.subscribe(topic: "CHAT", forListener: mine)
    ben.pubsub.subscribe(topic: "CHAT", forListener: others)
    ben.pubsub.subscribe(topic: "RAISE_HAND", forListener: none)
    ana.pubsub.publish(topic: "CHAT", message: "Hello")
    await environment.run()
    #expect(mine.told == ["Ana: Hello"])
    #expect(others.told == ["Ana: Hello"])
    #expect(none.told.isEmpty)
    ben.pubsub.unsubscribe(topic: "CHAT", forListener: others)
    ana.pubsub.publish(topic: "CHAT", message: "Anybody?", options: ["persist": false])
    await environment.run()
    #expect(mine.told.count == 2)
    #expect(others.told.count == 1)
    let message = ben.pubsub.getMessagesForTopic("CHAT").first
    #expect(message?.senderId == ana.localParticipant.id)
    #expect(message?.topic == "CHAT")
    #expect(message?.timestamp.hasSuffix("Z") == true)
    #expect(message?.id.isEmpty == false)
  }

  @Test func messageCarriesJSONPayload() async throws {
    let (ana, _) = environment.meeting("Ana", camera: false)
    let (ben, _) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    try await ana.pubsub.publish(topic: "CHAT", message: "Hello", payload: ["number": 7, "words": ["a"]])
    try await ana.pubsub.publish(topic: "CHAT", message: "bare", payload: nil)
    await #expect(throws: PayloadError.self) {
      try await ana.pubsub.publish(topic: "CHAT", message: "no JSON", payload: ["date": Date()])
    }
    await environment.run()
    for meeting in [ana, ben] {
      let messages = meeting.pubsub.getMessagesForTopic("CHAT")
      #expect(messages.map(\.message) == ["Hello", "bare"])
      #expect(messages.last?.payload.isEmpty == true)
      #expect(
        messages.first?.payload["number"] as? Int == 7 && messages.first?.payload["words"] as? [String] == ["a"])
    }
  }

  @Test func messageTextMayContainAnyCharacter() async throws {
    let (ana, _) = environment.meeting("Ana", camera: false)
    let (ben, _) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let texts = ["a\u{0}b", "\u{0}", "a\u{0}{\"x\":1}", "", "ÿ"]
    for text in texts { ana.pubsub.publish(topic: "CHAT", message: text) }
    try await ana.pubsub.publish(topic: "CHAT", message: "a\u{0}b", payload: ["number": 7])
    // As earlier versions wrote it.
    try ana.session?.send(DataMessage(topic: "CHAT", payload: Array("old\u{0}{\"number\":8}".utf8)))
    await environment.run()
    let messages = ben.pubsub.getMessagesForTopic("CHAT")
    #expect(messages.map(\.message) == texts + ["a\u{0}b", "old"])
    #expect(messages.map { $0.payload["number"] as? Int } == texts.map { _ in nil } + [7, 8])
  }

  /// Every participant may send to any topic.
  @Test func storedMessagesOfAllTopicsAreBounded() async throws {
    let (ana, _) = environment.meeting("Ana", mic: false, camera: false)
    ana.join()
    await environment.run()
    let text = String(repeating: "x", count: 60_000)
    for number in 0..<700 {
      ana.pubsub.publish(topic: "\(number)", message: text)
      if number % 20 == 19 { await environment.run(.milliseconds(100)) }
    }
    await environment.run()
    let kept = (0..<700).filter { !ana.pubsub.getMessagesForTopic("\($0)").isEmpty }
    #expect((450...560).contains(kept.count) && kept == Array(kept[0]..<700), "\(kept.count) of 700, the newest")
  }

  /// In a long-lived room many participants join and leave.
  @Test func namesOfDepartedParticipantsAreForgotten() {
    let pubsub = PubSub { _ in }
    let (eva, ben) = (Koine.Participant(id: "eva", name: "Eva"), Koine.Participant(id: "ben", name: "Ben"))
    func say(_ text: String) {
      for sender in [eva, ben] {
        pubsub.receive(
          ReceivedMessage(
            sender: sender.id, topic: "CHAT", payload: Array(text.utf8), order: 1, age: .zero, isHistory: false))
      }
    }
    func names(_ text: String) -> [String] {
      pubsub.getMessagesForTopic("CHAT").filter { $0.message == text }.map(\.senderName)
    }
    pubsub.met(eva)
    pubsub.met(ben)
    say("there")
    pubsub.missed(ben)
    say("gone")
    pubsub.met(Koine.Participant(id: "ben", name: "Ben again"))
    say("back")
    #expect(names("there") == ["Eva", "Ben"], "messages keep theirs")
    #expect(names("gone") == ["Eva", ""])
    #expect(names("back") == ["Eva", "Ben again"])
  }

  @Test func persistedMessageIsReadByLateJoiner() async {
    let (ana, _) = environment.meeting("Ana", camera: false)
    ana.join()
    await environment.run()
    ana.pubsub.publish(topic: "CHAT", message: "kept", options: ["persist": true])
    ana.pubsub.publish(topic: "CHAT", message: "gone")
    await environment.run()
    let (cleo, _) = environment.meeting("Cleo", camera: false)
    let late = Reader()
    cleo.pubsub.subscribe(topic: "CHAT", forListener: late)
    cleo.join()
    await environment.run()
    #expect(cleo.pubsub.getMessagesForTopic("CHAT").map(\.message) == ["kept"])
    #expect(cleo.pubsub.getMessagesForTopic("CHAT").first?.senderName == "Ana")
    #expect(late.told.isEmpty)
    #expect(cleo.pubsub.getMessagesForTopic("other").isEmpty)
  }

  /// For 10,000 messages: `KOINE_ROUNDS=500`, the messages of each of twenty publishers.
  @Test func longChatIsReadCompletelyByLateJoiner() async {
    let rounds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) } ?? 60
    let names = (0..<20).map { "P\($0)" }
    let publishers = names.map { environment.meeting($0, id: $0, mic: false, camera: false).0 }
    for publisher in publishers { publisher.join() }
    await environment.run()
    let reader = Reader()
    publishers[0].pubsub.subscribe(topic: "CHAT", forListener: reader)
    for round in 0..<rounds {
      for publisher in publishers {
        publisher.pubsub.publish(topic: "CHAT", message: "\(round)", options: ["persist": true])
      }
      await environment.run(.milliseconds(10))
    }
    await environment.run(.seconds(1))
    let (late, _) = environment.meeting("Late", mic: false, camera: false)
    late.join()
    await environment.run(.seconds(3))
    let wanted = (0..<rounds).map(String.init)
    for (who, messages) in [("who comes late", late), ("who was there", publishers[7])].map({
      ($0, $1.pubsub.getMessagesForTopic("CHAT"))
    }) {
      #expect(messages.count == rounds * names.count, "\(who) has none lost, and none twice")
      let own = Dictionary(grouping: messages, by: \.senderId)
      for name in names { #expect(own[name]?.map(\.message) == wanted, "\(who), of \(name)") }
    }
    let orders = late.pubsub.getMessagesForTopic("CHAT").compactMap { Int($0.id) }
    #expect(orders.count == rounds * names.count)
    #expect(zip(orders, orders.dropFirst()).allSatisfy { $0 < $1 })
    #expect(reader.told.count == rounds * names.count)
  }

  @Test func rejoinedParticipantReceivesNoMessageTwice() async throws {
    let (ana, _) = environment.meeting("Ana", id: "ana", mic: false, camera: false)
    let (ben, _) = environment.meeting("Ben", id: "ben", mic: false, camera: false)
    ana.join()
    ben.join()
    await environment.run()
    for number in 0..<3 { ana.pubsub.publish(topic: "CHAT", message: "\(number)", options: ["persist": true]) }
    await environment.run()
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.cutNetwork(of: "ben", for: .seconds(45))  // longer than a room waits
    await environment.run(.seconds(2))
    for number in 3..<6 {
      ana.pubsub.publish(topic: "CHAT", message: "\(number)", options: ["persist": true])
      await environment.run()
    }
    await environment.run(.seconds(60))
    #expect(ben.pubsub.getMessagesForTopic("CHAT").map(\.message) == (0..<6).map(String.init))
  }

  @Test func sendOnlyMessageReachesOnlyItsRecipients() async {
    let (ana, _) = environment.meeting("Ana", camera: false)
    let (ben, _) = environment.meeting("Ben", id: "ben", camera: false)
    let (cleo, _) = environment.meeting("Cleo", camera: false)
    for meeting in [ana, ben, cleo] { meeting.join() }
    await environment.run()
    let (bens, cleos) = (Reader(), Reader())
    ben.pubsub.subscribe(topic: "CHAT", forListener: bens)
    cleo.pubsub.subscribe(topic: "CHAT", forListener: cleos)
    ana.pubsub.publish(topic: "CHAT", message: "psst", options: ["sendOnly": ["ben"]])
    await environment.run()
    #expect(bens.told == ["Ana: psst"])
    #expect(cleos.told.isEmpty)
  }

  @Test func nativeParticipantExchangesTheSameChatText() async throws {
    let (ana, _) = environment.meeting("Ana", camera: false)
    let reader = Reader()
    ana.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: environment.world)
    let heard = Lock<[String]>([])
    ben.observe { event in
      if case .messageReceived(let message) = event {
        heard.withLock { $0.append("\(message.topic) \(String(decoding: message.payload, as: UTF8.self))") }
      }
    }
    ben.join { _ in }
    await environment.run()
    ana.pubsub.subscribe(topic: "chat", forListener: reader)
    ana.pubsub.publish(topic: "chat", message: "Hello")
    try ben.send(DataMessage(topic: "chat", payload: Array("Hi".utf8)))
    await environment.run()
    #expect(heard.withLock { $0 } == ["chat Hello"])
    #expect(reader.told.sorted() == ["Ana: Hello", "Ben: Hi"])
  }
}
