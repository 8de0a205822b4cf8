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
      .ring(Ring(id: "r", room: "tea", to: ["ben"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
    #expect(
      heard().map(\.1) == [.ringProgress(RingProgress(id: "r", identity: "ben", state: .unreachable))])
  }

  @Test func aFailedReturnLosesNothing() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    // Said to Ana, and not sent yet, when somebody asks for her conversation with a number that cannot be.
    router.handle(
      .ring(Ring(id: "r", room: "tea", to: ["ana"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
    let third = ConnectionID(3)
    router.open(third, at: now)
    router.handle(.resumeConversation(key: key, heard: 99), on: third, at: now)
    let messages = heard()
    #expect(messages.contains { $0.0 == third && $0.1.code == .unknownConversation })
    #expect(messages.contains { if case (old, .incomingRing) = $0 { true } else { false } })
  }

  @Test func whatWasNotSentComesAfterWhatWasNotHeard() throws {
    let key = try register("ana", on: old)
    _ = try register("ben", on: new)
    for id in ["1", "2"] {
      router.handle(
        .ring(Ring(id: id, room: "tea", to: ["ana"], hasVideo: false, timeoutSeconds: 10)), on: new, at: now)
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
