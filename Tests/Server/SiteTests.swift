import Foundation
@testable import KoineServer
import KoineTestSupport
import NIOHTTP1
import Testing

/// Names under which a server is reached, and pages of foreign sites.
@Suite(.timeLimit(.minutes(5))) struct SiteTests {
  /// A request, and the status of its answer. `{}` stands for the server's port.
  private struct Case: Sendable {
    var path = "/healthz"
    var host: String
    var origin: String?
    var status: Int

    init(_ host: String, origin: String? = nil, path: String = "/healthz", _ status: Int) {
      (self.host, self.origin, self.path, self.status) = (host, origin, path, status)
    }
  }

  private static func server(_ names: [String] = [], listen: String = "127.0.0.1") async throws -> Server {
    var configuration = ServerConfiguration(host: listen, port: 0, access: .open, logger: .silent)
    configuration.hostNames = names
    return try await Server.start(configuration)
  }

  /// Status codes as a raw client gets them, which may name any host.
  private static func statuses(_ cases: [Case], of port: Int) async throws -> [Int] {
    func headers(_ one: Case) -> String {
      let isSocket = one.path == Server.browserPath || one.path == Server.signalingPath
      var lines = ["GET \(one.path) HTTP/1.1"] + (one.host.isEmpty ? [] : ["Host: \(one.host)"])
      if let origin = one.origin { lines.append("Origin: \(origin)") }
      if isSocket {
        lines += [
          "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
      }
      return (lines + ["", ""]).joined(separator: "\r\n").replacingOccurrences(of: "{}", with: "\(port)")
    }
    let requests = try JSONEncoder().encode(cases.map(headers))
    let script = """
      import json, socket, sys
      for request in json.loads(sys.argv[1]):
          with socket.create_connection(("127.0.0.1", \(port)), 20) as line:
              line.sendall(request.encode())
              heard = b""
              while b"\\r\\n" not in heard and (part := line.recv(4096)): heard += part
              print(heard.split()[1].decode())
      """
    let output = try await Command("python3", "-c", script, String(decoding: requests, as: UTF8.self)).run()
    return output.split(separator: "\n").compactMap { Int($0) }
  }

  private func check(_ cases: [Case], of server: Server) async throws {
    let statuses = try await Self.statuses(cases, of: server.port)
    #expect(statuses.count == cases.count)
    for (one, status) in zip(cases, statuses) {
      #expect(status == one.status, "\(one.path), Host \(one.host), Origin \(one.origin ?? "none")")
    }
    await server.stop()
  }

  private static let socket = Server.browserPath

  @Test func serverAtLoopbackRefusesForeignNamesForAllPaths() async throws {
    var cases = [
      Case("127.0.0.1:{}", 200), Case("127.0.0.1", 200), Case("localhost:{}", 200), Case("LOCALHOST", 200),
      Case("localhost.:{}", 200), Case("[::1]:{}", 200), Case("192.168.1.7", 200), Case("", 200),
      Case("evil.example.127.0.0.1", 421), Case("127.0.0.1.evil.example:{}", 421), Case("localhost.evil.example", 421),
      Case("evil.example:80:{}", 421), Case("::1", 421), Case("[evil]", 421), Case("user@127.0.0.1", 421),
    ]
    for path in ["/", "/healthz", "/metrics", "/page.js", "/nothing", Self.socket, Server.signalingPath] {
      cases.append(Case("evil.example:{}", path: path, 421))
      cases.append(Case("evil.example:{}", origin: "http://evil.example:{}", path: path, 421))
    }
    try await check(cases, of: try await Self.server())
  }

  @Test func configuredHostNamesAreServedInAdditionToAddresses() async throws {
    let names = ["meet.example.org", "other.example.org"]
    let cases = [
      Case("meet.example.org", 200), Case("Meet.Example.ORG:443", 200), Case("other.example.org.", 200),
      Case("127.0.0.1:{}", 200), Case("localhost", 200), Case("example.org", 421), Case("a.meet.example.org", 421),
      Case("meet.example.org", origin: "https://meet.example.org", path: Self.socket, 101),
    ]
    try await check(cases, of: try await Self.server(names))
    try await check(cases, of: try await Self.server(names, listen: "0.0.0.0"))
  }

  @Test func publicServerWithoutHostNamesAcceptsAnyHost() async throws {
    try await check([Case("anything.example", 200)], of: try await Self.server(listen: "0.0.0.0"))
  }

  @Test func webSocketFromAForeignOriginIsRefused() async throws {
    try await check(
      [
        Case("127.0.0.1:{}", path: Self.socket, 101),
        Case("127.0.0.1:{}", origin: "http://127.0.0.1:{}", path: Self.socket, 101),
        Case("localhost:{}", origin: "HTTP://LocalHost:{}", path: Self.socket, 101),
        // A proxy may have the certificate.
        Case("127.0.0.1:{}", origin: "https://127.0.0.1:{}", path: Self.socket, 101),
        Case("127.0.0.1:{}", origin: "null", path: Self.socket, 403), Case("", origin: "null", path: Self.socket, 403),
        Case("127.0.0.1:{}", origin: "http://127.0.0.1", path: Self.socket, 403),
        Case("127.0.0.1:{}", origin: "http://evil.example:{}", path: Self.socket, 403),
        Case("127.0.0.1:{}", origin: "ftp://127.0.0.1:{}", path: Self.socket, 403),
        Case("127.0.0.1:{}", origin: "x127.0.0.1:{}", path: Self.socket, 403),
        Case("127.0.0.1:{}", origin: "", path: Self.socket, 403),
      ], of: try await Self.server())
  }

  @Test func originSchemeMustMatchOnAnEncryptedServer() {
    let site = Site(names: [], listener: "localhost")
    let plain: HTTPHeaders = ["Host": "localhost", "Origin": "http://localhost"]
    #expect(site.isOrigin(of: ["Host": "localhost", "Origin": "https://localhost"], isEncrypted: true))
    #expect(!site.isOrigin(of: plain, isEncrypted: true))
    #expect(site.isOrigin(of: plain, isEncrypted: false))
    let two = HTTPHeaders([("Host", "localhost"), ("Origin", "https://localhost"), ("Origin", "https://a")])
    #expect(!site.isOrigin(of: two, isEncrypted: true))
    #expect(!site.isNamed(by: HTTPHeaders([("Host", "localhost"), ("Host", "localhost")])))
  }

  // MARK: What else is served

  @Test func metricsAreServedAtTheirOwnAddressOnly() async throws {
    var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
    configuration.metrics = .init(host: "127.0.0.1", port: 0)
    let server = try await Server.start(configuration)
    let port = try #require(server.metricsPort)
    let paths = ["/metrics", "/healthz", "/", Self.socket]
    let requests = paths.map { Case("127.0.0.1", path: $0, 0) } + [Case("evil.example", path: "/metrics", 0)]
    #expect(try await Self.statuses(requests, of: port) == [200, 200, 404, 404, 421])
    #expect(try await Self.statuses(requests, of: server.port) == [404, 200, 200, 101, 421])
    await server.stop()
  }

  @Test func hostNamesAndMetricsAreReadFromOptionsEnvironmentAndFile() throws {
    func settings(
      _ options: [ServerSettings.Name: [String]], _ environment: [String: String] = [:], _ json: String = "{}"
    )
      throws -> ServerSettings
    {
      try ServerSettings(options: options, environment: environment, file: ("koine.json", Array(json.utf8)))
    }
    let open = [ServerSettings.Name.open: ["true"]]
    let environment = ["KOINE_SERVE_HOST": "A.example,b.example", "KOINE_SERVE_METRICS": "[::1]:9090"]
    #expect(try settings(open, environment).hostNames == ["a.example", "b.example"])
    #expect(try settings(open, environment).metrics == .init(host: "::1", port: 9_090))
    #expect(try settings(open, [:], #"{"host": ["c.example"]}"#).hostNames == ["c.example"])
    #expect(try settings(open.merging([.host: ["d.example"]]) { $1 }, environment).hostNames == ["d.example"])
    #expect(try settings(open).hostNames.isEmpty && settings(open).metrics == nil)
    for wrong in ["", "a.example:80", "https://a.example", "ä.example", ".example"] {
      #expect(throws: ServerError.self) { try settings(open.merging([.host: [wrong]]) { $1 }) }
    }
    #expect(throws: ServerError.self) { try settings(open.merging([.metrics: ["9090"]]) { $1 }) }
  }

  /// Where `join=1` may turn camera and microphone on.
  @Test(arguments: [
    (["none"], true), (["same-origin"], true), (["cross-site"], false), (["same-site"], false), ([], false),
    (["none", "cross-site"], false),
  ])
  func pageStatesWhetherAForeignSiteOpenedIt(_ sites: [String], _ isOpenedHere: Bool) throws {
    let page = try #require(Page.answer("/", HTTPHeaders(sites.map { ("Sec-Fetch-Site", $0) })))
    #expect(page.body.contains("data-opened=\"here\"") == isOpenedHere)
    #expect(page.headers.contains { $0 == ("Vary", "Sec-Fetch-Site") })
  }
}
