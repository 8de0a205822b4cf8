import Koine
import KoineServer
import Testing

/// Rooms that remember as much as they may.
@Suite(.timeLimit(.minutes(15))) struct LargeHistoryTests {
  /// Counts the messages that a session receives.
  private final class Reader: Sendable {
    private let count = Lock(0)
    private let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(_ session: Session) {
      session.observe { [count, news] event in
        guard case .messageReceived = event else { return }
        count.withLock { $0 += 1 }
        news.continuation.yield()
      }
    }

    func until(_ wanted: Int) async {
      for await _ in news.stream where count.withLock({ $0 >= wanted }) { return }
    }
  }

  /// Nearly ten megabytes as they are written.
  @Test func lateJoinerGetsALargeHistory() async throws {
    let rooms = try await ServedRooms()
    let people = ["Ana", "Ben", "Cleo"].map { Session(JoinRequest(room: "tea", name: $0), in: rooms.world()) }
    for session in people { try await session.join() }
    let heard = Reader(people[2])
    let payload = [UInt8](repeating: 0x61, count: 60 * 1_024)
    for session in people[..<2] {
      for _ in 0..<50 { try session.send(DataMessage(topic: "chat", payload: payload, isPersistent: true)) }
      for _ in 0..<12 { try session.send(DataMessage(topic: "chat", payload: payload, lifetime: .seconds(300))) }
    }
    await heard.until(124)
    let late = Session(JoinRequest(room: "tea", name: "Dora"), in: rooms.world())
    let history = Reader(late)
    try await late.join()
    await history.until(120)
    for session in people + [late] { await session.leave() }
    await rooms.server.stop()
  }
}
