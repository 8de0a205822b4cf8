import KoineBase

/// What a second thread for datagrams is worth: packets that the router passes on in a second, on one and on two, for two
/// rooms and for one that is as large as both.
///
/// By the clock on the wall, of the router's turns alone: time is virtual, and the receivers read between the turns. One
/// and two take turns of a second, so that both see the same machine, and there are three pairs of them: where their memory
/// comes to lie is worth a tenth.
struct ShardsBenchmark {
  let seconds: Int
  private static let receivers = 100
  private static let pairs = 3

  func run() throws -> Report {
    Report(
      benchmark: "shards: \(Self.receivers) receivers, 480 packets a second of 1,112 bytes to each",
      rows: try rows("one room", rooms: 1, goal: 1.5) + rows("two rooms", rooms: 2, goal: 1.7))
  }

  private func rows(_ name: String, rooms: Int, goal: Double) throws -> [Row] {
    var rates: [[Double]] = [[], []]
    var costs: [[Double]] = [[], []]
    for _ in 0..<Self.pairs {
      let routers = try [1, 2].map { try router(rooms: rooms, workers: $0) }
      for round in 0..<max(seconds, 4) {
        for index in round % 2 == 0 ? [0, 1] : [1, 0] {
          let (packets, elapsed, cpu) = routers[index].turns(milliseconds: 1_000)
          guard packets > Self.receivers * 400 else { throw BenchmarkError("only \(packets) packets in a second") }
          rates[index].append(Double(packets) / elapsed)
          costs[index].append(cpu / Double(packets) * 1e6)
        }
      }
    }
    let gains = zip(rates[0], rates[1]).map { $1 / $0 }
    return [
      Row("\(name), on one, packets a second", median(rates[0]), ""),
      Row("\(name), on two, packets a second", median(rates[1]), ""),
      Row("\(name), CPU per packet on one", median(costs[0]), "µs"),
      Row("\(name), CPU per packet on two", median(costs[1]), "µs"),
      Row("\(name), two / one (goal: at least \(goal))", median(gains), "×"),
      Row("\(name), one / two", 1 / median(gains), "×", aim: (100 / goal).rounded() / 100),
    ]
  }
  private func router(rooms: Int, workers: Int) throws -> ForwardBenchmark {
    let router = try ForwardBenchmark(
      .init(
        publishers: rooms, receivers: Self.receivers, packets: 16, rooms: rooms, workers: workers, measuresFloor: false,
        warmUp: 4))
    try router.prepare()
    return router
  }
}
