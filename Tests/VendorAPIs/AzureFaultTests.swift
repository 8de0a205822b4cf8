import KoineBase
import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// Azure's operations over a registry that loses answers, with other writers at the same time, and after a restart.
@Suite struct AzureFaultTests {
  private struct Participants: Decodable {
    struct Participant: Decodable {
      var rawId: String
      var role: String
    }
    var value: [Participant]
  }

  /// Two servers with the same keys over one store, and the faults of the first one's calls.
  private struct World {
    let servers: [APIHarness]
    let faults: FaultyRegistry

    init(seed: UInt64 = 1, failures: Int = 0) throws {
      let shared = MemoryRegistry(clock: { APITime(milliseconds: 0) })
      let keys = try APITokenKeys.makeTemporary()
      let stores = (0..<2).map { FaultyRegistry(shared, seed: seed &* 2 &+ UInt64($0), failures: failures) }
      servers = try stores.indices.map { number in
        try APIHarness(keys: keys, seed: seed &+ UInt64(number)) { _ in stores[number] }
      }
      faults = stores[0]
    }

    var server: APIHarness { servers[0] }

    /// Repeats a request that is answered with 503, as the SDKs do.
    func send(_ method: String, _ path: String, _ body: String = "", to server: Int) async -> APIResponse {
      for _ in 0..<200 {
        let answer = await servers[server].azure(method, path, body)
        guard answer.status == 503 else { return answer }
      }
      Issue.record("never answered: \(method) \(path)")
      return APIResponse(status: 503)
    }
  }

  private func encoded(_ id: String) -> String { PercentEncoding.encode(id) }

  private func guest(_ number: Int) -> String {
    "8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_00000000-0000-4000-8000-\(12_345_678_900 + number)0"
  }

