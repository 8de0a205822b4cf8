import KoineBase
import KoineVendorAPIs
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import KoineServer

/// Requests with bodies, at the server's own handlers and in virtual time.
@Suite struct HTTPHandlerTests {
  /// The status codes of answers, and their bodies.
  private static func answers(_ bytes: [UInt8]) -> [(status: Int, body: String)] {
    var answers: [(Int, String)] = []
    var rest = String(decoding: bytes, as: UTF8.self)[...]
    while let end = rest.firstRange(of: "\r\n\r\n") {
      let head = rest[..<end.lowerBound]
      rest = rest[end.upperBound...]
      let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
      let count = length.flatMap { Int($0.dropFirst(16)) } ?? 0
      answers.append((Int(head.split(separator: " ")[1]) ?? 0, String(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    return answers
  }

  private static func post(_ body: String, _ headers: String = "", version: String = "1.1") -> String {
    "POST /api HTTP/\(version)\r\nHost: x\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static func chunked(_ chunks: [String], _ headers: String = "") -> String {
    let coded = chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
    return "POST /api HTTP/1.1\r\nHost: x\r\n\(headers)Transfer-Encoding: chunked\r\n\r\n\(coded)0\r\n\r\n"
  }

  private static let full = String(repeating: "a", count: 100)
  private static let half = String(repeating: "a", count: 50)

  @Test(arguments: [post(full), chunked([full]), chunked(Array(repeating: "a", count: 100))], [1, 7, 10_000])
  func bodyOfTheLimitIsAnsweredInAnyPieces(_ request: String, _ size: Int) throws {
    let connection = try EmbeddedConnection()
    let bytes = Array(request.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      connection.write(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    let answers = Self.answers(connection.read())
    #expect(answers.map(\.status) == [200])
    #expect(answers.first?.body == Self.full)
    #expect(connection.isOpen)
  }

  @Test(arguments: [
    post(full + "a"), chunked([full, "a"]), chunked([half, half, "a"]),
    "POST /api HTTP/1.1\r\nContent-Length: 101\r\n\r\n",
  ])
  func bodyBeyondTheLimitIsRefusedAndTheConnectionCloses(_ request: String) throws {
    let connection = try EmbeddedConnection()
    connection.write(request)
    #expect(Self.answers(connection.read()).map(\.status) == [413])
    connection.pass(.seconds(2))
    #expect(!connection.isOpen)
  }

  @Test func requestsInOnePacketAreAnsweredInOrder() throws {
    let connection = try EmbeddedConnection()
    connection.write(
      Self.post("one") + Self.chunked(["t", "wo"]) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n" + Self.post("")
        + Self.post("five") + Self.post(Self.full + "a") + Self.post("seven"))
    let answers = Self.answers(connection.read())
    #expect(answers.map(\.status) == [200, 200, 200, 200, 200, 413])
    #expect(answers.map(\.body).prefix(5) == ["one", "two", "ok\n", "", "five"])
    connection.pass(.seconds(2))
    #expect(!connection.isOpen)
  }

  @Test func clientThatExpectsContinueIsToldToSendItsBody() throws {
    let connection = try EmbeddedConnection()
    connection.write("POST /api HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n")
    #expect(String(decoding: connection.read(), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
    connection.write("abc")
    #expect(Self.answers(connection.read()).map(\.body) == ["abc"])
    connection.write("POST /api HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n")
    #expect(Self.answers(connection.read()).map(\.status) == [413], "the body is not asked for")
  }

  @Test func clientOfHTTP10GetsNoContinueAndItsConnectionCloses() throws {
    let connection = try EmbeddedConnection()
    connection.write(Self.post("abc", "Expect: 100-continue\r\n", version: "1.0"))
    let answer = String(decoding: connection.read(), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n"))
    #expect(answer.contains("\r\nConnection: close\r\n"))
    #expect(answer.hasSuffix("\r\n\r\nabc"))
    #expect(!connection.isOpen)
    let kept = try EmbeddedConnection()
    kept.write(Self.post("abc", "Connection: keep-alive\r\n", version: "1.0"))
    #expect(String(decoding: kept.read(), as: UTF8.self).contains("\r\nConnection: keep-alive\r\n"))
    #expect(kept.isOpen)
  }

  @Test func headAnswerHasTheLengthAndNoBody() throws {
    let connection = try EmbeddedConnection()
    connection.write("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    let answer = String(decoding: connection.read(), as: UTF8.self)
    #expect(answer.contains("\r\nContent-Length: 3\r\n"))
    #expect(answer.hasSuffix("\r\n\r\n"))
    #expect(answer.contains("\r\nDate: "))
  }

  /// Two programs would read these differently (request smuggling).
  @Test(arguments: [
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\nContent-Length: 3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nX: a\r\n\tTransfer-Encoding: chunked\r\n\r\nabc",
    "POST /api HTTP/1.1\r\n Host: x\r\nContent-Length: 3\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    "POST /api HTTP/1.1\nHost: x\nContent-Length: 3\n\nabc",
    "POST /api HTTP/1.1\r\nHost: x\r\nX: a\0b\r\nContent-Length: 3\r\n\r\nabc",
    "POST /a pi HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
    "POST /api HTTP/2.0\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
  ])
  func requestWithUnclearFramingIsRefused(_ request: String) throws {
    let connection = try EmbeddedConnection()
    connection.write(request + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
    let answers = Self.answers(connection.read())
    #expect(answers.count == 1)
    #expect([400, 501, 413].contains(answers.first?.status), "\(answers)")
    connection.pass(.seconds(2))
    #expect(!connection.isOpen)
  }

  @Test func headersBeyondTheLimitAreRefused() throws {
    let connection = try EmbeddedConnection()
    connection.write("GET / HTTP/1.1\r\nHost: x\r\nX: " + String(repeating: "a", count: 65 << 10) + "\r\n\r\n")
    #expect(Self.answers(connection.read()).map(\.status) == [431])
  }

  /// After a request for another protocol (`h2c` here), swift-nio reads no further requests.
  @Test func requestForAnUnknownProtocolIsAnsweredAndTheConnectionCloses() throws {
    let connection = try EmbeddedConnection()
    connection.write(Self.post("abc", "Connection: Upgrade\r\nUpgrade: h2c\r\n"))
    #expect(Self.answers(connection.read()).map(\.body) == ["abc"])
    #expect(!connection.isOpen)
  }

  // MARK: Time

  @Test func slowBodyIsClosedTwentySecondsAfterItsHead() throws {
    let connection = try EmbeddedConnection()
    connection.pass(.seconds(9))
    connection.write("P")
    connection.pass(.seconds(19))
    connection.write("OST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
    for _ in 0..<19 {
      connection.pass(.seconds(1))
      connection.write("a")
      #expect(connection.isOpen)
    }
    connection.pass(.seconds(1))
    #expect(!connection.isOpen)
    #expect(connection.read().isEmpty)
  }

  @Test func connectionIsClosedAndItsAnswerDroppedAfterTwentySecondsWithoutAnAnswer() throws {
    let routing = LateRouting()
    let connection = try EmbeddedConnection(routing: routing)
    connection.write(Self.post("abc") + Self.post("def"))
    connection.pass(.milliseconds(19_900))
    #expect(connection.isOpen)
    connection.pass(.milliseconds(100))
    #expect(!connection.isOpen)
    #expect(routing.promises.withLock { $0.count } == 1, "the second request is dropped")
    for promise in routing.promises.withLock({ $0 }) { promise.succeed(HTTPAnswer(.ok, "late\n")) }
    connection.pass(.seconds(30))
    #expect(connection.read().isEmpty)
  }

  @Test func connectionHasOneRequestAtATime() throws {
    let routing = LateRouting()
    let connection = try EmbeddedConnection(routing: routing)
    connection.write(Self.post("abc") + Self.post("def"))
    for count in 1...2 {
      let promises = routing.promises.withLock { $0 }
      #expect(promises.count == count)
      promises.last?.succeed(HTTPAnswer(.ok, "\(count)"))
      connection.pass(.milliseconds(1))
      #expect(Self.answers(connection.read()).map(\.body) == ["\(count)"])
    }
    #expect(connection.isOpen)
  }
}

/// Answers when the test does.
private final class LateRouting: HTTPRouting {
  let promises = Lock<[EventLoopPromise<HTTPAnswer>]>([])

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    .takesBody(limit: 100) { [self] _, loop in
      let promise = loop.makePromise(of: HTTPAnswer.self)
      promises.withLock { $0.append(promise) }
      return promise.futureResult
    }
  }
}

@Suite struct HTTPAnswerTests {
  @Test func dateIsWrittenAsHTTPWritesIt() {
    let known: [(Int, String)] = [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
      (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
    ]
    for (seconds, text) in known { #expect("\(HTTPDate(seconds: seconds))" == text) }
  }

  @Test func answerOfAnAPIHasNoHeadersOfTheConnection() {
    let answer = HTTPAnswer(
      APIResponse(
        status: 200,
        headers: [
          ("Content-Type", "a/b"), ("content-length", "7"), ("Connection", "close"), ("X-Id", "1"), ("X-Id", "2"),
        ],
        body: [1, 2]))
    #expect(answer.headers.map(\.name) == ["Content-Type", "X-Id", "X-Id"])
    #expect(answer.body.readableBytes == 2)
    let empty = HTTPAnswer(APIResponse(status: 204, headers: [("Content-Type", "a/b"), ("X-Id", "1")], body: [1]))
    #expect(empty.headers.map(\.name) == ["X-Id"])
    #expect(empty.body.readableBytes == 0)
  }

  @Test(arguments: [
    APIResponse(status: 200, headers: [("X", "a\r\nSet-Cookie: b")]), APIResponse(status: 200, headers: [("X Y", "a")]),
    APIResponse(status: 200, headers: [("", "a")]), APIResponse(status: 100), APIResponse(status: 0),
    APIResponse(status: 1_000),
  ])
  func answerThatCannotBeWrittenBecomes500(_ response: APIResponse) {
    #expect(HTTPAnswer(response).status == .internalServerError)
  }
}
