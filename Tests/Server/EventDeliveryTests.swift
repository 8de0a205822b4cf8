import Foundation
import KoineBase
import KoineTestSupport
import KoineVendorAPIs
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import KoineServer

/// A receiver that records requests and answers as a test says.
private final class Receiver: HTTPRouting {
  struct Request: Sendable {
    var head: HTTPRequestHead
    var body: String
  }

  let requests = Lock<[Request]>([])
  let port: Int
  private let answer: @Sendable (_ number: Int) -> HTTPAnswer
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let listener = Lock<(any Channel)?>(nil)

  /// - Parameters:
  ///   - isSilent: whether connections get no answer at all.
  ///   - answer: gets the number of requests before this one.
  init(
    isSilent: Bool = false, answer: @escaping @Sendable (Int) -> HTTPAnswer = { _ in HTTPAnswer(.ok, "ok") }
  ) async throws {
    self.answer = answer
    let routing = Lock<Receiver?>(nil)
    let channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard !isSilent, let receiver = routing.withLock({ $0 }) else { return }
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
          try channel.pipeline.syncOperations.addHandler(
            HTTPHandler(routing: receiver, transport: HTTPTransport(isEncrypted: false)))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
    listener.withLock { $0 = channel }
    routing.withLock { $0 = self }
  }

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    .takesBody(limit: 1 << 20) { [self] body, loop in
      let number = requests.withLock { requests in
        requests.append(Request(head: request, body: String(decoding: body, as: UTF8.self)))
        return requests.count - 1
      }
      return loop.makeSucceededFuture(answer(number))
    }
  }

  var bodies: [String] { requests.withLock { $0.map(\.body) } }
  var url: String { "http://127.0.0.1:\(port)/hook?token=secret" }

  func stop() async {
    try? await listener.withLock { $0 }?.close()
    try? await group.shutdownGracefully()
  }
}

private struct LineCollector: LogHandler {
  let lines: Lock<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
  func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}

