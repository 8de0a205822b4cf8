import Foundation
import Glibc
import Koine
import KoineServerBackend

/// CPU per forwarded frame of two nodes of a cluster, each with one loop, beside one server with two loops and all the rooms, in turns:
/// whether a second node is as good as a second core.
///
/// In each room one participant sends pictures and sounds to the others. Needs `redis-server` and `koine` beside this program.
struct ClusterBenchmark {
  /// Fewer for a quick look.
  var rooms = ProcessInfo.processInfo.environment["KOINE_ROOMS"].flatMap { Int($0) } ?? 20
  let seconds: Int
  private static let people = 10
  /// The servers take one of two cores then, and the load's own peers the other.
  private static let pictures = 10
  /// Of a room, in a second.
  private static let framesPerReceiver = pictures + 50
  private static let rounds = 5
  /// All participants come from one address, at once.
  private static let limits = "rooms-per-address=1000,address-join-burst=1000,address-burst=100000"

  /// Servers with their load.
  private struct Side {
    let processes: [ServerProcess]
    let people: [BarePerson]

    var cpu: Double { processes.reduce(0) { $0 + $1.cpu } }
    var frames: Int { people.reduce(0) { $0 + $1.figures.frames } }
    func setSending(_ isSending: Bool) { for person in people { person.setSending(isSending) } }
  }

  func run() throws -> Report {
    let cluster = try LocalCluster(nodes: 2, options: ["--loops", "1", "--limits", Self.limits])
    defer { cluster.end() }
    let alone = try LocalServer(options: ["--loops", "2", "--limits", Self.limits])
    defer { alone.end() }
    try cluster.wait("the server answers", seconds: 20) { alone.isReady }
    let places = cluster.nodes.compactMap { ServerAddress("ws://127.0.0.1:\($0.port)") }
    guard let place = ServerAddress("ws://127.0.0.1:\(alone.port)") else { throw BenchmarkError("no address") }
    let sides = [
      Side(processes: cluster.nodes.compactMap(\.process), people: people { backend(of: $0, among: places) }),
      Side(processes: [alone.process], people: people { _ in ServerBackend(place) }),
    ]
    for side in sides { for person in side.people { person.begin() } }
    var costs: [[Double]] = [[], []]
    for _ in 0..<Self.rounds {
      for (index, side) in sides.enumerated() { costs[index].append(try turn(of: side, beside: sides[1 - index])) }
    }
    return Report(
      benchmark: "cluster: \(rooms) rooms of \(Self.people), one of whom sends, \(Self.rounds) rounds in turns",
      rows: [
        Row("two nodes, CPU per forwarded frame", median(costs[0]), "µs"),
        Row("one node with --loops 2", median(costs[1]), "µs"),
        Row("two nodes / one with two loops", median(zip(costs[0], costs[1]).map { $0 / $1 }), "×", aim: 1.05),
      ])
  }

  /// - Returns: in µs for each frame that came to a receiver.
  private func turn(of side: Side, beside other: Side) throws -> Double {
    other.setSending(false)
    side.setSending(true)
    // Bandwidth estimates begin low, and pictures wait for them.
    let due = rooms * (Self.people - 1) * Self.framesPerReceiver
    var (full, before) = (0, side.frames)
    for _ in 0..<60 where full < 3 {
      usleep(1_000_000)
      let now = side.frames
      full = now - before > due * 9 / 10 ? full + 1 : 0
      before = now
    }
    guard full == 3 else {
      let ends = side.people.compactMap(\.end)
      throw BenchmarkError(
        "not all frames came within 60 s" + (ends.first.map { "; \(ends.count) are not in their rooms: \($0)" } ?? ""))
    }
    let (frames, cpu) = (side.frames, side.cpu)
    usleep(UInt32(seconds) * 1_000_000)
    let (sent, spent) = (side.frames - frames, side.cpu - cpu)
    guard sent > due * seconds * 9 / 10 else { throw BenchmarkError("\(sent) of \(due * seconds) frames came") }
    return spent / Double(sent) * 1e6
  }

  private func backend(of room: Int, among places: [ServerAddress]) -> ServerBackend {
    let first = room % places.count
    return ServerBackend(places[first], others: Array(places[(first + 1)...] + places[..<first]))
  }

  private func people(_ backend: (_ room: Int) -> ServerBackend) -> [BarePerson] {
    (0..<rooms).flatMap { room in
      let backend = backend(room)
      return (0..<Self.people).map { number in
        BarePerson(
          name: "p\(number)", room: "room \(room)", sending: number == 0 ? [.camera, .microphone] : [],
          picturesPerSecond: Self.pictures, backend: backend)
      }
    }
  }
}

/// `koine serve` alone, on all cores.
private final class LocalServer {
  let port = ServerProcess.freePort()
  let process: ServerProcess
  private let log = FileManager.default.temporaryDirectory.appendingPathComponent("koine-alone-\(getpid()).log").path

  init(options: [String]) throws {
    process = try ServerProcess(
      [try ServerProcess.koine(), "serve", "--open", "--listen", "127.0.0.1:\(port)", "--log-level", "error"] + options,
      log: log, cores: Array(0..<ProcessInfo.processInfo.activeProcessorCount))
  }

  var isReady: Bool { HTTPProbe.status(port: port, path: "/readyz") == 200 }

  func end() {
    process.kill()
    try? FileManager.default.removeItem(atPath: log)
  }
}
