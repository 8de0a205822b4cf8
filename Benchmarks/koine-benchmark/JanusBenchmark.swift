import CKoineBenchmark
import Foundation
import Glibc

/// One stream of pictures to many receivers through `koine serve` and through Janus' VideoRoom, in turns, by the same load.
struct JanusBenchmark {
  /// Fewer for a quick look.
  var receivers = ProcessInfo.processInfo.environment["KOINE_RECEIVERS"].flatMap { Int($0) } ?? 40
  var rate = 2_000
  var packetsPerFrame = 16
  var rounds = 3
  let seconds: Int

  private struct Round {
    /// In µs for each packet that came to a receiver.
    let cost: Double
    /// The fraction of the published packets that reached all receivers, 0 to 1.
    let share: Double
    let packets: Double
    let median: Double
    let late: Double
  }

  func run() throws -> Report {
    var address = [CChar](repeating: 0, count: 16)
    guard bare_own_address(&address) == 0 else {
      throw BenchmarkError("Janus takes no media over the loopback: this machine needs an address of its own")
    }
    let host = String(decoding: address.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("koine-janus-\(getpid())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let servers: [LoadedServer] = [
      try LoadedKoine(
        at: host, directory: directory, core: 1, receivers: receivers, rate: rate, packetsPerFrame: packetsPerFrame),
      try LoadedJanus(
        at: host, directory: directory, core: 1, receivers: receivers, rate: rate, packetsPerFrame: packetsPerFrame),
    ]
    (servers[0].companion, servers[1].companion) = (servers[1], servers[0])
    defer {
      for server in servers { server.process.stop() }
      try? FileManager.default.removeItem(atPath: directory)
    }
    var memory: [Double] = []
    for server in servers {
      memory.append(try fill(server))
      server.isLive = false
    }
    var results: [[Round]] = [[], []]
    for _ in 0..<rounds {
      for (index, server) in servers.enumerated() { results[index].append(try measure(server)) }
    }
    return report(results, memory)
  }

  /// - Returns: memory for each receiver, in kilobytes.
  private func fill(_ server: LoadedServer) throws -> Double {
    try server.addPublisher()
    try server.run(seconds: 3)
    let before = server.process.resident
    for _ in 0..<receivers { try server.addReceiver() }
    try settle(server)
    return (server.process.resident - before) / Double(receivers)
  }

  /// Waits until every receiver has got packets in six half seconds in a row, for at most 60 s. Bandwidth estimates begin low,
  /// and grow while there are packets to send.
  private func settle(_ server: LoadedServer) throws {
    var good = 0
    for _ in 0..<120 where good < 6 {
      let before = server.ends.map(\.packets)
      try server.run(seconds: 0.5)
      good = zip(server.ends, before).dropFirst().allSatisfy { $0.packets > $1 } ? good + 1 : 0
    }
    guard good == 6 else { throw BenchmarkError("\(server.name): not everybody gets the stream") }
  }

  private func measure(_ server: LoadedServer) throws -> Round {
    server.isLive = true
    defer { server.isLive = false }
    try settle(server)
    let (cpu, arrived, first) = (server.process.cpu, server.ledger.arrived, server.ledger.count)
    try server.run(seconds: Double(seconds))
    let spent = server.process.cpu - cpu
    let packets = server.ledger.arrived - arrived
    let last = server.ledger.count
    try server.run(seconds: 0.5)
    let delays = server.ledger.delays(from: first, to: last).sorted()
    guard !delays.isEmpty, packets > 0 else { throw BenchmarkError("\(server.name): nothing came through") }
    return Round(
      cost: spent / Double(packets) * 1e6, share: Double(delays.count) / Double(last - first),
      packets: Double(packets) / Double(seconds), median: median(delays), late: delays[delays.count * 99 / 100])
  }

  private func report(_ results: [[Round]], _ memory: [Double]) -> Report {
    func figure(_ server: Int, _ value: KeyPath<Round, Double>) -> Double {
      median(results[server].map { $0[keyPath: value] })
    }
    func ratio(_ value: KeyPath<Round, Double>) -> Double {
      median(zip(results[0], results[1]).map { $0[keyPath: value] / $1[keyPath: value] })
    }
    var rows: [Row] = []
    for (server, name) in ["koine", "Janus"].enumerated() {
      rows += [
        Row("\(name), packets forwarded a second", figure(server, \.packets), ""),
        Row("\(name), of the packets came to all", figure(server, \.share) * 100, "%"),
        Row("\(name), CPU per forwarded packet", figure(server, \.cost), "µs"),
        Row("\(name), until the last has it, median", figure(server, \.median), "µs"),
        Row("\(name), until the last has it, 99 of 100", figure(server, \.late), "µs"),
        Row("\(name), memory per receiver", memory[server], "kB"),
      ]
    }
    rows += [
      Row("CPU per forwarded packet, koine / Janus", ratio(\.cost), "×", aim: 0.6),
      Row("until the last has it, 99 of 100, koine / Janus", ratio(\.late), "×", aim: 0.8),
      Row("memory per receiver, koine / Janus", memory[0] / memory[1], "×", aim: 0.5),
    ]
    return Report(
      benchmark:
        "janus: 1 → \(receivers), \(rate) packets/s of \(LoadedServer.packetSize) bytes, \(rounds) rounds in turns",
      rows: rows)
  }
}
