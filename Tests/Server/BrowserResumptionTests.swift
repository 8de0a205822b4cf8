import Koine
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import Testing

@testable import KoineServer

/// Connections of browsers that break and are taken up again.
@Suite struct BrowserResumptionTests {
  /// Records the messages sent to one connection.
  private final class MessageRecorder: MessageSink {
    private let told = Lock<[ServerMessage]>([])
    private let answered = Lock(0)

    private let pages = Lock<[MessagePage]>([])
    private let closed = Lock(false)

    func send(_ message: EncodedMessage, endOf page: MessagePage?) {
      if let message = message.message { told.withLock { $0.append(message) } } else { answered.withLock { $0 += 1 } }
      if let page { pages.withLock { $0.append(page) } }
    }
    func close() { closed.withLock { $0 = true } }

    var isClosed: Bool { closed.withLock { $0 } }
    /// The ends of pages since the last call.
    func takePages() -> [MessagePage] {
      pages.withLock { pages in
        defer { pages = [] }
        return pages
      }
    }

    var messages: [ServerMessage] { told.withLock { $0 } }
    var answers: Int { answered.withLock { $0 } }
    /// As the browser has to count.
    var counted: Int { messages.count { $0.isCounted } + answers }
    var key: String? {
      messages.lazy.compactMap { if case .resumable(let key, _) = $0 { key } else { nil } }.first
    }
    var texts: [String] {
      messages.compactMap {
        if case .data(let data) = $0 { String(decoding: data.payload, as: UTF8.self) } else { nil }
      }
    }
    var refusal: Failure.Code? {
      messages.lazy.compactMap { if case .refused(let failure, _) = $0 { failure.code } else { nil } }.first
    }
  }

  /// The participants have no media path. Longer than any machine takes for a test: they stay, also while they are lost.
  private let host = RouterHost(
    ServerConfiguration(access: .open, logger: .silent), resumeGrace: .seconds(3_600), connectTimeout: .seconds(3_600))

  /// - Returns: once all earlier messages have been handled.
  private func settle() async throws {
    while await host.pendingChecks() > 0 {}
    _ = try #require(await host.statistics())
  }

  private func send(_ message: ClientMessage, on line: ConnectionID) {
    host.handle(.success(.other(message)), on: line)
  }

  private func join(_ recorder: MessageRecorder) async throws -> ConnectionID {
    let line = host.open(recorder, isBrowser: true)
    host.handle(.success(try Offers.message(1, [Offers.medium("0", "audio", "inactive")])), on: line)
    try await settle()
    send(.heard(recorder.counted), on: line)
    return line
  }

