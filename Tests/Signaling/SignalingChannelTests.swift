import KoineBase
import KoineSignaling
import Testing

/// Both ends of a signalling channel, and connections that break at any message.
struct SignalingChannelTests {
  /// Sends a numbered message; a message with another content is of the channel.
  private static func clientMessage(_ number: Int) -> ClientMessage { .unpublish(trackIDs: ["\(number)"]) }
  private static func serverMessage(_ number: Int) -> ServerMessage {
    .withdrawn(participant: "", trackIDs: ["\(number)"])
  }

  /// A client and a server with one connection at a time between them, which delivers messages in order until it breaks.
  private struct Pair {
    var client = ClientSignalingChannel()
    var server = ServerSignalingChannel<ServerMessage>(key: "k")
    var toServer: [ClientMessage] = []
    var toClient: [ServerMessage] = []
    var receivedByServer: [Int] = []
    var receivedByClient: [Int] = []
    /// Messages that the client reported as perhaps not received, when the server did not know its channel.
    var forgotten: [Int] = []
    var resumptions = 0
    /// Whether the server has answered a join on this channel: until then it has nothing to send.
    private(set) var hasJoined = false

    init() { begin() }

    /// The server answers a join.
    private mutating func begin() {
      hasJoined = true
      server.offer()
      sendFromServer(.resumable(key: server.key, graceSeconds: 30))
      sendFromServer(.registered(identity: "ana"))
    }

    mutating func sendFromClient(_ number: Int) throws { try client.send(SignalingChannelTests.clientMessage(number)) }

    mutating func sendFromServer(_ message: ServerMessage) { if server.send(message) { toClient.append(message) } }

    /// Moves messages of the client from its channel onto the connection.
    mutating func flush() throws {
      while let json = client.pollMessage() {
        toServer.append(try json.withUnsafeBytes { try ClientMessage(json: $0) })
      }
    }

    mutating func deliverToServer() {
      guard !toServer.isEmpty else { return }
      let message = toServer.removeFirst()
      if let count = server.receive(isCounted: message.isCounted) { sendFromServer(.heard(count)) }
      switch message {
      case .heard(let count): server.acknowledge(count)
      case .resumeConversation(let key, let count):
        guard key == server.key, let received = server.resume(received: count) else {
          return sendFromServer(.refused(Failure(.unknownConversation, "")))
        }
        resumptions += 1
        sendFromServer(.resumed(heard: received))
        deliverPages()
      case .unpublish(let ids): receivedByServer.append(Int(ids[0]) ?? -1)
      default: Issue.record("\(message)")
      }
    }

    private mutating func deliverPages() {
      while case .messages(let page) = server.nextPage(within: .init(count: 3, bytes: .max)) { toClient += page }
    }

    mutating func deliverToClient() {
      guard !toClient.isEmpty else { return }
      switch client.receive(toClient.removeFirst()) {
      case .message(.withdrawn(_, let ids)): receivedByClient.append(Int(ids[0]) ?? -1)
      case .forgotten(let messages):
        forgotten += messages.compactMap { if case .unpublish(let ids) = $0 { Int(ids[0]) } else { nil } }
        // The client registers again; the server answers.
        begin()
      default: break
      }
    }

    /// The connection breaks: messages on their way are lost. A new one is made.
    mutating func reconnect() {
      (toServer, toClient) = ([], [])
      client.connectionLost()
      server.connectionLost(until: .zero)
      client.connectionMade()
    }

    /// The server has lost its memory.
    mutating func restartServer() {
      let number = (Int(server.key.dropFirst()) ?? 0) + 1
      server = ServerSignalingChannel(key: "k\(number)")
      hasJoined = false
    }

    /// Runs until no message is in flight.
    mutating func settle() throws {
      repeat {
        try flush()
        deliverToServer()
        deliverToClient()
      } while try isBusy()
    }

    private mutating func isBusy() throws -> Bool {
      try flush()
      return !toServer.isEmpty || !toClient.isEmpty
    }
  }

