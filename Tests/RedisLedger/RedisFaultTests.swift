import Foundation
import KoineBase
import KoineLedger
import KoineTLS
import KoineTestSupport
import Testing

@testable import KoineRedisLedger

/// A Redis that is away, refuses, or is not the right one.
@Suite struct RedisFaultTests {
  private let n1 = NodeID.named("n1#a")

  private func isAway(_ answer: LedgerAnswer?, _ text: String = "") -> Bool {
    if case .failed(.away(let reason)) = answer { text.isEmpty || reason.contains(text) } else { false }
  }

  // MARK: Scripts

  @Test func scriptsThatTheServerHasForgottenAreSentWholeAndAnsweredInOrder() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    var numbers: [UInt64] = []
    for round in 0..<200 {
      if round % 20 == 10 { try server.ask("SCRIPT FLUSH") }
      let order = room.last + UInt64(round)
      let request = AppendRequest(
        room: "tea", term: room.place.term, previous: order, entries: [LogEntry(order: order + 1, content: [1])])
      numbers.append(probe.send(.append(request)))
      numbers.append(probe.send(.publish(.all, [])))
    }
    try server.ask("SCRIPT FLUSH")
    #expect(await probe.orders(room, "tea")?.count == 200)
    #expect(numbers.allSatisfy { [.appended, .done].contains(probe.answer(to: $0)) })
    #expect(probe.answered == probe.answered.sorted())
    #expect(probe.breaks == 0)
    let failed = try server.ask("EVALSHA 0000000000000000000000000000000000000000 0")
    #expect(failed.hasPrefix("-NOSCRIPT"))
  }

  @Test func scriptThatTheServerLacksIsExecutedBeforeLaterRequests() async throws {
    let server = try await RedisServer()
    let first = try await LedgerProbe.connected(to: server)
    await first.register(n1)
    let other = try #require(await first.place("milk", on: n1, nonce: "y"))
    #expect(await first.ask(.close(room: "milk", term: other.place.term)) == .done)
    let room = try #require(await first.place("tea", on: n1, nonce: "x"))
    let append = append(room)
    let (stored, closed) = (first.send(.append(append)), first.send(.close(room: "tea", term: room.place.term)))
    try await eventually("both are answered") { first.answer(to: closed) != nil }
    #expect(first.answer(to: stored) == .appended)
    #expect(first.answer(to: closed) == .done)
  }

  @Test func flushedScriptIsNotExecutedAfterLaterRequests() async throws {
    let server = try await RedisServer()
    let (first, second) = (try await LedgerProbe.connected(to: server), try await LedgerProbe.connected(to: server))
    await first.register(n1)
    let room = try #require(await first.place("tea", on: n1, nonce: "x"))
    #expect(await first.ask(.append(append(room))) == .appended)
    let unknown = RoomTerm(text: "1:unknown")
    _ = await first.ask(.close(room: "milk", term: unknown))
    try server.ask("SCRIPT FLUSH")
    _ = await second.ask(.close(room: "milk", term: unknown))  // makes this script known again
    let sent = await first.sendTogether([
      .append(append(room, after: 1)), .close(room: "tea", term: room.place.term), .find(room: "tea"),
    ])
    try await eventually("all are answered") { first.answer(to: sent[2]) != nil }
    #expect(isAway(first.answer(to: sent[0]), "flushed"))
    #expect(first.answer(to: sent[1]) == .done)
    #expect(first.answer(to: sent[2]) == .found(nil, isAlive: false))
    #expect(first.answered == first.answered.sorted())
    let again = try #require(await first.place("tea", on: n1, nonce: "z"))
    #expect(await first.ask(.append(append(again))) == .appended)
    #expect(first.breaks == 0)
  }

  @Test func flushedScriptIsNotExecutedAfterALaterOneThatFails() async throws {
    let server = try await RedisServer()
    let (first, second) = (try await LedgerProbe.connected(to: server), try await LedgerProbe.connected(to: server))
    await first.register(n1)
    let room = try #require(await first.place("tea", on: n1, nonce: "x"))
    #expect(await first.ask(.append(append(room))) == .appended)
    let unknown = RoomTerm(text: "1:unknown")
    _ = await first.ask(.close(room: "milk", term: unknown))
    try server.ask("SCRIPT FLUSH")
    _ = await second.ask(.close(room: "milk", term: unknown))  // makes this script known again
    try server.ask("SET k:room:salt text")
    let sent = await first.sendTogether([.append(append(room, after: 1)), .close(room: "salt", term: unknown)])
    try await eventually("both are answered") { first.answer(to: sent[1]) != nil }
    #expect(isAway(first.answer(to: sent[0]), "flushed"))
    #expect(isAway(first.answer(to: sent[1]), "WRONGTYPE"))
    #expect(await first.orders(room, "tea") == [room.last + 1])
  }

  private func append(_ room: Placed, after count: UInt64 = 0) -> AppendRequest {
    let previous = room.last + count
    return AppendRequest(
      room: "tea", term: room.place.term, previous: previous, entries: [LogEntry(order: previous + 1, content: [1])])
  }

  // MARK: Breaks

  @Test func requestsWithoutConnectionAreAnsweredAtOnce() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    server.kill(SIGKILL)
    try await eventually("the connection is lost") { probe.breaks == 1 }
    let start = ContinuousClock.now
    for _ in 0..<10 { #expect(isAway(await probe.ask(.nodes))) }
    #expect(ContinuousClock.now - start < .seconds(10))
    try await server.start()
    try await probe.waitForConnections(2)
    #expect(await probe.ask(.nodes) == .nodes([]))
    // Closed, then refused, and on a busy machine reset.
    #expect((1...3).contains(probe.lines.count(containing: "away")), "\(probe.lines.all)")
    #expect(probe.lines.count(containing: "connected to") <= 2)
  }

  /// A server that writes before it answers. With `everysec`, the default, Redis answers up to two seconds before it writes while its disk
  /// is busy with an earlier fsync (`aof_delayed_fsync` of its INFO counts such times).
  private func careful() async throws -> RedisServer { try await RedisServer(["appendfsync always"]) }

  @Test(arguments: 1...3) func acknowledgedEntriesSurviveAKilledServer(_ round: Int) async throws {
    let server = try await careful()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let count = Lock(0)
    let appending = Task {
      var acknowledged: [UInt64] = []
      var previous = room.last
      while !Task.isCancelled {
        guard await probe.append(room, "tea", after: previous, [previous + 1]) == .appended else { break }
        previous += 1
        acknowledged.append(previous)
        count.withLock { $0 += 1 }
      }
      return acknowledged
    }
    try await eventually("entries are acknowledged") { count.withLock { $0 } >= 100 * round }
    server.kill(SIGKILL)
    let acknowledged = await appending.value
    #expect(acknowledged.count >= 100 * round)
    try await eventually("the connection is lost") { probe.breaks == 1 }
    try await server.start()
    try await probe.waitForConnections(2)
    let stored = try #require(await probe.orders(room, "tea"))
    #expect(stored.prefix(acknowledged.count).elementsEqual(acknowledged))
    // The entry without an answer may be there, too. Its repetition is stored once.
    let last = try #require(acknowledged.last)
    #expect(stored.count <= acknowledged.count + 1)
    #expect(await probe.append(room, "tea", after: last, [last + 1]) == .appended)
    #expect(await probe.orders(room, "tea") == acknowledged + [last + 1])
  }

  @Test func entriesOnALostConnectionAreSentAgainWithoutGapOrRepetition() async throws {
    let server = try await careful()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let orders = (1...6_000).map { room.last + UInt64($0) }
    func send(_ index: Int) -> UInt64 {
      let entry = LogEntry(order: orders[index], content: Array("\(index)".utf8))
      let previous = index == 0 ? room.last : orders[index - 1]
      return probe.send(
        .append(AppendRequest(room: "tea", term: room.place.term, previous: previous, entries: [entry])))
    }
    let first = send(0)
    let numbers = [first] + (1..<orders.count).map(send)
    try await eventually("some are acknowledged") { probe.answer(to: numbers[200]) != nil }
    server.kill(SIGKILL)
    try await eventually("the connection is lost") { probe.breaks == 1 }
    try await eventually("all are answered") { probe.answer(to: numbers[orders.count - 1]) != nil }
    #expect(probe.answered == probe.answered.sorted())
    let acknowledged = numbers.prefix { probe.answer(to: $0) == .appended }.count
    try #require(acknowledged > 200)
    #expect(numbers.dropFirst(acknowledged).allSatisfy { isAway(probe.answer(to: $0)) })
    try await server.start()
    try await probe.waitForConnections(2)
    // As a home does: it asks, and sends again what the ledger has not confirmed. Some of that is there already.
    #expect(await probe.append(room, "tea", after: orders[acknowledged - 1], []) == .appended)
    let repeated = (acknowledged..<orders.count).map(send)
    try await eventually("all are answered") { repeated.last.map { probe.answer(to: $0) != nil } ?? true }
    #expect(repeated.allSatisfy { probe.answer(to: $0) == .appended })
    #expect(await probe.orders(room, "tea") == orders)
  }

  @Test func silentServerIsLostAndFoundAgain() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server, node: n1, limits: .init())
    server.kill(SIGSTOP)
    let start = ContinuousClock.now
    #expect(isAway(await probe.ask(.nodes), "no answer for 2.0 s"))
    #expect((.seconds(1.9)...(.seconds(20))).contains(ContinuousClock.now - start))
    try await eventually("the connection is lost") { probe.breaks >= 1 }
    // The system accepts further connections for the stopped process.
    try await eventually("the connection is lost, and a new one gets no greeting") { isAwayNow(probe) }
    server.kill(SIGCONT)
    try await eventually("there is a connection") { !isAwayNow(probe) }
    #expect(await probe.ask(.nodes) == .nodes([]))
  }

  private func isAwayNow(_ probe: LedgerProbe) -> Bool { probe.connections == probe.breaks }

  /// What a node has missed of the registry meanwhile it reads then.
  @Test func lostConnectionForMessagesEndsWithANotice() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server, node: n1)
    try await eventually("messages arrive") {
      probe.send(.publish(.node(n1), [7]))
      return probe.messages.last == [7]
    }
    #expect(!probe.messages.contains(RegistryNotice.bytes))
    try server.ask("CLIENT KILL TYPE pubsub")
    try await eventually("the notice") { probe.messages.contains(RegistryNotice.bytes) }
    #expect(probe.breaks == 0)
  }

  @Test func idleConnectionToASilentServerIsLost() async throws {
    var limits = RedisLedger.Limits()
    (limits.rest, limits.silence) = (.milliseconds(200), .seconds(1))
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server, limits: limits)
    server.kill(SIGSTOP)
    try await eventually("the connection is lost") { isAwayNow(probe) }
    server.kill(SIGCONT)
    try await eventually("there is a connection") { !isAwayNow(probe) }
  }

  @Test func requestsBeyondTheLimitOfWhatWaitsAreRefused() async throws {
    let server = try await RedisServer()
    var limits = RedisLedger.Limits()
    limits.silence = .seconds(4)
    let probe = try await LedgerProbe.connected(to: server, limits: limits)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    server.kill(SIGSTOP)
    let content = [UInt8](repeating: 65, count: 1 << 20)
    let numbers = (1...40).map { number in
      let entry = LogEntry(order: room.last + UInt64(number), content: content)
      return probe.send(
        .append(AppendRequest(room: "tea", term: room.place.term, previous: entry.order - 1, entries: [entry])))
    }
    try await eventually("the connection is lost") { probe.breaks == 1 }
    try await eventually("all are answered") { probe.answer(to: numbers[39]) != nil }
    #expect(numbers.prefix(15).allSatisfy { isAway(probe.answer(to: $0)) })
    // The last ones may come after the break, on a busy machine.
    #expect((1...25).contains(numbers.count { probe.answer(to: $0) == .failed(.tooMany) }))
    #expect(numbers.allSatisfy { probe.answer(to: $0) == .failed(.tooMany) || isAway(probe.answer(to: $0)) })
    #expect(probe.answered == probe.answered.sorted())
    server.kill(SIGCONT)
    try await probe.waitForConnections(2)
    #expect(await probe.append(room, "tea", after: room.last, []) == .appended)
    let stored = try #require(await probe.orders(room, "tea"))
    #expect(stored == (0..<stored.count).map { room.last + 1 + UInt64($0) })
  }

  // MARK: Refusals

  @Test func fullMemoryIsAwayWithoutABreakAndWithOneLine() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    try server.ask("CONFIG SET maxmemory 1")
    for _ in 0..<30 {
      #expect(isAway(await probe.append(room, "tea", after: room.last, [room.last + 1]), "OOM"))
      #expect(isAway(await probe.ask(.heartbeat(NodeRecord(id: n1))), "OOM"))
      // Reading needs no memory.
      #expect(await probe.orders(room, "tea") == [])
    }
    #expect(probe.lines.count(containing: "OOM") == 1, "\(probe.lines.all)")
    #expect(probe.lines.count(containing: "raise maxmemory") == 1)
    try server.ask("CONFIG SET maxmemory 0")
    #expect(await probe.ask(.heartbeat(NodeRecord(id: n1))) == .done)
    #expect(probe.lines.count(containing: "no longer refuses") == 0)
    #expect(await probe.append(room, "tea", after: room.last, [room.last + 1]) == .appended)
    #expect(probe.lines.count(containing: "no longer refuses") == 1)
    #expect(probe.breaks == 0)
  }

  @Test func serverThatBecomesAReplicaIsAwayUntilItIsAMasterAgain() async throws {
    let (server, other) = (try await RedisServer(), try await RedisServer())
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    try server.ask("REPLICAOF 127.0.0.1 \(other.port)")
    try await eventually("writes are refused") { probe.breaks > 0 || isAwayAfterHeartbeat(probe) }
    try await eventually("the connection is lost") { probe.breaks == 1 }
    // Replicas answer reads, but theirs may be old: there is no connection to them.
    for _ in 0..<5 { #expect(isAway(await probe.ask(.nodes))) }
    try await eventually("there is one line") { probe.lines.count(containing: "it is a replica") > 0 }
    try server.ask("REPLICAOF NO ONE")
    try await probe.waitForConnections(2)
    guard case .registered = await probe.register(n1) else { return recordIssue("not registered") }
    #expect(probe.lines.count(containing: "it is a replica") == 1, "\(probe.lines.all)")
  }

  private func isAwayAfterHeartbeat(_ probe: LedgerProbe) -> Bool {
    probe.send(.heartbeat(NodeRecord(id: n1)))
    return false
  }

  @Test func userWithTheDocumentedPermissionsCanDoAllRequests() async throws {
    let server = try await RedisServer([
      "user default off", "user koine on >secret ~k:* &k:* +@all -@dangerous -@admin",
    ])
    let address = try RedisAddress("redis://koine:secret@127.0.0.1:\(server.port)")
    let probe = LedgerProbe(address, node: n1)
    try await probe.waitForConnections(1)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    #expect(await probe.append(room, "tea", after: room.last, [room.last + 1, room.last + 2]) == .appended)
    let removing = AppendRequest(
      room: "tea", term: room.place.term, previous: room.last + 2, removing: [room.last + 1])
    #expect(await probe.ask(.append(removing)) == .appended)
    #expect(await probe.orders(room, "tea") == [room.last + 2])
    #expect(await probe.ask(.heartbeat(NodeRecord(id: n1))) == .done)
    #expect(await probe.ask(.evict(n1)) == .alive)
    guard case .nodes(let nodes) = await probe.ask(.nodes) else { return recordIssue("no list") }
    #expect(nodes.count == 1)
    guard case .rooms(let rooms, next: nil) = await probe.ask(.rooms(cursor: nil)) else {
      return recordIssue("no rooms")
    }
    #expect(rooms.count == 1)
    guard case .placed(let placed) = await probe.ask(.handOver(room: "tea", term: room.place.term, to: n1, nonce: "y"))
    else { return recordIssue("not handed over") }
    guard case .jobs(let jobs) = await probe.ask(.jobs(.add([1]))), let job = jobs.first else {
      return recordIssue("no job")
    }
    #expect(await probe.ask(.jobs(.take(by: n1))) == .jobs([job]))
    #expect(await probe.ask(.jobs(.renew(id: job.id, by: n1))) == .jobs([job]))
    #expect(await probe.ask(.jobs(.finish(id: job.id))) == .done)
    try await eventually("messages arrive") {
      probe.send(.publish(.node(n1), [7]))
      return probe.messages.first == [7]
    }
    #expect(await probe.ask(.close(room: "tea", term: placed.place.term)) == .done)
    #expect(await probe.ask(.unregister(n1)) == .done)
    #expect(probe.lines.count(containing: "refuse") == 0, "\(probe.lines.all)")
  }

  @Test func missingPermissionIsAwayWithOneLine() async throws {
    let server = try await RedisServer(["user koine on >secret ~k:* &k:* +@all -@dangerous -xadd"])
    let probe = LedgerProbe(try RedisAddress("redis://koine:secret@127.0.0.1:\(server.port)"))
    try await probe.waitForConnections(1)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    for _ in 0..<20 {
      #expect(isAway(await probe.append(room, "tea", after: room.last, [room.last + 1])))
      #expect(await probe.append(room, "tea", after: room.last, []) == .appended)
    }
    try server.ask("ACL SETUSER koine resetkeys ~other")
    for _ in 0..<20 { #expect(isAway(await probe.ask(.heartbeat(NodeRecord(id: n1))), "NOPERM")) }
    #expect(probe.lines.count(containing: "Redis refuses append") == 1, "\(probe.lines.all)")
    #expect(probe.lines.count(containing: "Redis refuses SET") == 1, "\(probe.lines.all)")
    #expect(probe.lines.all.count <= 5, "\(probe.lines.all)")
    #expect(probe.breaks == 0)
  }

  /// Other nodes could neither order it anything nor ask it about its rooms.
  @Test func nodeThatMayNotHearOthersIsNotConnected() async throws {
    let server = try await RedisServer(["user koine on >secret ~k:* resetchannels +@all -@dangerous"])
    let probe = LedgerProbe(try RedisAddress("redis://koine:secret@127.0.0.1:\(server.port)"), node: n1)
    try await eventually("the line is there") { probe.lines.count(containing: "no messages from other nodes") > 0 }
    #expect(probe.connections == 0)
    #expect(probe.lines.count(containing: "NOPERM") == 1, "\(probe.lines.all)")
    try server.ask("ACL SETUSER koine allchannels")
    try await probe.waitForConnections(1)
    guard case .registered = await probe.register(n1) else { return recordIssue("not registered") }
  }

  /// Redis' channels are those of all databases.
  @Test func clustersInTwoDatabasesDoNotHearEachOther() async throws {
    let server = try await RedisServer([])
    let probes = try [0, 7].map { database in
      LedgerProbe(try RedisAddress("redis://127.0.0.1:\(server.port)/\(database)"), node: n1)
    }
    for probe in probes { try await probe.waitForConnections(1) }
    for (index, probe) in probes.enumerated() {
      probe.send(.publish(.all, [UInt8(index), 1]))
      probe.send(.publish(.node(n1), [UInt8(index), 2]))
    }
    for (index, probe) in probes.enumerated() {
      try await eventually("messages arrive") { probe.messages.count >= 2 }
      #expect(probe.messages.allSatisfy { $0.first == UInt8(index) }, "\(probe.messages)")
    }
  }

  @Test func wrongOrMissingPasswordIsAwayUntilItIsRight() async throws {
    let server = try await RedisServer(["requirepass right"])
    let wrong = LedgerProbe(try RedisAddress("redis://:wrong@127.0.0.1:\(server.port)"))
    let none = try LedgerProbe(server)
    try await eventually("one line") { wrong.lines.count(containing: "WRONGPASS") == 1 }
    try await eventually("one line") { none.lines.count(containing: "NOAUTH") == 1 }
    #expect(isAway(await wrong.ask(.nodes)))
    try server.ask("CONFIG SET requirepass wrong", password: "right")
    try await wrong.waitForConnections(1)
    #expect(await wrong.ask(.nodes) == .nodes([]))
    try server.ask("CONFIG SET requirepass \"\"", password: "wrong")
    try await none.waitForConnections(1)
    #expect(await none.ask(.nodes) == .nodes([]))
    #expect(wrong.lines.count(containing: "WRONGPASS") == 1, "\(wrong.lines.all)")
    #expect(none.lines.count(containing: "NOAUTH") == 1, "\(none.lines.all)")
  }

  @Test func serverThatIsLoadingItsDataIsAway() async throws {
    let server = try await RedisServer(["enable-debug-command yes"])
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    try server.ask("DEBUG POPULATE 20000")
    try server.ask("BGREWRITEAOF")
    try await eventually("the file is written") { server.log.contains("Background AOF rewrite finished successfully") }
    server.kill(SIGKILL)
    try "key-load-delay 100\nloading-process-events-interval-bytes 1024\n".appendTo(server.file("conf"))
    try await server.start()
    try await probe.waitForConnections(2)
    #expect(probe.lines.count(containing: "LOADING") == 1, "\(probe.lines.all)")
    #expect(await probe.append(room, "tea", after: room.last, []) == .appended)
  }

  // MARK: Addresses

  @Test func databaseOfTheAddressIsUsed() async throws {
    let server = try await RedisServer()
    let probe = LedgerProbe(try RedisAddress("redis://127.0.0.1:\(server.port)/3"))
    try await probe.waitForConnections(1)
    await probe.register(n1)
    #expect(try server.ask("EXISTS k:node:n1#a") == ":0")
    #expect(try server.ask("SWAPDB 0 3") == "+OK")
    #expect(try server.ask("EXISTS k:node:n1#a") == ":1")
    let wrong = LedgerProbe(try RedisAddress("redis://127.0.0.1:\(server.port)/999"))
    try await eventually("the reason is logged") { wrong.lines.count(containing: "DB index is out of range") == 1 }
  }

  @Test func connectionWithTLSIsMadeOnlyToATrustedServer() async throws {
    let folder = try Folder()
    let ca = try LocalCA(in: folder.file("ca"), names: CertificateNames(["localhost"]))
    let port = try Ports.free()
    let server = try await RedisServer([
      "tls-port \(port)", "tls-cert-file \(ca.certificate)", "tls-key-file \(ca.key)",
      "tls-ca-cert-file \(ca.authority)", "tls-auth-clients no",
    ])
    let probe = LedgerProbe(try RedisAddress("rediss://localhost:\(port)?ca=\(ca.authority)"), node: n1)
    try await probe.waitForConnections(1)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let content = [UInt8](repeating: 65, count: 3 << 20)
    var request = AppendRequest(room: "tea", term: room.place.term, previous: room.last)
    request.entries = [LogEntry(order: room.last + 1, content: content)]
    #expect(await probe.ask(.append(request)) == .appended)
    #expect(await probe.entries(room, "tea")?.map(\.entry) == request.entries)
    try await eventually("messages arrive") {
      probe.send(.publish(.node(n1), [7]))
      return probe.messages.first == [7]
    }
    let other = try LocalCA(in: folder.file("other"), names: CertificateNames(["localhost"]))
    let wary = LedgerProbe(try RedisAddress("rediss://localhost:\(port)?ca=\(other.authority)"))
    let plain = LedgerProbe(try RedisAddress("redis://localhost:\(port)"))
    let unexpected = LedgerProbe(try RedisAddress("rediss://localhost:\(server.port)?ca=\(ca.authority)"))
    let absent = LedgerProbe(try RedisAddress("rediss://localhost:\(port)?ca=/nowhere.pem"))
    for probe in [wary, plain, unexpected, absent] {
      try await eventually("the reason is logged") { probe.lines.count(containing: "away") >= 1 }
      #expect(probe.connections == 0, "\(probe.lines.all)")
    }
    #expect(wary.lines.count(containing: "certificate verify failed") == 1, "\(wary.lines.all)")
    #expect(absent.lines.count(containing: "trusted certificates") == 1, "\(absent.lines.all)")
    #expect(plain.lines.count(containing: "'redis:' is for a server without TLS") == 1, "\(plain.lines.all)")
    #expect(unexpected.lines.count(containing: "'rediss:' is for a server with TLS") == 1, "\(unexpected.lines.all)")
  }

  @Test func largeLogIsReadInBoundedPages() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    var previous = room.last
    var sizes: [Int] = []
    for index in 0..<60 {
      let size = [1 << 18, 10, 2 << 20, 400_000][index % 4]
      let entry = LogEntry(order: previous + 1, content: [UInt8](repeating: UInt8(index), count: size))
      let request = AppendRequest(room: "tea", term: room.place.term, previous: previous, entries: [entry])
      #expect(await probe.ask(.append(request)) == .appended)
      (previous, sizes) = (entry.order, sizes + [size])
    }
    #expect(await probe.entries(room, "tea")?.map(\.entry.content.count) == sizes)
    for case .answered(_, .page(let page)) in probe.events {
      let bytes = page.entries.reduce(0) { $0 + $1.entry.content.count }
      #expect(bytes <= 1 << 20 || page.entries.count == 1)
    }
  }
}

extension String {
  fileprivate func appendTo(_ path: String) throws {
    let former = try String(contentsOfFile: path, encoding: .utf8)
    try (former + self).write(toFile: path, atomically: true, encoding: .utf8)
  }
}
