/// What ``PortingSuite`` compares.
public enum PortingComparison: String, Codable, Sendable, CaseIterable {
  /// A fact after a step, once it has settled: of the app, or of what others notice.
  case settled
  /// The sequence of distinct values of a fact of the app during a step, between the settled values before and after it.
  case between
  /// A change of what others notice during a step, which has no equal change of the other layer within 1 s.
  case timing
  /// The state after the call: released devices, freed objects, callbacks, sleeping tasks, the server's roster.
  case afterCall
  /// A scenario that could not be played to its end, or facts that did not settle.
  case play
}

/// A difference that is documented behaviour of the vendors: one fact at one step.
public struct ExpectedDifference: Codable, Sendable, Hashable {
  /// The name of the pair of layers, `PortingSuite.pair`.
  public let pair: String
  /// The fact, as reports name it.
  public let fact: String
  /// The name of the step. The row fits the step of this name in each scenario.
  public let step: String
  /// The comparison that finds the difference.
  public let comparison: PortingComparison
  /// The value with the old layer, exactly; for `between`, all values of the step joined by ` → `.
  public let old: String
  /// The value with the new layer, exactly.
  public let new: String
  /// Why the layers differ, in a sentence for the team.
  public let reason: String
  /// The vendor's page, or the line of Koine's documentation, that documents the behaviour.
  public let source: String

  /// Creates a row.
  public init(
    pair: String, fact: String, step: String, comparison: PortingComparison, old: String, new: String, reason: String,
    source: String
  ) {
    self.pair = pair
    self.fact = fact
    self.step = step
    self.comparison = comparison
    self.old = old
    self.new = new
    self.reason = reason
    self.source = source
  }

  func fits(_ difference: PortingDifference, of pair: String) -> Bool {
    self.pair == pair && fact == difference.fact && step == difference.step && comparison == difference.comparison
      && old == difference.old && new == difference.new
  }

  /// Settled facts that may differ. Microphone, camera, share, messages and presence are not among them, and neither is what others
  /// notice of them.
  private static let excusable: Set<String> = ["phase", "end", "activeSpeaker", "thrown"]
  private static let neverAfterCall: Set<String> = ["camera", "microphone", "the server's roster"]

  /// Why the row is not allowed; nil if it is.
  fileprivate var objection: String? {
    if reason.isEmpty || source.isEmpty { return "has no reason or no source" }
    if old == new { return "expects no difference" }
    switch comparison {
    case .settled where !Self.excusable.contains(fact) && !fact.hasPrefix("own."):
      return "excuses the settled state of microphone, camera, share, messages or presence"
    case .afterCall where Self.neverAfterCall.contains(fact):
      return "excuses a device that stays in use, or a participant that stays in the room"
    case .play: return "excuses a scenario that could not be played"
    case .settled, .between, .timing, .afterCall: return nil
    }
  }
}

/// The rows of expected differences of a team's pairs of layers: at most 25 in all.
public struct ExpectedDifferences: Sendable {
  /// The largest number of rows.
  public static let limit = 25
  /// No row.
  public static var none: ExpectedDifferences { ExpectedDifferences(checked: []) }

  /// The rows, in the given order.
  public let rows: [ExpectedDifference]

  private init(checked rows: [ExpectedDifference]) { self.rows = rows }

  /// Creates the rows.
  /// - Throws: ``InvalidExpectation`` for more than 25 rows, for a row without reason or source, for two equal rows, and for a row that
  ///   excuses what may never differ: the settled state of microphone, camera, share, messages and presence, a device that stays in use,
  ///   and a participant that stays in the room.
  public init(_ rows: [ExpectedDifference]) throws(InvalidExpectation) {
    guard rows.count <= Self.limit else {
      throw InvalidExpectation(description: "\(rows.count) expected differences; at most \(Self.limit) are allowed")
    }
    var known: Set<[String]> = []
    for row in rows {
      if let objection = row.objection {
        throw InvalidExpectation(description: "the row for “\(row.fact)” at “\(row.step)” (\(row.pair)) \(objection)")
      }
      let key = [row.pair, row.fact, row.step, row.comparison.rawValue, row.old, row.new]
      guard known.insert(key).inserted else {
        throw InvalidExpectation(description: "two rows for “\(row.fact)” at “\(row.step)” (\(row.pair))")
      }
    }
    self.rows = rows
  }
}

/// Rows of expected differences that are not allowed.
public struct InvalidExpectation: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String
}
