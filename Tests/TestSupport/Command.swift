import Subprocess

/// A command of the system that tests need, as `ffmpeg`. No thread of Swift's waits for it, and it inherits nothing of
/// what other commands write to: with Foundation's `Process` tests that ran side by side held each other up for good.
///
///     let text = try await Command("ffprobe", "-v", "error", path).run()
public struct Command: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// More than this is an error.
  private static let limit = 64 << 20

  private let words: [String]
  private let environment: Environment

  public init(_ words: [String], environment: [String: String?] = [:]) {
    self.words = words
    var keys: [Environment.Key: String?] = [:]
    for (name, value) in environment { keys[Environment.Key(stringLiteral: name)] = .some(value) }
    self.environment = .inherit.updating(keys)
  }

  public init(_ words: String...) { self.init(words) }

  /// - Returns: what it wrote.
  /// - Throws: `Failure` unless it ended with 0.
  @discardableResult
  public func run() async throws -> String { String(decoding: try await bytes(), as: UTF8.self) }

  /// As `run`, as it is.
  public func bytes() async throws -> [UInt8] {
    let result = try await Subprocess.run(
      .name(words.first ?? ""), arguments: Arguments(Array(words.dropFirst())), environment: environment,
      output: .bytes(limit: Self.limit), error: .string(limit: 1 << 20))
    guard case .exited(0) = result.terminationStatus else {
      throw Failure(
        description: "\(words.joined(separator: " ")): \(result.terminationStatus)\n\(result.standardError)")
    }
    return result.standardOutput
  }

  /// Runs it beside `body`, and ends it afterwards.
  /// - Parameter body: gets the first line that it writes.
  public func run<Result: Sendable>(
    beside body: @Sendable (_ firstLine: String) async throws -> Result
  ) async throws -> Result {
    try await Subprocess.run(
      .name(words.first ?? ""), arguments: Arguments(Array(words.dropFirst())), environment: environment,
      input: .none, output: .sequence, error: .discarded
    ) { execution in
      var lines = execution.standardOutput.strings().makeAsyncIterator()
      guard let line = try await lines.next() else { throw Failure(description: "\(words[0]) said nothing") }
      defer { try? execution.send(signal: .terminate) }
      return try await body(line.trimmingWhitespace())
    }.closureResult
  }
}

extension String {
  fileprivate func trimmingWhitespace() -> String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
