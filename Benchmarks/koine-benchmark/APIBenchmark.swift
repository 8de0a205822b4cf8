import Foundation
import Glibc
import Koine
import KoineBase
import KoineVendorAPIs

/// `koine serve` on one core answers back ends' requests over one connection, one after the other, while a call goes on. The
/// requests are signed beforehand.
struct APIBenchmark {
  /// Fewer for a quick look.
  var attendees = ProcessInfo.processInfo.environment["KOINE_ATTENDEES"].flatMap { Int($0) } ?? 100_000
  var perMeeting = 250
  let seconds: Int

  private static let account = APICredentials(
    aws: [.init(accessKeyId: "AKIDBENCHMARK", secretAccessKey: "only for a server of the benchmark's own")])

  func run() throws -> Report {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("koine-api-\(getpid())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let credentials = directory + "/credentials.json"
    guard FileManager.default.createFile(atPath: credentials, contents: Data(Self.account.json)) else {
      throw BenchmarkError("cannot write \(credentials)")
    }
    // A connection may send 1 MiB a second by default, which 3,000 requests are more than.
    let limits = "byte-burst=1000000000,bytes-per-second=1000000000,address-byte-burst=1000000000"
    let server = try LoadedKoine(
      at: "127.0.0.1", directory: directory, core: 1, Load(receivers: 1, rate: 200, packetsPerFrame: 4),
      options: ["--api-credentials", credentials, "--limits", limits + ",address-bytes-per-second=1000000000"])
    defer { server.process.stop() }
    try server.addPublisher(to: server.rooms[0])
    try server.addReceiver(to: server.rooms[0])
    try server.wait("the call", seconds: 60) { server.ends[1].packets > 200 }
    let calm = try gap(of: server) { _ in try server.run(seconds: 3) }

    let client = try APIClient(port: server.port, Self.account)
    let meetings = try makeMeetings(client)
    let stage = try makeStage(client)
    let before = server.process.resident
    let creations = try makeCreations(client, meetings)
    var attendeeRun = APIRun()
    let busy = try gap(of: server) { pump in
      attendeeRun = try pump { try client.exchange(creations) }
    }
    let memory = server.process.resident
    let tokens = [ArraySlice<UInt8>](repeating: try makeToken(client, stage)[...], count: 1_000 * seconds)
    var tokenRun = APIRun()
    let signing = try gap(of: server) { pump in
      tokenRun = try pump { try client.exchange(tokens) }
    }
    guard attendeeRun.failures + tokenRun.failures == 0 else {
      throw BenchmarkError("\(attendeeRun.failures + tokenRun.failures) requests have failed: \(client.lastFailure)")
    }
    return Report(
      benchmark: "api: koine serve on one core, one connection, \(attendees) attendees in meetings of \(perMeeting)",
      rows: [
        Row("CreateAttendee", attendeeRun.perSecond, "/s", atLeast: 3_000),
        Row("CreateAttendee, CPU of the server", attendeeRun.cpu(server), "µs"),
        Row("CreateParticipantToken (ES384)", tokenRun.perSecond, "/s", atLeast: 800),
        Row("CreateParticipantToken, CPU of the server", tokenRun.cpu(server), "µs"),
        Row("longest gap of a call's media before", calm, "ms"),
        Row("longest gap of a call's media, attendees", busy, "ms", aim: 100),
        Row("longest gap of a call's media, tokens", signing, "ms", aim: 100),
        Row("memory of the attendees", (memory - before) / 1_000, "MB", aim: 200),
        Row("memory of the server", memory / 1_000, "MB"),
      ])
  }

  // MARK: Requests

  private func makeMeetings(_ client: APIClient) throws -> [String] {
    try (0..<(attendees + perMeeting - 1) / perMeeting).map { number in
      let body = #"{"ClientRequestToken":"m\#(number)","MediaRegion":"us-east-1","ExternalMeetingId":"m\#(number)"}"#
      return try client.member("MeetingId", of: client.signed("/meetings", body, "chime"))
    }
  }

  private func makeStage(_ client: APIClient) throws -> String {
    try client.member("arn", of: client.signed("/CreateStage", "{}", "ivs"))
  }

  private func makeToken(_ client: APIClient, _ stage: String) throws -> [UInt8] {
    let body = #"{"stageArn":"\#(stage)","userId":"ana","attributes":{"name":"Ana"},"duration":60}"#
    return client.signed("/CreateParticipantToken", body, "ivs")
  }

  private func makeCreations(_ client: APIClient, _ meetings: [String]) throws -> [ArraySlice<UInt8>] {
    (0..<attendees).map { number in
      client.signed(
        "/meetings/\(meetings[number / perMeeting])/attendees", #"{"ExternalUserId":"user-\#(number)"}"#, "chime")[...]
    }
  }

  // MARK: The call

  /// Runs a load on a thread of its own while this thread carries the call's media.
  private typealias Pump = (@escaping () throws -> APIRun) throws -> APIRun

  /// - Returns: the longest time between two packets that the call's receiver gets while `body` runs, in milliseconds.
  private func gap(of server: LoadedKoine, _ body: (Pump) throws -> Void) throws -> Double {
    try server.run(seconds: 0.5)
    let receiver = server.ends[1]
    receiver.resetGap()
    try body { load in
      let thread = LoadThread(load)
      let cpu = server.process.cpu
      while !thread.isDone { try server.turn() }
      var run = try thread.result()
      run.serverSeconds = server.process.cpu - cpu
      return run
    }
    try server.run(seconds: 0.2)
    return Double(receiver.longestGap) / 1e6
  }
}

/// What a load of requests took.
struct APIRun {
  var count = 0
  var failures = 0
  var seconds = 0.0
  var serverSeconds = 0.0

  var perSecond: Double { Double(count) / seconds }

  /// In microseconds for each request, with the call that goes on.
  func cpu(_ server: LoadedKoine) -> Double { serverSeconds / Double(count) * 1e6 }
}

/// `@unchecked Sendable`: the load runs on the one thread that is started here, and its result is read once `done` says so.
private final class LoadThread: @unchecked Sendable {
  private let load: () throws -> APIRun
  private let done = Lock(false)
  private var outcome: Result<APIRun, any Error> = .success(APIRun())

  init(_ load: @escaping () throws -> APIRun) {
    self.load = load
    Thread.detachNewThread { [self] in
      outcome = Result { try self.load() }
      done.withLock { $0 = true }
    }
  }

  var isDone: Bool { done.withLock { $0 } }
  func result() throws -> APIRun { try outcome.get() }
}

/// One connection of HTTP/1.1 that sends a request when it has the answer to the one before.
///
/// `@unchecked Sendable`: used by one thread at a time.
private final class APIClient: @unchecked Sendable {
  private let descriptor: Int32
  private let host: String
  private let credentials: APICredentials
  private var received: [UInt8] = []
  private var block = [UInt8](repeating: 0, count: 1 << 16)
  private(set) var lastFailure = ""

  init(port: UInt16, _ credentials: APICredentials) throws {
    (host, self.credentials) = ("127.0.0.1:\(port)", credentials)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw BenchmarkError("no server listens on port \(port)") }
  }

  deinit { close(descriptor) }

  /// The bytes of a request, signed for now.
  func signed(_ target: String, _ body: String, _ service: String) -> [UInt8] {
    var request = APIRequest(method: "POST", target: target, headers: [("Host", host)], body: Array(body.utf8))
    let key = credentials.aws[0]
    AWSSigner(accessKey: key.accessKeyId, secret: key.secretAccessKey, service: service)
      .sign(&request, at: APITime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)))
    // What boto3 sends beside them.
    request.headers += [
      ("Content-Type", "application/json"), ("Accept-Encoding", "identity"),
      ("User-Agent", "Boto3/1.44.5 md/Botocore#1.44.5 ua/2.1 os/linux lang/python#3.11 cfg/retry-mode#standard"),
      ("Content-Length", String(request.body.count)),
    ]
    let head = request.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("\(request.method) \(request.target) HTTP/1.1\r\n\(head)\r\n".utf8) + request.body
  }

  func exchange(_ requests: [ArraySlice<UInt8>]) throws -> APIRun {
    var run = APIRun()
    let start = CPU.wall
    for request in requests {
      let (status, body) = try exchange(request)
      if status != 200 {
        run.failures += 1
        lastFailure = "\(status) \(String(decoding: body, as: UTF8.self))"
      }
      run.count += 1
    }
    run.seconds = CPU.wall - start
    return run
  }

  /// - Returns: the first string of this name in the answer.
  func member(_ name: String, of request: [UInt8]) throws -> String {
    let (status, body) = try exchange(request[...])
    let parts = String(decoding: body, as: UTF8.self).components(separatedBy: "\"\(name)\":\"")
    guard status == 200, parts.count > 1 else {
      throw BenchmarkError("\(status) \(String(decoding: body, as: UTF8.self))")
    }
    return String(parts[1].prefix { $0 != "\"" }).replacingOccurrences(of: "\\/", with: "/")
  }

  private func exchange(_ request: ArraySlice<UInt8>) throws -> (status: Int, body: [UInt8]) {
    var rest = request
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw BenchmarkError("the server has closed the connection") }
      rest = rest.dropFirst(count)
    }
    received.removeAll(keepingCapacity: true)
    while true {
      let count = recv(descriptor, &block, block.count, 0)
      guard count > 0 else { throw BenchmarkError("the server has closed the connection") }
      received += block[..<count]
      if let answer = complete() { return answer }
    }
  }

  private func complete() -> (status: Int, body: [UInt8])? {
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
    let status = head.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
    let length = head.components(separatedBy: "content-length: ").dropFirst().first
      .flatMap { Int($0.prefix(while: \.isNumber)) }
    let body = received[end.upperBound...]
    guard body.count >= length ?? 0 else { return nil }
    return (status, Array(body))
  }
}
