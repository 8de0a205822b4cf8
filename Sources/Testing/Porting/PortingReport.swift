/// The result of ``PortingSuite``: the stories of both layers, and the differences between them.
public struct PortingReport: Codable, Sendable {
  /// One scenario with one seed.
  public struct Run: Codable, Sendable {
    /// What happens in the scenario.
    public let title: String
    /// The story of the old layer.
    public let old: PortingStory
    /// The story of the new layer.
    public let new: PortingStory
    /// Differences that no row expects.
    public internal(set) var differences: [PortingDifference] = []
    /// Differences that a row expects.
    public internal(set) var expected: [PortingDifference] = []

    init(title: String, old: PortingStory, new: PortingStory) {
      self.title = title
      self.old = old
      self.new = new
    }
  }

  /// The name of the pair of layers.
  public let pair: String
  /// The runs, in the order in which they were played.
  public let runs: [Run]
  /// Scenarios that need an action which the app does not have.
  public let notPlayed: [String]
  /// The rows of this pair that fit a difference.
  public let usedRows: [ExpectedDifference]
  /// The rows of this pair that fit no difference of any run. They make the report fail.
  public let unusedRows: [ExpectedDifference]

  init(pair: String, runs: [Run], notPlayed: [String], expected: ExpectedDifferences) {
    let rows = expected.rows.filter { $0.pair == pair }
    var used: Set<ExpectedDifference> = []
    self.pair = pair
    self.notPlayed = notPlayed
    self.runs = runs.map { run in
      var run = run
      for difference in StoryComparison(run.old, run.new).differences {
        if let row = rows.first(where: { $0.fits(difference, of: pair) }) {
          used.insert(row)
          run.expected.append(difference)
        } else {
          run.differences.append(difference)
        }
      }
      return run
    }
    usedRows = rows.filter(used.contains)
    unusedRows = rows.filter { !used.contains($0) }
  }

  /// Compares stories that were recorded before, such as those of an old layer that is kept in a file.
  /// - Parameters:
  ///   - old: stories of the old layer.
  ///   - new: stories of the new layer, for the same scenarios and seeds in the same order.
  ///   - expected: the rows of expected differences.
  public init(pair: String, old: [PortingStory], new: [PortingStory], expected: ExpectedDifferences = .none) {
    let runs = zip(old, new).map { Run(title: $0.scenario, old: $0, new: $1) }
    self.init(pair: pair, runs: runs, notPlayed: [], expected: expected)
  }

  /// The differences that no row expects, in the order in which they were found.
  public var differences: [PortingDifference] { runs.flatMap(\.differences) }
  /// Whether scenarios were played, no unexpected difference was found, and every row was used.
  public var isEqual: Bool { !runs.isEmpty && differences.isEmpty && unusedRows.isEmpty }
}

extension PortingReport: CustomStringConvertible, CustomReflectable {
  /// The counts in one line; `text()` has the differences.
  public var description: String {
    "\(pair): runs: \(runs.count), differences: \(differences.count), rows that no run uses: \(unusedRows.count)"
  }

  /// Has no parts: a failed expectation would print both stories of each run.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