  // MARK: One write fails

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedDeletionClosesTheRoom(fault: FaultyRegistry.WriteFault) async throws {
    let world = try World()
    let user = try await world.server.makeAzureUser()
    let room = try await world.server.makeAzureRoom(#"{"participants":{"\#(user.id)":{}}}"#)
    world.faults.failNextWrite(fault)
    let (status, error) = try await world.server.azureFault("DELETE", "/rooms/\(room.id)")
    #expect(status == 503)
    #expect(error.code == "ServiceUnavailable")
    #expect(world.server.takeCommands().isEmpty)
    #expect(world.server.refusal(user.token, room: room.id) == (fault == .before ? nil : .ended))
    #expect(await world.server.azure("DELETE", "/rooms/\(room.id)").status == 204)
    #expect(world.server.takeCommands().map(\.command) == [.close(room: room.id)])
    #expect(world.server.refusal(user.token, room: room.id) == .ended)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedRemovalRemovesTheParticipant(fault: FaultyRegistry.WriteFault) async throws {
    let world = try World()
    let user = try await world.server.makeAzureUser()
    let room = try await world.server.makeAzureRoom(#"{"participants":{"\#(user.id)":{}}}"#)
    let body = #"{"participants":{"\#(user.id)":null}}"#
    world.faults.failNextWrite(fault)
    let answer = await world.server.azure("PATCH", "/rooms/\(room.id)/participants", body)
    #expect(answer.status == 503)
    #expect(answer.header("Retry-After") == "1")
    #expect(world.server.refusal(user.token, room: room.id) == (fault == .before ? nil : .forbidden))
    #expect(await world.server.azure("PATCH", "/rooms/\(room.id)/participants", body).status == 200)
    #expect(world.server.takeCommands().map(\.command) == [.remove(user.id, room: room.id)])
    #expect(world.server.refusal(user.token, room: room.id) == .forbidden)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedRevocationRefusesTheToken(fault: FaultyRegistry.WriteFault) async throws {
    let world = try World()
    let user = try await world.server.makeAzureUser()
    world.faults.failNextWrite(fault)
    let path = "/identities/\(encoded(user.id))/:revokeAccessTokens"
    #expect(await world.server.azure("POST", path).status == 503)
    #expect(world.server.refusal(user.token, room: "group-x") == (fault == .before ? nil : .unauthorized))
    #expect(await world.server.azure("POST", path).status == 204)
    #expect(world.server.refusal(user.token, room: "group-x") == .unauthorized)
    #expect(world.server.refusal(try await world.server.issueAzureToken(to: user.id), room: "group-x") == nil)
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func repeatedCreationGivesOneRoom(fault: FaultyRegistry.WriteFault) async throws {
    let world = try World()
    func create() async -> APIResponse {
      var request = world.server.signedForAzure("POST", "/rooms?api-version=2025-03-13", "{}")
      request.headers.append(("Repeatability-Request-Id", "4e4b9dd2-5bd2-4d07-8ac5-6a41ea7a3b1a"))
      return await world.server.apis.answer(request)
    }
    world.faults.failNextWrite(fault)
    #expect(await create().status == 503)
    let id = try await create().decoded(AzureMadeRoom.self).id
    #expect(try await create().decoded(AzureMadeRoom.self).id == id)
    #expect(await world.server.azure("GET", "/rooms").text.ranges(of: #""id":"#).count == 1)
  }

  // MARK: Other writers

  @Test(arguments: 1...10) func changesOfTwoServersAtTheSameTimeAreAllInTheRoster(seed: UInt64) async throws {
    let world = try World(seed: seed, failures: 10)
    let room = try await world.send("POST", "/rooms", "{}", to: 0).decoded(AzureMadeRoom.self)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        let id = guest(number)
        group.addTask {
          let body = #"{"participants":{"\#(id)":{"role":"Consumer"}}}"#
          let answer = await world.send("PATCH", "/rooms/\(room.id)/participants", body, to: number % 2)
          #expect(answer.status == 200)
        }
      }
    }
    let listed = try await world.send("GET", "/rooms/\(room.id)/participants", to: 1).decoded(Participants.self)
    #expect(listed.value.map(\.rawId) == (0..<8).map(guest))
    for server in world.servers {
      #expect(server.apis.rules.roomRule(room.id)?.roster?.count == 8)
    }
  }

  /// The second request is answered while the command of the first one is on its way to the room.
  @Test(arguments: [#"{"role":"Consumer"}"#, "null"]) func lastCommandFollowsTheRoster(second: String) async throws {
    let server = try World().server
    let room = try await server.makeAzureRoom("{}")
    let id = guest(0)
    @Sendable func change(_ value: String) async {
      let body = #"{"participants":{"\#(id)":\#(value)}}"#
      #expect(await server.azure("PATCH", "/rooms/\(room.id)/participants", body).status == 200)
    }
    server.beforeCommand.withLock { $0 = { await change(second) } }
    await change(#"{"role":"Presenter"}"#)
    let last: RoomCommand =
      second == "null" ? .remove(id, room: room.id) : .grant(AzureRoom.Role.consumer.change, id, room: room.id)
    let commands = server.takeCommands().map(\.command)
    #expect(commands == [last, .grant(AzureRoom.Role.presenter.change, id, room: room.id), last])
  }

  @Test(arguments: 1...10) func sameRequestAtTheSameTimeMakesOneRoom(seed: UInt64) async throws {
    let world = try World(seed: seed, failures: 10)
    let ids = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<8 {
        group.addTask {
          while true {
            let server = world.servers[number % 2]
            var request = server.signedForAzure("POST", "/rooms?api-version=2025-03-13", "{}")
            request.headers.append(("Repeatability-Request-Id", "one"))
            let answer = await server.apis.answer(request)
            if answer.status != 503 { return try answer.decoded(AzureMadeRoom.self).id }
          }
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(ids.count == 1)
  }

  // MARK: A restart

  @Test func rulesAreTheSameAfterARestart() async throws {
    let store = MemoryRegistry(clock: { APITime(milliseconds: 0) })
    let keys = try APITokenKeys.makeTemporary()
    let before = try APIHarness(keys: keys) { _ in store }
    let (ana, ben) = (try await before.makeAzureUser(), try await before.makeAzureUser())
    let gone = try await before.makeAzureUser()
    let end = before.time.withLock { $0 }.adding(seconds: 60)
    let room = try await before.makeAzureRoom(
      #"{"validUntil":"\#(end.iso8601)","participants":{"\#(ana.id)":{"role":"Consumer"}}}"#)
    let deleted = try await before.makeAzureRoom(#"{"participants":{"\#(ana.id)":{}}}"#)
    #expect(await before.azure("DELETE", "/rooms/\(deleted.id)").status == 204)
    #expect(await before.azure("POST", "/identities/\(encoded(ben.id))/:revokeAccessTokens").status == 204)
    #expect(await before.azure("DELETE", "/identities/\(encoded(gone.id))").status == 204)

    let after = try APIHarness(keys: keys, seed: 2) { _ in store }
    try await after.apis.load()
    #expect(after.refusal(ana.token, room: "group-x") == nil)
    #expect(after.refusal(ben.token, room: "group-x") == .unauthorized)
    #expect(after.refusal(gone.token, room: "group-x") == .unauthorized)
    #expect(after.refusal(ana.token, room: deleted.id) == .ended)
    #expect(try after.verdict(ana.token, room: room.id).get().publish == [])
    let benAgain = try await after.issueAzureToken(to: ben.id)
    #expect(after.refusal(benAgain, room: room.id) == .forbidden)
    await after.apis.handleTimeout()
    #expect(after.takeCommands().isEmpty)
    after.advance(seconds: 60)
    await after.apis.handleTimeout()
    #expect(after.takeCommands().map(\.command) == [.close(room: room.id)])
  }

  @Test func roomEndsAtItsNewEnd() async throws {
    let world = try World()
    let server = world.server
    let now = server.time.withLock { $0 }
    let room = try await server.makeAzureRoom(#"{"validUntil":"\#(now.adding(seconds: 60).iso8601)"}"#)
    let body = #"{"validUntil":"\#(now.adding(seconds: 120).iso8601)"}"#
    // The other server changes it.
    #expect(await world.servers[1].azure("PATCH", "/rooms/\(room.id)", body).status == 200)
    server.advance(seconds: 60)
    await server.apis.handleTimeout()
    #expect(server.takeCommands().isEmpty)
    server.advance(seconds: 60)
    await server.apis.handleTimeout()
    #expect(server.takeCommands().map(\.command) == [.close(room: room.id)])
  }
}
