import Foundation
import KoineMedia
import KoineRouter
import Testing

@testable import KoineVendorAPIs

/// The rules of a registry's store, for each implementation.
@Suite struct RegistryTests {
  enum Kind: String, CaseIterable, Sendable { case memory, file, ledger }

  private let time = Lock(APITime(iso8601: "2026-11-25T10:00:00Z")!)
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent("registry-\(UUID()).jsonl").path

  private func open(_ kind: Kind) throws -> any RegistryStore {
    let time = time
    return switch kind {
    case .memory: MemoryRegistry { time.withLock { $0 } }
    case .file: try FileRegistry(path: path) { time.withLock { $0 } }
    case .ledger: SharedLedger { time.withLock { $0 } }.registry()
    }
  }

  @Test func storeAndAPIsEndWithTheirOwner() async throws {
    weak var weakStore: MemoryRegistry?
    weak var weakAPIs: VendorAPIs?
    do {
      let now = APITime(milliseconds: 1_700_000_000_000)
      let store = MemoryRegistry { now }
      let apis = VendorAPIs(
        .init(
          store: store, access: .open, keys: try .makeTemporary(), clock: { now }, execute: { _ in .success(.done) }))
      (weakStore, weakAPIs) = (store, apis)
      try await apis.load()
      await apis.settle()
      #expect(weakStore != nil && weakAPIs != nil)
    }
    #expect(weakStore == nil && weakAPIs == nil)
  }

  /// Closes a registry in a file, so that it can be opened again.
  private func close(_ store: any RegistryStore) async { await (store as? FileRegistry)?.close() }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test(arguments: Kind.allCases) func onlyTheKnownVersionIsReplaced(kind: Kind) async throws {
    let store = try open(kind)
    let first = try await store.put("a", bytes("1"), ifVersion: nil, expiry: nil)
    await #expect(throws: RegistryError.conflict) { try await store.put("a", bytes("2"), ifVersion: nil, expiry: nil) }
    let second = try await store.put("a", bytes("2"), ifVersion: first, expiry: nil)
    #expect(second > first)
    await #expect(throws: RegistryError.conflict) { try await store.delete("a", ifVersion: first) }
    #expect(try await store.get("a")?.value == bytes("2"))
    try await store.delete("a", ifVersion: second)
    #expect(try await store.get("a") == nil)
    try await store.delete("a", ifVersion: second)
    try FileManager.default.removeItem(atPath: path, ifKind: kind)
  }

  @Test(arguments: Kind.allCases) func listBeginsBehindAKeyAndEndsWithThePrefix(kind: Kind) async throws {
    let store = try open(kind)
    let keys = (0..<1_200).map { "p/\(1_000 + $0)" }
    for key in keys.shuffled() + ["o/9", "q/1"] { try await store.put(key, [], ifVersion: nil, expiry: nil) }
    var (found, last): ([String], String?) = ([], nil)
    while true {
      let page = try await store.list(prefix: "p/", after: last, limit: 100)
      found += page.map(\.key)
      guard page.count == 100 else { break }
      last = page.last?.key
    }
    #expect(found == keys)
    try FileManager.default.removeItem(atPath: path, ifKind: kind)
  }

  @Test(arguments: Kind.allCases) func expiredValuesAreNotThere(kind: Kind) async throws {
    let store = try open(kind)
    let expiry = time.withLock { $0 }.adding(seconds: 10)
    try await store.put("a", bytes("1"), ifVersion: nil, expiry: expiry)
    time.withLock { $0 = $0.adding(seconds: 10) }
    #expect(try await store.get("a") == nil)
    #expect(try await store.list(prefix: "", after: nil, limit: 10).isEmpty)
    try await store.put("a", bytes("2"), ifVersion: nil, expiry: nil)
    #expect(try await store.get("a")?.value == bytes("2"))
    try FileManager.default.removeItem(atPath: path, ifKind: kind)
  }

  @Test(arguments: [false, true]) func expiredValuesAreReportedAlsoWhenTheFileIsWrittenAnew(isCompacted: Bool)
    async throws
  {
    let store = try #require(try open(.file) as? FileRegistry)
    let changes = Lock<[RegistryChange]>([])
    store.observe([""]) { change in changes.withLock { $0.append(change) } }
    let expiry = time.withLock { $0 }.adding(seconds: 10)
    let version = try await store.put("a", bytes("1"), ifVersion: nil, expiry: expiry)
    time.withLock { $0 = $0.adding(seconds: 10) }
    if isCompacted { await store.compact() } else { store.removeExpired() }
    await store.close()  // after what is on its way
    let last = try #require(changes.withLock { $0.last })
    #expect(changes.withLock { $0.count } == 2)
    #expect(last.key == "a" && last.value == nil)
    #expect(last.version > version)
    try FileManager.default.removeItem(atPath: path)
  }

