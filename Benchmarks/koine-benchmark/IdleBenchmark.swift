import Dispatch
import Foundation
import Koine
import KoineServerBackend

/// What a `koine serve` of its own process does for participants that have joined, and neither send nor receive media.
struct IdleBenchmark: Sendable {
  /// Fewer for a quick look.
  var participants = ProcessInfo.processInfo.environment["KOINE_PARTICIPANTS"].flatMap { Int($0) } ?? 100
  let seconds: Int

  private struct Cost {
    /// Turns of the network loop, for each participant and second.
    let turns: Double
    /// CPU of the server's process, in percent of a core.
    let cpu: Double
    /// What the server's resident set grew by, in kilobytes.
    let resident: Double
  }

  func run() throws -> Report {
    let result = Lock<Result<Report, any Error>>(.failure(BenchmarkError("has not run")))
    let done = DispatchSemaphore(value: 0)
    Task {
      let report = await Result { try await makeReport() }
      result.withLock { $0 = report }
      done.signal()
    }
    done.wait()
    return try result.withLock { try $0.get() }
  }

  private func makeReport() async throws -> Report {
    var rows: [Row] = []
    var costs: [Cost] = []
    for (rooms, name) in [(1, "one room"), (participants / 2, "rooms of two"), (participants, "rooms of one")] {
      let cost = try await measure(rooms: rooms)
      costs.append(cost)
      rows += [
        Row("\(name): turns of the loop per participant and second", cost.turns, "", aim: 2),
        Row("\(name): CPU of the server", cost.cpu, "% of a core", aim: 2),
        Row("\(name): memory per participant", cost.resident / Double(participants), "kB", aim: 120),
      ]
    }
    // As many participants in twice as many rooms.
    let perRoom = (costs[2].resident - costs[1].resident) / Double(participants - participants / 2)
    rows.append(Row("memory per room", perRoom, "kB", aim: 20))
    return Report(benchmark: "idle: \(participants) native participants without camera and microphone", rows: rows)
  }

  private func measure(rooms: Int) async throws -> Cost {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("koine-idle-\(getpid())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let port = ServerProcess.freePort()
    let limits = "rooms-per-address=1000,address-join-burst=\(participants * 2)"
    let process = try ServerProcess(
      koineAt: port, address: "127.0.0.1", log: directory + "/koine.log", core: 1, options: ["--limits", limits])
    defer { process.stop() }
    try await listens(port, process)
    let before = process.resident
    guard let address = ServerAddress("ws://127.0.0.1:\(port)") else { throw BenchmarkError("no address") }
    let world = World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    var sessions: [Session] = []
    for number in 0..<participants {
      let session = Session(JoinRequest(room: "room \(number % rooms)", name: "Guest \(number)"), in: world)
      try await session.join()
      sessions.append(session)
    }
    try await Task.sleep(for: .seconds(5))  // what follows a join is over
    let (turns, cpu, start) = (try Self.turns(port), process.cpu, CPU.wall)
    try await Task.sleep(for: .seconds(seconds))
    let elapsed = CPU.wall - start
    let cost = Cost(
      turns: Double(try Self.turns(port) - turns) / elapsed / Double(participants),
      cpu: (process.cpu - cpu) / elapsed * 100, resident: process.resident - before)
    for session in sessions { await session.leave() }
    return cost
  }

  private static func turns(_ port: UInt16) throws -> Int {
    try ServerMetrics.value(of: "koine_loop_turns_total", at: port)
  }

  private func listens(_ port: UInt16, _ process: ServerProcess) async throws {
    let end = CPU.wall + 10
    while (try? Self.turns(port)) == nil {
      guard CPU.wall < end, process.isRunning else {
        throw BenchmarkError("koine serve does not listen; see \(process.log)")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