/// Events on real sockets.
@Suite(.timeLimit(.minutes(5))) struct EventDeliveryTests {
  private static let loop = MultiThreadedEventLoopGroup.singleton.next()

  private static func event(_ name: String = "a", room: String = "tea", webhook: String? = nil) -> BackEndEvent {
    BackEndEvent(
      .videosdk, room: room, name: name, webhook: webhook, signature: "c2lnbmF0dXJl",
      body: Array(#"{"name":"\#(name)"}"#.utf8))
  }

  private static func send(
    to url: String, hosts: EventHosts? = nil, authorities: String? = nil, limit: Duration = .seconds(5)
  ) async throws -> EventQueue.Outcome {
    let sender = EventSender(
      hosts: try hosts ?? EventHosts([], allowsLoopback: true), authorities: authorities, limit: limit)
    return try await sender.send(event(), to: try #require(EventURL(url)), on: loop).get()
  }

  // MARK: One attempt

  @Test func eventArrivesWithItsSignature() async throws {
    let receiver = try await Receiver()
    #expect(try await Self.send(to: receiver.url) == .answered(status: 200))
    let request = try #require(receiver.requests.withLock { $0.first })
    #expect(request.head.method == .POST)
    #expect(request.head.uri == "/hook?token=secret")
    #expect(request.head.headers["Host"] == ["127.0.0.1:\(receiver.port)"])
    #expect(request.head.headers["Content-Type"] == ["application/json"])
    #expect(request.head.headers["videosdk-signature"] == ["c2lnbmF0dXJl"])
    #expect(request.body == #"{"name":"a"}"#)
    await receiver.stop()
  }

  /// The name has two addresses on many machines, of which a receiver may have one only.
  @Test func nameIsResolved() async throws {
    let receiver = try await Receiver()
    #expect(try await Self.send(to: "http://localhost:\(receiver.port)/") == .answered(status: 200))
    #expect(receiver.requests.withLock { $0.first }?.head.headers["Host"] == ["localhost:\(receiver.port)"])
    await receiver.stop()
    let hosts = try EventHosts(["no-such-host.invalid"])
    let outcome = try await Self.send(to: "http://no-such-host.invalid/", hosts: hosts)
    #expect(outcome == .failed("the name 'no-such-host.invalid' cannot be resolved"))
  }

  @Test func redirectionIsNotFollowed() async throws {
    let receiver = try await Receiver { number in HTTPAnswer(.found, "", [("Location", "/other")]) }
    #expect(try await Self.send(to: receiver.url) == .answered(status: 302))
    #expect(receiver.requests.withLock { $0.map(\.head.uri) } == ["/hook?token=secret"])
    await receiver.stop()
  }

  @Test func receiverWithoutAnswerFailsInTime() async throws {
    let receiver = try await Receiver(isSilent: true)
    let begin = ContinuousClock.now
    #expect(try await Self.send(to: receiver.url, limit: .milliseconds(300)) == .failed("no answer within 0.3 s"))
    #expect(ContinuousClock.now - begin >= .milliseconds(300))
    await receiver.stop()
    #expect(EventQueue.attemptTime == .seconds(5))
  }

  @Test func largeAnswerIsCut() async throws {
    let receiver = try await Receiver { _ in HTTPAnswer(.created, String(repeating: "x", count: 8 << 20)) }
    #expect(try await Self.send(to: receiver.url) == .answered(status: 201))
    await receiver.stop()
  }

  @Test func closedPortFails() async throws {
    #expect(
      try await Self.send(to: "http://127.0.0.1:\(try Ports.free())/") == .failed("Connection refused"))
  }

  @Test(arguments: ["http://127.0.0.1:1/", "http://169.254.169.254/", "http://localhost:1/"])
  func hostThatIsNotAllowedIsNotReached(_ url: String) async throws {
    let outcome = try await Self.send(to: url, hosts: try EventHosts(["one.example"]))
    #expect(outcome == .refused("none of its addresses is allowed"))
  }

  @Test func certificateIsChecked() async throws {
    let identity = try await TLSIdentity()
    let service = EchoAPI()
    var configuration = ServerConfiguration(port: 0, access: .open, tls: identity.files, logger: .silent)
    configuration.apis = service
    let server = try await Server.start(configuration)
    let url = "https://127.0.0.1:\(server.port)/echo"
    #expect(try await Self.send(to: url, authorities: identity.files.certificate) == .answered(status: 200))
    #expect(service.requests.withLock { $0.map(\.isEncrypted) } == [true])
    // By no authority that the system trusts; by another authority; in another name.
    let other = try await TLSIdentity()
    for (url, authorities) in [
      (url, nil), (url, other.files.certificate),
      ("https://localhost:\(server.port)/echo", identity.files.certificate),
    ] as [(String, String?)] {
      guard case .failed(let reason) = try await Self.send(to: url, authorities: authorities) else {
        Issue.record("the certificate is not checked: \(url)")
        continue
      }
      #expect(reason.contains("certificate verify failed"), "\(reason)")
    }
    #expect(service.requests.withLock { $0.count } == 1)
    await server.stop()
  }

  // MARK: Delivery

  private static func delivery(
    _ subscriptions: [String] = [], _ lines: Lock<[String]> = Lock([]), limits: EventQueue.Limits = .init()
  ) throws -> EventDelivery {
    EventDelivery(
      hosts: try EventHosts([], allowsLoopback: true),
      subscriptions: subscriptions.compactMap { EventSubscription($0) },
      logger: Logger(label: "events") { _ in LineCollector(lines: lines) }, limits: limits)
  }

  private static func until(_ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
    #expect(condition())
  }

  @Test func eventsOfARoomArriveInOrderAfterAFailure() async throws {
    let receiver = try await Receiver { HTTPAnswer($0 == 0 ? .serviceUnavailable : .ok, "") }
    let lines = Lock<[String]>([])
    let delivery = try Self.delivery([], lines)
    delivery.start(on: Self.loop)
    for name in ["a", "b", "c"] { delivery.output.send(Self.event(name, webhook: receiver.url)) }
    try await Self.until { delivery.statistics.delivered == 3 }
    #expect(receiver.bodies == ["a", "a", "b", "c"].map { #"{"name":"\#($0)"}"# })
    #expect(delivery.statistics == EventQueue.Statistics(delivered: 3, failedAttempts: 1))
    await delivery.stop()
    let log = lines.withLock { $0 }
    #expect(log == ["events are not taken by http://127.0.0.1:\(receiver.port), and are tried again: status 503"])
    await receiver.stop()
  }

  @Test func eventGoesToItsWebhookAndToAllReceiversOfItsForm() async throws {
    let (webhook, all, aws) = (try await Receiver(), try await Receiver(), try await Receiver())
    let delivery = try Self.delivery(["videosdk=" + all.url, "aws=" + aws.url])
    delivery.start(on: Self.loop)
    #expect(delivery.output.forms == [.aws, .videosdk])
    delivery.output.send(Self.event("a", webhook: webhook.url))
    delivery.output.send(Self.event("b", webhook: all.url))
    delivery.output.send(BackEndEvent(.aws, room: "tea", name: "c", body: Array("{}".utf8)))
    try await Self.until { delivery.statistics.delivered == 4 }
    #expect(webhook.bodies == [#"{"name":"a"}"#])
    #expect(all.bodies == [#"{"name":"a"}"#, #"{"name":"b"}"#])
    #expect(aws.bodies == ["{}"])
    await delivery.stop()
    for receiver in [webhook, all, aws] { await receiver.stop() }
  }

  @Test func eventForAForeignHostIsDroppedAndLoggedWithoutItsPath() async throws {
    let lines = Lock<[String]>([])
    let delivery = try Self.delivery([], lines)
    delivery.start(on: Self.loop)
    delivery.output.send(Self.event(webhook: "https://two.example/hook?token=secret"))
    delivery.output.send(Self.event(webhook: "nonsense"))
    try await Self.until { lines.withLock { $0.count } == 1 }
    #expect(delivery.statistics == EventQueue.Statistics(dropped: [.refused: 2]))
    #expect(
      lines.withLock { $0 } == [
        "the event a of the room tea for https://two.example is dropped: the receiver is not in --webhook-hosts"
      ])
    await delivery.stop()
  }

  @Test func endOfTheServerDropsWhatCannotBeDelivered() async throws {
    let silent = try await Receiver(isSilent: true)
    let delivery = try Self.delivery([silent.url])
    delivery.start(on: Self.loop)
    delivery.output.send(Self.event())
    let begin = ContinuousClock.now
    await delivery.stop(within: .milliseconds(100))
    #expect(ContinuousClock.now - begin < .seconds(4))
    #expect(delivery.statistics == EventQueue.Statistics(dropped: [.stopped: 1]))
    await silent.stop()
  }

  // MARK: The server

  @Test func serverSendsOnlyToAllowedHosts() async throws {
    var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
    configuration.backEndAPIs = BackEndAPIs(access: .closed)
    configuration.backEndAPIs?.events = ["http://127.0.0.1:9/hook?token=secret"]
    let refused = configuration
    await #expect(
      throws: ServerError(description: "events are not sent to http://127.0.0.1:9: name its host with --webhook-hosts")
    ) { try await Server.start(refused) }
    configuration.backEndAPIs?.webhookHosts = ["127.0.0.1"]
    let server = try await Server.start(configuration)
    let page = try await Command("curl", "-sS", "http://127.0.0.1:\(server.port)/metrics").run()
    #expect(page.contains("\nkoine_events_waiting 0\n"))
    #expect(page.contains("\nkoine_events_delivered_total 0\n"))
    for reason in ["expired", "full", "rejected", "refused", "too_large", "stopped"] {
      #expect(page.contains("\nkoine_events_dropped_total{reason=\"\(reason)\"} 0\n"))
    }
    await server.stop()
    // As with `koine serve --open --api-credentials`.
    configuration.backEndAPIs?.webhookHosts = []
    configuration.backEndAPIs?.allowsLoopback = true
    let local = try await Server.start(configuration)
    // A second one gets the system's words, without the names of functions.
    configuration.port = local.port
    let second = configuration
    await #expect(
      throws: ServerError(description: "cannot listen on 127.0.0.1:\(local.port): Address already in use")
    ) { try await Server.start(second) }
    await local.stop()
  }

  @Test func settingsNameHostsAndReceivers() throws {
    let settings = try ServerSettings(
      options: [.open: ["true"], .webhookHosts: ["one.example,127.0.0.1"]],
      environment: ["KOINE_SERVE_EVENTS": "http://one.example/,aws=http://one.example/aws"])
    #expect(settings.webhookHosts == ["one.example", "127.0.0.1"])
    #expect(settings.events == ["http://one.example/", "aws=http://one.example/aws"])
    for (name, value) in [
      (ServerSettings.Name.webhookHosts, "one.example:80"), (.webhookHosts, "*"), (.events, "one.example"),
    ] {
      #expect(throws: ServerError.self) { try ServerSettings(options: [.open: ["true"], name: [value]]) }
    }
  }

  // MARK: koine events

  @Test func receiverPassesJSONOnInLinesAndRefusesOtherRequests() async throws {
    let lines = Lock<[String]>([])
    let receiver = try await EventReceiver.start(host: "127.0.0.1", port: 0) { line in
      lines.withLock { $0.append(line) }
    }
    func curl(_ options: String...) async throws -> String {
      try await Command(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"] + options + [
          "http://127.0.0.1:\(receiver.port)/any/path"
        ]
      ).run()
    }
    #expect(try await curl("--data-binary", "{\"a\":\n \"\u{9b}é\"}\r\n") == "200")
    #expect(try await curl("--data-binary", "{") == "400")
    #expect(try await curl() == "405")
    #expect(try await curl("--data-binary", "{}", "-H", "Origin: https://app.example") == "403")
    #expect(try await curl("--data-binary", "[" + String(repeating: " ", count: 65_536) + "]") == "413")
    #expect(lines.withLock { $0 } == [#"{"a": "\u009bé"}"#])
    await receiver.stop()
  }
}
