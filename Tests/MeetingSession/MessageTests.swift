import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Data messages: topics, history, limits.
@Suite struct MessageTests {
  private let environment = TestEnvironment()

  @Test func messagesReachSubscribersOfTheirTopic() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    try ana.audioVideo.realtimeSendDataMessage(topic: "no topic", data: 1, lifetimeMs: -1)  // not started: nothing
    for app in [ana, ben] { try app.audioVideo.start() }
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: "early", lifetimeMs: 0)
    await environment.run()
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: "hello", lifetimeMs: 0)
    try ana.audioVideo.realtimeSendDataMessage(topic: "other", data: "unheard", lifetimeMs: 0)
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: ["a": 1], lifetimeMs: 0)
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: [UInt8(104), 105], lifetimeMs: 0)
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: Data("data".utf8))
    await environment.run()
    #expect(
      ben.lines(of: "message") == ["early", "hello", "{\"a\":1}", "hi", "data"].map { "message ana \($0)" })
    let messages = ben.told.withLock { $0.messages }
    #expect(messages.map(\.timestampMs) == messages.map(\.timestampMs).sorted())
    #expect(messages[1].senderExternalUserId == "Ana" && messages[1].fromJSON() == nil)
    #expect((messages[2].fromJSON() as? [String: Int]) == ["a": 1])
    #expect(ana.lines(of: "message") == [], "no echo")
    ben.audioVideo.removeRealtimeDataMessageObserverFromTopic(topic: "chat")
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: "late", lifetimeMs: 0)
    await environment.run()
    #expect(ben.lines(of: "message").count == 5)
  }

  @Test func lateAttendeeReceivesStoredMessages() async throws {
    // without microphones: five minutes of them are many packets
    let silent = AudioVideoConfiguration(audioDeviceCapabilities: .outputOnly)
    let ana = environment.app("Ana")
    try ana.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run()
    for (text, lifetime) in [("gone", Int32(0)), ("short", 500), ("one", 300_000), ("two", .max)] {
      try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: lifetime)
    }
    await environment.run(.seconds(2))
    let ben = environment.app("Ben")
    try ben.audioVideo.start(audioVideoConfiguration: silent)
    await environment.run()
    #expect(ben.lines(of: "message") == ["message ana one", "message ana two"])
    let message = try #require(ben.told.withLock { $0.messages.first })
    #expect(message.senderExternalUserId == "Ana")
    await environment.run(.seconds(300))
    let cleo = environment.app("Cleo")
    try cleo.audioVideo.start()
    await environment.run()
    #expect(cleo.lines(of: "message") == [], "five minutes are the limit")
  }

  @Test func invalidMessageThrowsTheVendorsFirstError() async throws {
    let ana = environment.app("Ana").audioVideo
    try ana.start()
    func expect(_ error: SendDataMessageError, _ topic: String, _ data: Any, _ lifetime: Int32 = 0) {
      #expect(throws: error) { try ana.realtimeSendDataMessage(topic: topic, data: data, lifetimeMs: lifetime) }
    }
    expect(.negativeLifetimeParameter, "no topic", 1, -1)
    for topic in ["", "no topic", "chat\n", "ä", String(repeating: "a", count: 37)] { expect(.invalidTopic, topic, 1) }
    for data: Any in [1, Date(), 1.5] { expect(.invalidData, "chat", data) }
    expect(.invalidDataLength, "chat", String(repeating: "x", count: 2_049))
    try ana.realtimeSendDataMessage(topic: "a_B-9", data: String(repeating: "x", count: 2_048), lifetimeMs: 0)
    try ana.realtimeSendDataMessage(topic: String(repeating: "a", count: 36), data: "", lifetimeMs: 0)
  }

  @Test func messagesAboveTheRateLimitReturnThrottled() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] { try app.audioVideo.start() }
    await environment.run()
    for number in 0..<150 {
      try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: "\(number)", lifetimeMs: 0)
    }
    await environment.run()
    #expect(ben.lines(of: "message").count == 100)
    #expect(ana.lines(of: "message").count == 50)
    #expect(ana.lines(of: "message").allSatisfy { $0.hasSuffix("throttled") })
    try ana.audioVideo.realtimeSendDataMessage(topic: "chat", data: "again", lifetimeMs: 0)
    await environment.run()
    #expect(ben.lines(of: "message").last == "message ana again")
  }
}
