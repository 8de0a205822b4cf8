import KoineRouter
import NIOHTTP1

/// What is answered to plain HTTP requests.
final class FrontDesk: Sendable {
  struct Answer: Sendable {
    var status = HTTPResponseStatus.ok
    var type = "text/plain; charset=utf-8"
    var body: String
    var headers: [(String, String)] = []
  }

  private let host: RouterHost
  private let keeper: DoorKeeper

  init(host: RouterHost, keeper: DoorKeeper) {
    self.host = host
    self.keeper = keeper
  }

  func answer(_ request: HTTPRequestHead) async -> Answer {
    guard request.method == .GET || request.method == .HEAD else {
      return Answer(status: .methodNotAllowed, body: "GET only\n", headers: [("Allow", "GET, HEAD")])
    }
    switch request.uri.prefix(while: { $0 != "?" }) {
    case "/healthz": return await health()
    case "/metrics": return await metrics()
    case "/signaling", "/browser":
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
    page.add("koine_connections", .gauge, "Signalling connections and HTTP clients.", keeper.connections)
    page.add("koine_connections_refused_total", .counter, "Turned away for their number.", keeper.refused)
    if let figures = await host.statistics() {
      page.add("koine_rooms", .gauge, "Rooms with somebody in them.", figures.rooms)
      page.add("koine_participants", .gauge, "Participants of all rooms.", figures.participants)
      page.add(
        "koine_forwarded_packets_total", .counter, "Media packets passed on, once per receiver.",
        figures.forwardedPackets)
      page.add("koine_stray_datagrams_total", .counter, "Datagrams that belong to nobody.", figures.strayDatagrams)
      page.add("koine_key_frame_requests_total", .counter, "Asked of publishers.", figures.keyFrameRequests)
      page.add(
        "koine_loop_turns_total", .counter, "How often the network loop has woken.",
        await host.loopTurns())
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
