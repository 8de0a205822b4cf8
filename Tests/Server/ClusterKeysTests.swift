import KoineBase
import KoineLedger
import KoineTokens
import KoineVendorAPIs
import Testing

@testable import KoineServer

/// Keys of the nodes of a cluster, over one ledger.
@Suite(.timeLimit(.minutes(1))) struct ClusterKeysTests {
  private let ledger = Lock(LedgerState())

  /// The registry of one node.
  private func registry() -> LedgerRegistry {
    let (requests, request) = AsyncStream.makeStream(of: (RegistryRequest, UInt64).self)
    let registry = LedgerRegistry {
      request.yield(($0, $1))
      return true
    }
    Task { [ledger, weak registry] in
      for await (request, number) in requests {
        registry?.handle(ledger.withLock { $0.execute(.registry(request), clock: 1_800_000_000_000_000) }, to: number)
      }
    }
    return registry
  }

  private func ids(_ keys: KeySet?) -> [String?]? { keys?.signingKeys.map(\.id) }

  @Test func nodesWithoutPrivateKeysSignByTheSameKeys() async throws {
    let (one, other) = (ClusterKeys(registry(), configured: nil), ClusterKeys(registry(), configured: nil))
    async let first = one.agree()
    async let second = other.agree()
    let (keys, same) = (try #require(try await first), try #require(try await second))
    #expect(try keys.json == same.json)
    #expect(ids(keys) == ["koine.cluster"])
  }

  @Test func fileThatIsReadAgainSignsOnlyByItsPrivateKeys() async throws {
    let keys = ClusterKeys(registry(), configured: nil)
    let shared = try #require(try await keys.agree())
    let file = try KeySet(newKey: "file")
    let publicFile = try KeySet(json: try file.publicJSON)
    #expect(try keys.configure(publicFile)?.json == shared.json)
    #expect(ids(keys.configure(file)) == ["file"])
    #expect(await keys.keep() == nil)
    #expect(try keys.configure(publicFile)?.json == shared.json)
    #expect(try keys.configure(nil)?.json == shared.json)
  }

  /// The nodes accept the same tokens, and sign tokens of the vendors' APIs by different keys.
  @Test func nodeWithoutThePrivateKeysOfAnotherHasAnotherDigest() throws {
    func digest(_ keys: KeySet) throws -> String? {
      var configuration = ServerConfiguration(access: .keys(try keys.verificationKeys), logger: .silent)
      configuration.backEndAPIs = BackEndAPIs(access: .closed, keys: keys)
      let host = RouterHost(configuration)
      let digest = host.keysDigest
      host.setSigns(true)
      #expect(host.keysDigest?.hasSuffix("-public") == false)
      return digest
    }
    let file = try KeySet(newKey: "file")
    let publicFile = try KeySet(json: try file.publicJSON)
    let shared = try digest(file)
    #expect(try digest(publicFile) == shared.map { $0 + "-public" })
    #expect(try digest(KeySet(newKey: "other")) != shared)
  }

  @Test func fileWithoutItsPrivateKeyHasTheNodeAgreeOnKeys() async throws {
    let file = try KeySet(newKey: "file")
    let keys = ClusterKeys(registry(), configured: file)
    #expect(ids(try await keys.agree()) == ["file"])
    // Nothing is known of the registry's keys yet: the server agrees on them then.
    #expect(keys.configure(try KeySet(json: try file.publicJSON)) == nil)
    let agreed = try #require(try await keys.agree())
    #expect(ids(agreed) == ["koine.cluster"])
    let other = ClusterKeys(registry(), configured: nil)
    #expect(try await other.agree()?.json == agreed.json)
  }

  @Test func keysAreStoredAgainInALedgerThatHasLostThem() async throws {
    let (one, other) = (ClusterKeys(registry(), configured: nil), ClusterKeys(registry(), configured: nil))
    let keys = try #require(try await one.agree())
    #expect(await one.keep() == nil)
    ledger.withLock { $0 = LedgerState() }
    #expect(await one.keep() == nil)
    #expect(try await other.agree()?.json == keys.json)
  }

  @Test func keysThatAnotherNodeHasStoredReplaceOwnOnes() async throws {
    let (one, other) = (ClusterKeys(registry(), configured: nil), ClusterKeys(registry(), configured: nil))
    let own = try #require(try await one.agree())
    ledger.withLock { $0 = LedgerState() }
    let others = try #require(try await other.agree())
    #expect(try own.json != others.json)
    #expect(try await one.keep()?.json == others.json)
    #expect(await one.keep() == nil)
  }
}