  private func joinBen(_ recorder: MessageRecorder) -> ConnectionID {
    let line = host.open(recorder, isBrowser: false)
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "bens", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
      fingerprint: .init(value: "AB:CD"),
      isLite: false,
      setup: .active)
    host.handle(.success(ClientMessage.join(Join(room: "tea", name: "Ben", description: description))), on: line)
    return line
  }

  private func data(_ text: String) -> ClientMessage {
    .data(SendData(DataMessage(topic: "chat", payload: Array(text.utf8)), id: text))
  }

  @Test func missedMessagesArriveOnceAndInOrderAfterAResumption() async throws {
    _ = try await host.start()
    let (first, second, bens) = (MessageRecorder(), MessageRecorder(), MessageRecorder())
    let line = try await join(first)
    let ben = joinBen(bens)
    host.handle(.success(data("one")), on: ben)
    try await settle()
    let heard = first.counted  // of which the last shall be lost on the way
    host.close(line)
    host.handle(.success(data("two")), on: ben)
    try await settle()
    #expect(first.texts == ["one"])
    #expect(!bens.messages.contains { if case .participantLeft = $0 { true } else { false } })

    let next = host.open(second, isBrowser: true)
    send(.resumeConversation(key: try #require(first.key), heard: heard - 1), on: next)
    host.handle(.success(data("three")), on: ben)
    try await settle()
    // The join and the offer in it: one message.
    #expect(second.messages.first == .resumed(heard: 1))
    #expect(second.texts == ["one", "two", "three"])
    send(data("from the island"), on: next)
    try await settle()
    #expect(bens.texts == ["from the island"])
    await host.stop()
  }

  /// A client that reads nothing costs no more than one page.
  @Test func missedMessagesAreSentInPagesAfterAResumption() async throws {
    _ = try await host.start()
    let (first, second, bens) = (MessageRecorder(), MessageRecorder(), MessageRecorder())
    let line = try await join(first)
    let heard = first.counted
    let ben = joinBen(bens)
    try await settle()
    host.close(line)
    let payload = [UInt8](repeating: 7, count: SignalingLimits.payload)
    for number in 0..<20 {
      host.handle(.success(.data(SendData(DataMessage(topic: "chat", payload: payload), id: "\(number)"))), on: ben)
    }
    try await settle()
    let next = host.open(second, isBrowser: true)
    send(.resumeConversation(key: try #require(first.key), heard: heard), on: next)
    try await settle()
    host.handle(.success(data("late")), on: ben)
    try await settle()
    var pages = 0
    while let page = second.takePages().first {
      pages += 1
      #expect(page.bytes <= SignalingLimits.historyPage)
      if pages == 1 { #expect(second.texts.count < 10) }
      page.whenWritten()
      try await settle()
    }
    #expect(pages > 4)
    #expect(second.texts.count == 21)
    #expect(second.texts.last == "late")
    host.handle(.success(data("later")), on: ben)
    try await settle()
    #expect(second.texts.last == "later")
    await host.stop()
  }

  @Test(arguments: [false, true]) func oldConnectionIsClosedByAResumption(_ isBrowser: Bool) async throws {
    _ = try await host.start()
    let (first, second) = (MessageRecorder(), MessageRecorder())
    let line = isBrowser ? try await join(first) : joinBen(first)
    try await settle()
    if !isBrowser { host.handle(.success(ClientMessage.heard(first.counted)), on: line) }
    let next = host.open(second, isBrowser: isBrowser)
    let resumption = ClientMessage.resumeConversation(key: try #require(first.key), heard: first.counted)
    if isBrowser { send(resumption, on: next) } else { host.handle(.success(resumption), on: next) }
    try await settle()
    #expect(second.messages.contains { if case .resumed = $0 { true } else { false } })
    #expect(first.isClosed)
    #expect(!second.isClosed)
    await host.stop()
  }

  @Test func offersAreAnsweredOnTheNewConnection() async throws {
    _ = try await host.start()
    let (first, second) = (MessageRecorder(), MessageRecorder())
    let line = try await join(first)
    #expect(first.answers == 1)
    host.close(line)
    let next = host.open(second, isBrowser: true)
    send(.resumeConversation(key: try #require(first.key), heard: first.counted), on: next)
    host.handle(.success(try Offers.message(2, [Offers.medium("0", "audio", "inactive")])), on: next)
    try await settle()
    #expect(second.answers == 1)
    // The late end of the old connection has no effect.
    host.close(line)
    try await settle()
    #expect(await host.statistics()?.participants == 1)
    await host.stop()
  }

  @Test func resumptionWithUnknownKeyOrImpossibleCountIsRefused() async throws {
    _ = try await host.start()
    let (first, second, third) = (MessageRecorder(), MessageRecorder(), MessageRecorder())
    let line = try await join(first)
    host.close(line)
    send(.resumeConversation(key: "made up", heard: 0), on: host.open(second, isBrowser: true))
    send(.resumeConversation(key: try #require(first.key), heard: 1_000), on: host.open(third, isBrowser: true))
    try await settle()
    #expect(second.refusal == .unknownConversation)
    #expect(third.refusal == .unknownConversation)
    await host.stop()
  }

  @Test func clientThatHasLeftCannotResume() async throws {
    _ = try await host.start()
    let first = MessageRecorder()
    let line = try await join(first)
    send(.leave(reason: nil), on: line)
    send(.bye, on: line)
    host.close(line)
    try await settle()
    #expect(await host.statistics()?.participants == 0)
    let second = MessageRecorder()
    send(.resumeConversation(key: try #require(first.key), heard: 1), on: host.open(second, isBrowser: true))
    try await settle()
    #expect(second.refusal == .unknownConversation)
    await host.stop()
  }

  /// The server cannot know what such a client has missed.
  @Test func clientThatNeverAcknowledgedIsLostAtOnce() async throws {
    _ = try await host.start()
    let (first, bens) = (MessageRecorder(), MessageRecorder())
    let line = host.open(first, isBrowser: true)
    host.handle(.success(try Offers.message(1, [Offers.medium("0", "audio", "inactive")])), on: line)
    try await settle()
    host.close(line)
    let second = MessageRecorder()
    send(.resumeConversation(key: try #require(first.key), heard: 1), on: host.open(second, isBrowser: true))
    _ = joinBen(bens)
    try await settle()
    #expect(second.refusal == .unknownConversation)
    await host.stop()
  }
}
