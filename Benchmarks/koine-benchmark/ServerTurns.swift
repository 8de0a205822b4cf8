import CKoineBenchmark
import Foundation

/// Servers, each in a process of its own on core 1, that are measured in turns under load: all see the same machine.
final class ServerTurns {
  /// What a server did in one turn.
  struct Round {
    /// CPU time of the server's process, in µs for each packet that came to a receiver.
    let cost: Double
    /// The fraction of the published packets that reached all receivers, 0 to 1.
    let share: Double
    /// Packets forwarded a second.
    let packets: Double
    /// Until the last receiver of a packet has it, in µs: the median, and 99 of 100.
    let median: Double
    let late: Double
    /// Of the network loop for each packet that came to a receiver; nil for a server that does not tell.
    let wakeUps: Double?
  }

  /// The machine's own address, of media.
  let host: String
  private let directory: String
  private(set) var servers: [LoadedServer] = []

  /// - Parameter name: of the directory that holds the servers' files for as long as the benchmark runs.
  init(_ name: String) throws {
    var address = [CChar](repeating: 0, count: 16)
    guard bare_own_address(&address) == 0 else {
      throw BenchmarkError("Janus takes no media over the loopback: this machine needs an address of its own")
    }
    host = String(decoding: address.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(name)-\(getpid())").path
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func stop() { for server in servers { server.process.stop() } }

  func addKoine(_ load: Load) throws {
    add(try LoadedKoine(at: host, directory: makeDirectory(), core: 1, load))
  }

  func addJanus(_ load: Load) throws {
    let first = 20_000 + servers.count * 5_000
    add(try LoadedJanus(at: host, directory: makeDirectory(), core: 1, load, ports: first...first + 4_999))
  }

  private func makeDirectory() throws -> String {
    let path = "\(directory)/\(servers.count)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func add(_ server: LoadedServer) {
    servers.append(server)
    server.forEachCompanion = { [weak self, weak server] body in
      for companion in self?.servers ?? [] where companion !== server { try body(companion) }
    }
  }

  /// Brings publishers and receivers to a server, and waits until all receivers get packets.
  /// - Returns: the memory that the server took for each receiver, in kilobytes.
  func fill(_ server: LoadedServer) throws -> Double {
    for room in server.rooms { try server.addPublisher(to: room) }
    try server.run(seconds: 3)
    let before = server.process.resident
    for room in server.rooms { for _ in 0..<server.load.receivers { try server.addReceiver(to: room) } }
    try settle(server)
    server.isLive = false
    return (server.process.resident - before) / Double(server.load.rooms * server.load.receivers)
  }

  /// Waits until every receiver has got packets in six half seconds in a row, for at most 60 s. Bandwidth estimates begin low,
  /// and grow while there are packets to send.
  private func settle(_ server: LoadedServer) throws {
    let receivers = server.ends.filter { end in !server.rooms.contains { $0.publisher === end } }
    var good = 0
    for _ in 0..<120 where good < 6 {
      let before = receivers.map(\.packets)
      try server.run(seconds: 0.5)
      good = zip(receivers, before).allSatisfy { $0.packets > $1 } ? good + 1 : 0
    }
    guard good == 6 else { throw BenchmarkError("\(server.name): not everybody gets the stream") }
  }

  func measure(_ server: LoadedServer, seconds: Int) throws -> Round {
    server.isLive = true
    defer { server.isLive = false }
    try settle(server)
    let loop = server as? LoadedKoine
    let turns = try loop?.turns()
    let (cpu, arrived, first) = (server.process.cpu, server.arrived, server.rooms.map(\.ledger.count))
    try server.run(seconds: Double(seconds))
    let spent = server.process.cpu - cpu
    let packets = server.arrived - arrived
    let last = server.rooms.map(\.ledger.count)
    let woken = try turns.flatMap { turns in try loop.map { try $0.turns() - turns } }
    try server.run(seconds: 0.5)
    var delays: [Double] = []
    for (index, room) in server.rooms.enumerated() { delays += room.ledger.delays(from: first[index], to: last[index]) }
    delays.sort()
    guard !delays.isEmpty, packets > 0 else { throw BenchmarkError("\(server.name): nothing came through") }
    let published = zip(first, last).reduce(0) { $0 + $1.1 - $1.0 }
    return Round(
      cost: spent / Double(packets) * 1e6, share: Double(delays.count) / Double(published),
      packets: Double(packets) / Double(seconds), median: median(delays), late: delays[delays.count * 99 / 100],
      wakeUps: woken.map { Double($0) / Double(packets) })
  }

  /// Measures each server once a round, in turns.
  /// - Returns: the rounds of each server.
  func measure(rounds: Int, seconds: Int) throws -> [[Round]] {
    var results: [[Round]] = servers.map { _ in [] }
    for _ in 0..<rounds {
      for (index, server) in servers.enumerated() { results[index].append(try measure(server, seconds: seconds)) }
    }
    return results
  }
}

extension [ServerTurns.Round] {
  func median(_ value: KeyPath<Element, Double>) -> Double { koine_benchmark.median(map { $0[keyPath: value] }) }

  /// The median of the ratios of rounds that were measured one after the other.
  func ratio(_ value: KeyPath<Element, Double>, to others: Self) -> Double {
    koine_benchmark.median(zip(self, others).map { $0[keyPath: value] / $1[keyPath: value] })
  }
}
