import KoineBase
import KoineLedger
import Testing

@testable import KoineRedisLedger

/// The scripts, on a real Redis.
@Suite struct LedgerScriptTests {
  private let n1 = NodeID.named("n1#a")
  private let n2 = NodeID.named("n2#b")
  private let n3 = NodeID.named("n3#c")

  // MARK: Nodes

  @Test func secondLivingNodeOfANameIsRefused() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    guard case .registered(let clock) = await probe.register(n1) else { return recordIssue("not registered") }
    #expect(clock > 1_700_000_000_000_000)
    #expect(await probe.register(.named("n1#other")) == .nameTaken(by: n1))
    guard case .registered = await probe.register(.named("n#x")) else { return recordIssue("another name is free") }
    guard case .registered = await probe.register(n1) else { return recordIssue("registers again") }
    #expect(await probe.ask(.unregister(n1)) == .done)
    guard case .registered = await probe.register(.named("n1#other")) else { return recordIssue("the name is free") }
  }

  @Test func heartbeatWithoutLeaseIsAnsweredByEvicted() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    var record = NodeRecord(id: n1)
    #expect(await probe.ask(.heartbeat(record)) == .evicted)
    #expect(await probe.ask(.nodes) == .nodes([]))
    await probe.register(n1)
    record.load.rooms = 7
    #expect(await probe.ask(.heartbeat(record)) == .done)
    guard case .nodes(let nodes) = await probe.ask(.nodes) else { return recordIssue("no list") }
    #expect(nodes.map(\.record) == [record])
    #expect((1...5_000).contains(Int(try server.ask("PTTL k:node:n1#a").dropFirst()) ?? 0))
    // As two seconds after the heartbeat, or later on a busy machine.
    try server.ask("PEXPIRE k:node:n1#a 3000")
    guard case .nodes(let later) = await probe.ask(.nodes) else { return recordIssue("no list") }
    #expect(later.allSatisfy { (.seconds(2)...(.seconds(5))).contains($0.silence) })
  }

  @Test func nodeIsEvictedOnlyWhenTwoHeartbeatsAreMissing() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    #expect(await probe.ask(.evict(n1)) == .alive)
    // The lease as it is 1,010 ms after the last heartbeat.
    try server.ask("PEXPIRE k:node:n1#a 3990")
    #expect(await probe.ask(.evict(n1)) == .done)
    #expect(await probe.ask(.evict(n1)) == .done)
    #expect(await probe.ask(.heartbeat(NodeRecord(id: n1))) == .evicted)
    #expect(await probe.ask(.nodes) == .nodes([]))
  }

  @Test func recordsThatCannotBeReadAreLeftOut() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    try server.ask("SADD k:nodes other")
    try server.ask("SET k:node:other {}")
    guard case .nodes(let nodes) = await probe.ask(.nodes) else { return recordIssue("no list") }
    #expect(nodes.map(\.record.id) == [n1])
  }

  // MARK: Placement

  @Test func placeThatIsNotOpenedExpiresAfterAMinuteAndShortensNoOtherTime() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    for node in [n1, n2] { await probe.register(node) }
    func life(_ key: String) throws -> Int { Int(try server.ask("PTTL \(key)").dropFirst()) ?? 0 }
    func place(_ node: NodeID, _ nonce: String) async -> LedgerAnswer? {
      await probe.ask(.place(PlaceRequest(room: "tea", candidate: node, nonce: nonce, isOpening: false)))
    }
    guard case .placed = await place(n1, "x") else { return recordIssue("not placed") }
    #expect((1...60_000).contains(try life("k:room:tea")))
    let request = PlaceRequest(room: "tea", candidate: n1, nonce: "y", isOpening: true)
    guard case .placed(let opened) = await probe.ask(.place(request)) else { return recordIssue("not opened") }
    #expect(try life("k:room:tea") > 600_000_000)
    let append = AppendRequest(
      room: "tea", term: opened.place.term, previous: opened.last,
      entries: [LogEntry(order: opened.last + 1, content: [1])])
    #expect(await probe.ask(.append(append)) == .appended)
    // Its home dies, and another node places it.
    #expect(await probe.ask(.unregister(n1)) == .done)
    guard case .placed(let placed) = await place(n2, "z"), placed.isNew else { return recordIssue("not placed") }
    #expect(try life("k:room:tea") > 600_000_000)
    #expect(try life("k:log:tea") > 600_000_000)
  }

  @Test func roomGetsOneHomeAndKeepsIt() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    for node in [n1, n2] { await probe.register(node) }
    let first = try #require(await probe.place("tea", on: n1, nonce: "x"))
    #expect(first.place == RoomPlace(home: n1, term: RoomTerm(count: 1, nonce: "x")))
    #expect(first.isNew)
    #expect(first.last > 1_700_000_000_000_000)
    let other = try #require(await probe.place("tea", on: n2, nonce: "y"))
    #expect(other == Placed(first.place, isNew: false, last: first.last))
    // Said again: the same term. Asked, not to open: the same term. To open again: another one.
    #expect(await probe.place("tea", on: n1, nonce: "x") == first)
    #expect(await probe.place("tea", on: n1, nonce: "z", isOpening: false) == other)
    let again = try #require(await probe.place("tea", on: n1, nonce: "z"))
    #expect(again.place.term.text == "2:z")
    #expect(again.last > first.last)
  }

  @Test func deadHomeIsReplacedAndADeadCandidateIsRefused() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    for node in [n1, n2] { await probe.register(node) }
    let first = try #require(await probe.place("tea", on: n1, nonce: "x"))
    try server.ask("DEL k:node:n1#a")
    let request = PlaceRequest(room: "tea", candidate: n3, nonce: "y", isOpening: true)
    #expect(await probe.ask(.place(request)) == .gone(n3))
    let second = try #require(await probe.place("tea", on: n2, nonce: "y"))
    #expect(second.place == RoomPlace(home: n2, term: RoomTerm(count: 2, nonce: "y")))
    #expect(await probe.append(first, "tea", after: first.last, [first.last + 1]) == .fenced(second.place))
  }

  @Test func concurrentPlacementsOfOneNameReturnOneHome() async throws {
    let server = try await RedisServer()
    let nodes = (0..<8).map { NodeID.named("n\($0)#a") }
    let probes = try await nodes.asyncMap { _ in try await LedgerProbe.connected(to: server) }
    for (node, probe) in zip(nodes, probes) { await probe.register(node) }
    for room in 0..<20 {
      let places = await withTaskGroup(of: RoomPlace?.self) { group in
        for (node, probe) in zip(nodes, probes) {
          group.addTask { await probe.place("room \(room)", on: node, nonce: "\(node)")?.place }
        }
        return await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(places.count == 1, "room \(room)")
      #expect(places.first != .some(nil))
    }
  }

  @Test func numbersOfATermBeginAboveAllThatIsKnown() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let first = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let far = first.last + 1_000_000_000
    #expect(await probe.append(first, "tea", after: first.last, [far]) == .appended)
    let second = try #require(await probe.place("tea", on: n1, nonce: "y"))
    #expect(second.last == far + 1)
    let third = try #require(await probe.place("tea", on: n1, nonce: "z", above: far + 500))
    #expect(third.last == far + 501)
    // A participant may say any number. It is believed up to an hour above the clock.
    let fourth = try #require(await probe.place("tea", on: n1, nonce: "w", above: .max))
    #expect(fourth.last < first.last + 3_700_000_000)
    #expect(fourth.last > third.last)
  }

  @Test func roomIsHandedOverByItsHomeToALivingNodeOnly() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    for node in [n1, n2] { await probe.register(node) }
    let first = try #require(await probe.place("tea", on: n1, nonce: "x"))
    #expect(await probe.append(first, "tea", after: first.last, [first.last + 5]) == .appended)
    let term = first.place.term
    #expect(await probe.ask(.handOver(room: "tea", term: term, to: n3, nonce: "y")) == .gone(n3))
    guard case .placed(let second) = await probe.ask(.handOver(room: "tea", term: term, to: n2, nonce: "y")) else {
      return recordIssue("not handed over")
    }
    #expect(second.place == RoomPlace(home: n2, term: RoomTerm(count: 2, nonce: "y")))
    #expect(second.last > first.last + 5)
    #expect(await probe.ask(.handOver(room: "tea", term: term, to: n2, nonce: "z")) == .fenced(second.place))
    #expect(await probe.orders(second, "tea") == [first.last + 5])
  }

  @Test func closedRoomHasNoLogAndKeepsItsCount() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let first = try #require(await probe.place("tea", on: n1, nonce: "x"))
    #expect(await probe.append(first, "tea", after: first.last, [first.last + 1]) == .appended)
    let close = LedgerRequest.close(room: "tea", term: first.place.term)
    #expect(await probe.ask(.close(room: "tea", term: RoomTerm(text: "1:y"))) == .fenced(first.place))
    #expect(await probe.ask(close) == .done)
    #expect(await probe.ask(close) == .fenced(nil))
    #expect(await probe.append(first, "tea", after: first.last, []) == .fenced(nil))
    #expect(await probe.orders(first, "tea") == nil)
    #expect(try server.ask("EXISTS k:log:tea") == ":0")
    #expect((1...86_400).contains(Int(try server.ask("TTL k:room:tea").dropFirst()) ?? 0))
    let second = try #require(await probe.place("tea", on: n1, nonce: "y"))
    #expect(second.place.term.text == "2:y")
    #expect(await probe.orders(second, "tea") == [])
  }

  // MARK: The log

  @Test func entriesAreStoredOnceHoweverOftenTheyAreSent() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let base = room.last
    for _ in 1...3 { #expect(await probe.append(room, "tea", after: base, [base + 1, base + 2]) == .appended) }
    #expect(await probe.append(room, "tea", after: base + 1, [base + 2, base + 7]) == .appended)
    let entries = try #require(await probe.entries(room, "tea"))
    #expect(entries.map(\.entry.order) == [base + 1, base + 2, base + 7])
    #expect(entries.map { String(decoding: $0.entry.content, as: UTF8.self) }.last == "message \(base + 7)")
    #expect(entries.allSatisfy { $0.age < .seconds(60) })
  }

  @Test func missingEntryIsNoticedByTheNumberBefore() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let base = room.last
    #expect(await probe.append(room, "tea", after: base, [base + 1]) == .appended)
    // base + 2 is lost on its way.
    #expect(await probe.append(room, "tea", after: base + 2, [base + 3]) == .behind(last: base + 1))
    #expect(await probe.append(room, "tea", after: base + 3, []) == .behind(last: base + 1))
    #expect(await probe.append(room, "tea", after: base + 1, [base + 2, base + 3]) == .appended)
    // It arrives late, after all.
    #expect(await probe.append(room, "tea", after: base + 1, [base + 2]) == .appended)
    #expect(await probe.orders(room, "tea") == [base + 1, base + 2, base + 3])
  }

  @Test func homeThatLostItsLeaseCannotAcknowledge() async throws {
    let server = try await RedisServer()
    let (old, new) = (try await LedgerProbe.connected(to: server), try await LedgerProbe.connected(to: server))
    await old.register(n1)
    await new.register(n2)
    let first = try #require(await old.place("tea", on: n1, nonce: "x"))
    #expect(await old.append(first, "tea", after: first.last, [first.last + 1]) == .appended)
    try server.ask("DEL k:node:n1#a")
    let second = try #require(await new.place("tea", on: n2, nonce: "y"))
    #expect(await old.append(first, "tea", after: first.last + 1, [first.last + 2]) == .fenced(second.place))
    #expect(await old.append(first, "tea", after: first.last, []) == .fenced(second.place))
    #expect(await old.orders(first, "tea") == nil)
    #expect(await new.orders(second, "tea", through: second.last) == [first.last + 1])
  }

  @Test func removedEntriesStayRemoved() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let base = room.last
    #expect(await probe.append(room, "tea", after: base, [base + 1, base + 2, base + 3]) == .appended)
    var request = AppendRequest(room: "tea", term: room.place.term, previous: base + 3)
    request.entries = [LogEntry(order: base + 4, content: [])]
    request.removing = [base + 1, base + 3, base + 9]
    #expect(await probe.ask(.append(request)) == .appended)
    #expect(await probe.ask(.append(request)) == .appended)
    #expect(await probe.orders(room, "tea") == [base + 2, base + 4])
    // The repetition of a removed entry, and of all.
    #expect(await probe.append(room, "tea", after: base, [base + 1, base + 2, base + 3, base + 4]) == .appended)
    #expect(await probe.orders(room, "tea") == [base + 2, base + 4])
    request.term = RoomTerm(text: "1:z")
    request.removing = [base + 2]
    #expect(await probe.ask(.append(request)) == .fenced(room.place))
    #expect(await probe.orders(room, "tea") == [base + 2, base + 4])
    // A log without entries still has its last number.
    request = AppendRequest(room: "tea", term: room.place.term, previous: base + 4, removing: [base + 2, base + 4])
    #expect(await probe.ask(.append(request)) == .appended)
    #expect(await probe.append(room, "tea", after: base + 5, []) == .behind(last: base + 4))
  }

  @Test func contentIsKeptAsItIs() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let name = "té:a\0\r\n{x}"
    let room = try #require(await probe.place(name, on: n1, nonce: "x:y"))
    let contents: [[UInt8]] = [[], [0], Array(0...255), [13, 10]]
    let entries = contents.enumerated().map { LogEntry(order: room.last + UInt64($0) + 1, content: $1) }
    let request = AppendRequest(room: name, term: room.place.term, previous: room.last, entries: entries)
    #expect(await probe.ask(.append(request)) == .appended)
    #expect(await probe.entries(room, name)?.map(\.entry) == entries)
    #expect(await probe.place(name, on: n1, nonce: "x:y") == Placed(room.place, isNew: true, last: room.last + 4))
    guard case .rooms(let rooms, next: nil) = await probe.ask(.rooms(cursor: nil)) else {
      return recordIssue("no list")
    }
    #expect(rooms == [RoomListing(room: name, place: room.place)])
  }

  @Test func logIsReadInPages() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let base = room.last
    let orders = (1...1_300).map { base + UInt64($0) * 2 }
    for start in stride(from: 0, to: orders.count, by: 100) {
      let previous = start == 0 ? base : orders[start - 1]
      #expect(await probe.append(room, "tea", after: previous, Array(orders[start..<start + 100])) == .appended)
    }
    #expect(await probe.orders(room, "tea") == orders)
    #expect(await probe.orders(room, "tea", through: orders[700]) == Array(orders[...700]))
    #expect(await probe.orders(room, "tea", through: orders[511]) == Array(orders[...511]))
    #expect(await probe.orders(room, "tea", through: base) == [])
    func page(after: UInt64) async -> LogPage? {
      let request = LedgerRequest.read(room: "tea", term: room.place.term, after: after, through: orders[1_299])
      return if case .page(let page) = await probe.ask(request) { page } else { nil }
    }
    #expect(await page(after: 0)?.entries.count == 512)
    #expect(await page(after: 0)?.isLast == false)
    #expect(await page(after: orders[787])?.isLast == true)
    #expect(await page(after: orders[787])?.entries.count == 512)
    #expect(await page(after: orders[1_299]) == LogPage([], isLast: true))
  }

  @Test func numbersBeyondThoseOfLuaAreRefusedAndNotRounded() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let highest: UInt64 = 1 << 53
    for order in [highest, .max] {
      guard case .failed(.away) = await probe.append(room, "tea", after: room.last, [order]) else {
        return recordIssue("\(order) was taken")
      }
    }
    #expect(await probe.append(room, "tea", after: room.last, [highest - 2]) == .appended)
    #expect(await probe.append(room, "tea", after: highest - 2, [highest - 1]) == .appended)
    #expect(await probe.orders(room, "tea", through: .max) == [highest - 2, highest - 1])
  }

  @Test func forgottenRoomsExpireAndEmptyAppendsRenewThem() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    let week = 604_800
    func life(_ key: String) throws -> Int { Int(try server.ask("TTL \(key)").dropFirst()) ?? 0 }
    #expect(await probe.append(room, "tea", after: room.last, [room.last + 1]) == .appended)
    #expect((week - 60...week).contains(try life("k:room:tea")))
    #expect((week - 60...week).contains(try life("k:log:tea")))
    for key in ["k:room:tea", "k:log:tea"] { try server.ask("EXPIRE \(key) 1000") }
    #expect(await probe.append(room, "tea", after: room.last + 1, [room.last + 2]) == .appended)
    #expect((900...1_000).contains(try life("k:log:tea")))
    #expect(await probe.append(room, "tea", after: room.last + 2, []) == .appended)
    #expect((week - 60...week).contains(try life("k:room:tea")))
    #expect((week - 60...week).contains(try life("k:log:tea")))
  }

  // MARK: Messages, jobs, lists

  @Test func messagesReachTheNodesThatListen() async throws {
    let server = try await RedisServer()
    let first = try await LedgerProbe.connected(to: server, node: n1)
    let second = try await LedgerProbe.connected(to: server, node: n2)
    try await eventually("both listen") { try! server.ask("PUBLISH k:all x") == ":2" }
    #expect(await first.ask(.publish(.node(n2), [0, 255, 13, 10])) == .done)
    #expect(await first.ask(.publish(.all, Array("all".utf8))) == .done)
    try await eventually("the messages arrive") { second.messages.count >= 3 }
    try await eventually("the messages arrive") { first.messages.last == Array("all".utf8) }
    #expect(second.messages.suffix(2) == [[0, 255, 13, 10], Array("all".utf8)])
    #expect(!first.messages.contains([0, 255, 13, 10]))
  }

  @Test func jobIsDoneByOneNodeAndTakenOverWhenThatIsSilent() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    guard case .jobs(let jobs) = await probe.ask(.jobs(.add(Array("record".utf8)))), let job = jobs.first else {
      return recordIssue("no job")
    }
    #expect(await probe.ask(.jobs(.take(by: n1))) == .jobs([job]))
    #expect(await probe.ask(.jobs(.take(by: n2))) == .jobs([]))
    #expect(await probe.ask(.jobs(.renew(id: job.id, by: n1))) == .jobs([job]))
    #expect(await probe.ask(.jobs(.renew(id: job.id, by: n2))) == .jobs([]))
    // As after ten seconds without a renewal.
    try server.ask("ZADD k:jobs:due 1 \(job.id)")
    #expect(await probe.ask(.jobs(.take(by: n2))) == .jobs([job]))
    #expect(await probe.ask(.jobs(.renew(id: job.id, by: n1))) == .jobs([]))
    #expect(await probe.ask(.jobs(.finish(id: job.id))) == .done)
    #expect(await probe.ask(.jobs(.renew(id: job.id, by: n2))) == .jobs([]))
    #expect(await probe.ask(.jobs(.take(by: n1))) == .jobs([]))
    #expect(try server.ask("EXISTS k:jobs k:jobs:due k:jobs:owner") == ":0")
  }

  @Test func allRoomsAreListed() async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    await probe.register(n1)
    for room in 0..<1_200 { _ = await probe.place("room \(room)", on: n1, nonce: "x\(room)") }
    let closed = RoomTerm(count: 1, nonce: "x7")
    #expect(await probe.ask(.close(room: "room 7", term: closed)) == .done)
    var (found, cursor, pages): (Set<String>, String?, Int) = ([], nil, 0)
    repeat {
      guard case .rooms(let rooms, let next) = await probe.ask(.rooms(cursor: cursor)) else {
        return recordIssue("no list")
      }
      found.formUnion(rooms.map(\.room))
      (cursor, pages) = (next, pages + 1)
    } while cursor != nil
    #expect(found == Set((0..<1_200).map { "room \($0)" }).subtracting(["room 7"]))
    #expect(pages > 1)
  }
}

extension Array {
  fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
