import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

/// What an app says about itself reaches the operator of the room server.
struct ClientDiagnosticsTests {
  private func client(_ name: String, _ version: String = "", _ tags: [String] = []) -> CallClientOptions {
    let options = CallClientOptions()
    let diagnostics = CallDiagnosticsOptions()
    (diagnostics.appName, diagnostics.appVersion, diagnostics.tags) = (name, version, tags)
    options.diagnostics = diagnostics
    return options
  }

  /// What the router has of each participant.
  private func described(in telephone: Telephone) async throws -> [String: String] {
    let backend = try #require(telephone.world.backend as? EmbeddedBackend)
    let answer = Lock<[EmbeddedBackend.RosterMember]>([])
    backend.roster(of: "tea") { members in answer.withLock { $0 = members } }
    await telephone.run(.milliseconds(10))
    return answer.withLock { $0 }.reduce(into: [:]) { $0[$1.name] = $1.client }
  }

  @Test func nameVersionAndTagsOfTheAppReachTheRoomServerOnly() async throws {
    let telephone = try Telephone()
    let long = client(String(repeating: "é", count: 2_000))
    let (ana, anaHears) = try await telephone.agent("ana", client: client("Tea", "1.2", ["beta", "ward 3"]))
    let (ben, benHears) = try await telephone.agent("ben")
    let (cleo, cleoHears) = try await telephone.agent("cleo", client: long)
    for (agent, recorder) in [(ana, anaHears), (ben, benHears), (cleo, cleoHears)] {
      agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { recorder.take($0, $1) }
    }
    await telephone.run(.seconds(1))
    let described = try await described(in: telephone)
    #expect(described["Ana"] == "Tea 1.2 [beta, ward 3]")
    #expect(described["ben"] == nil)
    #expect(described["cleo"] == String(repeating: "é", count: 512), "at most 1,024 bytes")
    let call = try #require(benHears.call)
    #expect(call.session.participants.count == 2)
    for participant in call.session.participants {
      #expect(!"\(participant)".contains("Tea 1.2"), "participants do not see it")
    }
  }

  @Test func appIsDescribedAgainAfterTheRouterHasLostItsMemory() async throws {
    let telephone = try Telephone()
    let (ana, hears) = try await telephone.agent("ana", client: client("Tea"))
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.seconds(1))
    try #require(telephone.world.backend as? EmbeddedBackend).restartRouter()
    await telephone.run(.seconds(10))
    #expect(try await described(in: telephone) == ["Ana": "Tea"])
  }
}
