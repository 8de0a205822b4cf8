import CKoineBenchmark
import Foundation
import Glibc
import KoineBase
import KoineRTP
import KoineTransport

/// What the clients of a `LoadedServer` do.
struct Load {
  var rooms = 1
  /// In each room, beside its one publisher.
  var receivers: Int
  /// Packets a second of each publisher.
  var rate: Int
  var packetsPerFrame: Int

  /// Between two frames of a publisher, in nanoseconds.
  var interval: Int64 { 1_000_000_000 * Int64(packetsPerFrame) / Int64(rate) }
}

/// A room of a `LoadedServer`: one publisher, and its receivers.
final class LoadedRoom {
  let number: Int
  let ledger: Ledger
  fileprivate(set) var publisher: LoadEnd?
  fileprivate var nextFrame: Tick?

  fileprivate init(number: Int, receivers: Int) { (self.number, ledger) = (number, Ledger(receivers: receivers)) }
}

/// A server in a process of its own. The benchmark's process drives the clients of all its rooms.
class LoadedServer {
  let name: String
  let host: String
  let process: ServerProcess
  let load: Load
  let rooms: [LoadedRoom]
  private(set) var ends: [LoadEnd] = []
  private let tools = LoadTools()
  /// Calls its function for each of the other servers of the comparison, which have their turns later.
  var forEachCompanion: ((LoadedServer) throws -> Void) throws -> Void = { _ in }
  private var nextVisit = Tick(nanoseconds: 0)
  /// Whether frames are published.
  var isLive = true

  static let packetSize = 1_112
  /// Of every stream.
  static let published = StreamParameters(
    mid: "0", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1_111, rtxSSRC: 2_222)])

  init(_ name: String, at host: String, _ process: ServerProcess, _ load: Load) {
    (self.name, self.host, self.process, self.load) = (name, host, process, load)
    rooms = (0..<load.rooms).map { LoadedRoom(number: $0, receivers: load.receivers) }
  }

  var now: Tick { Scheduler.real.now }

  func makeEnd(of room: LoadedRoom, extensions: HeaderExtensionMap? = nil) throws -> LoadEnd {
    let end = try LoadEnd(at: host, number: ends.count, room.ledger, extensions: extensions, now: now)
    if room.publisher == nil { room.publisher = end }
    ends.append(end)
    return end
  }

  /// Packets that came to receivers, of all rooms.
  var arrived: Int { rooms.reduce(0) { $0 + $1.ledger.arrived } }

  /// Adds the room's publisher, its first end. Wait for a second before you add receivers: for Janus a feed is none before its
  /// path stands on Janus' side, too.
  func addPublisher(to room: LoadedRoom) throws { fatalError("each kind of server in its own words") }
  func addReceiver(to room: LoadedRoom) throws { fatalError("each kind of server in its own words") }
  /// Reads what the server says between answers.
  func listen() throws {}

  /// One turn of everything: half a millisecond.
  func turn() throws {
    let now = now
    if isLive { for room in rooms { publish(in: room, at: now) } }
    for end in ends { end.turn(tools, at: now) }
    try listen()
    // The clients of the waiting servers stay active, so that no server times them out.
    try forEachCompanion { companion in
      guard now >= companion.nextVisit else { return }
      companion.nextVisit = now + .milliseconds(50)
      for end in companion.ends { end.turn(companion.tools, at: now) }
      try companion.listen()
    }
    usleep(300)
  }

  private func publish(in room: LoadedRoom, at now: Tick) {
    guard let publisher = room.publisher, publisher.peer.isConnected else { return }
    // Publishers do not keep step: the frames of all rooms are spread evenly.
    let due = room.nextFrame ?? now + .nanoseconds(load.interval * Int64(room.number) / Int64(load.rooms))
    room.nextFrame = due
    guard due <= now else { return }
    publisher.send(packets: load.packetsPerFrame, of: Self.packetSize, at: now)
    room.nextFrame = max(due, now - .milliseconds(100)) + .nanoseconds(load.interval)
  }

  func run(seconds: Double) throws {
    let end = CPU.wall + seconds
    while CPU.wall < end { try turn() }
  }

  func wait(_ what: String, seconds: Double = 30, until isDone: () throws -> Bool) throws {
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

  /// `koine serve`, the product beside this program, on one loop.
  /// - Parameters:
  ///   - port: of HTTP and signalling, on the loopback address.
  ///   - address: of media.
  ///   - options: further options.
  convenience init(
    koineAt port: UInt16, address: String, log: String, core: Int, options: [String] = []
  ) throws {
    let all = [
      try Self.koine(), "serve", "--open", "--listen", "127.0.0.1:\(port)", "--address", address, "--loops", "1",
      "--log-level",
      "error",
    ]
    try self.init(all + options, log: log, core: core)
  }

  /// The path of the command `koine`, which was built beside this program.
  static func koine() throws -> String {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let koine = own.appendingPathComponent("koine").path
    guard FileManager.default.isExecutableFile(atPath: koine) else {
      throw BenchmarkError("there is no \(koine): swift build -c release --product koine")
    }
    return koine
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
