import KoineRouter
import KoineVendorAPIs
import NIOCore
import NIOHTTP1

/// The answers of one listener to HTTP requests: those of the HTTP APIs, and the server's own pages.
final class HTTPRoutes: HTTPRouting {
  /// An answer of the server's own pages.
  struct Answer: Sendable {
    var status = HTTPResponseStatus.ok
    var type = "text/plain; charset=utf-8"
    var body: String
    var headers: [(String, String)] = []
  }

  /// What a listener serves. `/healthz` and `/readyz` are served by each.
  enum Part: Sendable {
    case all, metrics
    case allButMetrics
  }

  private let host: RouterHost
  private let limiter: ConnectionLimiter
  private let part: Part
  private let site: Site
  private let apis: APIDispatcher?
  private let events: EventDelivery?

  /// - Parameters:
  ///   - limiter: counts the connections in the metrics.
  ///   - apis: the HTTP APIs, which answer the requests that they own.
  ///   - events: the events to back ends, for the metrics.
  init(
    host: RouterHost, limiter: ConnectionLimiter, part: Part, site: Site, apis: APIDispatcher? = nil,
    events: EventDelivery? = nil
  ) {
    (self.host, self.limiter, self.part, self.site, self.apis) = (host, limiter, part, site, apis)
    self.events = events
  }

  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool {
    let path = request.uri.prefix { $0 != "?" }
    return !transport.mustEncrypt && part != .metrics && (path == Server.signalingPath || path == Server.browserPath)
      && site.isNamed(by: request.headers) && isWelcome(request.headers, over: transport)
  }

  /// Whether the request comes from a page of this site, of another node of the cluster, or from no page.
  private func isWelcome(_ headers: HTTPHeaders, over transport: HTTPTransport) -> Bool {
    if site.isOrigin(of: headers, isEncrypted: transport.isEncrypted) { return true }
    let origins = headers["Origin"]
    return origins.count == 1 && host.isNodeOrigin(origins[0])
  }

  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute {
    guard site.isNamed(by: request.headers) else {
      return .refused(HTTPAnswer(.misdirectedRequest, "unknown host name: see --host of koine serve\n"))
    }
    if transport.mustEncrypt { return .refused(Self.mustEncrypt(request)) }
    guard let apis, apis.owns(request) else {
      return .skipsBody { [self] loop in
        loop.makeFutureWithTask { [self] in HTTPAnswer(await answer(request, over: transport)) }
      }
    }
    guard site.isOrigin(of: request.headers, isEncrypted: transport.isEncrypted) || apis.answersOtherSites(request)
    else { return .refused(HTTPAnswer(.forbidden, "not for pages of other sites\n")) }
    guard request.headers["Expect"].allSatisfy({ $0.lowercased() == "100-continue" }) else {
      return .refused(HTTPAnswer(.expectationFailed, "Expect: 100-continue only\n"))
    }
    return .takesBody(limit: APILimits.body) { body, loop in
      apis.answer(request, body, over: transport, on: loop)
    }
  }

  /// The answer to a request without TLS at a port that serves TLS: pages move to `https`, and all other requests are refused
  /// (RFC 9110 section 15.5.22), because their clients would send a token again without TLS.
  private static func mustEncrypt(_ request: HTTPRequestHead) -> HTTPAnswer {
    let authority = request.headers.first(name: "Host") ?? ""
    guard request.method == .GET || request.method == .HEAD, !request.headers.contains(name: "Upgrade"),
      request.uri.hasPrefix("/"), Site.isAuthority(authority)
    else {
      // RFC 9110 section 7.8: `Connection` names the header, so that no proxy passes it on.
      let headers = [("Upgrade", "TLS/1.2, HTTP/1.1"), ("Connection", "Upgrade")]
      return HTTPAnswer(.upgradeRequired, "use https\n", headers, closes: true)
    }
    return HTTPAnswer(.permanentRedirect, "use https\n", [("Location", "https://\(authority)\(request.uri)")])
  }

  /// The answer of the server's own pages.
  private func answer(_ request: HTTPRequestHead, over transport: HTTPTransport) async -> Answer {
    guard request.method == .GET || request.method == .HEAD else {
      return Answer(status: .methodNotAllowed, body: "GET only\n", headers: [("Allow", "GET, HEAD")])
    }
    switch request.uri.prefix(while: { $0 != "?" }) {
    case "/healthz": return await health()
    case "/readyz": return await readiness()
    case "/metrics" where part != .allButMetrics: return await metrics()
    case _ where part == .metrics: return Answer(status: .notFound, body: "not here\n")
    case "/signaling", "/browser":
      guard isWelcome(request.headers, over: transport) else {
        return Answer(status: .forbidden, body: "not for pages of other sites\n")
      }
      return Answer(status: .upgradeRequired, body: "WebSocket only\n", headers: [("Upgrade", "websocket")])
    case let path:
      return Page.answer(path, request.headers, servers: host.nodeAddresses)
        ?? Answer(status: .notFound, body: "not here\n")
    }
  }