  private func establishedPair() throws -> Pair {
    var pair = Pair()
    try pair.settle()
    #expect(pair.client.state == .established)
    #expect(pair.client.isResumable)
    #expect(pair.server.isResumable)
    return pair
  }

  /// Steps of one history: messages both ways, and the steps of the connection that carry them.
  private enum Step: CaseIterable {
    case sendFromClient, sendFromServer, flush, deliverToServer, deliverToClient
  }

  private func perform(_ step: Step, _ number: Int, _ pair: inout Pair) throws {
    switch step {
    case .sendFromClient: try pair.sendFromClient(number)
    case .sendFromServer: if pair.hasJoined { pair.sendFromServer(Self.serverMessage(number)) }
    case .flush: try pair.flush()
    case .deliverToServer: pair.deliverToServer()
    case .deliverToClient: pair.deliverToClient()
    }
  }

  @Test(arguments: 0..<20) func messagesArriveOnceAndInOrderWhenConnectionsBreakAtRandom(_ seed: UInt64) throws {
    var random = Random(seed: seed)
    var pair = try establishedPair()
    var (fromClient, fromServer) = ([Int](), [Int]())
    for number in 0..<2_000 {
      let step = Step.allCases[random.below(Step.allCases.count)]
      if step == .sendFromClient { fromClient.append(number) }
      if step == .sendFromServer { fromServer.append(number) }
      try perform(step, number, &pair)
      if random.below(12) == 0 { pair.reconnect() }
    }
    if pair.client.state != .established { pair.reconnect() }
    try pair.settle()
    #expect(pair.receivedByServer == fromClient)
    #expect(pair.receivedByClient == fromServer)
    #expect(pair.resumptions > 20)
    #expect(pair.forgotten == [])
  }

  /// The same short history, broken once at each of its steps, and twice at each pair of steps.
  @Test func messagesArriveOnceAndInOrderWhenTheConnectionBreaksAtAnyStep() throws {
    let steps = (0..<4).flatMap { _ in Step.allCases + [.flush, .deliverToServer, .deliverToClient] }
    for first in steps.indices {
      for second in first..<steps.count {
        var pair = try establishedPair()
        var (fromClient, fromServer) = ([Int](), [Int]())
        for (number, step) in steps.enumerated() {
          if number == first || number == second { pair.reconnect() }
          if step == .sendFromClient { fromClient.append(number) }
          if step == .sendFromServer { fromServer.append(number) }
          try perform(step, number, &pair)
        }
        try pair.settle()
        try #require(pair.receivedByServer == fromClient, "broken at \(first) and \(second)")
        try #require(pair.receivedByClient == fromServer, "broken at \(first) and \(second)")
      }
    }
  }

  /// The restarted server has no state. The client gets back all messages that the old server may not have received, and no
  /// acknowledged ones.
  @Test func clientGetsUnacknowledgedMessagesBackWhenTheServerRestartsAtAnyStep() throws {
    let steps = (0..<4).flatMap { _ in Step.allCases + [.flush, .deliverToServer, .deliverToClient] }
    for crash in steps.indices {
      var pair = try establishedPair()
      var fromClient: [Int] = []
      for (number, step) in steps.enumerated() {
        if number == crash {
          pair.reconnect()
          pair.restartServer()
        }
        if step == .sendFromClient { fromClient.append(number) }
        try perform(step, number, &pair)
      }
      try pair.settle()
      try #require(pair.client.state == .established)
      try #require(pair.client.formerKey == "k")
      let known = pair.receivedByServer + pair.forgotten
      try #require(Set(known) == Set(fromClient), "crashed at \(crash)")
      try #require(pair.forgotten == pair.forgotten.sorted())
      try #require(pair.receivedByServer == pair.receivedByServer.sorted())
    }
  }

  @Test func channelOfACrashedClientIsKeptForTheGracePeriod() throws {
    var pair = try establishedPair()
    pair.server.connectionLost(until: .zero)
    #expect(pair.server.deadline == .zero)
    let outcomeFirst = pair.server.send(Self.serverMessage(1))
    #expect(!outcomeFirst)
    // A new program has no key; a guessed one resumes nothing.
    var stranger = ClientSignalingChannel()
    try stranger.send(Self.clientMessage(1))
    #expect(!stranger.isResumable)
    let resumed = pair.server.resume(received: 99)
    #expect(resumed == nil)
    #expect(pair.server.deadline == .zero, "it goes on waiting")
  }

