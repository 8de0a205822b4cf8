import Foundation
import KoineBase
import KoineRTP
import KoineTransport

/// Janus' VideoRoom with its load, over its WebSocket: https://janus.conf.meetecho.com/docs/videoroom.html
final class LoadedJanus: LoadedServer {
  private typealias Object = [String: Any]

  private let port: UInt16
  private var line: TextLine?
  private var answers: [Object] = []
  private var transactions = 0
  private var session = 0
  /// By room.
  private var feeds: [Int: Int] = [:]
  private static let libraries = "/usr/lib/x86_64-linux-gnu/janus"

  /// - Parameter ports: for media; two servers share none.
  init(at host: String, directory: String, core: Int, _ load: Load, ports: ClosedRange<Int> = 20_000...40_000) throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/janus") else {
      throw BenchmarkError("there is no Janus to compare with: Scripts/setup janus")
    }
    port = ServerProcess.freePort()
    try Self.configure(directory, port: port, ports)
    let process = try ServerProcess(
      ["/usr/bin/janus", "-F", directory, "-o"], log: directory + "/janus.log", core: core)
    super.init("Janus", at: host, process, load)
  }

  /// Writes Janus' configuration files. One event loop for all receivers is its best setting. Plug-ins and transports that the
  /// benchmark does not need are not loaded.
  private static func configure(_ directory: String, port: UInt16, _ ports: ClosedRange<Int>) throws {
    func libraries(_ kind: String, but wanted: String) -> String {
      let all = (try? FileManager.default.contentsOfDirectory(atPath: "\(Self.libraries)/\(kind)")) ?? []
      return all.filter { $0.hasSuffix(".so") && $0 != wanted }.sorted().joined(separator: ",")
    }
    let files = [
      "janus.jcfg": """
      general: { configs_folder = "\(directory)"; plugins_folder = "\(Self.libraries)/plugins";
        transports_folder = "\(Self.libraries)/transports"; events_folder = "\(directory)";
        loggers_folder = "\(directory)"; session_timeout = 0; event_loops = 1; admin_secret = "x"; debug_level = 3 }
      media: { rtp_port_range = "\(ports.lowerBound)-\(ports.upperBound)" }
      nat: { ice_lite = true; full_trickle = false }
      plugins: { disable = "\(libraries("plugins", but: "libjanus_videoroom.so"))" }
      transports: { disable = "\(libraries("transports", but: "libjanus_websockets.so"))" }
      """,
      "janus.transport.websockets.jcfg": """
      general: { json = "compact"; ws = true; ws_port = \(port); ws_ip = "127.0.0.1"; wss = false }
      admin: { admin_ws = false }
      """,
      "janus.plugin.videoroom.jcfg": "general: { }\n",
    ]
    for (name, text) in files { try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8) }
  }

  // MARK: Its words

  override func listen() throws {
    for text in line?.poll() ?? [] {
      if let object = try JSONSerialization.jsonObject(with: Data(text)) as? Object { answers.append(object) }
    }
  }

  /// - Parameter body: the request to the plug-in. The plug-in's answer comes as an event after `ack`.
  private func ask(
    _ what: String, handle: Int? = nil, body: Object? = nil, jsep: Object? = nil, _ others: Object = [:]
  ) throws -> Object {
    transactions += 1
    let transaction = "t\(transactions)"
    var request: Object = others.merging(["janus": what, "transaction": transaction]) { $1 }
    if session != 0 { request["session_id"] = session }
    if let handle { request["handle_id"] = handle }
    if let body { request["body"] = body }
    if let jsep { request["jsep"] = jsep }
    line?.send(Array(try JSONSerialization.data(withJSONObject: request)))
    var found: Object?
    try wait("\(what) \(body?["request"] ?? "")") {
      let index = answers.firstIndex {
        $0["transaction"] as? String == transaction && $0["janus"] as? String != "ack"
      }
      if let index { found = answers.remove(at: index) }
      return found != nil
    }
    let answer = found ?? [:]
    let data = (answer["plugindata"] as? Object)?["data"] as? Object
    if answer["janus"] as? String == "error" || data?["error"] != nil {
      throw BenchmarkError("Janus: \(what): \(answer)")
    }
    return answer
  }

  private func open() throws {
    guard line == nil else { return }
    let end = CPU.wall + 60
    while line == nil {
      guard CPU.wall < end else { throw BenchmarkError("Janus does not listen; see \(process.log)") }
      line = try? TextLine(port: port, path: "/", subprotocol: "janus-protocol")
      try turn()
    }
    session = try id(ask("create"))
  }

  private func id(_ answer: Object) throws -> Int {
    guard let id = (answer["data"] as? Object)?["id"] as? Int else { throw BenchmarkError("Janus: \(answer)") }
    return id
  }

  private func attach() throws -> Int { try id(ask("attach", ["plugin": "janus.plugin.videoroom"])) }

  private func description(_ answer: Object) throws -> SessionDescription {
    guard let text = (answer["jsep"] as? Object)?["sdp"] as? String else { throw BenchmarkError("Janus: \(answer)") }
    return try SessionDescription(parsing: text)
  }

  // MARK: Publisher and receivers

  private func number(of room: LoadedRoom) -> Int { 1_234 + room.number }

  override func addPublisher(to room: LoadedRoom) throws {
    try open()
    let handle = try attach()
    _ = try ask(
      "message", handle: handle,
      body: [
        "request": "create", "room": number(of: room), "publishers": 1, "videocodec": "vp8", "bitrate": 0,
      ])
    let joined = try ask(
      "message", handle: handle, body: ["request": "join", "room": number(of: room), "ptype": "publisher"])
    let data = (joined["plugindata"] as? Object)?["data"] as? Object
    guard let feed = data?["id"] as? Int else { throw BenchmarkError("Janus: \(joined)") }
    feeds[room.number] = feed
    let end = try makeEnd(of: room)
    let offer = SessionDescription(of: end.peer.localDescription, publishing: Self.published)
    let answer = try description(
      ask(
        "message", handle: handle, body: ["request": "publish"], jsep: ["type": "offer", "sdp": offer.text]))
    end.publish(Self.published)
    end.peer.setRemote(try answer.peerDescription(), at: now)
    try wait(for: end)
  }

  override func addReceiver(to room: LoadedRoom) throws {
    let handle = try attach()
    guard let feed = feeds[room.number] else { throw BenchmarkError("Janus: no publisher in room \(room.number)") }
    let attached = try ask(
      "message", handle: handle,
      body: [
        "request": "join", "room": number(of: room), "ptype": "subscriber", "streams": [["feed": feed]],
      ])
    let offer = try description(attached)
    guard let medium = offer.media.first, let format = medium.knownFormats.first, let mid = medium.mid,
      let source = medium.sources.first
    else { throw BenchmarkError("Janus offers no picture: \(offer.text)") }
    let ids = medium.extensions.compactMap { entry in
      HeaderExtensionMap.Kind.allCases.first { $0.uri == entry.uri }.map { ($0, entry.id) }
    }
    let end = try makeEnd(
      of: room, extensions: HeaderExtensionMap(Dictionary(ids) { first, _ in first }))
    end.receive(
      StreamParameters(
        mid: mid, codec: format.codec, payloadType: format.payloadType, rtxPayloadType: format.rtxPayloadType,
        encodings: [.init(ssrc: source.ssrc, rtxSSRC: source.rtx)]))
    let answer = SessionDescription(of: end.peer.localDescription, answering: medium, mid, format)
    _ = try ask(
      "message", handle: handle, body: ["request": "start"], jsep: ["type": "answer", "sdp": answer.text])
    end.peer.setRemote(try offer.peerDescription(), at: now)
    try wait(for: end)
  }
}

