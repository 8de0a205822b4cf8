/// What could not be processed.
package struct AudioProcessingError: Error, Hashable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// Neither one nor two channels, or not 10 ms: the caller's mistake.
    case wrongSize
    /// The library failed by itself.
    case failed
  }

  package var kind: Kind
  package var detail: String

  package init(_ kind: Kind, _ detail: String) { (self.kind, self.detail) = (kind, detail) }

  package var description: String { "\(kind): \(detail)" }
}
