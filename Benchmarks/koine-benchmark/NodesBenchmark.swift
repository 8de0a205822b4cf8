import Foundation
import Koine
import KoineEmbeddedBackend

/// The same 20 rooms of five talking participants on clusters of 10, 20 and 40 nodes, on a virtual clock with a ledger in memory: the cost
/// of more nodes.
///
/// For instructions: `KOINE_NODES=10 valgrind --tool=callgrind koine-benchmark nodes --seconds N`, with two lengths. The difference is
/// free of the start's cost and the joins'.
struct NodesBenchmark {
  let seconds: Int
  /// At least one: the nodes open with the first participant.
  private static let rooms = max(ProcessInfo.processInfo.environment["KOINE_ROOMS"].flatMap { Int($0) } ?? 20, 1)
  private static let people = 5
  private static let rounds = 3

  func run() throws -> Report {
    let chosen = ProcessInfo.processInfo.environment["KOINE_NODES"].flatMap { Int($0) }
    let sizes = chosen.map { [$0] } ?? [10, 20, 40]
    var costs: [[Double]] = sizes.map { _ in [] }
    for _ in 0..<(chosen == nil ? Self.rounds : 1) {
      for (index, nodes) in sizes.enumerated() { costs[index].append(try cost(nodes: nodes)) }
    }
    var rows = zip(sizes, costs).map { nodes, costs in
      Row("CPU per receiver and second, \(nodes) nodes", median(costs), "µs")
    }
    if chosen == nil {
      for (nodes, costs) in zip(sizes, costs).dropFirst() {
        rows.append(Row("\(nodes) nodes / \(sizes[0])", median(costs) / rows[0].value, "×", aim: 1.1))
      }
    }
    return Report(benchmark: "nodes: \(Self.rooms) rooms of \(Self.people), \(seconds) s without codecs", rows: rows)
  }

  private func cost(nodes: Int) throws -> Double {
    let backend = EmbeddedBackend(virtual: 7, nodes: nodes)
    let scheduler = backend.scheduler
    let people = (0..<Self.rooms * Self.people).map {
      BarePerson(name: "p\($0)", room: "room \($0 / Self.people)", sending: [.microphone], backend: backend)
    }
    for person in people { person.begin() }
    scheduler.advance(to: scheduler.now + .seconds(5))
    func frames() -> Int { people.reduce(0) { $0 + $1.figures.frames } }
    let (before, start) = (frames(), CPU.process)
    scheduler.advance(to: scheduler.now + .seconds(seconds))
    let spent = CPU.process - start
    let due = people.count * (Self.people - 1) * 50 * seconds
    let received = frames() - before
    guard received >= due * 9 / 10 else { throw BenchmarkError("\(received) of \(due) frames came, of \(nodes) nodes") }
    return spent / Double(people.count * seconds) * 1e6
  }
}