  private func health() async -> Answer {
    guard await host.statistics() != nil else { return Answer(status: .serviceUnavailable, body: "closing\n") }
    return Answer(body: "ok\n")
  }

  /// In a cluster, whether the node takes participants; else whether the server is alive. A load balancer asks this.
  private func readiness() async -> Answer {
    if host.configuration.cluster != nil, let obstacle = host.readiness.withLock({ $0.obstacle(at: host.now) }) {
      return Answer(status: .serviceUnavailable, body: obstacle + "\n")
    }
    return await health()
  }

  private func metrics() async -> Answer {
    var page = MetricsPage()
    page.add("koine_connections", .gauge, "Signalling connections and HTTP clients.", limiter.connections)
    page.add("koine_connections_refused_total", .counter, "Turned away for their number.", limiter.refused)
    if let events = events?.statistics { page.add(events) }
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
    if let (figures, ledger) = await host.clusterFigures() {
      page.add(figures, ledger, isReady: host.readiness.withLock { $0.obstacle(at: host.now) } == nil)
    }
    return Answer(type: "text/plain; version=0.0.4; charset=utf-8", body: page.text)
  }
}

extension HTTPAnswer {
  init(_ answer: HTTPRoutes.Answer) {
    let fixed = [("Content-Type", answer.type), ("X-Content-Type-Options", "nosniff")]
    self.init(
      status: answer.status, headers: HTTPHeaders(fixed + answer.headers), body: ByteBuffer(string: answer.body))
  }
}

/// Prometheus' text format.
struct MetricsPage {
  enum Kind: String { case counter, gauge, histogram }

  private(set) var text = ""

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n\(name) \(value)\n"
  }

  /// One value for each value of a label, in order.
  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, by label: String, _ values: [(key: String, value: Int)]
  ) {
    begin(name, kind, help)
    for (key, value) in values { text += "\(name){\(label)=\"\(key)\"} \(value)\n" }
  }

  private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// - Parameters:
  ///   - bounds: the upper bounds of all counts but the last.
  mutating func add(_ name: String, _ help: String, bounds: [Double], counts: [Int], sum: Double) {
    begin(name, .histogram, help)
    var total = 0
    for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], counts) {
      total += count
      text += "\(name)_bucket{le=\"\(bound)\"} \(total)\n"
    }
    text += "\(name)_sum \(sum)\n\(name)_count \(total)\n"
  }

  mutating func add(_ figures: ClusterStatistics, _ ledger: LedgerMeter, isReady: Bool) {
    add("koine_node_ready", .gauge, "1 while the node takes participants, as /readyz says.", isReady ? 1 : 0)
    add(
      "koine_cluster_nodes", .gauge, "Living nodes, as this node knows them.", by: "state",
      figures.nodes.sorted { $0.key < $1.key })
    add("koine_ledger_up", .gauge, "0 while the node's lease is uncertain.", figures.isUncertain ? 0 : 1)
    add(
      "koine_ledger_round_trip_seconds", "From a request to the ledger's answer.", bounds: LedgerMeter.bounds,
      counts: ledger.counts, sum: ledger.sum)
    add("koine_rooms_home", .gauge, "Rooms of which this node is the home.", figures.rooms)
    add("koine_takeovers_total", .counter, "Rooms opened with messages of an earlier home.", figures.takeovers)
    add(
      "koine_deposed_total", .counter, "Rooms that have another home now.", by: "cause",
      figures.deposed.sorted { $0.key < $1.key })
    add("koine_moved_total", .counter, "Participants sent to other nodes.", figures.moved)
    add("koine_receipts_waiting", .gauge, "Receipts that wait for the ledger.", figures.receipts)
    add("koine_ledger_bytes_waiting", .gauge, "Bytes that wait for the ledger.", figures.bytes)
    add("koine_joins_waiting", .gauge, "Joins that wait to hear where their rooms are.", figures.joins)
  }

  mutating func add(_ events: EventQueue.Statistics) {
    add("koine_events_waiting", .gauge, "Events for back ends that wait or are being sent.", events.waiting)
    add("koine_events_delivered_total", .counter, "Events that a back end has taken.", events.delivered)
    add("koine_events_failed_attempts_total", .counter, "Attempts without success.", events.failedAttempts)
    let name = "koine_events_dropped_total"
    text += "# HELP \(name) Events that no back end has taken.\n# TYPE \(name) counter\n"
    for reason in EventQueue.DropReason.allCases {
      text += "\(name){reason=\"\(reason.rawValue)\"} \(events.dropped[reason] ?? 0)\n"
    }
  }
}
