/// What a codec could not do. `detail` is the library's own words, where it has any.
package struct CodecError: Error, Hashable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// Settings or a call's arguments that no codec takes: the caller's mistake.
    case invalidArgument
    /// Bytes from outside that are not what they claim to be. The decoder lives on; pictures need a key frame.
    case corruptInput
    /// Valid, but nothing we decode: another profile, bit depth or chroma format.
    case unsupported
    /// The coded result does not fit into the memory given.
    case noRoom
    /// The library failed by itself, out of memory for instance.
    case failed
  }

  package var kind: Kind
  package var detail: String

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  package var description: String { "\(kind): \(detail)" }
}
