import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// A client that comes back on another line, by hand.
struct ResumptionTests {
  private let router: Router
  private let now = Tick(nanoseconds: 1_000_000_000)
  private let old = ConnectionID(1)
  private let new = ConnectionID(2)

  init() throws {
    let configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)])
    router = Router(configuration: configuration, random: SeededRandom(seed: 1), now: now)
  }

  private func heard() -> [(ConnectionID, ServerMessage)] {
    var messages: [(ConnectionID, ServerMessage)] = []
    while let message = router.pollMessage() { messages.append(message) }
    return messages
  }

  /// - Returns: the key.
  private func register(_ identity: String, on line: ConnectionID) throws -> String {
    router.open(line, at: now)
    router.handle(.register(Register(identity: identity, name: identity)), on: line, at: now)
    let messages = heard()
    router.handle(.heard(messages.count { $0.1.isCounted }), on: line, at: now)
    for case (_, .resumable(let key, _)) in messages { return key }
    Issue.record("not resumable")
    return ""
  }

  @Test func whatBeganOnTheNewLineGivesWay() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    router.handle(.resumeConversation(key: key, heard: 2), on: new, at: now)
    #expect(heard().contains { $0.0 == new && $0.1 == .resumed(heard: 1) })
    // Nobody is there who could be rung as Ben.
    router.handle(
      .ring(RingRequest(id: "r", room: "tea", to: ["ben"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
    #expect(
      heard().map(\.1) == [.ringProgress(RingProgress(id: "r", identity: "ben", state: .unreachable))])
  }

  @Test func aFailedReturnLosesNothing() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    // Said to Ana, and not sent yet, when somebody asks for her conversation with a number that cannot be.
    router.handle(
      .ring(RingRequest(id: "r", room: "tea", to: ["ana"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
    let third = ConnectionID(3)
    router.open(third, at: now)
    router.handle(.resumeConversation(key: key, heard: 99), on: third, at: now)
    let messages = heard()
    #expect(messages.contains { $0.0 == third && $0.1.code == .unknownConversation })
    #expect(messages.contains { if case (old, .incomingRing) = $0 { true } else { false } })
  }

  private func joinTea(on line: ConnectionID) throws -> (key: String, heard: Int) {
    let description = Description(
      ufrag: "them", password: "bbbbbbbbbbbbbbbbbbbbbb", candidates: [], fingerprint: .init(value: "AB:CD"),
      lite: false, setup: .active)
    router.open(line, at: now)
    router.handle(.join(Join(room: "tea", name: "", description: description)), on: line, at: now)
    let messages = heard()
    let count = messages.count { $0.0 == line && $0.1.isCounted }
    router.handle(.heard(count), on: line, at: now)
    let keys = messages.compactMap { if case .resumable(let key, _) = $0.1 { key } else { nil } }
    return (try #require(keys.first), count)
  }

  private func poll() -> [Outgoing] {
    var messages: [Outgoing] = []
    while let message = router.pollOutgoing() { messages.append(message) }
    return messages
  }

  /// What a client that is back costs at a time does not depend on how much it has missed.
  @Test func whatWasMissedIsSaidAgainInPagesAndInOrder() throws {
    router.configuration.pacesPages = true
    let key = try joinTea(on: old)
    _ = try joinTea(on: new)
    let announced = 1  // the second participant
    let payload = [UInt8](repeating: 7, count: 60_000)
    func say(_ id: String) {
      router.handle(.data(SendData(DataMessage(topic: "t", payload: payload), id: id)), on: new, at: now)
    }
    for number in 0..<20 { say("\(number)") }
    _ = heard()
    let third = ConnectionID(3)
    router.open(third, at: now)
    router.handle(.resumeConversation(key: key.key, heard: key.heard + announced), on: third, at: now)
    var texts: [String] = []
    var pages = 0
    var page = poll().filter { $0.line == third }
    #expect(page.first?.message == .resumed(heard: 1))
    while !page.isEmpty {
      texts += page.compactMap { if case .data(let data) = $0.message { data.id } else { nil } }
      guard let end = page.last?.endsPage else { break }
      #expect(end <= SignalingLimits.historyPage)
      pages += 1
      if pages == 2 {
        say("late")
        #expect(!poll().contains { $0.line == third }, "it comes with the pages")
      }
      router.pageWritten(on: third)
      page = poll().filter { $0.line == third }
    }
    #expect(pages > 4)
    #expect(texts == (0..<20).map { "\($0)" } + ["late"])
    say("later")
    #expect(poll().filter { $0.line == third }.map(\.endsPage) == [nil], "all has been said again")
  }

  /// It could only be told the rest with a gap.
  @Test func clientThatMissesMoreThanIsKeptWhileItReadsIsClosed() throws {
    let closed = Lock<[ConnectionID]>([])
    router.configuration.closeLine = { line in closed.withLock { $0.append(line) } }
    router.configuration.pacesPages = true
    router.configuration.limits.dataByteBurst = 100_000_000
    let key = try joinTea(on: old)
    _ = try joinTea(on: new)
    let payload = [UInt8](repeating: 7, count: 60_000)
    func say(_ count: Int) {
      for number in 0..<count {
        router.handle(.data(SendData(DataMessage(topic: "t", payload: payload), id: "\(number)")), on: new, at: now)
      }
      _ = poll()
    }
    say(10)
    let third = ConnectionID(3)
    router.open(third, at: now)
    router.handle(.resumeConversation(key: key.key, heard: key.heard + 1), on: third, at: now)
    #expect(poll().contains { $0.line == third && $0.endsPage != nil })
    say(200)
    #expect(closed.withLock { $0 } == [old])
    router.pageWritten(on: third)
    #expect(!poll().contains { $0.line == third })
    #expect(closed.withLock { $0 } == [old, third])
    router.lose(third, at: now)
    let fourth = ConnectionID(4)
    router.open(fourth, at: now)
    router.handle(.resumeConversation(key: key.key, heard: key.heard + 1), on: fourth, at: now)
    #expect(poll().map(\.message.code) == [.unknownConversation])
  }

  @Test func lineThatTheClientHasLeftIsClosed() throws {
    let closed = Lock<[ConnectionID]>([])
    router.configuration.closeLine = { line in closed.withLock { $0.append(line) } }
    let key = try register("ana", on: old)
    router.open(new, at: now)
    router.handle(.resumeConversation(key: key, heard: 2), on: new, at: now)
    #expect(closed.withLock { $0 } == [old])
  }

  @Test func whatWasNotSentComesAfterWhatWasNotHeard() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    for id in ["1", "2"] {
      router.handle(
        .ring(RingRequest(id: id, room: "tea", to: ["ana"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
      if id == "1" { _ = heard() }
    }
    let third = ConnectionID(3)
    router.open(third, at: now)
    router.handle(.resumeConversation(key: key, heard: 2), on: third, at: now)
    let rings = heard().compactMap { line, message in
      if line == third, case .incomingRing(let ring) = message { ring.id } else { nil }
    }
    #expect(rings == ["1", "2"])
  }
}
