import Foundation
import KoineLedger
import Testing

@testable import KoineRedisLedger

/// A master with a replica, and sentinels that replace the master.
@Suite struct SentinelTests {
  private let n1 = NodeID.named("n1#a")

  private func sentinel(for master: RedisServer, _ options: [String] = []) async throws -> RedisServer {
    try await RedisServer(
      [
        "sentinel monitor main 127.0.0.1 \(master.port) 1", "sentinel down-after-milliseconds main 1000",
        "sentinel failover-timeout main 5000",
      ] + options, program: "redis-sentinel")
  }

  @Test func receiptsContinueAfterSentinelFailover() async throws {
    let master = try await RedisServer()
    let replica = try await RedisServer(["replicaof 127.0.0.1 \(master.port)"])
    let sentinel = try await sentinel(for: master)
    // The first sentinel of the list is dead.
    let probe = LedgerProbe(
      try RedisAddress("redis+sentinel://127.0.0.1:1,127.0.0.1:\(sentinel.port)/main"), node: n1)
    try await probe.waitForConnections(1)
    await probe.register(n1)
    let room = try #require(await probe.place("tea", on: n1, nonce: "x"))
    #expect(await probe.append(room, "tea", after: room.last, [room.last + 1]) == .appended)
    try await eventually("the sentinel knows the replica, and the replica has the entry") {
      let isKnown = (try? sentinel.ask("SENTINEL REPLICAS main")) == "*1"
      return isKnown && (try? replica.ask("XLEN k:log:tea")) == ":1"
    }
    master.kill(SIGKILL)
    let start = ContinuousClock.now
    try await probe.waitForConnections(2)
    // Both directions: the connection of the messages has found the new master, too.
    try await eventually("messages arrive") {
      probe.send(.publish(.node(n1), [7]))
      return probe.messages.last == [7]
    }
    #expect(await probe.append(room, "tea", after: room.last + 1, []) == .appended)
    #expect(await probe.append(room, "tea", after: room.last + 1, [room.last + 2]) == .appended)
    let pause = ContinuousClock.now - start
    #expect(pause < .seconds(30), "\(pause)")
    #expect(await probe.orders(room, "tea") == [room.last + 1, room.last + 2])
    #expect(try replica.ask("XLEN k:log:tea") == ":2")
    print("receipts continued \(pause) after the master was killed")
  }

  @Test func unknownNameAndDeadSentinelsAreLoggedOnce() async throws {
    let master = try await RedisServer()
    let sentinel = try await sentinel(for: master)
    let unknown = LedgerProbe(try RedisAddress("redis+sentinel://127.0.0.1:\(sentinel.port)/other"))
    let dead = LedgerProbe(try RedisAddress("redis+sentinel://127.0.0.1:1,127.0.0.1:2/main"))
    try await eventually("the reason is logged") { unknown.lines.count(containing: "no master is named other") == 1 }
    try await eventually("the reason is logged") { dead.lines.count(containing: "sentinel: Connection refused") == 1 }
    // Further attempts, each a connection to the sentinel, are not logged.
    let watch = try RawConnection(port: sentinel.port)
    func connections() throws -> Int {
      let line = try watch.askForText("INFO stats").split(separator: "\r\n").first { $0.contains("total_connections") }
      return try #require(line?.split(separator: ":").last.flatMap { Int($0) })
    }
    let before = try connections()
    try await eventually("there are further attempts") { try connections() >= before + 3 }
    #expect(unknown.lines.count(containing: "no master is named other") == 1, "\(unknown.lines.all)")
    #expect(dead.lines.count(containing: "sentinel: Connection refused") == 1, "\(dead.lines.all)")
  }

  @Test func sentinelMayWantThePasswordOfTheServer() async throws {
    let master = try await RedisServer(["requirepass secret"])
    let sentinel = try await sentinel(for: master, ["sentinel auth-pass main secret", "requirepass secret"])
    let probe = LedgerProbe(try RedisAddress("redis+sentinel://:secret@127.0.0.1:\(sentinel.port)/main"))
    try await probe.waitForConnections(1)
    #expect(await probe.ask(.nodes) == .nodes([]))
    let wrong = LedgerProbe(try RedisAddress("redis+sentinel://:wrong@127.0.0.1:\(sentinel.port)/main"))
    try await eventually("the reason is logged") { wrong.lines.count(containing: "sentinel: ") == 1 }
    #expect(wrong.connections == 0)
  }
}
