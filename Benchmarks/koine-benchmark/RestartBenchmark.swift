import Foundation
import Glibc
import Koine
import KoineServerBackend

/// Three nodes of a cluster with 50 rooms of two talking participants are restarted one after the other: how long a participant hears
/// nothing.
///
/// Needs `redis-server` and `koine` beside this program.
struct RestartBenchmark {
  /// Fewer for a quick look.
  var rooms = ProcessInfo.processInfo.environment["KOINE_ROOMS"].flatMap { Int($0) } ?? 50

  func run() throws -> Report {
    let cluster = try LocalCluster(nodes: 3)
    defer { cluster.end() }
    let addresses = cluster.nodes.compactMap { ServerAddress("ws://127.0.0.1:\($0.port)") }
    let people = (0..<rooms * 2).map { number in
      let first = number % addresses.count
      let others = Array((addresses + addresses)[(first + 1)..<(first + addresses.count)])
      return BarePerson(
        name: "p\(number)", room: "room \(number / 2)", sending: [.microphone],
        backend: ServerBackend(addresses[first], others: others))
    }
    for person in people { person.begin() }
    try cluster.wait("all hear each other", seconds: 60) { people.allSatisfy { $0.figures.frames > 100 } }
    var (gaps, losses, unmoved) = ([Double](), 0, [Double]())
    for node in cluster.nodes {
      for person in people { person.resetFigures() }
      node.stop()
      // The last participants may have begun to move just before.
      try cluster.wait("all hear each other after a move", seconds: 20) {
        people.allSatisfy { $0.figures.frames > 0 }
      }
      usleep(3_000_000)
      for figures in people.map(\.figures) {
        if figures.returns > 0 {
          gaps.append(figures.gap.inMilliseconds)
        } else {
          unmoved.append(figures.gap.inMilliseconds)
        }
        losses += figures.losses
      }
      try node.start()
      try cluster.wait("\(node.name) is ready", seconds: 20) { node.isReady }
      usleep(2_000_000)
    }
    guard !gaps.isEmpty, let longest = gaps.max() else { throw BenchmarkError("no room was moved") }
    gaps.sort()
    return Report(
      benchmark: "restart: \(rooms) rooms of two on three nodes, which are restarted one after the other",
      rows: [
        Row("participants moved", Double(gaps.count), ""),
        Row("without a sound, median", median(gaps), "ms"),
        Row("without a sound, 95 of 100", gaps[gaps.count * 95 / 100], "ms", aim: 800),
        Row("without a sound, longest", longest, "ms"),
        Row("without a sound, median of those that were not moved", median(unmoved), "ms"),
        Row("reports of a lost connection", Double(losses), "", aim: 0),
      ])
  }
}