  /// A duplicate of the request that resumed, on a further connection.
  @Test func secondResumptionSendsTheSameMessagesAgain() throws {
    var pair = try establishedPair()
    for number in 0..<5 { pair.sendFromServer(Self.serverMessage(number)) }
    for _ in 0..<2 {
      let outcomeSecond = pair.server.resume(received: 2)
      #expect(outcomeSecond != nil)
      guard case .messages(let page) = pair.server.nextPage(within: .unlimited) else {
        Issue.record("no page")
        return
      }
      #expect(Array(page) == (0..<5).map(Self.serverMessage))
    }
    let outcomeThird = pair.server.resume(received: 1)
    #expect(outcomeThird == nil, "it has been acknowledged")
  }

  @Test func messagesSentDuringAResumptionFollowItsPages() throws {
    var pair = try establishedPair()
    for number in 0..<5 { pair.sendFromServer(Self.serverMessage(number)) }
    let outcomeFourth = pair.server.resume(received: 2)
    #expect(outcomeFourth != nil)
    guard case .messages(let first) = pair.server.nextPage(within: .init(count: 3, bytes: .max)) else {
      Issue.record("no page")
      return
    }
    #expect(first.count == 3)
    let outcomeFifth = pair.server.send(Self.serverMessage(5))
    #expect(!outcomeFifth)
    let outcomeSixth = pair.server.send(.pong(1))
    #expect(outcomeSixth, "messages that are not counted do not wait")
    guard case .messages(let second) = pair.server.nextPage(within: .init(count: 3, bytes: .max)) else {
      Issue.record("no page")
      return
    }
    #expect(Array(second) == (3..<6).map(Self.serverMessage))
    #expect(pair.server.state == .connected)
    let outcomeSeventh = pair.server.send(Self.serverMessage(6))
    #expect(outcomeSeventh)
  }

  @Test func clientThatNeverAcknowledgesHasFewMessagesKept() {
    var sequence = MessageSequence<ServerMessage>()
    for number in 0..<1_000 { sequence.send(Self.serverMessage(number)) }
    #expect(sequence.unacknowledged.count == 256)
    #expect(sequence.sent == 1_000)
    let missedFirst = sequence.resume(received: 10)
    #expect(missedFirst == nil)
    let missedSecond = sequence.resume(received: 1_001)
    #expect(missedSecond == nil)
    let missedThird = sequence.resume(received: 990)
    #expect(missedThird?.count == 10)
  }

