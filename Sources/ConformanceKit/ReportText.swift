public import Foundation

extension Report {
  /// Scenarios down, pairs across: `.` passed, `F` failed, `-` not in the style, `o` not here.
  public func matrix() -> String {
    let pairs = distinct(outcomes.map { "\($0.environment) \($0.pair)" })
    let scenarios = distinct(outcomes.map(\.scenario))
    let width = scenarios.map(\.count).max() ?? 0
    var lines: [String] = []
    for scenario in scenarios {
      let cells = pairs.map { pair in
        outcomes.first { $0.scenario == scenario && "\($0.environment) \($0.pair)" == pair }.map { $0.verdict.letter }
          ?? " "
      }
      lines.append(scenario.padding(toLength: width, withPad: " ", startingAt: 0) + "  " + cells.joined())
    }
    for (index, pair) in pairs.enumerated() { lines.append("column \(index + 1): \(pair)") }
    return lines.joined(separator: "\n")
  }

  /// The failures, each with its reasons and the traces of its participants' apps.
  public func failureText() -> String {
    failures.map { outcome in
      var lines = ["\(outcome.scenario) (\(outcome.pair), \(outcome.environment)): \(outcome.title)"]
      if case .failed(let reasons) = outcome.verdict { lines += reasons.map { "  ✗ \($0)" } }
      lines += outcome.traces.flatMap { $0 }.sorted { $0.at < $1.at }.map { "    \($0)" }
      return lines.joined(separator: "\n")
    }.joined(separator: "\n\n")
  }

  /// The report as JSON, with sorted keys.
  /// - Throws: if a value cannot be encoded.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    return try encoder.encode(self)
  }

  /// The report as a Markdown page: the failures, then a table for each environment.
  public func markdown() -> String {
    var lines = ["# Conformance", "", summary + ".", ""]
    if !failures.isEmpty { lines += ["## Failures", "", "```", failureText(), "```", ""] }
    for environment in distinct(outcomes.map(\.environment)) {
      let own = outcomes.filter { $0.environment == environment }
      let pairs = distinct(own.map(\.pair))
      lines += ["## \(environment)", "", "| scenario | " + pairs.joined(separator: " | ") + " |"]
      lines.append("|---|" + String(repeating: "---|", count: pairs.count))
      for scenario in distinct(own.map(\.scenario)) {
        let cells = pairs.map { pair in
          own.first { $0.scenario == scenario && $0.pair == pair }.map { $0.verdict.word } ?? ""
        }
        lines.append("| `\(scenario)` | " + cells.joined(separator: " | ") + " |")
      }
      lines.append("")
    }
    return lines.joined(separator: "\n")
  }

  /// Each once, in the order of first appearance.
  func distinct(_ words: [String]) -> [String] {
    var seen: Set<String> = []
    return words.filter { seen.insert($0).inserted }
  }
}

extension Verdict {
  var letter: String {
    switch self {
    case .passed: "."
    case .failed: "F"
    case .notInStyle: "-"
    case .notHere: "o"
    }
  }

  var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "**failed**"
    case .notInStyle: "not in this style"
    case .notHere: "not here"
    }
  }
}
