import KoineBase
import KoineLedger
import KoineMedia
import KoineRouter
import Synchronization
import Testing

@testable import KoineVendorAPIs

/// A ledger of which several registries are the nodes. Requests are executed one after the other, and answered on other threads, in
/// order for each registry.
final class SharedLedger: Sendable {
  private struct State {
    var ledger = LedgerState()
    var registries: [LedgerRegistry] = []
    var isAway = false
    var losesNotices = false
    var readings = 0
  }

  private let state = Lock(State())
  private let clock: @Sendable () -> APITime

  init(clock: @escaping @Sendable () -> APITime) { self.clock = clock }

  /// What a node has.
  func registry() -> LedgerRegistry {
    let (stream, requests) = AsyncStream.makeStream(of: (RegistryRequest, UInt64).self)
    let registry = LedgerRegistry {
      requests.yield(($0, $1))
      return true
    }
    state.withLock { $0.registries.append(registry) }
    let (state, clock) = (state, clock)
    Task { [weak registry] in
      for await (request, number) in stream {
        let (answer, told): (LedgerAnswer, [LedgerRegistry]) = state.withLock { state in
          if state.isAway { return (.failed(.away("away")), []) }
          if case .changes = request { state.readings += 1 }
          let whole = LedgerRequest.registry(request)
          let answer = state.ledger.execute(whole, clock: UInt64(clock().milliseconds) * 1_000)
          return (answer, RegistryNotice.follows(whole, answer) && !state.losesNotices ? state.registries : [])
        }
        registry?.handle(answer, to: number)
        for other in told { other.mayHaveChanged() }
      }
    }
    return registry
  }

  func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }
  func loseNotices() { state.withLock { $0.losesNotices = true } }
  var readings: Int { state.withLock { $0.readings } }
}

/// The registry of a cluster, as several nodes have it.
@Suite struct LedgerRegistryTests {
  private let ledger = SharedLedger { APITime(milliseconds: 1_800_000_000_000) }

  private func refresh(_ registry: LedgerRegistry) async -> RegistryError? {
    await withCheckedContinuation { done in registry.refresh { done.resume(returning: $0) } }
  }

  /// What a node has been told, by key.
  private final class Watcher: Sendable {
    private let state = Lock((values: [String: String?](), reports: 0))

    init(_ registry: LedgerRegistry, _ prefix: String) {
      registry.observe([prefix]) { [state] change in
        state.withLock {
          $0.values.updateValue(change.value.map { String(decoding: $0, as: UTF8.self) }, forKey: change.key)
          $0.reports += 1
        }
      }
    }

    var values: [String: String?] { state.withLock { $0.values } }
    var reports: Int { state.withLock { $0.reports } }
  }

  @Test func refreshShowsWhatAnotherNodeWroteAlsoWhenItsNoticeIsLost() async throws {
    ledger.loseNotices()
    let (first, second) = (ledger.registry(), ledger.registry())
    let (writer, reader) = (Watcher(first, "w/"), Watcher(second, "w/"))
    for number in 0..<200 { try await first.put("w/\(number)", Array("x".utf8), ifVersion: nil, expiry: nil) }
    try await first.put("other/1", [], ifVersion: nil, expiry: nil)
    #expect(reader.reports == 0)
    #expect(await refresh(second) == nil)
    #expect(reader.values.count == 200)
    let version = try #require(try await second.get("w/7")?.version)
    try await second.delete("w/7", ifVersion: version)
    #expect(await refresh(first) == nil)
    #expect(writer.values["w/7"] == .some(nil))
    // Each change is reported once, own ones too.
    #expect(await refresh(second) == nil)
    #expect((writer.reports, reader.reports) == (201, 201))
  }

  @Test func noticeBringsAChangeToTheOtherNodes() async throws {
    let (first, second) = (ledger.registry(), ledger.registry())
    let (told, tell) = AsyncStream.makeStream(of: String.self)
    second.observe(["w/"]) { tell.yield($0.key) }
    first.observe(["w/"]) { _ in }
    try await first.put("w/1", [], ifVersion: nil, expiry: nil)
    for await key in told {
      #expect(key == "w/1")
      break
    }
  }

  @Test func refreshesAtTheSameTimeShareAReading() async throws {
    let registry = ledger.registry()
    await withTaskGroup { group in
      for _ in 0..<500 { group.addTask { #expect(await refresh(registry) == nil) } }
    }
    // At most every second one could have begun its own.
    #expect(ledger.readings < 250)
  }

  @Test func refreshFailsWhileTheLedgerIsAwayAndReadsAllAfterwards() async throws {
    let (first, second) = (ledger.registry(), ledger.registry())
    let reader = Watcher(second, "w/")
    first.observe(["w/"]) { _ in }
    try await first.put("w/1", Array("1".utf8), ifVersion: nil, expiry: nil)
    ledger.setAway(true)
    #expect(await refresh(second) == .unavailable("away"))
    await #expect(throws: RegistryError.unavailable("away")) {
      try await first.put("w/2", [], ifVersion: nil, expiry: nil)
    }
    ledger.setAway(false)
    #expect(await refresh(second) == nil)
    #expect(reader.values == ["w/1": "1"])
    #expect(second.hasRead)
  }

  @Test func commandCarriesAVersionThatAnotherNodeCanWaitFor() async throws {
    let (first, second) = (ledger.registry(), ledger.registry())
    let reader = Watcher(second, "w/")
    first.observe(["w/"]) { _ in }
    let version = try await first.put("w/1", Array("1".utf8), ifVersion: nil, expiry: nil)
    #expect(first.newestVersion >= version)
    await withCheckedContinuation { done in second.refresh(to: first.newestVersion) { _ in done.resume() } }
    #expect(reader.values == ["w/1": "1"])
    let readings = ledger.readings
    await withCheckedContinuation { done in second.refresh(to: version) { _ in done.resume() } }
    #expect(ledger.readings == readings)
  }

  @Test func apisOfTwoNodesActAsOne() async throws {
    let keys = try APITokenKeys.makeTemporary()
    let (first, second) = (ledger.registry(), ledger.registry())
    ledger.loseNotices()
    let now = APITime(milliseconds: 1_800_000_000_000)
    let apis = [first, second].map { store in
      VendorAPIs(
        .init(
          store: store, access: .open, keys: keys, clock: { now },
          execute: { request in
            if case .describe = request.command { return .failure(RoomControlError(.noSuchRoom, "nobody is there")) }
            return .success(.done)
          }))
    }
    let origin = RoomRequest(.link(["tea", "rye"]), by: .init(.commandLine, "operator"))
    guard case .success = await apis[0].link(["tea", "rye"], origin) else {
      Issue.record("not linked")
      return
    }
    #expect(await refresh(second) == nil)
    guard case .success(let names) = await apis[1].unlink(["rye"], origin) else {
      Issue.record("not unlinked")
      return
    }
    #expect(names.contains("rye"))
  }
}
