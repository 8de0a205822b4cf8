import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// What VideoSDK's webhooks keep: their key, and the names of participants.
@Suite struct VideoSDKWebhookTests {
  private static let now = APITime(milliseconds: 1_700_000_000_000)

  private struct Key: Decodable { var publicKey: String }

  /// - Parameter made: counts the keys that are made.
  private func webhooks(_ store: any RegistryStore, _ made: Lock<Int> = Lock(0)) throws -> VideoSDKWebhooks {
    let configuration = VendorAPIs.Configuration(
      store: store, access: .open, keys: try .makeTemporary(), clock: { Self.now },
      execute: { _ in .success(.done) })
    return VideoSDKWebhooks(APIContext(configuration, rules: AdmissionRules(clock: { Self.now }))) {
      made.withLock { $0 += 1 }
      return WebhookKey.generate()
    }
  }

  private func publicKey(_ webhooks: VideoSDKWebhooks) async throws -> String? {
    let answer = try #require(
      await webhooks.answer(APIRequest(method: "GET", target: VideoSDKWebhooks.keyPath)))
    return answer.status == 200 ? try answer.decoded(Key.self).publicKey : nil
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func keyThatCannotBeWrittenIsKeptForTheNextTryAndReadAfterARestart(fault: FaultyRegistry.WriteFault) async throws {
    let store = FaultyRegistry(MemoryRegistry { Self.now }, seed: 1, failures: 0)
    let made = Lock(0)
    let first = try webhooks(store, made)
    for _ in 0..<3 {
      store.failNextWrite(fault, to: StoredWebhookKey.key)
      let key = try await publicKey(first)
      if fault == .before { #expect(key == nil) }
    }
    let key = try #require(try await publicKey(first))
    #expect(made.withLock { $0 } == 1)
    let again = Lock(0)
    #expect(try await publicKey(webhooks(store, again)) == key)
    #expect(again.withLock { $0 } == 0, "of a new process")
  }

  @Test func namesAreKeptWhileParticipantsOfTheSessionArePresent() async throws {
    let webhooks = try webhooks(MemoryRegistry { Self.now })
    let session = VideoSDKWebhooks.Session(id: "s", start: Self.now)
    func happen(_ id: String, _ change: RoomEvent.Change, before: Bool?, after: Bool?) async {
      func presence(_ isMember: Bool?) -> VideoSDKWebhooks.Presence? {
        isMember.map { .init(session: session, hasParticipant: $0) }
      }
      await webhooks.observe(
        RoomEvent(room: "tea", epoch: "e", participant: id, change), before: presence(before), after: presence(after),
        at: Self.now)
    }
    func joined(_ id: String) -> RoomEvent.Change { .joined(Participant(id: id, name: id)) }
    // Guests, before and during the session of an API key.
    await happen("gil", joined("gil"), before: nil, after: nil)
    await happen("ana", joined("ana"), before: nil, after: true)
    await happen("hal", joined("hal"), before: false, after: false)
    #expect(webhooks.nameCount == 1)
    await happen("hal", .left(.left), before: false, after: false)
    await happen("ana", .left(.left), before: true, after: nil)
    #expect(webhooks.nameCount == 0)
  }
}
