import KoineBase
import KoineRouter
import Logging
import Testing

@testable import KoineServer

/// Who is who in the log, over broken lines.
struct StaysTests {
  private func tick(_ seconds: Int) -> Tick { Tick(nanoseconds: Int64(seconds) * 1_000_000_000) }

  private func stays(on line: Int, key: String) -> Stays {
    var stays = Stays()
    stays.begin(Logger(label: "ana") { _ in SwiftLogNoOpLogHandler() }, on: ConnectionID(line))
    stays.setKey(key, on: ConnectionID(line))
    return stays
  }

  @Test func whoComesBackOnAnotherLineIsTheSame() {
    var stays = stays(on: 1, key: "secret")
    #expect(stays.lose(ConnectionID(1), mayReturn: true, at: tick(0))?.label == "ana")
    stays.move("another", to: ConnectionID(2))
    #expect(stays[ConnectionID(2)] == nil)
    stays.move("secret", to: ConnectionID(2))
    #expect(stays[ConnectionID(2)]?.label == "ana" && stays[ConnectionID(1)] == nil)
    // The old line's time is over, and means nothing any more.
    _ = stays.lose(ConnectionID(3), mayReturn: true, at: tick(300))
    #expect(stays.end(on: ConnectionID(2))?.label == "ana")
    stays.move("secret", to: ConnectionID(4))
    #expect(stays[ConnectionID(4)] == nil)
  }

  @Test func whoDoesNotComeBackIsForgotten() {
    var stays = stays(on: 1, key: "secret")
    _ = stays.lose(ConnectionID(1), mayReturn: true, at: tick(0))
    _ = stays.lose(ConnectionID(9), mayReturn: true, at: tick(121))
    stays.move("secret", to: ConnectionID(2))
    #expect(stays[ConnectionID(2)] == nil)
  }

  @Test func whoCannotComeBackIsForgottenAtOnce() {
    var stays = stays(on: 1, key: "secret")
    #expect(stays.lose(ConnectionID(1), mayReturn: false, at: tick(0))?.label == "ana")
    #expect(stays[ConnectionID(1)] == nil)
  }
}
