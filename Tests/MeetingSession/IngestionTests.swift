import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Events written to a file.
@Suite struct IngestionTests {
  private let environment = TestEnvironment()
  private let file = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString).jsonl")

  private func configuration(
    _ url: String, disabled: Bool = false, size: Int = 20, interval: Int64 = 5_000
  ) -> IngestionConfiguration {
    IngestionConfigurationBuilder().setFlushSize(flushSize: size).setFlushIntervalMs(flushIntervalMs: interval)
      .setRetryCountLimit(retryCountLimit: 1)
      .build(
        disabled: disabled, ingestionUrl: url,
        clientConiguration: MeetingEventClientConfiguration(
          eventClientJoinToken: "token", meetingId: "tea", attendeeId: "ana"))
  }

  private func makeReporter(_ configuration: IngestionConfiguration, _ logger: any Logger = Quiet()) -> (
    any EventReporter
  )? {
    World.$current.withValue(environment.world) {
      DefaultMeetingEventReporterFactory(ingestionConfiguration: configuration, logger: logger).createEventReporter()
    }
  }

  private func records() throws -> [IngestionRecord] {
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return try text.split(separator: "\n").map {
      try JSONDecoder().decode(IngestionRecord.self, from: Data($0.utf8))
    }
  }

  private func event(_ name: EventName) -> SDKEvent {
    SDKEvent(eventName: name, eventAttributes: [EventAttributeName.timestampMs: Int64(7)])
  }

  @Test func meetingsEventsAreWrittenAsLinesOfJSON() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let logger = Quiet()
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: App.configuration("Ana"), logger: logger,
        eventReporterFactory: DefaultMeetingEventReporterFactory(
          ingestionConfiguration: configuration(file.absoluteString), logger: logger))
    }
    try session.audioVideo.start()
    await environment.run(.seconds(4))
    #expect(try records().isEmpty, "written after the interval")
    await environment.run(.seconds(2))
    #expect(try records().count == 1)
    session.audioVideo.stop()
    await environment.run()
    let records = try records()
    let payloads = records.flatMap(\.events).flatMap(\.payloads)
    #expect(
      payloads.map(\.name) == [
        "meetingStartRequested", "videoClientSignalingOpened", "meetingStartSucceeded", "meetingEnded",
      ], "the end is written at once")
    #expect(payloads.map(\.ts) == session.audioVideo.getMeetingHistory().map(\.timestampMs))
    #expect(Set(payloads.map(\.id)).count == 4)
    #expect(payloads.last?.meetingStatus == "ok")
    #expect(payloads.last?.meetingDurationMs.map { $0 > 5_000 } == true)
    #expect(payloads.last?.appState == "Active")
    let record = try #require(records.first)
    #expect(record.metadata["meetingId"]??.value as? String == "tea")
    #expect(record.metadata["sdkName"]??.value as? String == "amazon-chime-sdk-ios")
    #expect(record.metadata["externalUserId"] == nil, "not written: names of people")
    #expect(record.events.first?.type == "Meet")
    #expect(record.events.first?.version == 1)
  }

  @Test func shortInitialiserWritesToTheFileOfTheConfiguration() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let known = App.configuration("Ana")
    let urls = MeetingSessionURLs(
      audioFallbackUrl: "f", audioHostUrl: "h", turnControlUrl: "t", signalingUrl: "s", urlRewriter: { $0 },
      ingestionUrl: file.absoluteString)
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: MeetingSessionConfiguration(
          meetingId: "tea", credentials: known.credentials, urls: urls, urlRewriter: { $0 }), logger: Quiet())
    }
    session.eventAnalyticsController.publishEvent(name: .meetingFailed)
    await environment.run()
    #expect(try records().flatMap(\.events).flatMap(\.payloads).map(\.name) == ["meetingFailed"])
  }

  @Test func batchesHoldAtMostTheFlushSize() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let reporter = try #require(makeReporter(configuration(file.absoluteString, size: 2, interval: 300)))
    for _ in 0..<5 { reporter.report(event: event(.audioInputSelected)) }
    await environment.run()
    #expect(try records().map { $0.events[0].payloads.count } == [2, 2, 1])
    #expect(try records()[0].events[0].payloads[0].ts == 7)
  }

  @Test func stoppedReporterKeepsEventsUntilItIsStarted() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let reporter = try #require(makeReporter(configuration(file.absoluteString)))
    reporter.report(event: event(.audioInputSelected))
    reporter.stop()
    await environment.run()
    #expect(try records().count == 1, "what waits is written")
    reporter.report(event: event(.meetingEnded))
    await environment.run(.seconds(10))
    #expect(try records().count == 1)
    reporter.start()
    await environment.run()
    #expect(try records().count == 2)
  }

  @Test func unwritableEventsAreTriedAgainAndDropped() async throws {
    let logger = Quiet()
    let missing = file.appendingPathComponent("missing/events.jsonl").absoluteString
    let reporter = try #require(makeReporter(configuration(missing, interval: 300), logger))
    reporter.report(event: event(.audioInputSelected))
    await environment.run(.seconds(3))
    #expect(logger.errors.count == 2, "a first attempt, and one more")
    #expect(logger.errors.last?.contains("dropped") == true)
  }

  @Test func disabledIngestionAndOtherURLsMakeNoReporter() {
    #expect(makeReporter(configuration(file.absoluteString, disabled: true)) == nil)
    #expect(makeReporter(configuration("https://ingest.example")) == nil)
    #expect(NoopEventReporterFactory().createEventReporter() == nil)
  }

  @Test func configurationIsClamped() {
    let low = configuration("", size: 0, interval: 1)
    #expect(low.flushSize == 1)
    #expect(low.flushIntervalMs == 300)
    #expect(low.retryCountLimit == 1)
    #expect(configuration("", size: 1_000).flushSize == 100)
    let usual = IngestionConfigurationBuilder().build(ingestionUrl: "", clientConiguration: low.clientConfiguration)
    #expect(usual.flushSize == 20)
    #expect(usual.flushIntervalMs == 5_000)
    #expect(usual.retryCountLimit == 2)
    #expect(!usual.disabled)
    #expect(usual.clientConfiguration.type == .meet)
    #expect(EventClientType.chat.description == "Chat")
  }

  @Test func jsonValuesKeepTheirTypes() throws {
    let values: [AnyCodable] = [AnyCodable("a"), AnyCodable(true), AnyCodable(3), AnyCodable(0.5), AnyCodable(nil)]
    let text = String(decoding: try JSONEncoder().encode(values), as: UTF8.self)
    #expect(text == #"["a",true,3,0.5,null]"#)
    let read = try JSONDecoder().decode([AnyCodable].self, from: Data(text.utf8))
    #expect(read[0].value as? String == "a")
    #expect(read[1].value as? Bool == true)
    #expect(read[2].value as? Int64 == 3)
    #expect(read[3].value as? Double == 0.5)
    #expect(read[4].value == nil)
  }
}

/// Writes nothing, and keeps the errors.
final class Quiet: AmazonChimeSDK.Logger, Sendable {
  private let kept = Lock<[String]>([])
  var errors: [String] { kept.withLock { $0 } }

  func `default`(msg: String) {}
  func debug(debugFunction: () -> String) {}
  func info(msg: String) {}
  func fault(msg: String) {}
  func error(msg: String) { kept.withLock { $0.append(msg) } }
  func setLogLevel(level: LogLevel) {}
  func getLogLevel() -> LogLevel { .OFF }
}
