import Foundation

/// Many rooms of two, and one large room in which as few packets are forwarded, through `koine serve` and through Janus'
/// VideoRoom, in turns, by the same load.
///
/// In rooms of two a packet comes alone and leaves alone, so the figure is a wake-up: from `epoll_wait` to `sendmsg`. In
/// the large room the receivers share it.
struct RoomsBenchmark {
  /// Fewer for a quick look.
  var rooms = ProcessInfo.processInfo.environment["KOINE_ROOMS"].flatMap { Int($0) } ?? 40
  /// Frames a second of each publisher, one packet each.
  var rate = 25
  var rounds = 5
  /// `KOINE_SERVERS=koine` leaves Janus out, for a profile of the server.
  let hasJanus = ProcessInfo.processInfo.environment["KOINE_SERVERS"] != "koine"
  let seconds: Int

  func run() throws -> Report {
    let turns = try ServerTurns("rooms")
    defer { turns.stop() }
    for load in [
      Load(rooms: rooms, receivers: 1, rate: rate, packetsPerFrame: 1),
      Load(rooms: 1, receivers: rooms, rate: rate, packetsPerFrame: 1),
    ] {
      try turns.addKoine(load)
      if hasJanus { try turns.addJanus(load) }
    }
    for server in turns.servers { _ = try turns.fill(server) }
    return report(try turns.measure(rounds: rounds, seconds: seconds))
  }

  private func report(_ results: [[ServerTurns.Round]]) -> Report {
    var rows: [Row] = []
    let names = ["rooms of two", "one room"].flatMap { kind in
      (hasJanus ? ["koine", "Janus"] : ["koine"]).map { "\($0), \(kind)" }
    }
    for (name, rounds) in zip(names, results) {
      rows += [
        Row("\(name): packets forwarded a second", rounds.median(\.packets), ""),
        Row("\(name): of the packets came to all", rounds.median(\.share) * 100, "%"),
        Row("\(name): CPU per forwarded packet", rounds.median(\.cost), "µs"),
        Row("\(name): until the last has it, 99 of 100", rounds.median(\.late), "µs"),
      ]
      let wakeUps = rounds.compactMap(\.wakeUps)
      if !wakeUps.isEmpty { rows.append(Row("\(name): turns of the loop per packet", median(wakeUps), "")) }
    }
    if hasJanus {
      rows += [
        Row("CPU per packet in rooms of two, koine / Janus", results[0].ratio(\.cost, to: results[1]), "×", aim: 0.4),
        Row("CPU per packet in one room, koine / Janus", results[2].ratio(\.cost, to: results[3]), "×", aim: 0.5),
      ]
    }
    let large = results[hasJanus ? 2 : 1]
    rows.append(Row("koine, CPU per packet, rooms of two / one room", results[0].ratio(\.cost, to: large), "×", aim: 2))
    return Report(
      benchmark: "rooms: \(rooms) × 1 → 1, and 1 → \(rooms), \(rate) packets/s of \(LoadedServer.packetSize) bytes "
        + "from each publisher, \(rounds) rounds in turns", rows: rows)
  }
}
