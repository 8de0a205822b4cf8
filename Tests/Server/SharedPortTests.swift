import Foundation
import KoineBase
import KoineTestSupport
import NIOHTTP1
import Testing

@testable import KoineServer

/// HTTP and HTTPS at one port, with real sockets and clients.
@Suite(.timeLimit(.minutes(5))) struct SharedPortTests {
  private static func configuration(_ identity: TLSIdentity) -> ServerConfiguration {
    var configuration = ServerConfiguration(port: 0, access: .open, tls: identity.files, logger: .silent)
    configuration.apis = EchoAPI()
    return configuration
  }

  @Test func onePortAnswersHTTPAndHTTPS() async throws {
    let identity = try await TLSIdentity()
    let server = try await Server.start(Self.configuration(identity))
    for (scheme, isEncrypted) in [("http", "false"), ("https", "true")] {
      let answer = try await Command(
        "curl", "-sSi", "--max-time", "60", "--cacert", identity.files.certificate, "--data", "abc",
        "\(scheme)://127.0.0.1:\(server.port)/echo"
      ).run()
      #expect(answer.contains("\r\nX-TLS: \(isEncrypted)\r\n"))
      #expect(answer.hasSuffix("\r\n\r\nabc"))
    }
    await server.stop()
  }

  /// Nested TLS, other protocols, requests over TLS in pieces, and a body beyond the limit over TLS.
  @Test func firstByteDecidesInsideOfTLSToo() async throws {
    let identity = try await TLSIdentity()
    let server = try await Server.start(Self.configuration(identity))
    let script = """
      import http.client, socket, ssl
      PORT = \(server.port)
      context = ssl.create_default_context(cafile="\(identity.files.certificate)")
      def line(): return socket.create_connection(("127.0.0.1", PORT), 20)
      def tls(line): return context.wrap_socket(line, server_hostname="127.0.0.1")
      def heard(line):
          try: return line.recv(100)
          except (ConnectionResetError, ssl.SSLEOFError): return b""
      for first in (b"\\0\\x14", b"\\5", b"\\n", b"a", b"\\x80", b"\\xff"):
          with line() as plain:
              plain.sendall(first)
              assert heard(plain) == b"", first
          with tls(line()) as inner:
              inner.sendall(first)
              assert heard(inner) == b"", first
      with tls(line()) as inner:
          incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
          nested = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
          try: nested.do_handshake()
          except ssl.SSLWantReadError: pass
          inner.sendall(outgoing.read())
          assert heard(inner) == b"", "TLS inside of TLS"
      with tls(line()) as inner:
          for byte in b"GET /healthz HTTP/1.0\\r\\n\\r\\n": inner.sendall(bytes([byte]))
          text = b""
          while part := inner.recv(4096): text += part
          assert text.endswith(b"\\r\\n\\r\\nok\\n"), text
      secure = http.client.HTTPSConnection("127.0.0.1", PORT, timeout=20, context=context)
      for size in (0, 3, 65536):
          secure.request("POST", "/echo", b"x" * size)
          answer = secure.getresponse()
          assert (answer.status, answer.read()) == (200, b"x" * size)
      secure.request("POST", "/echo", b"x" * 65537)
      assert secure.getresponse().status == 413
      print("all")
      """
    #expect(try await Command("python3", "-c", script).run() == "all\n")
    await server.stop()
  }

  // MARK: Other machines

  private static func answer(
    _ method: HTTPMethod, _ target: String, _ headers: HTTPHeaders, mustEncrypt: Bool = true
  ) throws -> HTTPAnswer? {
    var configuration = ServerConfiguration(host: "0.0.0.0", port: 0, access: .open, logger: .silent)
    configuration.hostNames = ["meet.example"]
    let routes = HTTPRoutes(
      host: RouterHost(configuration), limiter: ConnectionLimiter(limits: ServerLimits()), part: .all,
      site: Site(names: configuration.hostNames, listener: configuration.host), apis: APIDispatcher(EchoAPI()))
    let request = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
    let transport = HTTPTransport(isEncrypted: false, mustEncrypt: mustEncrypt)
    if mustEncrypt { #expect(!routes.opensWebSocket(request, over: transport)) }
    guard case .refused(let answer) = routes.route(request, over: transport) else { return nil }
    return answer
  }

  @Test(arguments: [HTTPMethod.GET, .HEAD], ["/", "/echo?x=%20", "/signaling", "//evil.example/"])
  func pagesOfOtherMachinesMoveToHTTPS(_ method: HTTPMethod, _ target: String) throws {
    let answer = try #require(try Self.answer(method, target, ["Host": "Meet.example:8443"]))
    #expect(answer.status == .permanentRedirect)
    #expect(answer.headers["Location"] == ["https://Meet.example:8443\(target)"])
    #expect(try Self.answer(method, target, ["Host": "meet.example:8443"], mustEncrypt: false) == nil)
  }

  @Test(
    arguments: [
      (HTTPMethod.POST, "/echo", ["Host": "meet.example"]), (.PUT, "/echo", ["Host": "meet.example"]),
      (.DELETE, "/echo", ["Host": "meet.example"]), (.OPTIONS, "/echo", ["Host": "meet.example"]),
      (.GET, "/signaling", ["Host": "meet.example", "Upgrade": "websocket", "Connection": "Upgrade"]),
      (.GET, "/browser", ["Host": "meet.example", "Upgrade": "websocket", "Connection": "Upgrade"]),
      (.GET, "/", [:]), (.GET, "http://meet.example/", ["Host": "meet.example"]),
    ] as [(HTTPMethod, String, HTTPHeaders)])
  func otherRequestsOfOtherMachinesAreToldToUpgrade(_ method: HTTPMethod, _ target: String, _ headers: HTTPHeaders)
    throws
  {
    let answer = try #require(try Self.answer(method, target, headers))
    #expect(answer.status == .upgradeRequired)
    #expect(answer.headers["Upgrade"] == ["TLS/1.2, HTTP/1.1"])
    #expect(answer.closes)
  }

  @Test func foreignHostIsNotRedirected() throws {
    #expect(try Self.answer(.GET, "/", ["Host": "evil.example"])?.status == .misdirectedRequest)
  }

  /// Through an address of this machine that is no loopback address, as another machine would.
  @Test func onlyServersWithLocalCAAnswerOtherMachinesWithoutTLS() async throws {
    let addresses = InterfaceAddresses.all().filter { $0.family == .ipv4 && !$0.isLoopback }
    guard let address = addresses.first?.description.split(separator: ":").first else { return }
    let identity = try await TLSIdentity()
    for isAnswered in [false, true] {
      var configuration = Self.configuration(identity)
      (configuration.host, configuration.answersPlainHTTP) = ("0.0.0.0", isAnswered)
      let server = try await Server.start(configuration)
      let origin = "\(address):\(server.port)"
      func curl(_ options: String...) async throws -> String {
        try await Command(["curl", "-sSi", "--max-time", "60"] + options).run()
      }
      let page = try await curl("http://\(origin)/healthz")
      let post = try await curl("--data", "abc", "http://\(origin)/echo")
      if isAnswered {
        #expect(page.hasSuffix("\r\n\r\nok\n"))
        #expect(post.hasSuffix("\r\n\r\nabc"))
      } else {
        #expect(page.hasPrefix("HTTP/1.1 308 ") && page.contains("\r\nLocation: https://\(origin)/healthz\r\n"))
        #expect(post.hasPrefix("HTTP/1.1 426 ") && post.contains("\r\nUpgrade: TLS/1.2, HTTP/1.1\r\n"))
        let socket = try await curl(
          "-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          "http://\(origin)/signaling")
        #expect(socket.hasPrefix("HTTP/1.1 426 "))
      }
      #expect(try await curl("http://127.0.0.1:\(server.port)/healthz").hasSuffix("ok\n"))
      await server.stop()
    }
  }
}
