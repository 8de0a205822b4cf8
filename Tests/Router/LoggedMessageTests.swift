import KoineBase
import KoineLedger
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

@Suite struct LoggedMessageTests {
  private static func message(
    _ order: UInt64, id: String = "1", topic: String = "chat", age: Duration = .zero
  ) -> ReceivedMessage {
    ReceivedMessage(sender: "ana", topic: topic, payload: [1, 2, 255], id: id, order: order, age: age)
  }

  @Test(arguments: [
    LoggedMessage(message(9), lifetime: .seconds(60), recipients: nil),
    LoggedMessage(message(9), lifetime: nil, recipients: [.init(id: "ben", kind: "user"), .init(id: "cid")]),
    LoggedMessage(message(9), lifetime: nil, recipients: nil, isRetained: true),
    // Of the fuzzer: longer than 64 bits of nanoseconds.
    LoggedMessage(message(9), lifetime: .milliseconds(606_666_666_666_001), recipients: nil),
    LoggedMessage(message(9, age: .milliseconds(2_000_000_000_000_000_000)), lifetime: nil, recipients: nil),
    LoggedMessage(message(9, age: .milliseconds(9_007_199_254_741)), lifetime: nil, recipients: nil),
    LoggedMessage(message(9), reporting: .underWay(.init(sender: "ana", payload: [0, 255]))),
    LoggedMessage(message(9), reporting: .ended),
  ])
  func entryGivesTheMessageBack(_ message: LoggedMessage) throws {
    let entry = try #require(message.entry)
    #expect(entry.order == 9)
    #expect(LoggedMessage(entry) == message)
  }

  @Test func fieldsOfLaterVersionsAreIgnoredAndTheirEntriesAreNotRead() throws {
    let text = String(
      decoding: try #require(LoggedMessage(Self.message(9), lifetime: nil, recipients: nil).entry).content,
      as: UTF8.self)
    func read(_ text: String) -> LoggedMessage? { LoggedMessage(LogEntry(order: 9, content: Array(text.utf8))) }
    #expect(read(text) != nil)
    #expect(read(text.replacing("\"version\"", with: "\"color\":\"red\",\"version\"")) != nil)
    #expect(read(text.replacing("\"version\":1", with: "\"version\":4")) == nil)
    #expect(read("{}") == nil)
    #expect(LoggedMessage(LogEntry(order: 8, content: Array(text.utf8))) == nil, "the order is another one")
  }

  /// A node of an earlier version ignores reports and admissions, and reads everything else.
  @Test func onlyReportsAndAdmissionsAreWrittenInLaterVersions() throws {
    func text(_ message: LoggedMessage) throws -> String {
      String(decoding: try #require(message.entry).content, as: UTF8.self)
    }
    let message = Self.message(9)
    #expect(try text(LoggedMessage(message, lifetime: nil, recipients: nil)).contains("\"version\":1"))
    #expect(try text(LoggedMessage(message, reporting: .ended)).contains("\"version\":2"))
    for admission: LoggedMessage.Admission in [.granted(key: "secret"), .ended] {
      let logged = LoggedMessage(admission, of: "guest", order: 9)
      #expect(try text(logged).contains("\"version\":3"))
      #expect(LoggedMessage(try #require(logged.entry)) == logged)
    }
  }

  // MARK: History and log

  private static func router(_ limits: DataHistory.Limits = .init(), base: UInt64 = 100) -> DataRouter {
    var data = DataRouter(limits: limits, now: ms(0))
    data.restore([], base: base, at: ms(0))
    return data
  }

  private static func send(
    _ data: inout DataRouter, _ id: String, lifetime: Duration? = nil, isPersistent: Bool = false,
    isRetained: Bool = false, at now: Tick = ms(0)
  ) throws -> DataRouter.Delivery {
    var message = DataMessage(topic: "t", payload: [1], lifetime: lifetime, isPersistent: isPersistent)
    message.isRetained = isRetained
    return try data.route(SendData(message, id: id), from: "ana", in: Roster(), services: [], at: now)
  }

  @Test func onlyKeptMessagesAreLogged() throws {
    var data = Self.router()
    #expect(try Self.send(&data, "passing").logged == nil)
    #expect(try Self.send(&data, "kept", lifetime: .seconds(5)).logged?.lifetime == .seconds(5))
    #expect(try Self.send(&data, "persistent", isPersistent: true).logged?.message.id == "persistent")
    #expect(try Self.send(&data, "retained", isRetained: true).logged?.isRetained == true)
    #expect(data.order == 104)
    var alone = DataRouter(limits: .init(), now: ms(0))
    #expect(try Self.send(&alone, "kept", lifetime: .seconds(5)).logged == nil, "a room without a log")
  }

  @Test func messagesThatAreKeptNoLongerLeaveTheLog() throws {
    var data = Self.router(.init(count: 2))
    for number in 1...3 { _ = try Self.send(&data, "\(number)", lifetime: .seconds(5)) }
    #expect(data.takeDropped() == [101])
    #expect(data.takeDropped().isEmpty)
    _ = try Self.send(&data, "a", isRetained: true)
    _ = try Self.send(&data, "b", isRetained: true)
    #expect(data.takeDropped() == [104], "replaced")
  }

  @Test func logIsRestoredWithAgesAndGivenBackForGaps() throws {
    var data = DataRouter(limits: .init(), now: ms(0))
    data.restore(
      [
        (LoggedMessage(Self.message(5, id: "old"), lifetime: .seconds(10), recipients: nil), .seconds(11)),
        (LoggedMessage(Self.message(6, id: "young"), lifetime: .seconds(10), recipients: nil), .seconds(4)),
        (LoggedMessage(Self.message(7, id: "for ben"), lifetime: nil, recipients: [.init(id: "ben")]), .seconds(60)),
        (LoggedMessage(Self.message(8, id: "state"), lifetime: nil, recipients: nil, isRetained: true), .seconds(60)),
      ], base: 50, at: ms(100_000))
    func kept(for id: String, at now: Tick) -> [String] {
      data.page(for: .init(id: id), after: 0, through: .max, at: now).entries.map(\.message.id)
    }
    #expect(kept(for: "cid", at: ms(100_000)) == ["young", "state"])
    #expect(kept(for: "ben", at: ms(107_000)) == ["for ben", "state"])
    let ages = data.page(for: .init(id: "cid"), after: 0, through: .max, at: ms(101_000)).entries.map(\.ageMilliseconds)
    #expect(ages == [5_000, 61_000])
    #expect(data.entries(after: 5, through: 7).map(\.order) == [6, 7])
    #expect(data.entries(after: 0, through: .max).compactMap { LoggedMessage($0)?.lifetime }.last == .seconds(10))
    #expect(data.order == 50)
  }
}