  @Test func keptMessagesAreBoundedByTheirRealSize() {
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
      var sequence = MessageSequence<ServerMessage>(isAcknowledged: true)
      for _ in 0..<2_000 { sequence.send(message) }
      #expect(sequence.unacknowledged.count * size <= 8 * 1024 * 1024)
    }
    var sequence = MessageSequence<ClientMessage>(isAcknowledged: true)
    for _ in 0..<200 { sequence.send(.attributes(attributes)) }
    #expect(sequence.unacknowledged.count <= 32)
  }

  /// The size limits use the estimate.
  @Test func estimatedSizeIsNeverLessThanTheEncodedSize() throws {
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

  @Test func impossibleAcknowledgementsAreIgnored() {
    var sequence = MessageSequence<ServerMessage>()
    sequence.send(Self.serverMessage(1))
    sequence.acknowledge(5)
    sequence.acknowledge(-3)
    #expect(sequence.unacknowledged.count == 1)
    let missedFourth = sequence.resume(received: -1)
    #expect(missedFourth == nil)
  }

  @Test func clientWhoseChannelIsUnknownConnectsAgain() throws {
    var pair = try establishedPair()
    try pair.client.send(Self.clientMessage(1))
    pair.client.connectionLost()
    try pair.client.send(Self.clientMessage(2))
    pair.client.connectionMade()
    let polledFirst = try poll(&pair.client)
    #expect(polledFirst == .resumeConversation(key: "k", heard: 2))
    let polledSecond = try poll(&pair.client)
    #expect(polledSecond == nil)
    let event = pair.client.receive(.refused(Failure(.unknownConversation, "")))
    #expect(event == .forgotten(unacknowledged: [Self.clientMessage(1), Self.clientMessage(2)]))
    #expect(pair.client.state == .connecting)
    #expect(!pair.client.isResumable)
  }

  private func poll(_ client: inout ClientSignalingChannel) throws -> ClientMessage? {
    try client.pollMessage()?.withUnsafeBytes { try ClientMessage(json: $0) }
  }

  /// The server has not looked at the key.
  @Test func channelSurvivesAResumptionRefusedByTheRateLimit() throws {
    var client = try establishedPair().client
    try client.send(Self.clientMessage(1))
    client.connectionLost()
    client.connectionMade()
    _ = client.pollMessage()
    let refusal = ServerMessage.refused(Failure(.tooMany, ""))
    let eventFirst = client.receive(refusal)
    #expect(eventFirst == .message(refusal))
    client.connectionLost()
    client.connectionMade()
    let polledThird = try poll(&client)
    #expect(polledThird == .resumeConversation(key: "k", heard: 2))
    let eventSecond = client.receive(.resumed(heard: 0))
    #expect(eventSecond == .resumed)
    let polledFourth = try poll(&client)
    #expect(polledFourth == Self.clientMessage(1))
  }

  @Test func messageThatIsTooLargeIsNotSent() {
    var client = ClientSignalingChannel()
    #expect(throws: SignalingError.self) { try client.send(.unpublish(trackIDs: Array(repeating: "t", count: 10_000))) }
    #expect(client.pollMessage() == nil)
  }

  @Test func pagesHoldKeptMessagesInOrder() {
    var sequence = MessageSequence<ServerMessage>(isAcknowledged: true)
    for number in 0..<10 { sequence.send(Self.serverMessage(number)) }
    sequence.acknowledge(3)
    let weight = Self.serverMessage(3).weight
    #expect(sequence.page(from: 2, within: .page) == nil, "it has been dropped")
    #expect(sequence.page(from: 11, within: .page) == nil, "it has not been sent")
    #expect(sequence.page(from: 10, within: .page)?.isEmpty == true)
    #expect(
      sequence.page(from: 3, within: .init(count: 2, bytes: .max)).map(Array.init) == [
        Self.serverMessage(3), Self.serverMessage(4),
      ])
    #expect(
      sequence.page(from: 4, within: .init(count: 9, bytes: weight * 2)).map(Array.init) == [
        Self.serverMessage(4), Self.serverMessage(5),
      ])
    #expect(sequence.page(from: 5, within: .init(count: 9, bytes: 1)).map(Array.init) == [Self.serverMessage(5)])
    #expect(sequence.page(from: 3, within: .unlimited)?.count == 7)
  }

  @Test func messagesOfAConnectionThatBrokeBeforeTheAnswerAreSentAgain() throws {
    var client = ClientSignalingChannel()
    try client.send(.join(Join(room: "r", name: "", description: Examples.description)))
    _ = client.pollMessage()
    client.connectionLost()
    client.connectionMade()
    guard case .join = try poll(&client) else {
      Issue.record("not sent again")
      return
    }
    #expect(client.state == .connecting)
  }

  @Test func reconnectionDelaysDoubleUpToTheirLimit() {
    var backoff = Backoff()
    let pauses = (0..<8).map { _ in backoff.next(jitter: 1) }
    #expect(
      pauses == [.zero, .milliseconds(500), .seconds(1), .seconds(2), .seconds(4)] + [
        .seconds(8), .seconds(8), .seconds(8),
      ])
    backoff.succeeded()
    #expect(backoff.next(jitter: 0) == .zero)
    #expect(backoff.next(jitter: 0) == .milliseconds(250))
  }
}

/// A small generator with a seed: the same history for the same seed.
private struct Random {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 2 &+ 1 }

  mutating func below(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}
