import KoineRouter
import NIOHTTP1

/// The answers to plain HTTP requests.
final class HTTPRoutes: Sendable {
  struct Answer: Sendable {
    var status = HTTPResponseStatus.ok
    var type = "text/plain; charset=utf-8"
    var body: String
    var headers: [(String, String)] = []
  }

  /// What a listener serves. `/healthz` is served by each.
  enum Part: Sendable {
    case all, metrics
    case allButMetrics
  }

  private let host: RouterHost
  private let limiter: ConnectionLimiter
  private let part: Part
  private let site: Site

  /// - Parameter limiter: counts the connections in the metrics.
  init(host: RouterHost, limiter: ConnectionLimiter, part: Part, site: Site) {
    (self.host, self.limiter, self.part, self.site) = (host, limiter, part, site)
  }

  /// Whether a request opens a WebSocket.
  func opensWebSocket(_ request: HTTPRequestHead) -> Bool {
    let path = request.uri.prefix { $0 != "?" }
    return part != .metrics && (path == Server.signalingPath || path == Server.browserPath)
      && site.isNamed(by: request.headers) && site.isOrigin(of: request.headers)
  }

  func answer(_ request: HTTPRequestHead) async -> Answer {
    guard site.isNamed(by: request.headers) else {
      return Answer(status: .misdirectedRequest, body: "unknown host name: see --host of koine serve\n")
    }
    guard request.method == .GET || request.method == .HEAD else {
      return Answer(status: .methodNotAllowed, body: "GET only\n", headers: [("Allow", "GET, HEAD")])
    }
    switch request.uri.prefix(while: { $0 != "?" }) {
    case "/healthz": return await health()
    case "/metrics" where part != .allButMetrics: return await metrics()
    case _ where part == .metrics: return Answer(status: .notFound, body: "not here\n")
    case "/signaling", "/browser":
      guard site.isOrigin(of: request.headers) else {
        return Answer(status: .forbidden, body: "not for pages of other sites\n")
      }
      return Answer(status: .upgradeRequired, body: "WebSocket only\n", headers: [("Upgrade", "websocket")])
    case let path: return Page.answer(path, request.headers) ?? Answer(status: .notFound, body: "not here\n")
    }
  }

  private func health() async -> Answer {
    guard await host.statistics() != nil else { return Answer(status: .serviceUnavailable, body: "closing\n") }
    return Answer(body: "ok\n")
  }

  private func metrics() async -> Answer {
    var page = MetricsPage()
    page.add("koine_connections", .gauge, "Signalling connections and HTTP clients.", limiter.connections)
    page.add("koine_connections_refused_total", .counter, "Turned away for their number.", limiter.refused)
    if let figures = await host.statistics() {
      page.add("koine_rooms", .gauge, "Rooms with participants.", figures.rooms)
      page.add("koine_participants", .gauge, "Participants of all rooms.", figures.participants)
      page.add(
        "koine_forwarded_packets_total", .counter, "Media packets passed on, once per receiver.",
        figures.forwardedPackets)
      page.add("koine_stray_datagrams_total", .counter, "Datagrams that belong to no client.", figures.strayDatagrams)
      page.add("koine_key_frame_requests_total", .counter, "Asked of publishers.", figures.keyFrameRequests)
      page.add(
        "koine_loop_turns_total", .counter, "How often the network loop has woken.",
        await host.loopTurns())
      page.add(
        "koine_checks_total", .counter, "Accepted checks of a message's credential and offer, off the network loop.",
        host.checker.accepted)
    }
    return Answer(type: "text/plain; version=0.0.4; charset=utf-8", body: page.text)
  }
}

/// Prometheus' text format.
struct MetricsPage {
  enum Kind: String { case counter, gauge }

  private(set) var text = ""

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n\(name) \(value)\n"
  }
}
