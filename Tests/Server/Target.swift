import Dispatch
import Foundation
import Koine
import KoineBase
import KoineServer
import KoineServerBackend
import KoineTestSupport
import Testing

/// A server that strangers attack: of this process, or in one of its own, with memory of its own. (Swift Testing
/// keeps a backtrace of every error that is thrown while a test runs, and a socket that connects throws one.)
struct Target: Sendable {
  let address: ServerAddress
  let port: Int
  let mediaPort: UInt16
  private let process: Int32

  init(_ rooms: ServedRooms) throws {
    mediaPort = try #require(rooms.server.mediaAddresses.first).port
    (address, port, process) = (rooms.address, rooms.server.port, getpid())
  }

  private init(port: Int, mediaPort: Int, process: Int32) throws {
    address = try #require(ServerAddress("ws://127.0.0.1:\(port)"))
    (self.port, self.mediaPort, self.process) = (port, UInt16(mediaPort), process)
  }

  /// Runs `koine serve` beside `body`, its media announced where `Wiretap` stands.
  static func served(limits: String, _ body: @Sendable (Target) async throws -> Void) async throws {
    let (port, mediaPort) = (try Ports.free(), try Ports.free(.udp))
    let koine = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(
      "koine")
    let script = """
      trap 'kill $server' TERM
      '\(koine.path)' serve --open --listen 127.0.0.1:\(port) --udp \(mediaPort) --address 127.0.0.2=127.0.0.1 \
        --limits \(limits) --log-level error </dev/null & server=$!
      until grep -q '\(Ports.listening(port))' /proc/net/tcp; do kill -0 $server || exit 1; sleep 0.05; done
      echo $server; wait $server
      """
    try await Command("sh", "-c", script).run(beside: { line in
      try await body(try Target(port: port, mediaPort: mediaPort, process: try #require(Int32(line))))
    })
  }

  func world() -> World {
    World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  }

  /// Of the server's process.
  var residentMegabytes: Int {
    let pages = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8))?.split(separator: " ")
      .dropFirst().first
    return (pages.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_048_576
  }
}
