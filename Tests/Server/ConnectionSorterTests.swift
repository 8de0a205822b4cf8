import NIOCore
import NIOEmbedded
import NIOHTTP1
import KoineBase
import KoineTLS
import KoineTestSupport
import Testing

@testable import KoineServer

/// The first byte of a connection, at the server's own handlers and in virtual time.
@Suite struct ConnectionSorterTests {
  @Test func everyFirstByteIsSorted() {
    for byte in UInt8.min...UInt8.max {
      let expected: ConnectionSorter.Kind? =
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): .http
        case 22: .tls
        default: nil
        }
      #expect(ConnectionSorter.Kind(firstByte: byte) == expected)
    }
  }

  @Test func silentConnectionIsClosedAfterTenSeconds() throws {
    let connection = try EmbeddedConnection()
    connection.write([])
    connection.pass(.milliseconds(9_900))
    #expect(connection.isOpen)
    connection.pass(.milliseconds(100))
    #expect(!connection.isOpen)
  }

  @Test(arguments: [[22], [22, 3, 1], [0, 20], [5], [10], [32], [97], [0x80], [255]] as [[UInt8]])
  func otherFirstByteClosesAConnectionWithoutTLS(_ bytes: [UInt8]) throws {
    let connection = try EmbeddedConnection()
    connection.write(bytes)
    #expect(!connection.isOpen)
    #expect(connection.read().isEmpty)
  }

  @Test func handshakeThatDoesNotEndIsClosedTenSecondsAfterItsFirstByte() async throws {
    let identity = try await TLSIdentity()
    let tls = try TLSContext.server(certificate: identity.files.certificate, key: identity.files.key)
    let connection = try EmbeddedConnection(tls: tls)
    connection.pass(.seconds(9))
    connection.write([22, 3, 1, 2, 0, 1])
    connection.pass(.milliseconds(9_900))
    #expect(connection.isOpen)
    connection.pass(.milliseconds(100))
    #expect(!connection.isOpen)
  }

  @Test func requestOfAnotherMachineWithoutTLSMustEncrypt() async throws {
    let identity = try await TLSIdentity()
    let tls = try TLSContext.server(certificate: identity.files.certificate, key: identity.files.key)
    for (context, mustEncrypt) in [(tls, true), (nil, false)] as [(TLSContext?, Bool)] {
      let routing = RecordingRouting()
      let connection = try EmbeddedConnection(routing: routing, tls: context)
      connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(String(decoding: connection.read(), as: UTF8.self).hasSuffix("ok\n"))
      #expect(routing.transports.withLock { $0.map(\.mustEncrypt) } == [mustEncrypt])
    }
  }
}

/// Notes how requests reach the server.
private final class RecordingRouting: HTTPRouting {
  let transports = Lock<[HTTPTransport]>([])

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool { false }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    transports.withLock { $0.append(transport) }
    return StubRouting().route(request, over: transport)
  }
}
