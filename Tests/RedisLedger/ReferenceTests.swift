import KoineBase
import KoineLedger
import Testing

@testable import KoineRedisLedger

/// The scripts answer as `LedgerState`, on which the cluster's tests in virtual time are built.
@Suite struct ReferenceTests {
  private static let nodes = ["n1#a", "n2#b", "n2#c", "n3#d"].map { NodeID.named($0) }
  private static let rooms = ["tea", "rye"]

  /// Random requests with few names, so that they meet.
  private struct Requests {
    var random: SeededRandom
    var nonces = 0
    /// Terms and last orders that answers have shown: requests use old ones, too.
    var seen: [(room: String, placed: Placed)] = []
    var highest: [String: UInt64] = [:]
    /// Of values of the registry, by key.
    var versions: [String: UInt64] = [:]

    /// Keys that begin with each other, and one with the last character that keys have.
    private static let keys = ["a/1", "a/10", "a/2", "a/~", "b/1"]

    mutating func nextOfRegistry() -> RegistryRequest {
      let key = Self.keys.randomElement(using: &random)!
      let isWatched = key.hasPrefix("a")
      let version = Int.random(in: 0..<4, using: &random) == 0 ? 7 : versions[key]
      switch Int.random(in: 0..<12, using: &random) {
      case 0: return .get(key)
      case 1, 2: return .delete(key, ifVersion: version ?? 7, isWatched: isWatched)
      case 3:
        return .list(
          prefix: ["a/", "a/1", "", "c"].randomElement(using: &random)!,
          after: [nil, "a", "a/1", "b"].randomElement(using: &random)!, limit: Int.random(in: 1...4, using: &random))
      case 4: return .count(prefix: ["a/", "b", ""].randomElement(using: &random)!, limit: 3)
      case 5: return .changes(after: version ?? 0)
      case 6: return .removeExpired
      default:
        // Neither passes between the clocks of Redis and of the reference.
        let expiry: Int64? = [nil, 1_000_000_000_000, 4_000_000_000_000].randomElement(using: &random)!
        let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: 5)
        return .put(RegistryPut(key, value, ifVersion: version, expiry: expiry, isWatched: isWatched))
      }
    }

