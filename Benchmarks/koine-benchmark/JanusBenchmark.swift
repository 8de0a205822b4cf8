import Foundation

/// One stream of pictures to many receivers through `koine serve` and through Janus' VideoRoom, in turns, by the same load.
struct JanusBenchmark {
  /// Fewer for a quick look.
  var receivers = ProcessInfo.processInfo.environment["KOINE_RECEIVERS"].flatMap { Int($0) } ?? 40
  var rate = 2_000
  var packetsPerFrame = 16
  var rounds = 3
  let seconds: Int

  func run() throws -> Report {
    let turns = try ServerTurns("janus")
    defer { turns.stop() }
    let load = Load(receivers: receivers, rate: rate, packetsPerFrame: packetsPerFrame)
    try turns.addKoine(load)
    try turns.addJanus(load)
    let memory = try turns.servers.map { try turns.fill($0) }
    return report(try turns.measure(rounds: rounds, seconds: seconds), memory)
  }

  private func report(_ results: [[ServerTurns.Round]], _ memory: [Double]) -> Report {
    var rows: [Row] = []
    for (server, name) in ["koine", "Janus"].enumerated() {
      rows += [
        Row("\(name), packets forwarded a second", results[server].median(\.packets), ""),
        Row("\(name), of the packets came to all", results[server].median(\.share) * 100, "%"),
        Row("\(name), CPU per forwarded packet", results[server].median(\.cost), "µs"),
        Row("\(name), until the last has it, median", results[server].median(\.median), "µs"),
        Row("\(name), until the last has it, 99 of 100", results[server].median(\.late), "µs"),
        Row("\(name), memory per receiver", memory[server], "kB", aim: server == 0 ? 250 : nil),
      ]
    }
    rows += [
      Row("CPU per forwarded packet, koine / Janus", results[0].ratio(\.cost, to: results[1]), "×", aim: 0.6),
      Row("until the last has it, 99 of 100, koine / Janus", results[0].ratio(\.late, to: results[1]), "×", aim: 0.8),
      Row("memory per receiver, koine / Janus", memory[0] / memory[1], "×", aim: 0.5),
    ]
    return Report(
      benchmark:
        "janus: 1 → \(receivers), \(rate) packets/s of \(LoadedServer.packetSize) bytes, \(rounds) rounds in turns",
      rows: rows)
  }
}
