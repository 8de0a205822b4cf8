import CKoineBenchmark
import Foundation
import KoineBase

/// What went wrong before anything could be measured.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// CPU time in seconds.
enum CPU {
  /// Of the whole process, user and system.
  static var process: Double { read(CLOCK_PROCESS_CPUTIME_ID) }
  /// Of the calling thread.
  static var thread: Double { read(CLOCK_THREAD_CPUTIME_ID) }
  /// Not CPU at all.
  static var wall: Double { read(CLOCK_MONOTONIC) }

  private static func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// CPU and heap blocks of what the calling thread did between `begin` and `end`, and how long that took, added up.
struct Meter {
  private(set) var seconds = 0.0
  private(set) var allocations: Int64 = 0
  /// By the clock on the wall, in seconds.
  private(set) var elapsed = 0.0
  private var since = (seconds: 0.0, allocations: Int64(0), elapsed: 0.0)

  mutating func begin() {
    let now = CPU.wall
    since = (CPU.thread, bare_allocations(), now)
  }

  mutating func end() {
    allocations += bare_allocations() - since.allocations
    seconds += CPU.thread - since.seconds
    elapsed += CPU.wall - since.elapsed
  }
}

/// One line of the table.
struct Row: Encodable {
  var name: String
  var value: Double
  var unit: String
  /// The goal: `value` is at most this.
  var aim: Double?
  /// The goal: `value` is at least this.
  var atLeast: Double?

  init(_ name: String, _ value: Double, _ unit: String, aim: Double? = nil, atLeast: Double? = nil) {
    (self.name, self.value, self.unit, self.aim, self.atLeast) = (name, value, unit, aim, atLeast)
  }
}

struct Report: Encodable {
  var benchmark: String
  var rows: [Row]

  func print() {
    Swift.print("\n" + benchmark)
    let width = rows.map(\.name.count).max() ?? 0
    for row in rows {
      let name = row.name.padding(toLength: width, withPad: " ", startingAt: 0)
      let aim =
        row.aim.map { "   aim ≤ \(Self.number($0))  \(row.value <= $0 ? "met" : "missed")" }
        ?? row.atLeast.map { "   aim ≥ \(Self.number($0))  \(row.value >= $0 ? "met" : "missed")" } ?? ""
      Swift.print("  \(name)  \(Self.padded(Self.number(row.value))) \(row.unit)\(aim)")
    }
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e9
      ? String(Int(value)) : String(format: value < 10 ? "%.3f" : "%.1f", value)
  }
  private static func padded(_ text: String) -> String { String(repeating: " ", count: max(0, 10 - text.count)) + text }
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  return sorted.count % 2 == 1
    ? sorted[sorted.count / 2] : (sorted[sorted.count / 2 - 1] + sorted[sorted.count / 2]) / 2
}

/// Blocks for datagrams. A block is used again once the ring holds the only reference to it.
struct DatagramRing {
  private var blocks: [Bytes]
  private var next = 0

  init(count: Int) { blocks = (0..<count).map { _ in Bytes(capacity: 1_600) } }

  mutating func take() -> Bytes {
    for _ in 0..<8 {
      next = (next + 1) % blocks.count
      if isKnownUniquelyReferenced(&blocks[next]) {
        blocks[next].count = 0
        return blocks[next]
      }
    }
    return Bytes(capacity: 1_600)
  }
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