    mutating func next() -> LedgerRequest {
      let node = nodes.randomElement(using: &random)!
      let room = rooms.randomElement(using: &random)!
      let known = seen.filter { $0.room == room }.suffix(3).randomElement(using: &random)
      let term = known?.placed.place.term ?? RoomTerm(count: 9, nonce: "none")
      let top = highest[room] ?? known?.placed.last ?? 0
      func near() -> UInt64 { UInt64(max(0, Int(top) + Int.random(in: -3...4, using: &random))) }
      switch Int.random(in: 0..<28, using: &random) {
      case 0: return .register(NodeRecord(id: node))
      case 1: return .heartbeat(NodeRecord(id: node))
      case 2: return .unregister(node)
      case 3: return .evict(node)
      case 4, 5, 6:
        if Int.random(in: 0..<4, using: &random) > 0 { nonces += 1 }
        let above = Bool.random(using: &random) ? 0 : near()
        return .place(
          PlaceRequest(
            room: room, candidate: node, nonce: "x\(nonces)", isOpening: Bool.random(using: &random), above: above))
      case 7:
        nonces += 1
        return .handOver(room: room, term: term, to: node, nonce: "x\(nonces)")
      case 8: return Int.random(in: 0..<4, using: &random) == 0 ? .close(room: room, term: term) : .nodes
      case 9, 10: return .read(room: room, term: term, after: 0, through: near())
      case 11: return .read(room: room, term: term, after: near(), through: near())
      case 12: return .find(room: room)
      case 13...20: return .registry(nextOfRegistry())
      default:
        var request = AppendRequest(room: room, term: term, previous: near())
        var order = request.previous
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          order += UInt64.random(in: 1...2, using: &random)
          request.entries.append(LogEntry(order: order, content: Array("\(order)".utf8)))
        }
        if Int.random(in: 0..<4, using: &random) == 0 { request.removing = [near(), near()] }
        return .append(request)
      }
    }

    mutating func note(_ request: LedgerRequest, _ answer: LedgerAnswer) {
      switch (request, answer) {
      case (.place(let place), .placed(let placed)):
        seen.append((place.room, placed))
        highest[place.room] = placed.last
      case (.handOver(let room, _, _, _), .placed(let placed)):
        seen.append((room, placed))
        highest[room] = placed.last
      case (.registry(.put(let put)), .registry(.written(let version))): versions[put.key] = version
      case (.registry(.delete(let key, _, _)), .registry(.written)): versions[key] = nil
      case (.append(let append), .appended): highest[append.room] = max(highest[append.room] ?? 0, append.last)
      default: break
      }
    }
  }

  /// Without what depends on the clock.
  private static func plain(_ answer: LedgerAnswer) -> LedgerAnswer {
    switch answer {
    case .registered: .registered(clock: 0)
    case .nodes(let nodes):
      .nodes(nodes.map { ListedNode($0.record, silence: .zero) }.sorted { $0.record.id < $1.record.id })
    case .page(let page): .page(LogPage(page.entries.map { StoredEntry($0.entry, age: .zero) }, isLast: page.isLast))
    // Versions of expired values that were removed.
    case .registry(.changes(let items, let isLast)):
      .registry(
        .changes(items.map { $0.value == nil ? RegistryItem($0.key, nil, version: 0) : $0 }, isLast: isLast))
    default: answer
    }
  }

  private static func kind(of answer: LedgerAnswer) -> String {
    switch answer {
    case .registry(.page): "page of values"
    case .registry(let answer): String("\(answer)".prefix { $0 != "(" })
    default: String("\(answer)".prefix { $0 != "(" })
    }
  }

  @Test(arguments: 1...8) func randomRequestsAreAnsweredAsByTheReference(_ seed: UInt64) async throws {
    let server = try await RedisServer()
    let probe = try await LedgerProbe.connected(to: server)
    var requests = Requests(random: SeededRandom(seed: seed))
    var reference = LedgerState()
    guard case .registered(var clock) = await probe.register(Self.nodes[0]) else {
      return recordIssue("not registered")
    }
    _ = reference.execute(.register(NodeRecord(id: Self.nodes[0])), clock: clock)
    var kinds: [String: Int] = [:]
    // The reference does not see the time that passes at Redis: leases are renewed before a heartbeat is missing there.
    let start = ContinuousClock.now
    var renewed = start
    for step in 0..<1_500 {
      // On a busy machine fewer requests are enough, as long as all kinds of answers have occurred.
      if ContinuousClock.now - start > .seconds(10), kinds.count >= 21 { break }
      if ContinuousClock.now - renewed > .milliseconds(300) {
        renewed = .now
        for node in Self.nodes where reference.isAlive(node, at: clock) {
          let register = LedgerRequest.register(NodeRecord(id: node))
          guard case .registered(let time) = await probe.ask(register) else { return recordIssue("not registered") }
          clock = max(clock, time)
          _ = reference.execute(register, clock: clock)
        }
      }
      let request = requests.next()
      let answer = await probe.ask(request)
      // The reference has a clock of its own. It is set by the answers that show the clock of Redis.
      switch answer {
      case .placed(let placed) where placed.isNew: clock = max(clock, placed.last)
      case .registered(let time): clock = max(clock, time)
      // Redis has counted up its version for each removed value.
      case .registry(.removed(let count)): clock += UInt64(count)
      case .registry(.written(let version)): clock = max(clock, version)
      default: break
      }
      let expected = reference.execute(request, clock: clock)
      guard ContinuousClock.now - renewed < LedgerTimes.suspicion else { return }  // a machine that stood still
      guard Self.plain(answer) == Self.plain(expected) else {
        return recordIssue("step \(step), \(request): Redis answers \(answer), the reference \(expected)")
      }
      requests.note(request, answer)
      kinds[Self.kind(of: answer), default: 0] += 1
    }
    // All kinds of answers have occurred.
    for kind in [
      "done", "registered", "nodes", "placed", "appended", "page", "nameTaken", "evicted", "alive", "gone", "fenced",
      "behind", "found", "value", "written", "unchanged", "conflict", "page of values", "count", "changes", "removed",
    ] {
      #expect(kinds[kind, default: 0] > 0, "\(kind) in \(kinds)")
    }
    for room in Self.rooms {
      guard let place = reference.place(of: room) else { continue }
      let stored = await probe.entries(Placed(place, isNew: false, last: 0), room)?.map(\.entry)
      #expect(stored == reference.log(of: room))
    }
  }
}
