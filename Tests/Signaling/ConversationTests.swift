import KoineSignaling
import Testing

/// A client and a router that lose their connection at any message.
struct ConversationTests {
  private func number(_ message: ClientMessage) -> Int? {
    if case .unpublish(let ids) = message { Int(ids[0]) } else { nil }
  }
  private func say(_ number: Int) -> ClientMessage { .unpublish(trackIDs: ["\(number)"]) }
  private func tell(_ number: Int) -> ServerMessage { .withdrawn(participant: "", trackIDs: ["\(number)"]) }

  private struct Router {
    var conversation = Conversation<ServerMessage>()
    var heard: [Int] = []
    var outgoing: [ServerMessage] = []
    var isReached = true

    mutating func say(_ message: ServerMessage) {
      conversation.say(message)
      if isReached { outgoing.append(message) }
    }
  }

  private func standing() -> (ClientConversation, Router) {
    var (client, router) = (ClientConversation(), Router())
    for message in [
      ServerMessage.resumable(key: "k", graceSeconds: 30),
      .joined(
        Joined(local: Examples.participant, description: Examples.description)),
    ] {
      router.conversation.say(message)
      _ = client.hear(message)
    }
    router.conversation.told(heard: 2)
    return (client, router)
  }

  private func take(_ message: ClientMessage, _ router: inout Router) {
    if let told = router.conversation.hear(isCounted: message.isCounted) { router.outgoing.append(.heard(told)) }
    switch message {
    case .heard(let count): router.conversation.told(heard: count)
    case .resumeConversation(_, let heard):
      let unheard = router.conversation.takenUp(heard: heard) ?? []
      router.isReached = true
      router.outgoing = [.resumed(heard: router.conversation.heard)] + unheard
    default: if let number = number(message) { router.heard.append(number) }
    }
  }

  @Test func everythingIsHeardOnceAndInOrderWhereverItBreaks() {
    var state: UInt64 = 9
    func luck(_ limit: UInt64) -> Bool {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit == 0
    }
    var (client, router) = standing()
    var heard: [Int] = []
    for number in 0..<2_000 {
      client.say(say(number))
      router.say(tell(number))
      while !luck(3) {
        if luck(2) {
          if let message = client.pollMessage() { take(message, &router) }
        } else if !router.outgoing.isEmpty {
          if case .message(.withdrawn(_, let ids)) = client.hear(router.outgoing.removeFirst()) {
            heard.append(Int(ids[0]) ?? -1)
          }
        }
      }
      guard luck(10) else { continue }
      client.disconnected()
      (router.outgoing, router.isReached) = ([], false)
      client.connected()
    }
    for _ in 0..<3 {
      while let message = client.pollMessage() { take(message, &router) }
      for message in router.outgoing {
        if case .message(.withdrawn(_, let ids)) = client.hear(message) { heard.append(Int(ids[0]) ?? -1) }
      }
      router.outgoing = []
    }
    #expect(router.heard == Array(0..<2_000) && heard == Array(0..<2_000))
  }

  @Test func whoNeverTellsIsKeptLittleFor() {
    var conversation = Conversation<ServerMessage>()
    for number in 0..<1_000 { conversation.say(tell(number)) }
    #expect(conversation.unheard.count == 256 && conversation.said == 1_000)
    #expect(conversation.takenUp(heard: 10) == nil)
    #expect(conversation.takenUp(heard: 1_001) == nil)
    #expect(conversation.takenUp(heard: 990)?.count == 10)
  }

  @Test func whatIsKeptIsBoundedByItsRealSize() {
    let text = String(repeating: "x", count: 4_000)
    let attributes = Dictionary(uniqueKeysWithValues: (0..<64).map { ("\($0)", text) })
    let tracks = (0..<32).map {
      Track(id: Track.ID(participant: "a", track: "\($0)" + String(text.prefix(200))), kind: .camera)
    }
    let participant = Participant(id: "a", name: text, attributes: attributes, tracks: tracks)
    for (message, size) in [
      (.attributes(participant: "a", attributes), 256_000), (.participantJoined(participant), 266_000),
      (.knock(participant), 266_000), (.published(participant: "a", tracks: tracks), 6_400),
      (.failed(request: nil, Failure(.internal, text)), 4_000),
    ] as [(ServerMessage, Int)] {
      var conversation = Conversation<ServerMessage>(isTold: true)
      for _ in 0..<2_000 { conversation.say(message) }
      #expect(conversation.unheard.count * size <= 8 * 1024 * 1024)
    }
    var conversation = Conversation<ClientMessage>(isTold: true)
    for _ in 0..<200 { conversation.say(.attributes(attributes)) }
    #expect(conversation.unheard.count <= 32)
  }

