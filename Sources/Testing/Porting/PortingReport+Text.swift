extension PortingReport {
  /// The result in words: the numbers, the first differences, each with its fact and its step, and the rows that were not used.
  /// - Parameter limit: the largest number of differences that are listed.
  public func text(limit: Int = 10) -> String {
    var lines = [summary]
    lines += differences.prefix(limit).map { "  ✗ \($0)" }
    if differences.count > limit { lines.append("  … and \(differences.count - limit) more") }
    lines += unusedRows.map { "  ✗ no run uses the row for \($0.fact) (\($0.comparison.rawValue)) at “\($0.step)”" }
    if !notPlayed.isEmpty {
      lines.append("  not played, because the app lacks an action: \(notPlayed.joined(separator: ", "))")
    }
    return lines.joined(separator: "\n")
  }

  /// The numbers in one sentence.
  public var summary: String {
    let expected = runs.map(\.expected.count).reduce(0, +)
    return "\(pair): \(runs.count) runs, \(differences.count) differences, \(expected) expected by "
      + "\(usedRows.count) rows, \(unusedRows.count) rows not used"
  }
}