  @Test(arguments: Kind.allCases) func oneOfTwoWritersAtTheSameTimeSucceeds(kind: Kind) async throws {
    let store = try open(kind)
    let successes = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<50 {
        group.addTask {
          (try? await store.put("a", Array("\(number)".utf8), ifVersion: nil, expiry: nil)) != nil
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(successes == 1)
    try FileManager.default.removeItem(atPath: path, ifKind: kind)
  }

  @Test(arguments: Kind.allCases) func changesAreReportedBeforeTheyAreAnswered(kind: Kind) async throws {
    let store = try open(kind)
    let reports = Lock<[RegistryChange]>([])
    store.observe([""]) { change in reports.withLock { $0.append(change) } }
    let version = try await store.put("a", bytes("1"), ifVersion: nil, expiry: nil)
    #expect(reports.withLock { $0.map(\.version) } == [version])
    try await store.delete("a", ifVersion: version)
    #expect(reports.withLock { $0.map(\.value) } == [bytes("1"), nil])
    try FileManager.default.removeItem(atPath: path, ifKind: kind)
  }

  @Test func fileIsReadAgainWithoutALineThatHasNoEnd() async throws {
    do {
      let store = try open(.file)
      let version = try await store.put("a", bytes(#"{"x":"ü\n"}"#), ifVersion: nil, expiry: nil)
      try await store.put("b", bytes("1"), ifVersion: nil, expiry: nil)
      try await store.put("a", bytes(#"{"x":2}"#), ifVersion: version, expiry: nil)
      await close(store)
    }
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(#"{"k":"c","v":"#.utf8))
    try handle.close()
    let store = try open(.file)
    #expect(try await store.get("a")?.value == bytes(#"{"x":2}"#))
    #expect(try await store.list(prefix: "", after: nil, limit: 9).map(\.key) == ["a", "b"])
    let newest = try await store.put("c", bytes("3"), ifVersion: nil, expiry: nil)
    #expect(newest.number == 4)
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func fileWithAForeignLineIsRefused() throws {
    try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: RegistryFileError.self) { try open(.file) }
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func fileInUseIsRefused() throws {
    let first = try open(.file)
    #expect(throws: RegistryFileError.self) { try open(.file) }
    withExtendedLifetime(first) {}
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func compactedFileHasTheSameValues() async throws {
    var expected: [String: [UInt8]] = [:]
    do {
      let store = try #require(try open(.file) as? FileRegistry)
      var versions: [String: RegistryVersion] = [:]
      for number in 0..<300 {
        let key = "k\(number % 7)"
        versions[key] = try await store.put(key, bytes("\(number)"), ifVersion: versions[key], expiry: nil)
        expected[key] = bytes("\(number)")
      }
      await store.compact()
      expected["k0"] = bytes("after")
      try await store.put("k0", bytes("after"), ifVersion: versions["k0"], expiry: nil)
      await close(store)
    }
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 8)
    let store = try open(.file)
    for (key, value) in expected { #expect(try await store.get(key)?.value == value) }
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func deviceIsNoRegistry() throws {
    #expect(throws: RegistryFileError.self) { try FileRegistry(path: "/dev/null") { APITime(milliseconds: 0) } }
  }

  @Test func fullDiskFailsTheChangeAndChangesNothing() async throws {
    let folder = path + ".mount"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder)
    do {
      let store = try FileRegistry(path: folder + "/registry.jsonl") { APITime(milliseconds: 0) }
      let small = try await store.put("small", bytes("1"), ifVersion: nil, expiry: nil)
      let large = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
      await #expect(throws: RegistryError.self) { try await store.put("large", large, ifVersion: nil, expiry: nil) }
      await #expect(throws: RegistryError.self) { try await store.put("small", large, ifVersion: small, expiry: nil) }
      #expect(try await store.get("small")?.value == bytes("1"))
      #expect(try await store.get("large") == nil)
      // What fits is written again, behind whole lines.
      try await store.put("small", bytes("2"), ifVersion: small, expiry: nil)
      await close(store)
    }
    let again = try FileRegistry(path: folder + "/registry.jsonl") { APITime(milliseconds: 0) }
    #expect(try await again.list(prefix: "", after: nil, limit: 9).map(\.value) == [bytes("2")])
    try run("/usr/bin/umount", "-l", folder)
    try FileManager.default.removeItem(atPath: folder)
  }

  private func run(_ program: String, _ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(program) failed")
  }
}

extension FileManager {
  fileprivate func removeItem(atPath path: String, ifKind kind: RegistryTests.Kind) throws {
    if kind == .file { try removeItem(atPath: path) }
  }
}
