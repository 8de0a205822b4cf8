import Foundation

/// One app's callbacks, in the format of Docs/conformance.md. Thread-safe.
public final class FieldTrace: @unchecked Sendable {
  private struct Entry: Codable {
    let at: Int
    let who, told: String
    let whom, detail: String?
    let agrees: Bool?
    let isInsideCall: Bool
  }

  private struct File: Codable {
    let version: Int
    let scenario: String
    let styles: [String: String]
    let entries: [Entry]
  }

  private let scenario, who, style: String
  private let start = ProcessInfo.processInfo.systemUptime
  private let lock = NSLock()
  private var entries: [Entry] = []
  /// The threads that are inside a call into the SDK now.
  private var calling: [Thread] = []

  public init(scenario: String, who: String, style: String) {
    (self.scenario, self.who, self.style) = (scenario, who, style)
  }

  /// - Parameters:
  ///   - told: one of the words of Docs/conformance.md.
  ///   - agrees: whether the properties agree with the callback; nil without a property to read.
  public func told(_ told: String, of whom: String? = nil, _ detail: String? = nil, agrees: Bool? = nil) {
    let at = Int((ProcessInfo.processInfo.systemUptime - start) * 1_000)
    lock.lock()
    defer { lock.unlock() }
    let isInside = calling.contains { $0 === Thread.current }
    entries.append(
      Entry(at: at, who: who, told: told, whom: whom, detail: detail, agrees: agrees, isInsideCall: isInside))
  }

  /// A call into the SDK: callbacks on this thread meanwhile come from inside it.
  public func call<Value>(_ body: () throws -> Value) rethrows -> Value {
    let thread = Thread.current
    change { $0.append(thread) }
    defer { change { $0.removeAll { $0 === thread } } }
    return try body()
  }

  private func change(_ body: (inout [Thread]) -> Void) {
    lock.lock()
    defer { lock.unlock() }
    body(&calling)
  }

  /// The whole trace, for `koine conformance --compare FILE`.
  public func json() throws -> Data {
    lock.lock()
    defer { lock.unlock() }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(File(version: 1, scenario: scenario, styles: [who: style], entries: entries))
  }
}