  /// Limits are reckoned by it.
  @Test func theWrittenSizeIsNeverLess() throws {
    let odd = "\u{1}\u{1F}\"\\/é\u{2028}😀" + String(repeating: "\u{2}", count: 100)
    let participant = Participant(
      id: odd, name: odd, externalUserID: odd, attributes: [odd: odd, "a": odd],
      tracks: [Track(id: Track.ID(participant: odd, track: odd), kind: .screenSound)], joinedOrder: .max)
    #expect(try ServerMessage.participantJoined(participant).json().count <= participant.writtenSize)
    for count in 0..<10 {
      let data = ReceivedMessage(
        sender: odd, topic: odd, payload: .init(repeating: 255, count: count), id: odd, order: .max,
        age: .milliseconds(Int64.max), isDirected: true)
      #expect(try ServerMessage.data(data).json().count <= data.writtenSize)
    }
  }

  @Test func numbersThatCannotBeAreNotBelieved() {
    var conversation = Conversation<ServerMessage>()
    conversation.say(tell(1))
    conversation.told(heard: 5)
    conversation.told(heard: -3)
    #expect(conversation.unheard.count == 1)
    #expect(conversation.takenUp(heard: -1) == nil)
  }

  @Test func aForgottenConversationBeginsAnew() {
    var (client, _) = standing()
    client.say(say(1))
    client.disconnected()
    client.say(say(2))
    client.connected()
    #expect(client.pollMessage() == .resumeConversation(key: "k", heard: 2))
    #expect(client.pollMessage() == nil)
    #expect(client.hear(.refused(Failure(.unknownConversation, ""))) == .forgotten(unheard: [say(1), say(2)]))
    #expect(client.state == .connecting && !client.isResumable)
  }

  /// The router has not looked at its key.
  @Test func conversationOutlivesAResumptionThatCameAmongTooMany() {
    var (client, _) = standing()
    client.say(say(1))
    client.disconnected()
    client.connected()
    _ = client.pollMessage()
    let refusal = ServerMessage.refused(Failure(.tooMany, ""))
    #expect(client.hear(refusal) == .message(refusal))
    client.disconnected()
    client.connected()
    #expect(client.pollMessage() == .resumeConversation(key: "k", heard: 2))
    #expect(client.hear(.resumed(heard: 0)) == .resumed)
    #expect(client.pollMessage() == say(1))
  }

  @Test func pagesHoldWhatIsKeptInOrder() {
    var conversation = Conversation<ServerMessage>(isTold: true)
    for number in 0..<10 { conversation.say(tell(number)) }
    conversation.told(heard: 3)
    let weight = tell(3).weight
    #expect(conversation.page(from: 2, within: .page) == nil, "it has been let go")
    #expect(conversation.page(from: 11, within: .page) == nil, "it has not been said")
    #expect(conversation.page(from: 10, within: .page)?.isEmpty == true)
    #expect(conversation.page(from: 3, within: .init(count: 2, bytes: .max)).map(Array.init) == [tell(3), tell(4)])
    #expect(
      conversation.page(from: 4, within: .init(count: 9, bytes: weight * 2)).map(Array.init) == [tell(4), tell(5)])
    #expect(conversation.page(from: 5, within: .init(count: 9, bytes: 1)).map(Array.init) == [tell(5)])
    #expect(conversation.page(from: 3, within: .unlimited)?.count == 7)
  }

  @Test func whatBreaksBeforeItBeginsIsSaidAgain() {
    var client = ClientConversation()
    client.say(.join(Join(room: "r", name: "", description: Examples.description)))
    _ = client.pollMessage()
    client.disconnected()
    client.connected()
    guard case .join = client.pollMessage() else {
      Issue.record("not said again")
      return
    }
    #expect(client.state == .connecting)
  }

  @Test func pausesDoubleUpToTheirLimit() {
    var backoff = Backoff()
    let pauses = (0..<8).map { _ in backoff.next(luck: 1) }
    #expect(
      pauses == [.zero, .milliseconds(500), .seconds(1), .seconds(2), .seconds(4)] + [
        .seconds(8), .seconds(8), .seconds(8),
      ])
    backoff.succeeded()
    #expect(backoff.next(luck: 0) == .zero && backoff.next(luck: 0) == .milliseconds(250))
  }
}
