import AmazonChimeSDK
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Messages that a meeting keeps for later and returning attendees: 1,024 for five minutes.
@Suite struct HistoryTests {
  private let environment = TestEnvironment()
  // without microphones: minutes of them are many packets
  private let silent = AudioVideoConfiguration(audioDeviceCapabilities: .outputOnly)

  /// Sends at a rate below throttling.
  private func send(_ numbers: Range<Int>, from app: App, lifetime: (Int) -> Int32) async throws {
    for number in numbers {
      try app.audioVideo.realtimeSendDataMessage(topic: "chat", data: "\(number)", lifetimeMs: lifetime(number))
      if number % 50 == 49 { await environment.run(.seconds(1)) }
    }
    await environment.run(.seconds(1))
    #expect(!app.lines.contains { $0.hasSuffix("throttled") })
  }

  private func numbers(_ app: App) -> [Int] {
    app.told.withLock { $0.messages }.compactMap { Int($0.text() ?? "") }
  }

  @Test func lateAttendeeReceivesTheNewest1024Of1100MessagesOnce() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] { try app.audioVideo.start(audioVideoConfiguration: silent) }
    await environment.run()
    try await send(0..<1_100, from: ana) { _ in 300_000 }
    #expect(numbers(ben) == Array(0..<1_100), "who is there gets all of them")
    let cleo = environment.app("Cleo")
    try cleo.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run(.seconds(2))
    #expect(numbers(cleo) == Array(76..<1_100))
    #expect(cleo.told.withLock { Set($0.messages.map(\.senderExternalUserId)) } == ["Ana"])

    // A returning attendee gets the messages that it missed, each once.
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.cutNetwork(of: "cleo", for: .seconds(12))
    await environment.run(.seconds(10))
    try await send(1_100..<1_110, from: ana) { _ in 300_000 }
    await environment.run(.seconds(30))
    #expect(numbers(cleo) == Array(76..<1_110))
    let dan = environment.app("Dan")
    try dan.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run(.seconds(2))
    #expect(numbers(dan) == Array(86..<1_110))
  }

  @Test func expiredMessagesDoNotCountTowardsTheLimit() async throws {
    let ana = environment.app("Ana")
    try ana.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run()
    // Every eleventh is gone after half a second: a thousand are left, fewer than the room keeps.
    try await send(0..<1_100, from: ana) { $0 % 11 == 0 ? 500 : 300_000 }
    let ben = environment.app("Ben")
    try ben.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run(.seconds(2))
    #expect(numbers(ben) == (0..<1_100).filter { $0 % 11 != 0 })
  }
}
