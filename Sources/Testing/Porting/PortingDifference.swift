/// A difference between the two call layers: one fact at one step.
public struct PortingDifference: Codable, Sendable, Hashable {
  /// The name of the scenario.
  public let scenario: String
  /// The seed of the run.
  public let seed: UInt64
  /// The name of the step; `before the call` for the first facts, `after the call` for the state after the call.
  public let step: String
  /// The fact's name, such as `people.Bea.muted` or `Bea hears the app`.
  public let fact: String
  /// The comparison that found the difference.
  public let comparison: PortingComparison
  /// The value with the old layer; for `between`, the sequence of values joined by `→`.
  public let old: String
  /// The value with the new layer.
  public let new: String
}

extension PortingDifference: CustomStringConvertible {
  public var description: String {
    "\(scenario), seed \(seed), step “\(step)”: \(fact) (\(comparison.rawValue)): old “\(old)”, new “\(new)”"
  }
}
