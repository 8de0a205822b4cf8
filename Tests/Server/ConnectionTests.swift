import KoineBase
import KoineSignaling
import NIOCore
import Testing

@testable import KoineServer

/// Idle and half-finished connections, at the server's own handlers and in virtual time.
@Suite struct ConnectionTests {
  private static let paths = [Server.signalingPath, Server.browserPath]

  @Test(arguments: paths) func webSocketWithoutAcceptedJoinIsClosedAfterTenSeconds(_ path: String) throws {
    let connection = try EmbeddedConnection()
    connection.upgrade(path)
    connection.send(#"{"type":"ping","number":1}"#)
    connection.advanceAnsweringPings(5)
    connection.host.send(.refused(Failure(.unauthorized, "no")))
    connection.advanceAnsweringPings(4)
    #expect(connection.isOpen)
    #expect(connection.closeFrame() == nil)
    connection.advanceAnsweringPings(1)
    let goodbye = try #require(connection.closeFrame())
    #expect(goodbye.code == 1_008)
    #expect(goodbye.reason == "no accepted join within 10 s")
    #expect(!connection.isOpen)
    #expect(connection.host.state.withLock { $0.closed } == 1)
  }

  /// Each registration and resumption of an unaccepted connection costs the router a check of a credential or a key.
  @Test(arguments: paths) func registrationsAndResumptionsCountAsJoinsOfTheirAddress(_ path: String) throws {
    var limits = ServerLimits()
    (limits.addressJoinBurst, limits.addressJoinsPerSecond) = (3, 0.001)
    let limiter = ConnectionLimiter(limits: limits)
    let first = try EmbeddedConnection(limits: limits, limiter: limiter)
    first.upgrade(path)
    first.send(#"{"type":"register","version":1,"identity":"ana","name":"Ana"}"#)
    first.send(#"{"type":"resumeConversation","key":"1-1","heard":0}"#)
    #expect(first.host.messages.count == 2)
    // Another connection of the address goes on where the first ended.
    let second = try EmbeddedConnection(limits: limits, limiter: limiter)
    second.upgrade(path)
    for _ in 0..<3 { second.send(#"{"type":"resumeConversation","key":"1-1","heard":0}"#) }
    second.send(#"{"type":"register","version":1,"identity":"ana","name":"Ana"}"#)
    #expect(second.host.messages.count == 1)
    #expect(second.host.state.withLock { $0.refusals } == 3)
  }

  private static let acceptances: [ServerMessage] = [
    .waiting, .registered(identity: "ana"), .resumed(heard: 1),
  ]

  @Test(arguments: paths, acceptances) func acceptedConnectionStaysOpen(_ path: String, _ answer: ServerMessage) throws
  {
    let connection = try EmbeddedConnection()
    connection.upgrade(path)
    connection.advanceAnsweringPings(9)
    connection.host.send(answer)
    connection.advanceAnsweringPings(120)
    #expect(connection.isOpen)
    #expect(connection.closeFrame() == nil)
  }

  @Test(arguments: paths) func messageBeforeAcceptanceIsLimitedTo64KiB(_ path: String) throws {
    let whole = try EmbeddedConnection()
    whole.upgrade(path)
    whole.write(EmbeddedConnection.header(65_536))
    whole.write([UInt8](repeating: 0x20, count: 65_536))
    #expect(whole.isOpen)
    #expect(whole.closeFrame() == nil)
    // Closed by what the header says, before any payload is kept.
    whole.write(EmbeddedConnection.header(65_537))
    #expect(whole.closeFrame()?.code == 1_009)
    #expect(!whole.isOpen)

    let fragmented = try EmbeddedConnection()
    fragmented.upgrade(path)
    fragmented.write(EmbeddedConnection.header(40_000, isFinal: false) + [UInt8](repeating: 0x20, count: 40_000))
    #expect(fragmented.isOpen)
    fragmented.write(EmbeddedConnection.header(40_000, opcode: 0))
    #expect(fragmented.closeFrame()?.code == 1_009)
    #expect(!fragmented.isOpen)
  }

  @Test(arguments: paths) func messageAfterAcceptanceIsLimitedToMessageBytes(_ path: String) throws {
    let connection = try EmbeddedConnection()
    connection.upgrade(path)
    connection.host.send(.waiting)
    let ping = #"{"type":"ping","number":1}"#
    connection.send(ping + String(repeating: " ", count: (1 << 20) - ping.utf8.count))
    #expect(connection.host.messages == [.ping(1)])
    connection.write(EmbeddedConnection.header((1 << 20) + 1))
    #expect(connection.closeFrame()?.code == 1_009)
  }

  private static let beginnings: [[UInt8]] = [
    EmbeddedConnection.header(900) + [0x20],
    EmbeddedConnection.header(20, isFinal: false) + [UInt8](repeating: 0x20, count: 20),
    [0x81], EmbeddedConnection.header(1, isFinal: false) + [0x20],
  ]

  @Test(arguments: paths, beginnings) func unfinishedMessageIsClosedAfterFifteenSeconds(
    _ path: String, _ beginning: [UInt8]
  ) throws {
    let connection = try EmbeddedConnection()
    connection.upgrade(path)
    connection.host.send(.waiting)
    connection.advanceAnsweringPings(30)
    _ = connection.read()
    connection.write(beginning)
    connection.pass(.milliseconds(14_900))
    // It is silent here; a stricter rule must not be what closes it.
    #expect(connection.isOpen)
    #expect(connection.closeFrame() == nil)
    connection.pass(.milliseconds(100))
    let goodbye = try #require(connection.closeFrame())
    #expect(goodbye.code == 1_008)
    #expect(goodbye.reason == "a message took more than 15 s to arrive")
  }

  @Test func pongsBetweenFragmentsDoNotExtendTheTimeout() throws {
    let connection = try EmbeddedConnection()
    connection.upgrade(Server.signalingPath)
    connection.host.send(.waiting)
    connection.write(EmbeddedConnection.header(20, isFinal: false) + [UInt8](repeating: 0x20, count: 20))
    connection.advanceAnsweringPings(14)
    #expect(connection.isOpen)
    connection.advanceAnsweringPings(1)
    #expect(connection.closeFrame()?.code == 1_008)
  }

  @Test func eachMessageHasItsOwnFifteenSeconds() throws {
    let connection = try EmbeddedConnection()
    connection.upgrade(Server.signalingPath)
    connection.host.send(.waiting)
    let frame = EmbeddedConnection.frame(#"{"type":"ping","number":1}"#)
    connection.write(Array(frame.prefix(9)))
    for _ in 0..<6 {
      connection.pass(.seconds(10))
      connection.write(Array(frame.dropFirst(9) + frame.prefix(9)))
    }
    #expect(connection.isOpen)
    #expect(connection.host.messages.count == 6)
  }

  @Test func scannerCountIsIndependentOfTheChunkSize() {
    let message =
      EmbeddedConnection.header(70_000, isFinal: false) + [UInt8](repeating: 1, count: 70_000)
      + EmbeddedConnection.header(3, opcode: 9) + [1, 2, 3] + EmbeddedConnection.header(200, opcode: 0)
      + [UInt8](repeating: 1, count: 200) + [0x8A, 0]
    for size in [1, 2, 3, 7, 1_000, message.count] {
      var scanner = FrameScanner()
      for start in stride(from: 0, to: message.count, by: size) {
        let part = Array(message[start..<min(start + size, message.count)])
        #expect(part.withUnsafeBytes { scanner.scan($0, limit: 70_200) })
      }
      #expect(!scanner.isUnfinished)
      var strict = FrameScanner()
      #expect(!message.withUnsafeBytes { strict.scan($0, limit: 70_199) })
    }
  }

  // MARK: HTTP

  private static let halves = [
    "G", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1",
  ]

  @Test(arguments: halves) func unfinishedRequestIsClosedAfterTwentySeconds(_ half: String) throws {
    let connection = try EmbeddedConnection()
    connection.write(half)
    connection.pass(.milliseconds(19_900))
    #expect(connection.isOpen)
    connection.pass(.milliseconds(100))
    #expect(!connection.isOpen)
  }

  @Test func slowRequestDoesNotExtendTheTimeout() throws {
    let connection = try EmbeddedConnection()
    connection.write("GET /signaling HTTP/1.1\r\n")
    for number in 0..<20 where connection.isOpen {
      connection.write("X-\(number): y\r\n")
      connection.pass(.seconds(1))
    }
    #expect(!connection.isOpen)
  }

  @Test func idleConnectionIsClosedTwentySecondsAfterItsLastAnswer() throws {
    let connection = try EmbeddedConnection()
    for pause in [9, 19, 19] {
      connection.pass(.seconds(Int64(pause)))
      connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(String(decoding: connection.read(), as: UTF8.self).hasSuffix("ok\n"))
    }
    connection.pass(.milliseconds(19_900))
    #expect(connection.isOpen)
    connection.pass(.milliseconds(100))
    #expect(!connection.isOpen)
  }
}
