import Foundation
import Logging
import Testing

@testable import KoineOS

@Suite struct OSTests {
  /// Keeps the lines of a log.
  private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []
    var all: [String] { lock.withLock { lines } }
    func add(_ line: String) { lock.withLock { lines.append(line) } }
  }

  private struct Keeper: LogHandler {
    let lines: Lines
    var metadata: Logging.Logger.Metadata = [:]
    var logLevel = Logging.Logger.Level.info
    subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { lines.add("\(event.level) \(event.message)") }
  }

  private let lines = Lines()
  private var log: OSLog { OSLog(Logging.Logger(label: "tea.calls") { [lines] _ in Keeper(lines: lines) }) }

  @Test func loggerWritesItsMessagesWithTheirLevels() {
    let logger = Logger(log)
    let name = "Bea"
    logger.info("\(name, privacy: .public) joined")
    logger.error(
      "lost after \(2.5, format: .fixed(precision: 1)) s, token \(name, privacy: .private)\(name, privacy: .sensitive)")
    logger.debug("not printed")
    logger.log(level: .fault, "gone")
    #expect(lines.all == ["info Bea joined", "error lost after 2.5 s, token <private><private>", "critical gone"])
    #expect(!log.isEnabled(type: .debug))
  }

  @Test func formatTakesItsArguments() {
    os_log("%{public}@ joined as %d of %i, %.1f %%", log: log, type: .info, "Bea", 2, 3, 99.5)
    os_log(.error, log: log, "code %{public}ld (0x%08x) %{private}s", -5, UInt32(255), "secret")
    os_log("nothing", log: .disabled)
    #expect(lines.all == ["info Bea joined as 2 of 3, 99.5 %", "error code -5 (0x000000ff) <private>"])
    #expect(LogFormat.text(of: "%d and %d", [1]) == "1 and <missing>")
    #expect(LogFormat.text(of: "100 % done", []) == "100 <missing>one")
    #expect(LogFormat.text(of: "at the end %", []) == "at the end %")
  }

  @Test func locksExcludeOtherThreads() {
    let counter = OSAllocatedUnfairLock(initialState: 0)
    let pointer = os_unfair_lock_t.allocate(capacity: 1)
    pointer.initialize(to: os_unfair_lock())
    defer { pointer.deallocate() }
    nonisolated(unsafe) let lock = pointer
    nonisolated(unsafe) var plain = 0
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<1_000 {
        counter.withLock { $0 += 1 }
        os_unfair_lock_lock(lock)
        plain += 1
        os_unfair_lock_unlock(lock)
      }
    }
    #expect(counter.withLock { $0 } == 8_000)
    #expect(plain == 8_000)
    #expect(os_unfair_lock_trylock(lock))
    #expect(!os_unfair_lock_trylock(lock))
  }
}
