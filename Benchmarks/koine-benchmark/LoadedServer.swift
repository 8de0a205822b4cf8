import CKoineBenchmark
import Foundation
import Glibc
import KoineBase
import KoineRTP
import KoineTransport

/// A server in a process of its own. The benchmark's process drives its one publisher and its many receivers.
class LoadedServer {
  let name: String
  let host: String
  let process: ServerProcess
  let ledger: Ledger
  private(set) var ends: [LoadEnd] = []
  private let tools = LoadTools()
  private let frame: (packets: Int, nanoseconds: Int64)
  private var nextFrame: Tick?
  /// The other server of the comparison, which has its turn later.
  weak var companion: LoadedServer?
  private var nextVisit = Tick(nanoseconds: 0)
  /// Whether frames are published.
  var isLive = true

  static let packetSize = 1_112
  /// Of every stream.
  static let published = StreamParameters(
    mid: "0", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1_111, rtxSSRC: 2_222)])

  /// - Parameter rate: packets a second.
  init(_ name: String, at host: String, _ process: ServerProcess, receivers: Int, rate: Int, packetsPerFrame: Int) {
    (self.name, self.host, self.process) = (name, host, process)
    ledger = Ledger(receivers: receivers)
    frame = (packetsPerFrame, 1_000_000_000 * Int64(packetsPerFrame) / Int64(rate))
  }

  var now: Tick { Scheduler.real.now }

  func makeEnd(extensions: HeaderExtensionMap? = nil) throws -> LoadEnd {
    let end = try LoadEnd(at: host, number: ends.count, extensions: extensions, now: now)
    ends.append(end)
    return end
  }

  /// Adds the publisher, which is the first of `ends`.
  func addPublisher() throws { fatalError("each kind of server in its own words") }
  func addReceiver() throws { fatalError("each kind of server in its own words") }
  /// Reads what the server says between answers.
  func listen() throws {}

  /// One turn of everything: half a millisecond.
  func turn() throws {
    let now = now
    if isLive, let publisher = ends.first, publisher.peer.isConnected {
      let due = nextFrame ?? now
      if due <= now {
        publisher.send(packets: frame.packets, of: Self.packetSize, at: now)
        nextFrame = max(due, now - .milliseconds(100)) + .nanoseconds(frame.nanoseconds)
      }
    }
    for end in ends { end.turn(ledger, tools, at: now) }
    try listen()
    // The clients of the waiting server stay active, so that it does not time them out.
    if let companion, now >= companion.nextVisit {
      companion.nextVisit = now + .milliseconds(50)
      for end in companion.ends { end.turn(companion.ledger, companion.tools, at: now) }
      try companion.listen()
    }
    usleep(300)
  }

  func run(seconds: Double) throws {
    let end = CPU.wall + seconds
    while CPU.wall < end { try turn() }
  }

  func wait(_ what: String, seconds: Double = 10, until isDone: () throws -> Bool) throws {
    let end = CPU.wall + seconds
    while try !isDone() {
      guard CPU.wall < end else { throw BenchmarkError("\(name): \(what) takes longer than \(seconds) s") }
      guard process.isRunning else { throw BenchmarkError("\(name) has ended; see \(process.log)") }
      try turn()
    }
  }

  func wait(for end: LoadEnd) throws { try wait("connecting") { end.peer.isConnected } }
}

/// A server's process, on one core or some.
final class ServerProcess {
  private let process = Process()
  let log: String

  convenience init(_ arguments: [String], log: String, core: Int) throws {
    try self.init(arguments, log: log, cores: [core])
  }

  /// - Parameter environment: variables besides those of this process.
  init(_ arguments: [String], log: String, cores: [Int], environment: [String: String] = [:]) throws {
    self.log = log
    guard FileManager.default.createFile(atPath: log, contents: nil) else {
      throw BenchmarkError("cannot write \(log)")
    }
    let out = FileHandle(forWritingAtPath: log)
    process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
    process.arguments = ["-c", cores.map { String($0) }.joined(separator: ",")] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    (process.standardOutput, process.standardError) = (out, out)
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit { stop() }

  var isRunning: Bool { process.isRunning }

  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  /// Ends the process at once.
  func kill() {
    guard process.isRunning else { return }
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// User and system, in seconds.
  var cpu: Double {
    let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
    // Its name, in brackets, may contain anything.
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return .nan }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// In kilobytes.
  var resident: Double {
    let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? .nan
  }

  /// A TCP port of the loopback interface that no process uses now.
  static func freePort() -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(descriptor, $0, length)
        _ = getsockname(descriptor, $0, &length)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
