/// Input that gives no facts: a toolchain without a library, a folder that is not an index store, data that cannot be read.
public struct FactsFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