extension SessionDescription {
  /// An offer to send one stream of pictures.
  fileprivate init(of local: PeerDescription, publishing stream: StreamParameters) {
    var medium: [Attribute] = []
    medium.add(mid: stream.mid, "sendonly", local, setup: "active")  // our peers begin the handshake
    medium.add(.init(codec: stream.codec, payloadType: stream.payloadType, rtxPayloadType: stream.rtxPayloadType))
    for kind in HeaderExtensionMap.Kind.allCases {
      guard let id = HeaderExtensionMap.koine.id(of: kind), id < 15 else { continue }
      medium.add("extmap", "\(id) \(kind.uri)")
    }
    medium.add("msid", "load camera")
    for encoding in stream.encodings {
      if let rtx = encoding.rtxSSRC { medium.add("ssrc-group", "FID \(encoding.ssrc) \(rtx)") }
      for source in [encoding.ssrc, encoding.rtxSSRC].compactMap(\.self) { medium.add("ssrc", "\(source) cname:load") }
    }
    let formats = [stream.payloadType, stream.rtxPayloadType].compactMap(\.self).map(String.init)
    self.init(
      sessionID: "1", attributes: [Attribute("group", "BUNDLE \(stream.mid)")],
      media: [MediaDescription(kind: "video", formats: formats, attributes: medium)])
  }

  /// An answer that accepts everything in the offer.
  fileprivate init(
    of local: PeerDescription, answering offer: MediaDescription, _ mid: String, _ format: MediaDescription.Format
  ) {
    var medium: [Attribute] = []
    medium.add(mid: mid, "recvonly", local, setup: "active")
    medium.add(format)
    for (id, uri) in offer.extensions where HeaderExtensionMap.Kind.allCases.contains(where: { $0.uri == uri }) {
      medium.add("extmap", "\(id) \(uri)")
    }
    let formats = [format.payloadType, format.rtxPayloadType].compactMap(\.self).map(String.init)
    self.init(
      sessionID: "1", attributes: [Attribute("group", "BUNDLE \(mid)")],
      media: [
        MediaDescription(kind: offer.kind, transport: offer.transport, formats: formats, attributes: medium)
      ])
  }
}

extension [SessionDescription.Attribute] {
  fileprivate mutating func add(_ name: String, _ value: String? = nil) { append(Element(name, value)) }

  fileprivate mutating func add(mid: String, _ direction: String, _ local: PeerDescription, setup: String) {
    add("mid", mid)
    add(direction)
    add("ice-ufrag", local.ice.ufrag)
    add("ice-pwd", local.ice.password)
    add("fingerprint", "\(local.fingerprint.algorithm) \(local.fingerprint.value)")
    add("setup", setup)
    for candidate in local.candidates { add("candidate", candidate.sdpValue) }
    add("end-of-candidates")
    add("rtcp-mux")
    add("rtcp-rsize")
  }

  fileprivate mutating func add(_ format: MediaDescription.Format) {
    add("rtpmap", "\(format.payloadType) \(format.codec.rtpmap)")
    for kind in ["transport-cc", "ccm fir", "nack", "nack pli"] { add("rtcp-fb", "\(format.payloadType) \(kind)") }
    guard let rtx = format.rtxPayloadType else { return }
    add("rtpmap", "\(rtx) rtx/\(format.codec.clockRate)")
    add("fmtp", "\(rtx) apt=\(format.payloadType)")
  }
}
